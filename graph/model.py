"""The language model as the agent knows it: messages in, one Answer out.

One layer of retries stands here, and every wait has an end.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from graph.answer import Answer, ProposedCall, Voice, read_message, text_of
from graph.model_errors import OddAnswerError, Place, Trouble, diagnose, shown_url
from graph.settings import Settings
from memory.errors import InterlockError, UnavailableError, UsageError

__all__ = ["Answer", "Limits", "Model", "ProposedCall", "choose_model"]

Chat = Runnable[LanguageModelInput, AIMessage]

PRACTICE = "practice"
DEFAULT_OPENAI_MODEL = "gpt-5-mini"
OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "no-key"  # local servers want none, the SDK wants one
SHORTEST_KEY = 8  # a shorter one is the placeholder that a local server is given, and cutting it out would garble messages
CONNECT_SECONDS = 10.0
IDLE_SECONDS = 120.0
TOTAL_SECONDS = 1800.0
TRIES = 3
FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Limits:
    """Seconds: to connect; without a sign from the server; for one answer with all its tries; between tries."""

    connect: float = CONNECT_SECONDS
    idle: float = IDLE_SECONDS
    total: float = TOTAL_SECONDS
    tries: int = TRIES
    first_wait: float = FIRST_WAIT_SECONDS
    longest_wait: float = LONGEST_WAIT_SECONDS


@dataclass(frozen=True)
class Model:
    """`name` is `provider:model`. Safe to keep: it holds no connection between two answers."""

    name: str
    is_practice: bool
    chat: BaseChatModel = field(repr=False)
    place: Place = field(repr=False)
    limits: Limits = field(default_factory=Limits, repr=False)
    on_retry: Callable[[], None] = field(default=lambda: None, repr=False)

    async def answer(
        self, messages: Sequence[BaseMessage], *, tools: Sequence[BaseTool] = (), on_token: Callable[[str], None] | None = None
    ) -> Answer:
        """The model is shown these tools. Streams where `on_token` is given; it gets cleaned pieces of the text, not of what was thought.

        Raises UnavailableError or RunFailedError in one line. Nothing is asked again once a piece was shown.
        """
        voice, chat = Voice(on_token), _with_tools(self.chat, tools)
        try:
            async with asyncio.timeout(self.limits.total):
                return await self._answer(chat, list(messages), voice)
        except TimeoutError:
            message = f"{self.place.at} did not finish an answer within {self.limits.total:g} seconds."
            raise UnavailableError(message, remedy="Resume the thread to ask again.", code="model_timeout") from None

    async def _answer(self, chat: Chat, messages: list[BaseMessage], voice: Voice) -> Answer:
        tried = 0
        while True:
            tried += 1
            try:
                return read_message(await self._ask(chat, messages, voice), self.place.model)
            except Exception as error:
                if voice.is_broken:
                    raise
                trouble = diagnose(error, self.place)
                wait = self._wait(trouble, tried)
                if wait is None or voice.was_heard:
                    raise _last(trouble, tried) from error
            self.on_retry()
            await asyncio.sleep(wait)

    def _wait(self, trouble: Trouble, tried: int) -> float | None:
        """Seconds until the next try; None where there is none."""
        if not trouble.again or tried >= self.limits.tries:
            return None
        if trouble.after is not None:
            return trouble.after if trouble.after <= self.limits.longest_wait else None
        return min(self.limits.first_wait * 2.0 ** (tried - 1), self.limits.longest_wait) * random.uniform(1, 1.5)  # noqa: S311

    async def _ask(self, chat: Chat, messages: list[BaseMessage], voice: Voice) -> AIMessage:
        if voice.on_token is None:
            return await chat.ainvoke(messages)
        voice.begin()
        whole: list[AIMessageChunk] = []
        async with aclosing(cast("Any", chat.astream(messages))) as stream:
            async for chunk in _unless_silent(stream, self.limits.idle):
                whole.append(chunk)
                voice.say(text_of(chunk))
        if not whole:
            raise OddAnswerError("the stream is empty")
        voice.end()
        return add_ai_message_chunks(whole[0], *whole[1:])


async def _unless_silent(stream: AsyncIterator[AIMessageChunk], seconds: float) -> AsyncIterator[AIMessageChunk]:
    while True:
        try:
            async with asyncio.timeout(seconds):
                chunk = await anext(stream)
        except StopAsyncIteration:
            return
        yield chunk


def _last(trouble: Trouble, tried: int) -> InterlockError:
    """The error that is raised in the end; its data say how long the server wants to be left alone."""
    error = trouble.error
    data = {"retry_after_seconds": trouble.after} if trouble.after else {}
    times = f" ({tried} tries)" if tried > 1 else ""
    return type(error)(error.message + times, remedy=error.remedy, code=error.code, **data)


# --- choosing a model -------------------------------------------------------------------------------------------------


def choose_model(settings: Settings, *, limits: Limits | None = None) -> Model:
    """The model of the settings. Asks nobody yet; raises UsageError.

    INTERLOCK_MODEL is `openai:NAME` for OpenAI and every compatible server (OPENAI_BASE_URL), `PROVIDER:NAME` for
    what langchain's `init_chat_model` knows, or `practice`. Without it: `openai:gpt-5-mini` where OPENAI_API_KEY is
    set alone, and the practice model where nothing is set.
    """
    limits = limits or Limits()
    setting = settings.model or _without_setting(settings)
    if setting == PRACTICE:
        from graph.practice import PracticeModel

        return Model(PRACTICE, True, PracticeModel(), Place(PRACTICE), limits)
    provider, _, name = setting.partition(":")
    if not provider.strip() or not name.strip():
        raise UsageError(
            f"INTERLOCK_MODEL must be provider:model or {PRACTICE!r}, not {setting!r}.",
            remedy="For OpenAI, or a compatible server at OPENAI_BASE_URL: INTERLOCK_MODEL=openai:NAME",
            code="bad_setting",
        )
    if provider == "openai":
        return _openai(name, settings, limits)
    # The SDKs of other providers retry on their own, so that this layer does not.
    return Model(setting, False, _other(provider, name), Place(setting), replace(limits, tries=1))


def _without_setting(settings: Settings) -> str:
    if settings.openai_base_url:
        raise UsageError(
            f"OPENAI_BASE_URL is {shown_url(settings.openai_base_url)}, and nothing says which model to ask there.",
            remedy=f"Set INTERLOCK_MODEL=openai:NAME; {shown_url(settings.openai_base_url)}/models lists the names.",
            code="no_model",
        )
    return f"openai:{DEFAULT_OPENAI_MODEL}" if settings.openai_api_key else PRACTICE


def _openai(name: str, settings: Settings, limits: Limits) -> Model:
    url, key = settings.openai_base_url, settings.openai_api_key
    if not url and not key:
        raise UsageError(
            f"INTERLOCK_MODEL is 'openai:{name}', and there is no key for it.",
            remedy="Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own that wants no key.",
            code="no_key",
        )
    password = _check_url(url or OPENAI_URL)
    import openai
    from pydantic import SecretStr

    from graph.openai_chat import OpenAIChat

    chat = OpenAIChat(
        model=name,
        base_url=url or OPENAI_URL,
        api_key=SecretStr(key or NO_KEY),
        timeout=openai.Timeout(limits.idle, connect=limits.connect),
        max_retries=0,
        use_responses_api=False,
        stream_usage=not url,  # servers that do not know stream_options may refuse the request
        default_headers={"Connection": "close"},  # a human pause outlives any connection, and loops may differ
    )
    known = key if key and len(key) >= SHORTEST_KEY else ""
    secrets = tuple(secret for secret in (known, password, unquote(password)) if secret)
    place = Place(f"openai:{name}", url or OPENAI_URL, secrets)
    return Model(place.model, False, chat, place, limits)


def _check_url(url: str) -> str:
    """The password in it, which must not be shown."""
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good:
        raise UsageError(
            f"OPENAI_BASE_URL must begin with http:// or https:// and name a host, not {shown_url(url)!r}.",
            remedy="For example OPENAI_BASE_URL=http://127.0.0.1:11434/v1",
            code="bad_setting",
        )
    return parts.password or ""


def _other(provider: str, name: str) -> BaseChatModel:
    try:
        from langchain.chat_models import init_chat_model  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise UsageError(
            f"INTERLOCK_MODEL is '{provider}:{name}', and the package langchain, which knows it, is not installed.",
            remedy=f"pip install langchain langchain-{provider.replace('_', '-')}",
            code="package_missing",
        ) from error
    try:
        return cast("BaseChatModel", init_chat_model(name, model_provider=provider))
    except (ImportError, ValueError) as error:
        raise UsageError(
            f"INTERLOCK_MODEL={provider}:{name} cannot be used: {' '.join(str(error).split())}", code="bad_setting"
        ) from error


def _with_tools(chat: BaseChatModel, tools: Sequence[BaseTool]) -> Chat:
    """Servers refuse an empty list of tools."""
    return chat.bind_tools(tools) if tools else chat
