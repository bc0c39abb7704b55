"""Calls of one message run side by side, each once, and the thread goes on when all of them have ended."""

from typing import Any

from bench.openai_server import call, calls, say


def test_each_of_many_calls_runs_once_and_is_told_once(agent: Any) -> None:
    notes = [call("note_add", {"text": f"note {number}"}) for number in range(5)]
    ended = agent.start(calls(*notes), say("all noted"), expect=0)
    assert ended["final_answer"] == "all noted"
    assert sorted(agent.world.lines("note_add")) == [f"note {number}" for number in range(5)]
    assert [execution["attempts"] for execution in ended["executions"]] == [1] * 5
    assert agent.unanswered() == []
    assert len(agent.told()) == 5
    steps = [event["payload"]["next"] for event in agent.events() if event["kind"] == "transition"]
    assert steps.count(["execute_tools"]) == 1


def test_one_unknown_outcome_among_many_calls(agent: Any) -> None:
    mixed = calls(*(call("note_add", {"text": f"note {number}"}) for number in range(3)), call("transfer", {"to": "ann", "amount": 1}))
    asked = agent.start(mixed, say("done"))["pending"][0]["approval_id"]
    agent.cli("approve", asked, environment=agent.world.environment(crash="after")).expect(-9)
    again = agent("resume", "t", expect=3)
    assert [one["kind"] for one in again["pending"]] == ["unknown_outcome"]
    agent("resolve", again["pending"][0]["approval_id"], "--done", "seen at the bank", expect=0)
    assert (agent.world.count("transfer"), agent.world.count("note_add")) == (1, 3)
    assert agent.unanswered() == []
