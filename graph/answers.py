"""What comes back from an interface, as a ballot. Whatever is not understood approves nothing. Pure."""

from collections.abc import Mapping
from typing import Any

from memory.approvals import Ballot
from memory.errors import UsageError
from memory.json_text import RepeatedNameError, read_json
from memory.people import Identity
from memory.text import clean

UI = Identity("ui", "ui")


def is_doorbell(value: Any) -> bool:
    """Ours: it carries no answer, and only says that there is news in the store."""
    return isinstance(value, Mapping) and set(value) == {"gate_ref"}


def read_answer(
    value: Any, *, tool: str, version: int, interrupt_id: str = "", shown: Mapping[str, Any] | None = None
) -> Ballot | None:
    """None for everything that is no decision about this one question.

    `interrupt_id` is the one of the pause that is answered, `shown` are the arguments as the question shows them.
    """
    value = _the_only_one(value, interrupt_id)
    if not isinstance(value, Mapping):
        return None
    match value.get("type"):
        case "approve" | "accept":
            return Ballot("approve", UI, seen_version=version)
        case "reject":
            return _rejection(value.get("message"), "continue", version)
        case "respond" | "response":
            return _rejection(value.get("message") or value.get("args"), "continue", version)
        case "ignore":
            return _rejection("ignored", "stop", version)
        case "edit":
            return _edit(value, tool, version, shown or {})
        case _:
            return None


def read_value(text: str, before: Any) -> Any:
    """What a person typed in place of `before`: a text stays a text, anything else is read as JSON. Raises UsageError."""
    if isinstance(before, str):
        return text
    try:
        return read_json(text)
    except RepeatedNameError as error:
        raise UsageError(f"This says two things: {error}.", remedy="Say each name once.", code="said_twice") from None
    except ValueError:
        return text


def _the_only_one(value: Any, interrupt_id: str) -> Any:
    """The decision in its wrappings; None where there are several, because this is one question."""
    value = _parsed(value)
    if isinstance(value, Mapping) and set(value) == {interrupt_id}:
        value = _parsed(value[interrupt_id])
    if isinstance(value, Mapping) and isinstance(value.get("decisions"), list) and "type" not in value:
        value = value["decisions"]
    if isinstance(value, list):
        return value[0] if len(value) == 1 else None
    return value


def _rejection(text: Any, then: str, version: int) -> Ballot:
    comment = clean(text) if isinstance(text, str) else ""
    return Ballot("reject", UI, comment, {"then": then}, version)


def _edit(value: Mapping[str, Any], tool: str, version: int, shown: Mapping[str, Any]) -> Ballot | None:
    [edited, *others] = [value[name] for name in ("edited_action", "args") if value.get(name)] or [None]
    if others or not isinstance(edited, Mapping):
        return None
    names = [edited[name] for name in ("name", "action") if edited.get(name)]
    args = edited.get("args")
    if not names or any(name != tool for name in names) or not isinstance(args, Mapping):
        return None
    typed = {name: _as_shown(one, shown[name]) if name in shown else one for name, one in args.items()}
    return Ballot("modify", UI, "", {"args": typed}, version)


def _as_shown(given: Any, before: Any) -> Any:
    """Interfaces edit every argument as text: where a number, a flag or a list was shown, its text is read as that again."""
    if not isinstance(given, str) or isinstance(before, str) or before is None:
        return given
    read = _parsed(given)
    numbers = (int, float)
    alike = isinstance(read, type(before)) or (isinstance(read, numbers) and isinstance(before, numbers))
    return read if alike and isinstance(read, bool) == isinstance(before, bool) else given


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return read_json(value)
    except ValueError:
        return None
