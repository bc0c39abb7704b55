"""What a model answered: its text, and its calls as they were proposed.

A server's answer becomes calls that say exactly what it said, or calls with a `problem`; never a different call.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from memory.canonical import problem_of
from memory.json_text import read_json
from memory.text import clean, shorten

RAW_CALLS = "raw_calls"  # in additional_kwargs: [{"id", "name", "arguments", "problem"}], nothing of it parsed
DEEPEST_ARGUMENTS = 64
CUT = {"length": "the length limit", "max_tokens": "the length limit", "content_filter": "the content filter"}


@dataclass(frozen=True)
class ProposedCall:
    """One call, as the model proposed it. With a `problem`, `args` is None and nothing may run; the model is told."""

    name: str  # cleaned; may be empty, then there is a problem
    args: dict[str, Any] | None
    problem: str | None
    raw: str  # the arguments as they came, cleaned and shortened
    id: str = ""  # the server's: may be empty, or the id of another call


@dataclass(frozen=True)
class Answer:
    text: str
    calls: tuple[ProposedCall, ...] = ()
    usage: dict[str, int] | None = None  # input_tokens, output_tokens, total_tokens; None where the server does not say
    model_name: str = ""
    cut: str = ""  # why the text ends before its end, such as "the length limit"


class Voice:
    """Passes on what the model says, as it says it, without a leading `<think>…</think>`."""

    OPEN, CLOSE = "<think>", "</think>"

    def __init__(self, on_token: Callable[[str], None] | None = None) -> None:
        self.on_token = on_token
        self.was_heard = False
        self.is_broken = False  # on_token raised: that is the listener's trouble, not the model's
        self.begin()

    def begin(self) -> None:
        self._state = "undecided"  # then thinking, undecided, …, speaking
        self._held = ""
        self._has_thought = False

    def say(self, piece: str) -> None:
        self._utter(self.filter(piece))

    def end(self) -> None:
        self._utter(self._held if self._state == "undecided" else "")

    def _utter(self, text: str) -> None:
        if text and self.on_token:
            self.was_heard = self.is_broken = True
            self.on_token(clean(text))
            self.is_broken = False

    def filter(self, piece: str) -> str:
        if self._state == "speaking":
            return piece
        self._held += piece
        while True:
            if self._state == "undecided":
                start = self._held.lstrip()
                self._held = start if self._has_thought else self._held
                if len(start) < len(self.OPEN) and self.OPEN.startswith(start):
                    return ""
                if not start.startswith(self.OPEN):
                    self._state = "speaking"
                    return self._held
                self._state, self._has_thought = "thinking", True
            _, closed, rest = self._held.partition(self.CLOSE)
            if not closed:
                self._held = self._held[1 - len(self.CLOSE) :]
                return ""
            self._state, self._held = "undecided", rest


def spoken(text: str) -> str:
    """The text without what was thought before it."""
    said: list[str] = []
    voice = Voice(said.append)
    voice.say(text)
    voice.end()
    return "".join(said)


def read_message(message: AIMessage, name: str) -> Answer:
    facts = message.response_metadata
    cut = CUT.get(str(facts.get("finish_reason") or facts.get("stop_reason") or ""), "")
    usage = message.usage_metadata
    return Answer(
        text=spoken(text_of(message)),
        calls=tuple(_read_calls(message, cut)),
        usage={key: usage[key] for key in ("input_tokens", "output_tokens", "total_tokens")} if usage else None,
        model_name=str(facts.get("model_name") or facts.get("model") or name.partition(":")[2] or name),
        cut=cut,
    )


def _read_calls(message: AIMessage, cut: str) -> list[ProposedCall]:
    """Unparsed where they came unparsed: langchain completes arguments that were cut off in a stream."""
    raw = message.additional_kwargs.get(RAW_CALLS)
    if raw is not None:
        return [read_call(**call, cut=cut) for call in raw]
    if isinstance(message, AIMessageChunk) and message.tool_call_chunks:
        pieces = message.tool_call_chunks
        return [read_call(piece["name"], piece["args"], piece["id"], cut=cut) for piece in pieces]
    parsed = [read_call(call["name"], _json(call["args"]), call["id"], cut=cut) for call in message.tool_calls]
    unread = "the call cannot be read"
    broken = [
        read_call(call["name"], call["args"], call["id"], cut=cut, problem=call["error"] or unread)
        for call in message.invalid_tool_calls
    ]
    return parsed + broken


def read_call(name: Any, arguments: Any, id: Any = "", *, problem: str | None = None, cut: str = "") -> ProposedCall:
    """`problem` is one that is known already, `cut` why the answer ends early."""
    raw = arguments or "" if isinstance(arguments, str | None) else _json(arguments)
    args: dict[str, Any] | None = None
    if not isinstance(name, str) or not name.strip():
        name, problem = "", problem or "the call names no tool"
    if cut:
        problem = problem or f"the answer was cut off by {cut}, so the call may be incomplete"
    if not problem:
        args, problem = parse_arguments(arguments)
    return ProposedCall(
        name=shorten(clean(name), 200),
        args=args,
        problem=shorten(clean(problem), 500) if problem else None,
        raw=shorten(clean(raw)),
        id=shorten(clean(id), 200) if isinstance(id, str) else "",
    )


MOST_CHARACTERS = 250_000  # of a call's arguments as JSON


def parse_arguments(raw: Any) -> tuple[dict[str, Any] | None, str | None]:
    """The arguments, or why there are none. Nothing at all means that the call has no arguments."""
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return {}, None
    if not isinstance(raw, str):
        return None, f"the arguments came as JSON, not as text that holds JSON: {_excerpt(_json(raw))}"
    if len(raw) > MOST_CHARACTERS:
        return None, f"the arguments are longer than {MOST_CHARACTERS:,} characters, more than a person can look at: {_excerpt(raw)}"
    try:
        value = read_json(raw)
        problem = "it is nested too deeply" if _is_too_deep(value) else problem_of(value)
    except ValueError as error:
        value, problem = None, str(error)
    if problem is None and not isinstance(value, dict):
        problem = "they are no JSON object"
    if problem:
        return None, f"the arguments cannot be used ({shorten(problem, 200)}): {_excerpt(raw)}"
    return value, None


def _excerpt(raw: str) -> str:
    return repr(shorten(raw, 200))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_too_deep(value: Any, left: int = DEEPEST_ARGUMENTS) -> bool:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not left or any(_is_too_deep(item, left - 1) for item in items)


def text_of(message: BaseMessage) -> str:
    """What is said to the user: strings and text parts, not the parts that hold reasoning."""
    content: Any = message.content
    if isinstance(content, str):
        return content
    texts = (part if isinstance(part, str) else part.get("text") for part in content if _is_text(part))
    return "".join(text for text in texts if isinstance(text, str))


def _is_text(part: Any) -> bool:
    return isinstance(part, str) or part.get("type") == "text"
