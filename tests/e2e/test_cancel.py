"""Ending a thread: open questions are closed, nothing that waits will run."""

from typing import Any

from bench.openai_server import call, calls


def test_cancel_of_a_waiting_thread(agent: Any) -> None:
    started = agent.start(calls(call("transfer", {"to": "ann", "amount": 1}), call("transfer", {"to": "ben", "amount": 2})))
    assert agent("cancel", "t", expect=2)["error"]["code"] == "usage"
    ended = agent("cancel", "t", "--comment", "wrong project", "--as", "alice", expect=0)
    assert (ended["status"], ended["pending"], ended["executions"]) == ("cancelled", [], [])
    for asked in started["pending"]:
        error = agent("approve", asked["approval_id"], expect=5)["error"]
        assert (error["code"], error["by"]) == ("already_decided", "alice")
    assert agent("resume", "t", expect=0) == ended
    assert agent.world.attempts("transfer") == 0
    assert len(agent.model.requests) == 1
    assert agent.unanswered() == []
    asked_for = next(event for event in agent.events() if event["kind"] == "cancel_requested")
    assert (asked_for["actor"], asked_for["payload"]["comment"]) == ("alice", "wrong project")


def test_cancel_keeps_what_was_done(agent: Any) -> None:
    started = agent.start(calls(call("transfer", {"to": "ann", "amount": 1}), call("transfer", {"to": "ben", "amount": 2})))
    agent("approve", started["pending"][0]["approval_id"], expect=3)
    ended = agent("cancel", "t", "--comment", "enough", expect=0)
    assert [execution["status"] for execution in ended["executions"]] == ["succeeded"]
    assert agent.world.count("transfer") == 1
    assert agent.unanswered() == []
