"""The guarded saver against the official one: what it refuses, what it lets pass, and what it costs in commits."""

from collections.abc import AsyncIterator, Callable
from typing import Any, TypedDict

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph

from memory.errors import StaleError
from memory.leases import Lease, LeaseLostError, held
from memory.people import Identity
from memory.postgres.audit import PostgresAudit
from memory.postgres.database import Database
from memory.postgres.runs import PostgresRuns
from memory.postgres.saver import GuardedSaver
from memory.runs import NewRun

ALICE = Identity("alice", "os")


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with Database(database_url) as opened:
        yield opened


@pytest.fixture
async def lease(database: Database) -> AsyncIterator[Lease]:
    """Of the thread `guarded`, live, and not yet in the table of this process."""
    runs = PostgresRuns(database)
    await runs.create(NewRun("guarded", "x", ALICE, ALICE, "default", "1", "1"))
    yield await runs.acquire("guarded", "here", 30)
    held.pop("guarded", None)


def config(thread: str, parent: str | None = None) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **({"checkpoint_id": parent} if parent else {})}}


async def put(saver: AsyncPostgresSaver, thread: str, parent: str | None = None) -> str:
    checkpoint = empty_checkpoint()
    stored = await saver.aput(config(thread, parent), checkpoint, {"source": "loop", "step": 1}, {})
    return str(stored["configurable"]["checkpoint_id"])


async def test_without_the_lease_nothing_is_written_while_another_holds_it(database: Database, lease: Lease) -> None:
    saver = GuardedSaver(database.pool)
    with pytest.raises(LeaseLostError):
        await put(saver, "guarded")
    assert await saver.aget_tuple(config("guarded")) is None
    held["guarded"] = lease
    stored = await put(saver, "guarded")
    found = await saver.aget_tuple(config("guarded"))
    assert found and found.config["configurable"]["checkpoint_id"] == stored


async def test_an_outdated_lease_writes_nothing_and_a_new_one_goes_on(database: Database, lease: Lease) -> None:
    saver, runs = GuardedSaver(database.pool), PostgresRuns(database)
    held["guarded"] = lease
    first = await put(saver, "guarded")
    await runs.release(lease)
    with pytest.raises(LeaseLostError):
        await put(saver, "guarded", first)
    second = await runs.acquire("guarded", "here", 30)
    with pytest.raises(LeaseLostError):
        await put(saver, "guarded", first)
    held["guarded"] = second
    await put(saver, "guarded", first)


async def test_where_nobody_drives_a_write_passes_and_the_record_says_so(database: Database, lease: Lease) -> None:
    await PostgresRuns(database).release(lease)
    await put(GuardedSaver(database.pool), "guarded")
    event = (await PostgresAudit(database).events("guarded"))[-1]
    assert (event.kind, event.actor, event.actor_source) == ("transition", "outside", "unleased")


async def test_an_old_checkpoint_is_no_place_to_go_on_from(database: Database, lease: Lease) -> None:
    saver = GuardedSaver(database.pool)
    held["guarded"] = lease
    first = await put(saver, "guarded")
    second = await put(saver, "guarded", first)
    for parent in (first, None):
        with pytest.raises(StaleError) as stale:
            await put(saver, "guarded", parent)
        assert not isinstance(stale.value, LeaseLostError)
    found = await saver.aget_tuple(config("guarded"))
    assert found and found.config["configurable"]["checkpoint_id"] == second
    assert len([one async for one in saver.alist(config("guarded"))]) == 2


async def test_a_refused_checkpoint_leaves_no_blob(database: Database, database_url: str, lease: Lease) -> None:
    saver = GuardedSaver(database.pool)
    checkpoint = {**empty_checkpoint(), "channel_values": {"messages": ["x"]}, "channel_versions": {"messages": "1"}}
    with pytest.raises(LeaseLostError):
        await saver.aput(config("guarded"), checkpoint, {"source": "loop", "step": 1}, {"messages": "1"})  # type: ignore[arg-type]
    with psycopg.connect(database_url) as connection:
        for table in ("checkpoints", "checkpoint_blobs"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


async def test_threads_of_others_are_stored_as_ever(database: Database) -> None:
    """With no row in `run`: any parent, any number of branches, and nothing on the record."""
    saver = GuardedSaver(database.pool)
    first = await put(saver, "free")
    for parent in (first, first, None):
        await put(saver, "free", parent)
    assert len([one async for one in saver.alist(config("free"))]) == 4
    assert await PostgresAudit(database).events("free") == []


class Count(TypedDict):
    count: int


async def commits(url: str, saver: AsyncPostgresSaver, thread: str, steps: int) -> int:
    """Transactions with an id that a graph of so many steps takes. An id is given to what writes, and to nothing else."""
    graph = StateGraph(Count)

    async def add(state: Count) -> Any:
        return {"count": state["count"] + 1}

    def more(state: Count) -> str:
        return END if state["count"] >= steps else "add"

    graph.add_node("add", add)
    graph.add_edge(START, "add")
    graph.add_conditional_edges("add", more)
    compiled = graph.compile(checkpointer=saver)
    before = _next_xid(url)
    await compiled.ainvoke({"count": 0}, {"configurable": {"thread_id": thread}, "recursion_limit": 100}, durability="sync")
    return _next_xid(url) - before


def _next_xid(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").fetchone()
        assert row
        return int(row[0])


async def test_a_step_is_one_commit_with_fence_head_and_record(lone_database: Callable[[], str]) -> None:
    """On a server of its own, because ids of transactions are counted for all of a server's databases."""
    url = lone_database()
    async with Database(url, max_size=1) as database:
        runs = PostgresRuns(database)
        bare = [await commits(url, AsyncPostgresSaver(database.pool), f"bare{steps}", steps) for steps in (2, 12)]  # type: ignore[arg-type]
        guarded = []
        for steps in (2, 12):
            thread = f"guarded{steps}"
            await runs.create(NewRun(thread, "x", ALICE, ALICE, "default", "1", "1"))
            held[thread] = await runs.acquire(thread, "here", 30)
            try:
                saver = GuardedSaver(database.pool)
                saver.plain = {"count"}
                guarded.append(await commits(url, saver, thread, steps))
            finally:
                held.pop(thread, None)
        assert len([event for event in await PostgresAudit(database).events("guarded12") if event.kind == "transition"]) == 14
    assert bare[1] - bare[0] == 2 * 10, "a step of the official saver: its checkpoint, and its pending writes"
    assert guarded[1] - guarded[0] == 10, "a step of ours: its checkpoint, which holds what a lone task wrote"


async def test_writes_are_stored_where_no_checkpoint_follows_at_once(database: Database, lease: Lease) -> None:
    """Of tasks side by side, because one may end long before the next checkpoint; and questions, because none comes."""
    saver = GuardedSaver(database.pool)
    saver.plain = {"messages"}
    held["guarded"] = lease
    kept = []
    alone, together = ["branch:to:a"], ["branch:to:a", "branch:to:b"]
    for updated, channel in ((alone, "messages"), (alone, "__interrupt__"), (together, "messages")):
        parent = await saver.aget_tuple(config("guarded"))
        before = parent.config["configurable"]["checkpoint_id"] if parent else None
        checkpoint = {**empty_checkpoint(), "updated_channels": updated}
        stored = await saver.aput(config("guarded", before), checkpoint, {"source": "loop", "step": 1}, {})  # type: ignore[arg-type]
        await saver.aput_writes(stored, [(channel, "x")], "task")
        found = await saver.aget_tuple(config("guarded"))
        assert found
        kept.append([write[1] for write in found.pending_writes or []])
    assert kept == [[], ["__interrupt__"], ["messages"]]


@pytest.fixture
def lone_database(home: Any) -> Callable[[], str]:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from memory.postgres.embedded import EmbeddedServer
    from memory.postgres.migrate import migrate

    def make() -> str:
        url = EmbeddedServer(home, settings={"autovacuum": "off"}).up()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, migrate(url)).result()
        return url

    return make
