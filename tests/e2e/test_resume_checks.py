"""What LangGraph would guess silently: unknown, waiting and ended threads, and threads that another version left."""

from typing import Any

from bench.openai_server import call, say

PAY = {"to": "bob", "amount": 5}


def test_c020_c094_a_waiting_thread_is_left_as_it_is(agent: Any) -> None:
    """Text that is piped in, or a new task, is no answer."""
    started = agent.start(call("transfer", PAY), input="y\nyes\na\n")
    before = agent.kinds()
    assert agent("start", "yes", "--thread", "t", expect=3, input="yes\n") == started
    assert agent.kinds() == before
    for keys in ("y\n", "a\napprove\n"):
        assert agent("resume", "t", expect=3, input=keys) == started
    kinds = agent.kinds()
    assert kinds.count("approval_requested") == 1
    assert set(kinds[len(before) :]) <= {"process_began"}
    assert agent.rows("SELECT * FROM interlock.decision") == []
    assert len(agent.model.requests) == 1
    assert agent.world.attempts("transfer") == 0


def test_c047_c048_an_ended_thread_is_shown_and_not_begun_again(agent: Any) -> None:
    """An ended thread is shown with its code; a new task or a late decision is refused, the latter on the record."""
    ended = agent.start(say("Nothing to do."), expect=0)
    assert (ended["status"], ended["final_answer"]) == ("completed", "Nothing to do.")
    before = agent.count_rows()
    assert agent("resume", "t", expect=0) == ended
    assert agent("start", "more", "--thread", "t", expect=5)["error"]["code"] == "thread_exists"
    assert agent("cancel", "t", "--comment", "late", expect=5)["error"]["code"] == "ended"
    assert agent.count_rows() == before
    assert agent("approve", "t", "--as", "ann", expect=4)["error"]["code"] == "nothing_pending"
    assert agent.count_rows() == before | {"interlock.audit_event": before["interlock.audit_event"] + 1}
    last = agent.events()[-1]
    assert (last["kind"], last["actor"], last["payload"]["code"]) == ("refused_attempt", "ann", "nothing_pending")


def test_c047_what_does_not_exist_leaves_no_trace(agent: Any) -> None:
    """A thread that does not exist is not begun by a resume: exit 4, and no row anywhere."""
    before = agent.count_rows()
    for command in (
        ("resume", "typo"),
        ("show", "typo"),
        ("audit", "typo"),
        ("cancel", "typo", "--comment", "x"),
        ("approve", "typo"),
        ("approve", "0123456789abcdef"),
        ("resolve", "typo", "--retry"),
    ):
        error = agent(*command, expect=4)["error"]
        assert error["code"] in {"no_such_thread", "no_such_approval"}
        assert error["remedy"]
    assert agent.count_rows() == before


def test_names_and_tasks_that_are_refused(agent: Any) -> None:
    assert agent("start", "  \n", expect=2)["error"]["code"] == "empty_task"
    for name in ("", "a\nb", "a\u202eb", "n" * 201):
        assert agent("start", "x", "--thread", name, expect=2)["error"]["code"] == "bad_thread"
    assert agent.rows("SELECT * FROM interlock.run") == []


def test_c050_a_thread_of_another_graph_version_is_refused(agent: Any) -> None:
    """A thread of another version of the graph is refused by name, and its question stays."""
    agent.start(call("transfer", PAY), say("Paid."))
    with agent.superuser() as database:
        database.execute("UPDATE interlock.run SET graph_version = '0'")
    before = agent("show", "t", expect=0), agent.rows("SELECT count(*) FROM checkpoints")
    error = agent("resume", "t", expect=6)["error"]
    assert error["code"] == "graph_changed"
    assert "version 0" in error["message"]
    assert (agent("show", "t", expect=0), agent.rows("SELECT count(*) FROM checkpoints")) == before
    with agent.superuser() as database:
        database.execute("UPDATE interlock.run SET graph_version = '1'")
    assert agent("approve", "t", expect=0)["status"] == "completed"
    assert agent.world.count("transfer") == 1


def test_c050_a_thread_paused_at_a_node_that_is_gone_is_never_completed(agent: Any) -> None:
    """A thread that is paused at a node which is gone is refused, and never taken for completed."""
    agent.start(call("transfer", PAY))
    with agent.superuser(triggers=False) as database:
        renamed = "replace({0}::text, 'await_human_approval', 'wait_for_person')::jsonb"
        database.execute(f"UPDATE checkpoints SET checkpoint = {renamed.format('checkpoint')}")
        database.execute("UPDATE checkpoint_blobs SET channel = replace(channel, 'await_human_approval', 'wait_for_person')")
    for command in (("resume", "t"), ("approve", "t")):
        assert agent(*command, expect=6)["error"]["code"] == "graph_changed"
    assert agent("show", "t", expect=0)["status"] == "waiting"
    assert agent.world.attempts("transfer") == 0
