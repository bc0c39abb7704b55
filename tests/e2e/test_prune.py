"""`prune`: what goes, what stays, and that a pruned thread is still told and still refuses what it refused."""

from typing import Any

from bench.cli import Cli
from bench.openai_server import call, say

from memory.people import NOBODY
from memory.postgres.database import Database
from memory.postgres.retention import PostgresRetention
from memory.postgres.runs import PostgresRuns
from memory.retention import Rule

PAY = {"to": "bob", "amount": 5}
OLD = "UPDATE interlock.run SET updated_at = clock_timestamp() - interval '40 days'"
KEPT = "SELECT DISTINCT thread_id FROM checkpoints ORDER BY 1"
FILL = """
INSERT INTO interlock.run (thread_id, status, requester, requester_source, starter, starter_source, tenant, lineage_root, graph_version,
    tools_version, updated_at)
SELECT 'old-' || n, 'completed', 'a', 'os', 'a', 'os', 'default', 'old-' || n, '1', '', clock_timestamp() - interval '40 days'
FROM generate_series(1, 150) AS n
"""
FILL_CHECKPOINTS = """
INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint, metadata)
SELECT 'old-' || n, '1', '{}', '{}' FROM generate_series(1, 150) AS n
"""


def ids(document: Any) -> list[str]:
    return [one["thread_id"] for one in document["threads"]]


def age(agent: Any) -> None:
    with agent.superuser() as database:
        database.execute(OLD)


def test_prune(agent: Any) -> None:
    agent.start(call("transfer", PAY), say("Paid."), thread="done")
    agent("approve", "done", expect=0)
    agent.start(call("transfer", PAY), say("Paid."), thread="waits")
    agent.start(say("Hello."), thread="chat", expect=0)
    assert agent("prune", "--yes", expect=0)["threads"] == []  # nothing is old
    age(agent)
    before = agent.rows(KEPT)
    planned = agent("prune", expect=0)
    assert planned["dry_run"] and sorted(ids(planned)) == ["chat", "done"] and agent.rows(KEPT) == before
    [done] = [one for one in planned["threads"] if one["thread_id"] == "done"]
    assert done["checkpoints"] == 1 and done["results"] == 1 and done["bytes"] > 1000
    assert ids(agent("prune", "--keep-last", "2", "--yes", expect=0)) == []
    assert ids(agent("prune", "--status", "rejected", "--yes", expect=0)) == []
    for wrong in (("--status", "waiting"), ("--status", "failed"), ("--yes", "--dry-run"), ("--older-than", "soon")):
        assert agent("prune", *wrong, expect=2)["error"]["code"] in {"usage", "bad_status"}

    pruned = agent("prune", "--yes", expect=0)
    assert not pruned["dry_run"] and ids(pruned) == ids(planned) and pruned["bytes"] == planned["bytes"]
    assert agent.rows(KEPT) == [("waits",)] and ids(agent("prune", "--yes", expect=0)) == []
    # The pruned one is told as before, ends as before, and cannot be begun again.
    story = agent("replay", "done", expect=0)
    assert "transfer" in str(story) and agent.kinds("done")[-1] == "thread_pruned"
    ended = agent("resume", "done", expect=0)
    assert ended["status"] == "completed" and ended["final_answer"] == "Paid." and ended["executions"][0]["status"] == "succeeded"
    agent("start", "again", "--thread", "done", expect=5)
    agent("cancel", "done", "--comment", "late", expect=5)
    agent("fork", "done", expect=5)
    # And the one that waits goes on.
    assert agent("approve", "waits", expect=0)["status"] == "completed"
    assert agent.world.lines("transfer") == ["5 to bob"] * 2


def test_what_is_open_is_kept_however_it_ended(agent: Any) -> None:
    agent.start(call("transfer", PAY), say("Paid."), thread="first")
    agent("approve", "first", expect=0)
    agent.start(call("transfer", PAY), say("Not done."), thread="source")
    agent("fork", "source", "--thread", "copy", expect=3)
    agent("cancel", "source", "--comment", "enough", expect=0)
    age(agent)
    assert ids(agent("prune", expect=0)) == ["first"]  # the copy waits, and inherits what its source did
    for status in ("started", "unknown"):
        with agent.superuser() as database:
            database.execute("UPDATE interlock.execution SET status = %s, finished_at = NULL WHERE thread_id = 'first'", (status,))
        assert ids(agent("prune", "--yes", expect=0)) == []
    with agent.superuser() as database:
        database.execute("UPDATE interlock.execution SET status = 'succeeded', finished_at = clock_timestamp()")
        database.execute("UPDATE interlock.run SET wake_seq = wake_seq + 1 WHERE thread_id = 'first'")
    assert ids(agent("prune", "--yes", expect=0)) == []
    assert len(agent.rows(KEPT)) == 3


def test_killed_in_the_middle_it_goes_on_where_it_was(agent: Any) -> None:
    with agent.superuser() as database:
        database.execute(FILL)
        database.execute(FILL_CHECKPOINTS)
    agent.cli("prune", "--yes", environment=Cli.crashing("after_prune_batch")).expect(-9)
    assert len(agent.rows(KEPT)) == 50
    with agent.superuser() as database, database.transaction():  # as a driver that is about to take the lease
        database.execute("SELECT FROM interlock.run WHERE thread_id = 'old-150' FOR NO KEY UPDATE")
        last = agent("prune", "--yes", expect=0)
    assert last["left"] == ["old-150"] and agent.rows(KEPT) == [("old-150",)]
    assert ids(agent("prune", "--yes", expect=0)) == ["old-150"] and agent.rows(KEPT) == []
    told = agent.rows("SELECT thread_id, count(*) FROM interlock.audit_event WHERE kind = 'thread_pruned' GROUP BY 1")
    assert len(told) == 150 and {count for _, count in told} == {1}


async def test_a_thread_that_is_driven_since_it_was_listed_is_left(agent: Any) -> None:
    with agent.superuser() as database:
        database.execute(FILL)
        database.execute(FILL_CHECKPOINTS)
    async with Database(agent.url) as opened:
        retention, rule = PostgresRetention(opened), Rule(seconds=60)
        listed = [one.thread_id for one in await retention.due(rule)]
        lease = await PostgresRuns(opened).acquire("old-7", "host:1:2", 30)
        gone = [one.thread_id for one in await retention.prune(listed, rule, NOBODY)]
        assert sorted(listed) == sorted([*gone, "old-7"]) and agent.rows(KEPT) == [("old-7",)]
        await PostgresRuns(opened).release(lease)
