"""Ending a thread: open questions are closed, nothing that waits will run."""

from threading import Event
from typing import Any

from bench.openai_server import call, calls, say


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


def test_cancel_before_the_thread_was_driven(agent: Any) -> None:
    agent.model.play(call("note_add", {"text": "too late"}))
    agent("start", "do what is due", "--thread", "t", "--detach", expect=0)
    assert agent("cancel", "t", "--comment", "not needed", expect=0)["status"] == "cancelled"
    assert agent("resume", "t", expect=0)["status"] == "cancelled"
    assert (agent.model.requests, agent.world.attempts("note_add")) == ([], 0)


def test_cancel_while_a_driver_works(agent: Any) -> None:
    wished, late = Event(), call("note_add", {"text": "too late"})
    agent.model.play(lambda _: late if wished.wait(60) else say("nobody wished anything"), say("done"))
    driver = agent.cli.spawn("start", "do what is due", "--thread", "t", "--json")
    agent.model.wait_for_requests(1)
    agent("cancel", "t", "--comment", "stop it", "--as", "alice", expect=0)
    wished.set()
    ended = driver.wait()
    assert (ended.exit_code, ended.json["status"]) == (0, "cancelled")
    assert agent.world.attempts("note_add") == 0
    assert agent.unanswered() == []


def test_a_voter_of_a_quorum_may_still_cancel_or_say_no(agent: Any) -> None:
    started = agent.start(calls(call("transfer", {"to": "ann", "amount": 1}), call("transfer", {"to": "ben", "amount": 2})))
    with agent.superuser() as database:
        database.execute("UPDATE interlock.approval SET required = 2")
    first, second = (asked["approval_id"] for asked in started["pending"])
    assert [one["have"] for one in agent("approve", first, "--as", "alice", expect=3)["pending"]] == [1, 0]
    assert agent("approve", first, "--as", "bob", expect=6)["error"]["code"] == "voted_already"  # unverified people are one voter
    agent("approve", second, "--as", "alice", expect=3)
    agent("reject", second, "--as", "alice", "--comment", "on second thoughts", expect=3)
    assert agent("cancel", "t", "--comment", "enough", "--as", "alice", expect=0)["status"] == "cancelled"
    assert agent.world.attempts("transfer") == 0


def test_cancel_tells_of_a_call_whose_outcome_nobody_knows(agent: Any) -> None:
    asked = agent.start(call("transfer", {"to": "ann", "amount": 1}))["pending"][0]["approval_id"]
    agent.cli("approve", asked, environment=agent.world.environment(crash="after")).expect(-9)
    ended = agent("cancel", "t", "--comment", "enough", expect=0)
    assert [(one["tool"], one["status"]) for one in ended["executions"]] == [("transfer", "unknown")]
    assert "execution_unknown" in agent.kinds()
    assert agent.unanswered() == []
    [asked] = agent("inbox", expect=0)["pending"]
    assert agent("resolve", asked["approval_id"], "--retry", expect=6)["error"]["code"] == "ended"
    settled = agent("resolve", asked["approval_id"], "--done", "it arrived", expect=0)
    assert [(one["status"], one["result"]) for one in settled["executions"]] == [("succeeded", "it arrived")]
    assert (settled["status"], settled["pending"], agent.world.count("transfer")) == ("cancelled", [], 1)
