"""What went wrong between us and a model, in one line with its remedy, and whether asking again can help.

The SDKs of model providers share a shape (`status_code`, `response`, `body`), so no SDK is imported here. A service
that does not answer is an UnavailableError; a model that cannot be used as it is set up is a RunFailedError.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from langchain_core import exceptions as core

from memory.errors import InterlockError, RunFailedError, UnavailableError
from memory.text import clean, shorten

RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
STATUS_OF = (
    (core.ModelAuthenticationError, 401),
    (core.ModelPermissionDeniedError, 403),
    (core.ModelNotFoundError, 404),
    (core.ModelRateLimitError, 429),
    (core.ModelAPIError, 500),
    (core.ModelInvalidRequestError, 400),
)
CONTEXT = re.compile(
    r"context_length_exceeded|exceed_context_size|(maximum|available) context|context (length|window|size)"
    r"|prompt is too long|too many (input )?tokens",
    re.IGNORECASE,
)
QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing_hard_limit|insufficient (credits|balance|funds)",
    re.IGNORECASE,
)
NO_TOOLS = re.compile(
    r"enable-auto-tool-choice|tool-call-parser|--jinja|tool choice requires|support tool use"
    r"|(not|n't) support\w* (\S+ ){0,3}(tool|function)"
    r"|(tool|function)\S*( \S+){0,3} (is|are) (not supported|unsupported)",
    re.IGNORECASE,
)
CONNECTION = ("Connect", "Network", "Protocol", "Transport", "ReadError", "WriteError")


class OddAnswerError(Exception):
    """The server answered, and its answer cannot be read as one; `body` is what it said of an error, if it did."""

    def __init__(self, message: str, body: object = None) -> None:
        super().__init__(message)
        self.body = body


@dataclass(frozen=True)
class Place:
    """Which model is asked where; `secrets` are cut out of every message."""

    model: str
    url: str = ""
    secrets: tuple[str, ...] = ()

    def shown(self, text: str, limit: int = 300) -> str:
        """One line of what a server said."""
        if "<html" in text[:2000].lower() or text.lstrip()[:9].lower() == "<!doctype":
            title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
            text = f"a web page titled {title[1].strip()!r}" if title else "a web page"
        for secret in self.secrets:
            text = text.replace(secret, "[secret]")
        return shorten(" ".join(clean(text).split()), limit).replace("\n", " ")

    @property
    def at(self) -> str:
        return f"{self.model!r} at {shown_url(self.url)}" if self.url else repr(self.model)


@dataclass(frozen=True)
class Trouble:
    """`again` says that the same request may be sent once more, `after` how many seconds the server wants to wait."""

    error: InterlockError
    again: bool = False
    after: float | None = None


def shown_url(url: str) -> str:
    """A URL without its user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(no URL)"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def diagnose(error: Exception, place: Place) -> Trouble:
    """Never raises; `error` may be anything that a provider's SDK or langchain raises."""
    status = _status(error)
    said = place.shown(_said(error))
    if isinstance(error, core.ContextOverflowError) or (status != 429 and CONTEXT.search(said)):
        return _cannot(
            f"The conversation is too long for {place.at}: {said}",
            "Start a new thread, or use a model (or a server setting) with a larger context.",
            "context_too_long",
        )
    if status is not None or getattr(error, "body", None):
        return _of_answer(error, status, said, place)
    return _of_connection(error, said, place)


def _of_answer(error: Exception, status: int | None, said: str, place: Place) -> Trouble:
    if NO_TOOLS.search(said):
        return _cannot(
            f"{place.at} cannot call tools as it is set up: {said}",
            "vLLM needs --enable-auto-tool-choice --tool-call-parser NAME, llama.cpp needs --jinja; "
            "with Ollama choose a model that has tools (`ollama show NAME` lists its capabilities).",
            "no_tool_support",
        )
    if status == 402 or QUOTA.search(said):
        message, remedy = f"The quota for {place.at} is used up: {said}", "Raise the limit there, or use another key."
        return Trouble(UnavailableError(message, remedy=remedy, code="model_quota"))
    if status in {401, 403}:
        return _cannot(
            f"{place.at} refuses the key: {said}",
            "Set OPENAI_API_KEY to a key of this server (and OPENAI_BASE_URL to the server that the key belongs to).",
            "model_key_refused",
        )
    if status == 404:
        return _not_found(said, place)
    if status is None or status in RETRIED or status >= 500:
        what = "answered with an error" if status is None else f"answered {status}"
        remedy = "Wait a little and resume the thread; the server's log says more."
        failure = UnavailableError(f"{place.at} {what}: {said}", remedy=remedy, code="model_unavailable")
        return Trouble(failure, again=status is None or status in RETRIED, after=retry_after(_headers(error)))
    remedy = "The server's words say what it does not take."
    return _cannot(f"{place.at} refused the request ({status}): {said}", remedy, "model_refused_request")


def _not_found(said: str, place: Place) -> Trouble:
    if "v1/responses" in said:
        remedy = "Choose a model that answers at /chat/completions."
        return _cannot(f"{place.at} is not offered for chat completions: {said}", remedy, "model_not_for_chat")
    if re.search(r"\bmodel\b|model_not_found", said, re.IGNORECASE):
        models = f"{shown_url(place.url)}/models" if place.url else "the provider's list of models"
        return _cannot(
            f"There is no model {place.at}: {said}",
            f'Set INTERLOCK_MODEL to a name from the list: curl -H "Authorization: Bearer $OPENAI_API_KEY" {models}',
            "model_not_found",
        )
    remedy = "Check OPENAI_BASE_URL: it usually ends in /v1."
    return _cannot(f"{place.at} does not know this address: {said}", remedy, "model_address_not_found")


def _of_connection(error: Exception, said: str, place: Place) -> Trouble:
    names = " ".join(kind.__name__ for kind in (*type(error).__mro__, type(error.__cause__)))
    if isinstance(error, OddAnswerError | ValueError | RecursionError):
        remedy = "Check OPENAI_BASE_URL (it usually ends in /v1), the server's log, and proxies between."
        message = f"{place.at} sent an answer that cannot be read: {said}"
        return Trouble(UnavailableError(message, remedy=remedy, code="model_odd_answer"), again=True)
    if "Timeout" in names:
        what = "could not be reached in time" if "ConnectTimeout" in names else "timed out: it fell silent"
        remedy = "Check that the server is up and not overloaded, then resume the thread."
        return Trouble(UnavailableError(f"{place.at} {what}.", remedy=remedy, code="model_timeout"), again=True)
    if isinstance(error, OSError) or any(word in names for word in CONNECTION):
        why = place.shown(str(error.__cause__ or "") or str(error) or type(error).__name__)
        remedy = "Check that the server runs and that OPENAI_BASE_URL is right, then resume the thread."
        message = f"The connection to {place.at} failed: {why}"
        return Trouble(UnavailableError(message, remedy=remedy, code="model_unreachable"), again=True)
    return _cannot(f"{place.at} could not be asked: {type(error).__name__}: {said}", "", "model_failed")


def _cannot(message: str, remedy: str, code: str) -> Trouble:
    return Trouble(RunFailedError(message, remedy=remedy, code=code))


def _status(error: Exception) -> int | None:
    """The HTTP status, or the one that stands in the error of an answer with status 200."""
    body = getattr(error, "body", None)
    inside = body.get("code") if isinstance(body, Mapping) else None
    response = getattr(error, "response", None)
    for found in (getattr(error, "status_code", None), getattr(response, "status_code", None), inside):
        if isinstance(found, int) and 400 <= found < 600:
            return found
    return next((status for kind, status in STATUS_OF if isinstance(error, kind)), None)


def _said(error: Exception) -> str:
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        code = " ".join(str(body[key]) for key in ("type", "code") if isinstance(body.get(key), str))
        text = next((body[key] for key in ("message", "error", "detail") if isinstance(body.get(key), str)), None)
        return f"{text or dict(body)}{f' ({code})' if code else ''}"
    return body if isinstance(body, str) and body else str(error) or type(error).__name__


def _headers(error: Exception) -> Mapping[str, str]:
    found: Any = getattr(getattr(error, "response", None), "headers", None)
    return found if isinstance(found, Mapping) else {}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from `Retry-After` (seconds or a date) or `retry-after-ms`; None where neither can be read."""
    milliseconds, value = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        seconds = max(0.0, float(milliseconds) / 1000 if milliseconds else float(value or ""))
        return seconds if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value or "") - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
