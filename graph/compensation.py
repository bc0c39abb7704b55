"""What a thread did, what of it is undone, and what is not: told from the stores alone. Pure."""

from collections.abc import Sequence
from typing import Any

from memory.approvals import Approval
from memory.canonical import sha256
from memory.ledger import Execution

NO_WAY_BACK = "its tool declares no way back"


def undo_key(call_key: str) -> str:
    """The undo of a call is a call of its own; it has one key for ever."""
    return sha256([call_key, "undo"])


def effects(executions: Sequence[Execution]) -> list[Execution]:
    """What took effect or may have, latest first."""
    return [one for one in reversed(executions) if one.undoes is None and one.status != "failed"]


def undoable(executions: Sequence[Execution]) -> list[Execution]:
    """What `reject --then compensate` would undo, in that order."""
    begun = {one.undoes for one in executions}
    return [one for one in effects(executions) if one.status == "succeeded" and one.undo and one.call_key not in begun]


def wish(approvals: Sequence[Approval], call_key: str = "") -> Approval | None:
    """The rejection by which a person wished that everything be undone; one that names this call, where several did."""
    wished = [one for one in approvals if one.status == "rejected" and (one.outcome or {}).get("then") == "compensate"]
    named = (one for one in wished if call_key in (one.outcome or {}).get("undo", []))
    return next(named, wished[0] if wished else None)


def stopped(approvals: Sequence[Approval]) -> str | None:
    """Who said that undoing is to stop, if somebody did."""
    for one in approvals:
        if one.kind == "compensation" and one.status == "rejected" and (one.outcome or {}).get("then") == "stop":
            return str((one.outcome or {}).get("by"))
    return None


def outlook(executions: Sequence[Execution]) -> dict[str, Any]:
    """For the one who decides: what would be undone, and what could not be."""
    can = undoable(executions)
    others = [one for one in effects(executions) if one not in can]
    return {"undoes": [_named(one) for one in can], "cannot_undo": [{**_named(one), "why": _why_not(one)} for one in others]}


def report(executions: Sequence[Execution], approvals: Sequence[Approval]) -> dict[str, Any] | None:
    """None where nobody wished it. Latest effect first, which is the order of undoing."""
    wished = wish(approvals)
    if wished is None:
        return None
    undos = {one.undoes: one for one in executions if one.undoes}
    asked = {one.call_key: one for one in approvals if one.kind == "compensation"}  # oldest first: the last one counts
    halted = stopped(approvals)
    rows = [_row(effect, undos.get(effect.call_key), asked.get(undo_key(effect.call_key)), halted) for effect in effects(executions)]
    outcome = wished.outcome or {}
    return {
        "wished_by": outcome.get("by"),
        "comment": outcome.get("comment", ""),
        "undone": [row for row in rows if row["state"] == "undone"],
        "not_undone": [row for row in rows if row["state"] != "undone"],
    }


def in_words(told: dict[str, Any]) -> str:
    undone = ", ".join(row["tool"] for row in told["undone"])
    left = ", ".join(f"{row['tool']} ({row['why']})" for row in told["not_undone"])
    return f"Undone: {undone or 'nothing'}. Not undone: {left or 'nothing'}."


def _named(effect: Execution) -> dict[str, Any]:
    return {"tool": effect.tool, "call_key": effect.call_key, "undo": effect.undo}


def _row(effect: Execution, undo: Execution | None, asked: Approval | None, halted: str | None) -> dict[str, Any]:
    state, why = _state(effect, undo, asked, halted)
    more = {"undo_key": undo.call_key, "attempts": undo.attempts} if undo else {}
    return {**_named(effect), **more, "state": state, "why": why}


def _state(effect: Execution, undo: Execution | None, asked: Approval | None, halted: str | None) -> tuple[str, str]:
    if undo is not None:
        return _of_undo(undo)
    if effect.status != "succeeded" or not effect.undo:
        return "no_way_back" if effect.status == "succeeded" else "unknown", _why_not(effect)
    if asked is not None and asked.status == "pending":
        return "waiting", "a person is asked whether it may be undone"
    if asked is not None and asked.status in {"rejected", "cancelled", "expired"}:
        if asked.status != "rejected":
            return "refused", f"the question about undoing it was {asked.status}"
        return "refused", f"{(asked.outcome or {}).get('by', 'a person')} said no to undoing it"
    return ("refused", f"{halted} stopped the undoing") if halted else ("not_begun", "its undo was not begun")


def _of_undo(undo: Execution) -> tuple[str, str]:
    match undo.status:
        case "succeeded":
            return "undone", undo.result or ""
        case "failed":
            return "failed", f"its undo failed: {undo.error}"
        case "abandoned":
            return "unknown", f"nobody knows whether its undo took effect, and a person gave it up. {undo.error or ''}".strip()
        case "started" | "unknown":
            return "unknown", "its undo was begun, and nobody knows whether it took effect"


def _why_not(effect: Execution) -> str:
    return NO_WAY_BACK if effect.status == "succeeded" else "nobody knows whether it took effect itself"
