"""What the published interfaces accept and send, re-expressed as fixtures: our question passes their parsers, their answers ours.

As of agent-inbox f38301b, agent-chat-ui fdc87e6 and deep-agents-ui 161a3ea.
"""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from graph.answers import read_answer
from graph.questions import payload
from memory.approvals import Approval
from memory.people import NOBODY, Identity

ARGS = {"to": "bob", "amount": 5, "urgent": True, "tags": ["a"], "note": None}


def question(kind: Any = "pre_execution", expires_at: datetime | None = None) -> dict[str, Any]:
    return payload(Approval(
        approval_id="a" * 32, thread_id="t", call_key="k", tool_call_id="call_1", kind=kind, status="pending", tool="pay", args=ARGS,
        args_sha256="h", proposed_args=ARGS, schema_sha256="s", note="", said="", tier=1, required=1, have=0, rules={}, version=3,
        graph_version="1", outcome=None, requested_at=datetime.now(UTC), expires_at=expires_at, decided_at=None,
        overdue=False,
        requester=Identity("ada", "os"), starter=NOBODY,
    ))  # fmt: skip


def test_a_deadline_is_written_as_every_time_is() -> None:
    """In the words of `pending[].expires_at`, whatever the zone of the session that it was read in."""
    summer = datetime(2026, 7, 1, 2, 30, tzinfo=timezone(timedelta(hours=2)))
    assert question(expires_at=summer)["gate"]["expires_at"] == "2026-07-01T00:30:00.000000Z"
    assert question()["gate"]["expires_at"] is None


def as_agent_chat_ui(value: Any) -> dict[str, Any]:
    """It shows a question only if every action has a name and arguments, and every review an action and its decisions."""
    requests, reviews = value["action_requests"], value["review_configs"]
    assert requests and reviews
    assert all(isinstance(one["name"], str) and isinstance(one["args"], dict) for one in requests)
    known = {"approve", "edit", "reject", "respond"}
    assert all(isinstance(one["action_name"], str) and set(one["allowed_decisions"]) <= known for one in reviews)
    return {"name": requests[0]["name"], "args": requests[0]["args"], "allowed": reviews[0]["allowed_decisions"]}


def as_agent_inbox(value: Any) -> dict[str, Any]:
    """It turns the first action into its older form, and reads the arguments under another name."""
    request, review = value["action_requests"][0], value["review_configs"][0]
    return {"name": request["name"], "args": request["arguments"], "allowed": review["allowed_decisions"]}


def as_deep_agents_ui(value: Any) -> dict[str, Any]:
    """It looks for the review of the first action by name, in camel case."""
    request = value["action_requests"][0]
    [review] = [one for one in value["review_configs"] if one["actionName"] == request["name"]]
    return {"name": request["name"], "args": request["args"], "allowed": review["allowedDecisions"]}


@pytest.mark.parametrize("parse", [as_agent_chat_ui, as_agent_inbox, as_deep_agents_ui])
def test_the_question_is_shown_by_every_interface(parse: Any) -> None:
    assert parse(question()) == {"name": "pay", "args": ARGS, "allowed": ["approve", "edit", "reject"]}
    assert parse(question("unknown_outcome"))["allowed"] == ["reject"]
    assert "pay" in question()["action_requests"][0]["description"]


def read(value: Any) -> tuple[str, str, Any] | None:
    ballot = read_answer(value, tool="pay", version=3, shown=ARGS)
    if ballot is None:
        return None
    assert ballot.actor.source == "ui" and ballot.seen_version == 3
    return ballot.type, ballot.comment, ballot.detail


MORE = {**ARGS, "amount": 6}


def edited(**args: Any) -> Any:
    return {"decisions": [{"type": "edit", "edited_action": {"name": "pay", "args": {**ARGS, **args}}}]}



@pytest.mark.parametrize(
    ("sent", "means"),
    [
        # Agent Chat UI, and deep-agents-ui
        ({"decisions": [{"type": "approve"}]}, ("approve", "", {})),
        ({"decisions": [{"type": "reject", "message": "no"}]}, ("reject", "no", {"then": "continue"})),
        ({"decisions": [{"type": "reject"}]}, ("reject", "", {"then": "continue"})),
        (edited(amount=6), ("modify", "", {"args": MORE})),
        # what was edited comes back as text
        (edited(amount="6", urgent="false", tags='["b"]'), ("modify", "", {"args": {**MORE, "urgent": False, "tags": ["b"]}})),
        (edited(amount="six"), ("modify", "", {"args": {**ARGS, "amount": "six"}})),
        (edited(to="7"), ("modify", "", {"args": {**ARGS, "to": "7"}})),
        # Agent Inbox
        ([{"type": "accept", "args": None}], ("approve", "", {})),
        # what is approved is what was shown
        ([{"type": "accept", "args": {"action": "pay", "args": {"amount": 1_000_000}}}], ("approve", "", {})),
        ([{"type": "edit", "args": {"action": "pay", "args": MORE}}], ("modify", "", {"args": MORE})),
        ([{"type": "response", "args": "why?"}], ("reject", "why?", {"then": "continue"})),
        ([{"type": "ignore", "args": None}], ("reject", "ignored", {"then": "stop"})),
        # Studio: what a person types
        ('{"decisions": [{"type": "approve"}]}', ("approve", "", {})),
        ({"type": "respond", "message": "why?"}, ("reject", "why?", {"then": "continue"})),
    ],
)  # fmt: skip
def test_each_answer_means_what_its_interface_says(sent: Any, means: Any) -> None:
    assert read(sent) == means


@pytest.mark.parametrize(
    "sent",
    [
        None, True, "yes", "approve", {}, [], {"decisions": []}, {"decisions": [{"type": "approve"}, {"type": "approve"}]},
        {"type": "Approve"}, {"approve": True}, [{"type": "edit", "args": {"action": "other", "args": ARGS}}],
        {"decisions": "approve"}, [["approve"]],
        {"decisions": [{"type": "edit", "edited_action": {"name": "pay", "args": None}}]},
    ],
)  # fmt: skip
def test_everything_else_decides_nothing(sent: Any) -> None:
    assert read(sent) is None
