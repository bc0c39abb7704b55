"""What interfaces send: every form that is understood, and that nothing else is an answer."""

import json
from typing import Any

import pytest

from graph.answers import is_doorbell, read_answer

ID = "0123456789abcdef0123456789abcdef"
NEW = {"to": "bob", "amount": 6}


def read(value: Any) -> tuple[str, str, dict[str, Any]] | None:
    ballot = read_answer(value, tool="transfer", version=3, interrupt_id=ID)
    if ballot is None:
        return None
    assert (ballot.actor.name, ballot.actor.source, ballot.seen_version) == ("ui", "ui", 3)
    return ballot.type, ballot.comment, dict(ballot.detail)


REJECTED = ("reject", "no", {"then": "continue"})
DECISIONS: list[tuple[Any, Any]] = [
    ({"type": "approve"}, ("approve", "", {})),
    ({"type": "edit", "edited_action": {"name": "transfer", "args": NEW}}, ("modify", "", {"args": NEW})),
    ({"type": "reject", "message": "no"}, REJECTED),
    ({"type": "reject"}, ("reject", "", {"then": "continue"})),
    ({"type": "respond", "message": "no"}, REJECTED),
    ({"type": "accept", "args": None}, ("approve", "", {})),
    ({"type": "accept", "args": {"action": "transfer", "args": {"to": "eve", "amount": 9}}}, ("approve", "", {})),  # never its arguments
    ({"type": "edit", "args": {"action": "transfer", "args": NEW}}, ("modify", "", {"args": NEW})),
    ({"type": "response", "args": "no"}, REJECTED),
    ({"type": "ignore", "args": None}, ("reject", "ignored", {"then": "stop"})),
    ({"type": "reject", "message": "a\x00b\u202e"}, ("reject", "a�b\u202e", {"then": "continue"})),
]


@pytest.mark.parametrize(("decision", "meaning"), DECISIONS)
def test_every_decision_in_every_wrapping(decision: Any, meaning: Any) -> None:
    for value in (decision, [decision], {"decisions": [decision]}):
        for wrapped in (value, {ID: value}, json.dumps(value), json.dumps({ID: value}), {ID: json.dumps(value)}):
            assert read(wrapped) == meaning


APPROVE = {"type": "approve"}
ODD: list[Any] = [
    None, True, False, 0, 1, "", "   ", "approve", "APPROVE", '"approve"', "yes", "ok", "true", "{", "[" * 100_000, [], {}, {"type": None},
    {"type": ["approve"]}, {"type": "APPROVE"}, {"type": "approve "}, {"type": "escalate"}, {"type": "cancel"}, {"type": "done"},
    {"type": "expire"}, {"decisions": []}, {"decisions": [APPROVE, APPROVE]}, [APPROVE, APPROVE], {"decisions": APPROVE},
    {"decisions": "approve"}, {"decisions": ["approve"]}, [[APPROVE]], {"decision": "approve"}, {"approved": True}, {"action": "approve"},
    {"f" * 32: APPROVE}, {ID: APPROVE, "f" * 32: APPROVE}, {ID: {ID: APPROVE}}, {"type": "edit"}, {"type": "edit", "edited_action": NEW},
    {"type": "edit", "edited_action": {"name": "another", "args": NEW}}, {"type": "edit", "edited_action": {"args": NEW}},
    {"type": "edit", "edited_action": {"name": "transfer", "args": "5"}}, {"type": "edit", "args": NEW},
    {"type": "edit", "args": {"action": "another", "args": NEW}}, {"type": "edit", "args": None},
]  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=lambda value: str(value)[:40])
def test_anything_else_is_no_answer(value: Any) -> None:
    assert read(value) is None


def test_a_doorbell_carries_no_answer() -> None:
    assert is_doorbell({"gate_ref": {"approval_id": "a"}})
    assert not is_doorbell({"gate_ref": {}, "type": "approve"})
