"""The practice model: what stands in for a language model until one is set. It understands these tasks, and no others:

    deploy PROJECT VERSION [to ENVIRONMENT]
    deploy version VERSION of PROJECT [to ENVIRONMENT]
    deploy A 1.0 and B 2.0 [to ENVIRONMENT]             (several in one message; the environment is that of both)
    how many TABLE …?  ·  count TABLE  ·  count rows in TABLE
    open a ticket: TEXT  ·  create a ticket: TEXT
    call TOOL [with] NAME=VALUE …                       (any tool; a VALUE is a number, a word, or in quotes)

Tasks are joined by "and", "then" or a comma; a ticket's text without quotes goes on to the end. Case does not matter, a
VERSION holds a digit, and names with spaces stand in quotes. For everything else it says what it understands.
It is a pure function of the messages: the same history, the same answer and the same ids.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from memory.json_text import read_json
from memory.text import shorten

NOTICE = (
    "This is the practice model. It is no language model: it understands a handful of phrasings, so that you can try "
    "everything without a key. For a real one set INTERLOCK_MODEL=openai:NAME and OPENAI_API_KEY, or OPENAI_BASE_URL "
    "for a server of your own."
)
EXAMPLES = {
    "deploy_code": "deploy shop 1.4.2 to staging",
    "read_database": "how many users are there?",
    "create_ticket": "open a ticket: the login page is slow",
}
PRODUCTION = "production"  # the default of deploy_code

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One phrasing. A `follower` may leave the verb out and stands only behind a task of the same tool.

    Without a `tool` the phrase itself names it.
    """

    tool: str
    pattern: re.Pattern[str]
    arguments: Callable[[dict[str, str]], Arguments]
    follower: bool = False


def _phrase(text: str) -> re.Pattern[str]:
    """Words in capitals stand for what is asked, spaces for any white space."""
    quoted = r'"[^"]+"|\'[^\']+\''
    for word, pattern in {
        "VERSION": rf"(?P<version>{quoted}|(?=[\w.+-]*\d)[\w+-]+(?:\.[\w+-]+)*)",
        "PROJECT": rf"(?:the )?(?:project )?(?P<project>{quoted}|[\w@/+-]+(?:\.[\w@/+-]+)*)",
        "ENVIRONMENT": rf"(?: (?:to|in|on) (?:the )?(?P<environment>{quoted}|[\w-]+)(?: environment)?)?",
        "TABLE": r"(?:the )?(?P<table>[a-z_]\w*)",
        "TEXT": rf"(?P<text>{quoted}|.+)",
        "TOOL": r"(?P<tool>[\w-]+)",
        "PAIRS": rf"(?P<pairs>(?:\s+\w+=(?:{quoted}|[^\s,;\"']*[^\s,;\"'.!?]))*)",
    }.items():
        text = text.replace(word, pattern)
    return re.compile(text.replace(" ", r"\s+"), re.IGNORECASE | re.DOTALL)


def _deployment(found: dict[str, str]) -> Arguments:
    environment = {"environment": found["environment"]} if "environment" in found else {}
    return {"project_id": found["project"], "version": found["version"], **environment}


def _count(found: dict[str, str]) -> Arguments:
    return {"sql": f"SELECT count(*) FROM {found['table']}"}  # noqa: S608 - a name, by its pattern


def _ticket(found: dict[str, str]) -> Arguments:
    text = found["text"].strip()
    return {"title": text.splitlines()[0][:80].rstrip(), "body": text}


def _named(found: dict[str, str]) -> Arguments:
    pairs = re.findall(r"(\w+)=(\"[^\"]+\"|'[^']+'|\S+)", found.get("pairs", ""))
    return {name: _json_or_text(text) for name, text in pairs}


def _json_or_text(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return _unquoted(text)


TASKS = (
    Task("deploy_code", _phrase("deploy version VERSION of PROJECTENVIRONMENT"), _deployment),
    Task("deploy_code", _phrase("deploy PROJECT (?:version )?VERSIONENVIRONMENT"), _deployment),
    Task(
        "read_database",
        _phrase(r"how many TABLE(?: (?:are there|are in the database|exist|do we have|have we))?"),
        _count,
    ),
    Task("read_database", _phrase("count (?:the )?(?:(?:rows|entries|records) (?:in|of) )?TABLE"), _count),
    Task(
        "create_ticket",
        _phrase(r"(?:open|create|file) an?(?: new)? ticket(?:\s*[:,-]\s*| about | saying | )TEXT"),
        _ticket,
    ),
    Task("", _phrase("call TOOL(?: with)?PAIRS"), _named),
    Task("deploy_code", _phrase("version VERSION of PROJECTENVIRONMENT"), _deployment, follower=True),
    Task("deploy_code", _phrase("PROJECT (?:version )?VERSIONENVIRONMENT"), _deployment, follower=True),
)
OPENING = re.compile(r"\s*(?:(?:please|now|hello|hi|can you|could you|would you)\b[\s,]*)*", re.IGNORECASE)
JOINT = re.compile(r"(?:\s*[,;.]\s*|\s+)(?:(?:and|then|also|please)\b[\s,]*)*", re.IGNORECASE)
CLOSING = re.compile(r"[\s,]*(?:please)?[\s.!?]*", re.IGNORECASE)


def understand(text: str) -> list[tuple[str, Arguments]] | None:
    """The calls (tool, arguments) of a task, or None where any part of the text is not understood."""
    calls: list[tuple[str, Arguments]] = []
    verbs: list[bool] = []
    place = _end(OPENING, text, 0)
    while not calls or not CLOSING.fullmatch(text, place):
        start = place if not calls else _end(JOINT, text, place)
        if calls and start == place:
            return None
        found = _match(text, start, after=calls[-1][0] if calls else "")
        if found is None:
            return None
        task, match = found
        values = _values(match)
        calls.append((task.tool or values["tool"], task.arguments(values)))
        verbs.append(not task.follower)
        place = match.end()
    _share_environment(calls, verbs)
    return calls


def _match(text: str, place: int, *, after: str) -> tuple[Task, re.Match[str]] | None:
    for task in TASKS:
        if (not task.follower or task.tool == after) and (match := task.pattern.match(text, place)):
            return task, match
    return None


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match else place


def _values(match: re.Match[str]) -> dict[str, str]:
    return {name: _unquoted(value) for name, value in match.groupdict().items() if value}


def _unquoted(text: str) -> str:
    return text[1:-1] if text[0] in "\"'" and text[-1] == text[0] and len(text) > 1 else text


def _share_environment(calls: list[tuple[str, Arguments]], verbs: list[bool]) -> None:
    """In "deploy A 1 and B 2 to staging" both go to staging: a deployment takes the environment of its follower."""
    for (_, arguments), (_, following), has_verb in reversed(list(zip(calls, calls[1:], verbs[1:], strict=False))):
        if not has_verb and "environment" in following:
            arguments.setdefault("environment", following["environment"])


# --- the turns of a conversation --------------------------------------------------------------------------------------


def reply(messages: Sequence[BaseMessage], tools: Sequence[str]) -> AIMessage:
    """Proposes the calls of the last task; when they are answered, says what came of them, and no more."""
    last = max((place for place, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
    since = messages[last + 1 :]
    if any(isinstance(message, ToolMessage) for message in since):
        return _say("\n".join(_outcomes(since)))
    wanted = understand(messages[last].text) if last >= 0 else None
    if wanted is None:
        return _say(_help(tools))
    missing = sorted({tool for tool, _ in wanted} - set(tools))
    if missing:
        return _say(f"I understand the task, and there is no tool {', '.join(missing)} here. {_help(tools)}")
    calls = [
        ToolCall(name=tool, args=arguments, id=f"practice-{len(messages)}-{position}", type="tool_call")
        for position, (tool, arguments) in enumerate(wanted)
    ]
    return AIMessage(content="", tool_calls=calls, response_metadata=_facts("tool_calls"))


def _say(text: str) -> AIMessage:
    return AIMessage(content=text, response_metadata=_facts("stop"))


def _facts(finish: str) -> dict[str, str]:
    return {"model_name": "practice", "finish_reason": finish}


def _help(tools: Sequence[str]) -> str:
    known = [f'"{example}"' for tool, example in EXAMPLES.items() if tool in tools]
    if others := [tool for tool in tools if tool not in EXAMPLES]:
        known.append(f'"call {others[0]} NAME=VALUE"')
    if not known:
        return "I am the practice model, no language model, and there is no tool here that I could call."
    return f"I am the practice model, no language model. I understand, for example: {', '.join(known)}."


def _outcomes(since: Sequence[BaseMessage]) -> Iterator[str]:
    calls = {call["id"]: call for message in since if isinstance(message, AIMessage) for call in message.tool_calls}
    for message in since:
        if isinstance(message, ToolMessage):
            yield _outcome(calls.get(message.tool_call_id), message)


def _outcome(call: ToolCall | None, message: ToolMessage) -> str:
    text = shorten(message.text.strip(), 2000) or "(no text)"
    name = call["name"] if call else message.name or "A tool"
    do, done = _words(call["name"], call["args"]) if call else (name, name)
    if _was_rejected(message, text):
        return f"Not done: it was rejected when I wanted to {do}. I will not try it again. {text}"
    if message.status == "error":
        return f"I wanted to {do}, and this came back: {text}"
    if re.search(r"\b(modified|edited|changed the arguments|other arguments)\b", text[:500], re.IGNORECASE):
        return f"{name} ran with other arguments than I had proposed: {text}"
    return text if text.startswith(done) else f"{done}: {text}"


REJECTED = re.compile(r"\b(?:rejected|declined)\b", re.IGNORECASE)
BEGINS_REJECTED = re.compile(r"(?:the |an )?(?:operator )?(?:has )?(?:rejected|declined)\b(?:[:.,]| by| this| it)", re.IGNORECASE)


def _was_rejected(message: ToolMessage, text: str) -> bool:
    """A result may speak of rejections too, so one without the status of an error must begin as one."""
    found = REJECTED.search(text[:500]) if message.status == "error" else BEGINS_REJECTED.match(text)
    return found is not None


def _words(tool: str, arguments: Arguments) -> tuple[str, str]:
    match tool:
        case "deploy_code":
            where = arguments.get("environment", PRODUCTION)
            what = f"{arguments.get('project_id')} {arguments.get('version')} to {where}"
            return f"deploy {what}", f"Deployed {what}"
        case "read_database":
            return f"ask the database {arguments.get('sql')!r}", f"The database answers {arguments.get('sql')!r}"
        case "create_ticket":
            return f"open the ticket {arguments.get('title')!r}", f"Opened the ticket {arguments.get('title')!r}"
        case _:
            return f"call {tool}", f"{tool} answered"


class PracticeModel(BaseChatModel):
    """Behaves like a language model in every other way: bound tools, tool calls, several turns, small chunks."""

    @property
    def _llm_type(self) -> str:
        return "practice"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        tools = [tool["function"]["name"] for tool in kwargs.get("tools", [])]
        return ChatResult(generations=[ChatGeneration(message=reply(messages, tools))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, **kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        message = self._generate(messages, stop, **kwargs).generations[0].message
        for piece in _pieces(message) if isinstance(message, AIMessage) else ():
            chunk = ChatGenerationChunk(message=piece)
            if run_manager and chunk.text:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


def _pieces(message: AIMessage) -> Iterator[AIMessageChunk]:
    """Word by word, and the arguments of a call a few characters at a time, as servers send them."""
    for word in re.findall(r"\S+\s*|\s+", message.text):
        yield AIMessageChunk(content=word)
    for index, call in enumerate(message.tool_calls):
        yield _call_piece(index, "", call["name"], call["id"])
        arguments = json.dumps(call["args"], ensure_ascii=False)
        for start in range(0, len(arguments), 8):
            yield _call_piece(index, arguments[start : start + 8])
    yield AIMessageChunk(content="", response_metadata=message.response_metadata)


def _call_piece(index: int, arguments: str, name: str | None = None, id: str | None = None) -> AIMessageChunk:
    piece = {"index": index, "args": arguments, "name": name, "id": id, "type": "tool_call_chunk"}
    return AIMessageChunk(content="", tool_call_chunks=[piece])  # type: ignore[list-item]
