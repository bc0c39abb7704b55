"""`recover`: every thread that was left behind goes on, once; open questions stay open."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import call, calls, say, silent, status

HURRY = """
[[rule]]
name = "in a hurry"
when = 'tool == "transfer_keyed"'
verdict = "ask"
deadline = "1s"
on_expiry = "reject"
"""


def start(agent: Any, thread: str, to: str) -> str:
    """A thread that waits for a person; its question."""
    [asked] = agent.start(call("transfer", {"to": to, "amount": 5}), thread=thread)["pending"]
    return str(asked["approval_id"])


def recovered(agent: Any, *options: str, expect: int = 0) -> dict[str, str]:
    return {row["thread_id"]: row["status"] for row in agent("recover", *options, expect=expect)["recovered"]}


def test_what_was_left_behind_goes_on_and_nothing_else(agent: Any, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(HURRY)
    start(agent, "open", "nobody")
    agent("approve", start(agent, "decided", "ann"), "--detach", expect=0)
    agent("reject", start(agent, "refused", "eve"), "--comment", "not now", "--detach", expect=0)
    agent.start(call("transfer_keyed", {"to": "zoe", "amount": 5}), thread="overdue", environment={"INTERLOCK_POLICY": str(policy)})
    start(agent, "killed", "bob")
    agent.cli("approve", "killed", environment=agent.world.environment(crash="before")).expect(-9)

    time.sleep(1)
    rows = agent.count_rows()
    left = {"decided": "waiting", "refused": "waiting", "overdue": "waiting", "killed": "running"}
    assert recovered(agent, "--dry-run") == left
    assert agent.count_rows() == rows
    assert agent.world.lines("transfer") == []

    agent.model.always(say("Done."))
    after = recovered(agent, expect=0)
    assert after == {"decided": "completed", "refused": "completed", "overdue": "completed", "killed": "waiting"}
    assert agent.world.lines("transfer") == ["5 to ann"]
    assert sorted((one["thread_id"], one["kind"]) for one in agent("inbox", expect=0)["pending"]) == [
        ("killed", "unknown_outcome"),
        ("open", "pre_execution"),
    ]
    assert recovered(agent) == {}
    assert agent.world.lines("transfer") == ["5 to ann"]


def test_one_that_fails_holds_up_no_other(agent: Any) -> None:
    for thread, to in {"first": "ann", "second": "bob"}.items():
        agent("approve", start(agent, thread, to), "--detach", expect=0)
    agent.model.play(status(401, "no such key"), say("Done."))
    document = agent("recover", expect=1)
    assert [(row["thread_id"], row["status"]) for row in document["recovered"]] == [("first", "failed"), ("second", "completed")]
    assert "no such key" in document["recovered"][0]["error"]
    assert agent.world.lines("transfer") == ["5 to ann", "5 to bob"]


def test_what_is_away_is_told_as_that(agent: Any) -> None:
    """7, so that who calls it tries again later; 1 as soon as one of them fails for good."""
    for thread, to in {"first": "ann", "second": "bob"}.items():
        agent("approve", start(agent, thread, to), "--detach", expect=0)
    away = status(429, "You exceeded your current quota")  # is not asked again
    agent.model.play(away, away)
    assert recovered(agent, expect=7) == recovered(agent, "--dry-run") == {"first": "running", "second": "running"}
    agent.model.play(status(401, "no such key"), away, say("Done."))
    assert recovered(agent, expect=1) == {"first": "failed", "second": "running"}
    assert recovered(agent) == {"second": "completed"}


def spoil(agent: Any, thread: str) -> None:
    with agent.superuser(triggers=False) as database:
        database.execute("UPDATE checkpoint_blobs SET type = 'msgpack', blob = '\\xc1' WHERE thread_id = %s", (thread,))


def test_one_that_cannot_even_be_read_holds_up_no_other(agent: Any) -> None:
    for thread, to in {"spoiled": "ann", "whole": "bob"}.items():
        agent("approve", start(agent, thread, to), "--detach", expect=0)
    spoil(agent, "spoiled")
    agent.model.always(say("Done."))
    result = agent.cli("recover", "--json").expect(1)
    by_thread = {row["thread_id"]: row for row in result.json["recovered"]}
    assert by_thread["spoiled"]["error"] and by_thread["whole"]["status"] == "completed"
    assert agent.world.lines("transfer") == ["5 to bob"]

    agent("approve", start(agent, "next", "cat"), "--detach", expect=0)
    worker = agent.cli.spawn("worker", "--json")
    agent.world.wait_for("transfer", 2)
    worker.signal(signal.SIGTERM)
    ended = worker.wait().expect(0)
    assert "thread spoiled: " in ended.stderr and "tried again in" in ended.stderr
    assert agent.world.lines("transfer") == ["5 to bob", "5 to cat"]


def test_a_thread_that_a_process_drives_is_left_to_it(agent: Any) -> None:
    agent.model.play(silent())
    driver = agent.cli.spawn("start", "do what is due", "--thread", "t", "--json")
    agent.model.wait_for_requests(1)
    assert recovered(agent) == {}
    driver.kill()
    agent.model.play(say("Done."))
    assert recovered(agent) == {"t": "completed"}


def test_an_approved_call_beside_an_open_question_is_not_passed_over(agent: Any) -> None:
    """Ctrl-C between the gate and the effect: the checkpoint is newer than the decision, and the sibling still waits."""
    both = calls(*(call("transfer", {"to": to, "amount": 5}, id=to) for to in ("ann", "bob")))
    asked = agent.start(both)["pending"]
    of_ann = next(one["approval_id"] for one in asked if one["args"]["to"] == "ann")
    stopped = agent.cli("approve", of_ann, environment={"_INTERLOCK_CRASH_POINT": "before_intent:1:INT"})
    assert stopped.expect(130).stderr.count("recorded and stands") == 1
    assert agent.world.lines("transfer") == []
    assert recovered(agent) == {"t": "waiting"}
    assert agent.world.lines("transfer") == ["5 to ann"]
    assert recovered(agent) == {}


@pytest.mark.cold_start
def test_what_a_person_tells_of_a_call_after_the_end_is_taken_up(agent: Any) -> None:
    start(agent, "t", "ann")
    agent.cli("approve", "t", environment=agent.world.environment(crash="after")).expect(-9)
    [asked] = agent("resume", "t", expect=3)["pending"]
    agent("cancel", "t", "--comment", "enough", expect=0)
    agent("resolve", asked["approval_id"], "--done", "it was paid", "--detach", expect=0)
    assert recovered(agent) == {"t": "cancelled"}
    assert [one["status"] for one in agent("show", "t", expect=0)["executions"]] == ["succeeded"]
    assert recovered(agent) == {}


def test_a_thread_just_begun_is_left_to_who_begins_it(agent: Any) -> None:
    agent("start", "one", "--thread", "detached", "--detach", expect=0)
    agent("start", "two", "--thread", "own", "--detach", expect=0)
    with agent.superuser() as database:  # as in the instant before its process has the lease
        database.execute("UPDATE interlock.run SET wake_seq = 0 WHERE thread_id = 'own'")
    assert recovered(agent, "--dry-run") == {"detached": "running"}
    with agent.superuser() as database:
        database.execute("UPDATE interlock.run SET created_at = created_at - interval '2 minutes' WHERE thread_id = 'own'")
    assert recovered(agent, "--dry-run") == {"detached": "running", "own": "running"}


# The last moment of a step: what its tasks did is stored, and the checkpoint that would hold it is not.
GONE_BEFORE_THE_CHECKPOINT = """
CREATE FUNCTION public.gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.metadata ->> 'step' = '3' THEN
    RAISE SQLSTATE '57P01' USING MESSAGE = 'terminating connection due to administrator command';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER gone BEFORE INSERT ON checkpoints FOR EACH ROW EXECUTE FUNCTION public.gone()
"""
ENDED_TASKS = "SELECT count(DISTINCT task_id) FROM checkpoint_writes WHERE channel <> '__interrupt__'"


@pytest.fixture
def the_step_is_not_kept(agent: Any) -> Any:
    """The database goes before the third step is kept, and what the step's tasks wrote is there."""

    @contextmanager
    def lost(tasks: int) -> Iterator[None]:
        with agent.superuser() as database:
            database.execute(GONE_BEFORE_THE_CHECKPOINT)
        yield
        assert agent.rows(ENDED_TASKS) == [(tasks,)]
        with agent.superuser() as database:
            database.execute("DROP TRIGGER gone ON checkpoints")

    return lost


def test_calls_that_have_all_ended_are_not_run_again_where_their_step_is_not_kept(agent: Any, the_step_is_not_kept: Any) -> None:
    with the_step_is_not_kept(tasks=2):
        agent.start(calls(*(call("note_add", {"text": text}) for text in "ab")), say("Noted."), expect=7)
    assert agent("resume", "t", expect=0)["final_answer"] == "Noted."
    assert sorted(agent.world.lines("note_add")) == ["a", "b"]


def test_an_answer_that_was_taken_is_not_lost_where_the_step_is_not_kept(agent: Any, the_step_is_not_kept: Any) -> None:
    start(agent, "t", "bob")
    agent.model.always(say("Paid."))
    with the_step_is_not_kept(tasks=1):
        agent("approve", "t", expect=7)
    assert recovered(agent) == {"t": "completed"}
    assert agent.world.lines("transfer") == ["5 to bob"]


def test_cancelled_where_the_step_is_not_kept(agent: Any, the_step_is_not_kept: Any) -> None:
    start(agent, "t", "bob")
    with the_step_is_not_kept(tasks=1):
        agent("approve", "t", expect=7)
    agent.model.always(say("Another task."))
    assert agent("cancel", "t", "--comment", "no", expect=0)["status"] == "cancelled"
    assert agent.world.lines("transfer") == [] and agent.unanswered() == []
