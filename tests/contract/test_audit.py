"""Port audit: append-only, one chain a thread, and every change of it is found."""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import psycopg
import pytest
from contract.stores import ALICE, Stores

from memory.audit import Event, event_hash, faults_of
from memory.postgres.database import Database

COLUMNS = {
    "at": "'2026-01-01'", "kind": "'x'", "actor": "'x'", "actor_source": "'ui'", "payload": "'{}'", "prev_hash": "'x'", "hash": "'x'",
    "seq": "99", "thread_id": "'another'",
}  # fmt: skip


async def record(stores: Stores, count: int = 5) -> None:
    await stores.begin_run()
    for number in range(count):
        await stores.audit.append("t", "transition", ALICE, {"number": number, "text": "Grüße, 世界 😀 \u202e\\u0000"})
    assert await stores.faults() == []


@contextmanager
def as_owner(url: str) -> Iterator[psycopg.Connection]:
    """With the triggers off: who can do this can do everything but go unnoticed."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE interlock.audit_event DISABLE TRIGGER ALL")
        yield connection


@pytest.mark.parametrize("statement", ["UPDATE {} SET kind = 'x'", "UPDATE {} SET kind = 'x' WHERE false", "DELETE FROM {}", "TRUNCATE {}"])
async def test_c115_it_is_append_only(stores: Stores, database_url: str, statement: str) -> None:
    """Update, delete and truncate are refused."""
    await record(stores)
    with psycopg.connect(database_url, autocommit=True) as connection, pytest.raises(psycopg.Error, match="append-only"):
        connection.execute(statement.format("interlock.audit_event"))  # type: ignore[arg-type]
    assert await stores.faults() == []


async def test_c115_number_time_and_hash_are_the_databases(stores: Stores, database_url: str) -> None:
    """Number, time and hash are set by the database."""
    await record(stores)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("INSERT INTO interlock.audit_event VALUES ('t', 3, '1999-01-01', 'x', 'x', 'x', '{}', 'x', 'x')")
    events = await stores.audit.events("t")
    assert [event.seq for event in events] == list(range(1, len(events) + 1)) and events[-1].at > datetime(2026, 1, 1, tzinfo=UTC)
    assert await stores.faults() == []


async def test_an_edit_of_any_column_of_any_row_is_found(stores: Stores, database_url: str) -> None:
    await record(stores)
    with as_owner(database_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT * FROM interlock.audit_event")
        for (column, value), seq in itertools.product(COLUMNS.items(), (1, 4, 7)):
            changed = connection.execute(f"UPDATE interlock.audit_event SET {column} = {value} WHERE thread_id = 't' AND seq = {seq}")
            assert changed.rowcount == 1
            assert await stores.faults() != [], (column, seq)
            connection.execute("DELETE FROM interlock.audit_event")
            connection.execute("INSERT INTO interlock.audit_event SELECT * FROM kept")
            assert await stores.faults() == []


@pytest.mark.parametrize("at", ["infinity", "-infinity", "0044-03-15 BC", "20000-01-01"])
async def test_a_time_beyond_all_times_is_found_too(stores: Stores, database_url: str, at: str) -> None:
    await record(stores)
    with as_owner(database_url) as connection:
        connection.execute("UPDATE interlock.audit_event SET at = %s::timestamptz WHERE seq = 2", (at,))
    fault, = await stores.faults()
    assert "event 2" in fault


HEAD = """UPDATE interlock.audit_head h SET seq = e.seq, hash = e.hash FROM interlock.audit_event e
WHERE e.thread_id = h.thread_id AND e.seq = """


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM interlock.audit_event WHERE seq = 4"],
        ["DELETE FROM interlock.audit_event WHERE seq = 1"],
        ["DELETE FROM interlock.audit_event WHERE seq = 7"],
        ["DELETE FROM interlock.audit_event WHERE seq >= 4"],
        ["DELETE FROM interlock.audit_event WHERE seq = 7", HEAD + "6"],
        ["DELETE FROM interlock.audit_event WHERE seq = 7", "DELETE FROM interlock.audit_head"],
        ["DELETE FROM interlock.audit_event"],
        ["DELETE FROM interlock.audit_event", "DELETE FROM interlock.audit_head"],
        ["UPDATE interlock.audit_head SET seal = 'x'"],
        ["UPDATE interlock.audit_head SET seq = 8"],
        ["DELETE FROM interlock.audit_head"],
        [
            "UPDATE interlock.audit_event SET seq = -4 WHERE seq = 4",
            "UPDATE interlock.audit_event SET seq = 4 WHERE seq = 5",
            "UPDATE interlock.audit_event SET seq = 5 WHERE seq = -4",
        ],
        [  # renumbered, so that no gap shows
            "DELETE FROM interlock.audit_event WHERE seq = 4",
            "UPDATE interlock.audit_event SET seq = seq - 1 WHERE seq = 5",
            "UPDATE interlock.audit_event SET seq = seq - 1 WHERE seq = 6",
            "UPDATE interlock.audit_event SET seq = seq - 1 WHERE seq = 7",
        ],
    ],
)  # fmt: skip
async def test_c115_what_is_taken_away_or_moved_is_found(stores: Stores, database_url: str, statements: list[str]) -> None:
    """Verification finds what an owner changed, the missing last row too."""
    await record(stores)
    with as_owner(database_url) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0  # type: ignore[arg-type]
    assert await stores.faults() != []


async def test_c115_what_was_rolled_back_raises_no_alarm(stores: Stores, database_url: str) -> None:
    """Numbers of what was rolled back are no false alarm."""
    await record(stores)
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT interlock.audit('t', 'x', 'x', 'x', '{}')")
        connection.execute("SELECT interlock.audit('new', 'x', 'x', 'x', '{}')")
        connection.rollback()
    assert await stores.faults() == []
    await stores.audit.append("t", "transition", ALICE, {})
    assert await stores.faults() == []


async def test_many_write_at_once(stores: Stores) -> None:
    await stores.begin_run()
    await asyncio.gather(*(stores.audit.append("t", "transition", ALICE, {"n": number}) for number in range(40)))
    assert await stores.faults() == [] and len(await stores.audit.events("t")) == 42


async def test_threads_are_verified_alone_and_together(stores: Stores, database_url: str) -> None:
    await record(stores)
    await stores.audit.append("Ä b", "transition", ALICE, {})
    with as_owner(database_url) as connection:
        connection.execute("UPDATE interlock.audit_event SET actor = 'x' WHERE thread_id = 'Ä b'")
    assert faults_of(await stores.audit.events("t"), await stores.audit.heads("t")) == []
    assert faults_of(await stores.audit.events("Ä b"), await stores.audit.heads("Ä b")) != []
    assert len(await stores.faults()) == 1


TIMES = [
    datetime(2026, 1, 31, 9, 30, tzinfo=UTC),
    datetime(2026, 1, 31, 9, 30, 0, 1, tzinfo=UTC),
    datetime(1, 1, 2, 3, 4, 5, 60, tzinfo=UTC),
    datetime(987, 6, 5, tzinfo=UTC),
    datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=UTC),
]
TEXTS = ["plain", "Grüße, 世界 😀", "\u202e\u200b\x01\x7f", "e\u0301 é \ufeff", "'; -- \\ %s \n\t"]
ZONES = ["UTC", "Asia/Kathmandu", "America/New_York"]


async def test_both_compute_the_same_hash(database: Database) -> None:
    async with database.transaction() as db:
        for at, text, zone in itertools.product(TIMES, TEXTS, ZONES):
            await db.execute("SELECT set_config('TimeZone', %s, true)", (zone,))
            query = "SELECT interlock.audit_hash(%s, %s, %s, %s, %s, %s, %s, %s) AS hash"
            row = await (await db.execute(query, ("a" * 64, text, 2**40, at, text, text, "os", text))).fetchone()
            event = Event(text, 2**40, at, text, text, "os", text, "a" * 64, "")
            assert row and row["hash"] == event_hash(event), (at, text, zone)
