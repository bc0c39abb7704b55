"""The lease that a node takes, where nobody else drives: it is given up even if the node is cancelled while it gives it up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from psycopg.rows import dict_row

from graph.app import App, open_app
from graph.holding import driving, end
from graph.ports import Ports
from graph.settings import Settings
from memory.leases import held
from memory.people import Identity
from memory.runs import NewRun

ALICE = Identity("alice", "os")


@pytest.fixture
async def application(database_url: str, tmp_path: Path) -> AsyncIterator[App]:
    async with open_app(Settings(home=tmp_path, database_url=database_url)) as opened:
        yield opened


@pytest.fixture
async def ports(application: App) -> AsyncIterator[Ports]:
    ports = application.ports()
    for thread in ("t", "other"):
        await ports.runs.create(NewRun(thread, "pay", ALICE, ALICE, "default", "1", "1"))
    yield ports
    for thread in ("t", "other"):
        held.pop(thread, None)


async def query(url: str, text: str) -> dict[str, Any]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, row_factory=dict_row) as database:
        row = await (await database.execute(text)).fetchone()
    assert row is not None
    return row


async def until(url: str, text: str) -> None:
    """Until a query says true, within 30 seconds. A lease that only runs out is not given up: its owner stays."""
    async with asyncio.timeout(30):
        while not (await query(url, f"SELECT ({text}) AS yes"))["yes"]:  # noqa: ASYNC110 - the database tells nobody
            await asyncio.sleep(0.02)


@asynccontextmanager
async def locked_row(url: str, thread: str) -> AsyncIterator[None]:
    """Nobody can change this run meanwhile."""
    async with await psycopg.AsyncConnection.connect(url) as database:
        await database.execute("SELECT FROM interlock.run WHERE thread_id = %s FOR UPDATE", (thread,))
        yield
        await database.rollback()


WAITS = "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
FREE = "SELECT lease_owner IS NULL AND lease_until IS NULL FROM interlock.run WHERE thread_id = 't'"


def node(ports: Ports, thread: str, leave: asyncio.Event) -> "tuple[asyncio.Task[None], asyncio.Event]":
    """A node that drives the thread until it may leave."""
    entered = asyncio.Event()

    async def body() -> None:
        async with driving(ports, thread):
            entered.set()
            await leave.wait()

    return asyncio.get_running_loop().create_task(body()), entered


async def is_free(ports: Ports, url: str) -> bool:
    """Another owner gets it at once, and not as a takeover from somebody who may still be at it."""
    await until(url, FREE)
    lease = await ports.runs.acquire("t", "another", 30)
    return lease.sure and "t" not in held


async def test_a_node_that_is_cancelled_while_it_gives_its_lease_up(ports: Ports, database_url: str) -> None:
    leave = asyncio.Event()
    task, entered = node(ports, "t", leave)
    await entered.wait()
    row = await query(database_url, "SELECT lease_owner, lease_until FROM interlock.run WHERE thread_id = 't'")
    assert row["lease_owner"].startswith("node@") and row["lease_until"] is not None
    async with locked_row(database_url, "t"):
        leave.set()
        await until(database_url, WAITS)  # the release is under way, and cannot end
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await is_free(ports, database_url)


async def test_a_node_that_is_cancelled_while_another_one_enters(ports: Ports, database_url: str) -> None:
    """It has to wait until the other one has its lease, and is cancelled before its own release has begun."""
    leave = asyncio.Event()
    task, entered = node(ports, "t", leave)
    await entered.wait()
    async with locked_row(database_url, "other"):
        second, _ = node(ports, "other", leave)
        await until(database_url, WAITS)  # the other one is at taking its lease
        leave.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await second
    assert await is_free(ports, database_url)


async def test_a_node_that_is_cancelled_at_its_work(ports: Ports, database_url: str) -> None:
    task, entered = node(ports, "t", asyncio.Event())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await is_free(ports, database_url)


async def test_the_last_of_parallel_calls_gives_it_up(ports: Ports, database_url: str) -> None:
    first_leaves, second_leaves = asyncio.Event(), asyncio.Event()
    first, entered = node(ports, "t", first_leaves)
    second, also = node(ports, "t", second_leaves)
    await entered.wait()
    await also.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    row = await query(database_url, "SELECT lease_owner, lease_epoch FROM interlock.run WHERE thread_id = 't'")
    assert row["lease_owner"].startswith("node@") and row["lease_epoch"] == 1
    second_leaves.set()
    await second
    assert await is_free(ports, database_url)


async def test_the_lease_is_kept_for_as_long_as_a_node_works(ports: Ports, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph.holding.SECONDS", 0.3)
    async with driving(ports, "t"):
        taken = await query(database_url, "SELECT lease_until AS moment FROM interlock.run WHERE thread_id = 't'")
        await until(database_url, f"SELECT lease_until > '{taken['moment'].isoformat()}' FROM interlock.run WHERE thread_id = 't'")


async def test_a_checkpoint_that_is_stored_when_the_node_beside_it_has_ended(application: App, ports: Ports) -> None:
    """A server stores in the background: what it began to store under a node's lease may arrive when that is given up."""
    saver, checkpoint = application.saver(), empty_checkpoint()
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    async with saver.lock:
        async with driving(ports, "t"):
            storing = asyncio.ensure_future(saver.aput(config, checkpoint, {"source": "loop", "step": 1}, {}))
            await asyncio.sleep(0)  # it has looked at the lease, and waits for its turn
    await storing
    found = await saver.aget_tuple(config)
    assert found and found.checkpoint["id"] == checkpoint["id"]


async def test_a_node_that_ends_a_thread_says_so_unless_the_driver_will(ports: Ports) -> None:
    await end(ports, "t", "completed", answer="Done.")
    run = await ports.runs.get("t")
    assert run is not None and (run.status, run.final_answer, run.lease_owner) == ("completed", "Done.", None)
    held["other"] = await ports.runs.acquire("other", "driver", 30)
    await end(ports, "other", "completed", answer="Done.")
    other = await ports.runs.get("other")
    assert other is not None and other.status == "running"
