"""A copy of a thread, as whoever writes into LangGraph's own tables makes it: approvals of the other thread permit nothing on it."""

from typing import Any

import pytest
from bench.openai_server import call, say

PAY = {"to": "bob", "amount": 5}
COPY = "This thread is a copy, and this call belongs to the other one. Nothing was run."


def copy(agent: Any) -> None:
    """The checkpoints of thread t, once more as those of thread copy."""
    with agent.superuser() as database:
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            columns = "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND column_name <> 'thread_id'"
            names = ", ".join(row[0] for row in database.execute(columns, (table,)))
            database.execute(f"INSERT INTO {table} (thread_id, {names}) SELECT 'copy', {names} FROM {table} WHERE thread_id = 't'")


def test_an_approval_permits_nothing_on_a_copy(agent: Any) -> None:
    """It is asked anew there; and once the call has begun on one of the two, it begins on the other no more, whoever approves it."""
    agent.start(call("transfer", PAY), say("Paid."), say("Not here."))
    copy(agent)
    agent("approve", "t", "--detach", expect=0)
    other = agent("resume", "copy", expect=3)
    [asked] = other["pending"]
    assert (asked["thread_id"], other["executions"], agent.world.attempts("transfer")) == ("copy", [], 0)

    ended = agent("resume", "t", expect=0)
    assert [(one["tool"], one["status"]) for one in ended["executions"]] == [("transfer", "succeeded")]
    assert agent("approve", asked["approval_id"], expect=0)["status"] == "completed"
    assert agent.world.lines("transfer") == ["5 to bob"]
    assert "execution_started" not in agent.kinds("copy")
    assert agent.unanswered("copy") == []


def test_the_same_where_only_the_copy_was_driven_before_the_approval(agent: Any) -> None:
    [asked] = agent.start(call("transfer", PAY), say("Paid."))["pending"]
    copy(agent)
    assert agent("resume", "copy", expect=3)["pending"] == []
    assert agent("inbox", expect=0)["pending"] == [asked]
    agent("approve", asked["approval_id"], "--detach", expect=0)
    other = agent("resume", "copy", expect=3)
    assert (len(other["pending"]), other["executions"], agent.world.attempts("transfer")) == (1, [], 0)
    assert agent("show", "t", expect=0)["status"] in {"running", "waiting"}
    assert agent("resume", "t", expect=0)["status"] == "completed"
    assert agent.world.lines("transfer") == ["5 to bob"]


def test_a_copy_knows_what_was_done_and_does_not_do_it_again(agent: Any) -> None:
    agent.start(call("transfer", PAY), say("Paid."), say("It was paid."))
    copy(agent)
    assert agent("approve", "t", expect=0)["status"] == "completed"
    assert agent("resume", "copy", expect=0)["executions"] == []
    assert agent.told() == ["transferred 5 to bob"]
    assert agent.world.lines("transfer") == ["5 to bob"]


def test_a_modification_is_asked_anew_on_a_copy_and_happens_once(agent: Any) -> None:
    """The question of other arguments is another one, so it can be asked here; the call is still one and the same."""
    agent.start(call("transfer", PAY), say("Paid."), say("It was paid."))
    copy(agent)
    agent("modify", "t", "--set", "amount=4", "--detach", expect=0)
    [asked] = agent("resume", "copy", expect=3)["pending"]
    assert (asked["thread_id"], asked["args"]) == ("copy", PAY | {"amount": 4})
    assert agent.world.attempts("transfer") == 0
    assert agent("resume", "t", expect=0)["status"] == "completed"
    assert agent("approve", asked["approval_id"], expect=0)["status"] == "completed"
    assert agent.world.lines("transfer") == ["4 to bob"]


def test_to_cancel_a_copy_leaves_the_question_of_the_other_thread(agent: Any) -> None:
    [asked] = agent.start(call("transfer", PAY), say("Paid."))["pending"]
    copy(agent)
    agent("resume", "copy", expect=3)
    assert agent("cancel", "copy", "--comment", "not needed", expect=0)["status"] == "cancelled"
    assert agent("inbox", expect=0)["pending"] == [asked]
    assert agent("approve", asked["approval_id"], expect=0)["status"] == "completed"
    assert agent.world.lines("transfer") == ["5 to bob"]


@pytest.mark.parametrize("tool", ["transfer", "transfer_keyed", "transfer_checked"])
def test_what_was_begun_and_not_ended_is_left_to_its_own_thread(agent: Any, tool: str) -> None:
    """Neither repeated, nor looked after, nor asked about: only the thread that began it settles it."""
    agent.start(call(tool, PAY))
    agent.cli("approve", "t", environment=agent.world.environment(crash="during")).expect(-9)
    copy(agent)
    agent.model.play(say("Not here."))
    other = agent("resume", "copy", expect=0)
    assert (agent.told(), other["executions"], other["pending"]) == ([COPY], [], [])
    assert (agent.world.attempts(tool), agent.world.count(tool)) == (1, 0)
    assert agent.kinds().count("execution_started") == 1
    assert agent.rows("SELECT status FROM interlock.execution") == [("started",)]


def test_a_wish_to_retry_counts_on_its_own_thread(agent: Any) -> None:
    agent.start(call("transfer", PAY))
    agent.cli("approve", "t", environment=agent.world.environment(crash="during")).expect(-9)
    agent("resume", "t", expect=3)
    copy(agent)
    agent("resolve", "t", "--retry", "--detach", expect=0)
    agent.model.play(say("Not here."), say("Paid."))
    assert agent("resume", "copy", expect=0)["executions"] == []
    assert agent.told() == [COPY]
    assert (agent.world.attempts("transfer"), agent.world.count("transfer")) == (1, 0)
    assert agent("resume", "t", expect=0)["status"] == "completed"
    assert agent.world.lines("transfer") == ["5 to bob"]
