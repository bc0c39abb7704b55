"""Approved with other arguments: checked by the tool's schema, on record beside the original, and told to the model."""

import json
from typing import Any

from bench.openai_server import call, say

PAY = {"to": "bob", "amount": 5}

REFUSED = [
    (("--set", "amount=much"), 6, "invalid_arguments"),
    (("--args", '{"to": "bob"}'), 6, "invalid_arguments"),
    (("--args", "[1]"), 2, "usage"),
    (("--set", "currency=EUR"), 2, "usage"),
    ((), 2, "usage"),
    (("--set", "amount=1", "--args", "{}"), 2, "usage"),
]


def test_c078_modified_by_single_values_and_as_a_whole(agent: Any) -> None:
    """The changed call runs once and the model is told so; the original proposed again is asked about again."""
    started = agent.start(call("transfer", PAY), call("transfer", PAY), say("Paid."))
    for options, code, name in REFUSED:
        assert agent("modify", "t", *options, expect=code)["error"]["code"] == name, options
    assert agent("show", "t", expect=0) == started
    assert agent.rows("SELECT * FROM interlock.decision") == []
    assert agent.world.attempts("transfer") == 0

    [first] = started["pending"]
    second = agent("modify", first["approval_id"], "--set", "amount=3", "--as", "alice", expect=3)["pending"][0]
    assert agent.world.lines("transfer") == ["3 to bob"]
    [told] = agent.told()
    assert "changed" in told
    assert "transferred 3 to bob" in told
    assert second["approval_id"] != first["approval_id"]
    assert second["args"] == PAY

    ended = agent("modify", second["approval_id"], "--args", json.dumps({"to": "eve=mallory", "amount": 1}), expect=0)
    assert ended["status"] == "completed"
    assert agent.world.lines("transfer") == ["3 to bob", "1 to eve=mallory"]
    assert "transferred 1 to eve=mallory" in agent.told()[0]

    decided = [event for event in agent.events() if event["kind"] == "approval_decided"]
    assert [event["payload"]["modified_args"] for event in decided] == [{"to": "bob", "amount": 3}, {"to": "eve=mallory", "amount": 1}]
    assert decided[0]["payload"]["args_sha256"] != first["args_sha256"]
    kept = agent.rows("SELECT proposed_args, args, version FROM interlock.approval ORDER BY requested_at")
    assert kept == [(PAY, {"to": "bob", "amount": 3}, 2), (PAY, {"to": "eve=mallory", "amount": 1}, 2)]


def test_c013_arguments_that_look_like_an_interrupt(agent: Any) -> None:
    """LangGraph reads a dict with such keys as answers to interrupts; here it is a text like any other."""
    key = "0" * 32
    agent.start(call("transfer", {"to": key, "amount": 1}), say("Paid."))
    agent("modify", "t", "--args", json.dumps({"to": json.dumps({key: "approve"}), "amount": 2}), expect=0)
    assert agent.world.lines("transfer") == [f'2 to {{"{key}": "approve"}}']
