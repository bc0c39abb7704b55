"""Trials by the owner of the tables, with the triggers off: whatever does not compute the chain anew is found, and nothing else is."""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from contract.stores import ALICE, Stores

from memory import audit_export
from memory.audit import Chains, faults_of
from memory.files import writing
from memory.ledger import Result
from memory.postgres.approvals import PostgresApprovals
from memory.postgres.audit import PostgresAudit
from memory.postgres.database import Database
from memory.postgres.ledger import PostgresLedger
from memory.postgres.runs import PostgresRuns

EVENTS = ("thread_id", "seq", "at", "kind", "actor", "actor_source", "payload", "prev_hash", "hash")
HEADS = ("thread_id", "seq", "hash", "seal")
OTHER = {"seq": "seq + 1000", "at": "at + interval '1 microsecond'", "payload": """(left(payload::text, -1) || ' }')::json"""}
REHASH = """
DO $$ DECLARE e record; before text := ''; BEGIN
    FOR e IN SELECT * FROM interlock.audit_event WHERE thread_id = 't' ORDER BY seq LOOP
        UPDATE interlock.audit_event SET prev_hash = before, hash = interlock.audit_hash(
            before, e.thread_id, e.seq, e.at, e.kind, e.actor, e.actor_source, e.payload::text)
        WHERE thread_id = 't' AND seq = e.seq RETURNING hash INTO before;
        UPDATE interlock.audit_head SET seq = e.seq, hash = before, seal = interlock.sha('t ' || e.seq || ' ' || before)
        WHERE thread_id = 't';
    END LOOP;
END $$"""


@pytest.fixture
async def stores(database_url: str) -> Any:
    async with Database(database_url) as database:
        runs, approvals = PostgresRuns(database), PostgresApprovals(database)
        yield Stores(runs, approvals, PostgresLedger(database), PostgresAudit(database))


async def record(stores: Stores) -> None:
    """A thread `t` that was run to its end, and another one beside it."""
    lease = await stores.permitted()
    begun = await stores.ledger.begin(lease, stores.intent())
    assert begun.execution
    await stores.ledger.finish(begun.execution, Result("succeeded", "paid"))
    assert await stores.runs.settle(lease, seen_wake_seq=1, status="completed", final_answer="Done.")
    await stores.audit.append("u", "transition", ALICE, {"n": 1})
    assert await faults(stores) == []


async def faults(stores: Stores) -> list[str]:
    async with stores.audit.snapshot() as snapshot:
        return faults_of([event async for event in snapshot.events], snapshot.heads)


async def against(stores: Stores, file: Path) -> list[str]:
    """As the command does it."""
    made = audit_export.check(file)
    async with stores.audit.snapshot(made.thread_id) as snapshot:
        chains = Chains()
        missing = await audit_export.compare(file, chains.passing(snapshot.events), thread_id=None)
    return [*missing, *chains.faults(snapshot.heads)]


async def export(stores: Stores, file: Path) -> Path:
    async with stores.audit.snapshot() as snapshot:
        with writing(file, force=True) as out:
            await audit_export.write(snapshot, out, thread_id=None)
    return file


@contextmanager
def as_owner(url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE interlock.audit_event DISABLE TRIGGER ALL")
        for table in ("audit_event", "audit_head"):
            connection.execute(f"CREATE TABLE kept_{table} AS SELECT * FROM interlock.{table}")
        yield connection


def restore(connection: psycopg.Connection) -> None:
    for table in ("audit_event", "audit_head"):
        connection.execute(f"DELETE FROM interlock.{table}")
        connection.execute(f"INSERT INTO interlock.{table} SELECT * FROM kept_{table}")


async def test_every_edit_of_every_column_of_every_row(stores: Stores, database_url: str) -> None:
    """Also to NULL, which the owner can allow, and of the ends of the chains."""
    await record(stores)
    with as_owner(database_url) as connection:
        connection.execute("ALTER TABLE interlock.audit_event DROP CONSTRAINT audit_event_pkey")
        connection.execute("ALTER TABLE interlock.audit_head DROP CONSTRAINT audit_head_pkey CASCADE")
        for table, columns in (("audit_event", EVENTS), ("audit_head", HEADS)):
            rows = connection.execute(f"SELECT thread_id, seq FROM interlock.{table}").fetchall()
            for column, row in itertools.product(columns, rows):
                connection.execute(f"ALTER TABLE interlock.{table} ALTER {column} DROP NOT NULL")
                for value in (OTHER.get(column, f"{column} || 'x'"), "NULL"):
                    changed = connection.execute(f"UPDATE interlock.{table} SET {column} = {value} WHERE (thread_id, seq) = (%s, %s)", row)
                    assert changed.rowcount == 1
                    assert await faults(stores) != [], (table, column, row, value)
                    restore(connection)
        assert await faults(stores) == []


async def test_every_deletion_swap_and_insertion(stores: Stores, database_url: str) -> None:
    await record(stores)
    with as_owner(database_url) as connection:
        connection.execute("ALTER TABLE interlock.audit_event DROP CONSTRAINT audit_event_pkey")
        [last] = connection.execute("SELECT max(seq) FROM interlock.audit_event WHERE thread_id = 't'").fetchone() or [0]
        ours = "interlock.audit_event WHERE thread_id = 't' AND seq"
        head = "UPDATE interlock.audit_head h SET seq = e.seq, hash = e.hash FROM"
        numbers = range(1, last + 1)
        trials = [[f"DELETE FROM {ours} = {n}"] for n in numbers]
        trials += [[f"DELETE FROM {ours} >= {n}"] for n in numbers]
        # The end is set back, too; only its seal tells.
        trials += [
            [f"DELETE FROM {ours} > {n}", f"{head} interlock.audit_event e WHERE h.thread_id = 't' AND e.thread_id = 't' AND e.seq = {n}"]
            for n in range(1, last)
        ]
        trials += [
            [f"UPDATE interlock.audit_event SET seq = {a + b} - seq WHERE thread_id = 't' AND seq IN ({a}, {b})"]
            for a, b in itertools.combinations(numbers, 2)
        ]
        copy = "INSERT INTO interlock.audit_event SELECT thread_id, {}, at, kind, actor, actor_source, payload, prev_hash, hash FROM "
        trials += [[copy.format(place) + f"{ours} = {n}"] for n in numbers for place in ("0", "seq", str(last + 1))]
        trials += [[copy.replace("thread_id,", "'v',", 1).format("1") + f"{ours} = 1"]]
        trials += [["DELETE FROM interlock.audit_event", "DELETE FROM interlock.audit_head"], ["TRUNCATE interlock.audit_event"]]
        trials += [["INSERT INTO interlock.audit_head VALUES ('v', 0, '', '')"], ["DELETE FROM interlock.audit_head WHERE thread_id = 'u'"]]
        for trial in trials:
            for statement in trial:
                assert connection.execute(statement).rowcount != 0, statement  # type: ignore[arg-type]
            assert await faults(stores) != [], trial
            restore(connection)
        assert await faults(stores) == []


RECOMPUTED = {
    "changed": ["UPDATE interlock.audit_event SET actor = 'mallory' WHERE thread_id = 't' AND seq = 5", REHASH],
    "shortened": ["DELETE FROM interlock.audit_event WHERE thread_id = 't' AND seq > 6", REHASH],
    "closed": [
        "DELETE FROM interlock.audit_event WHERE thread_id = 't' AND seq = 5",
        "UPDATE interlock.audit_event SET seq = -seq WHERE thread_id = 't' AND seq > 5",
        "UPDATE interlock.audit_event SET seq = -seq - 1 WHERE thread_id = 't' AND seq < 0",
        REHASH,
    ],
    "gone": ["DELETE FROM interlock.audit_event WHERE thread_id = 'u'", "DELETE FROM interlock.audit_head WHERE thread_id = 'u'"],
}
FOUND = {
    "changed": "t: event 5 (approval_decided) is not the one of the export (approval_decided)",
    "shortened": "t: event 7 (execution_succeeded) of the export is missing",
    "closed": "t: event 5 (execution_started) is not the one of the export (approval_decided)",
    "gone": "u: event 1 (transition) of the export is missing",
}


@pytest.mark.parametrize("how", RECOMPUTED)
async def test_what_was_computed_anew_is_found_against_an_export(stores: Stores, database_url: str, tmp_path: Path, how: str) -> None:
    await record(stores)
    file = await export(stores, tmp_path / "export.jsonl")
    await stores.audit.append("t", "transition", ALICE, {"after": "the export"})
    await stores.audit.append("w", "transition", ALICE, {"after": "the export"})
    assert await against(stores, file) == []
    with as_owner(database_url) as connection:
        for statement in RECOMPUTED[how]:
            connection.execute(statement)  # type: ignore[arg-type]
    assert await faults(stores) == [], "the trial itself is not complete"
    assert await against(stores, file) == [FOUND[how]]


async def test_an_edit_that_leaves_the_hash_is_found_against_an_export_too(stores: Stores, database_url: str, tmp_path: Path) -> None:
    await record(stores)
    file = await export(stores, tmp_path / "export.jsonl")
    with as_owner(database_url) as connection:
        connection.execute("UPDATE interlock.audit_event SET actor = 'mallory' WHERE thread_id = 't' AND seq = 5")
    assert await against(stores, file) == ["t: event 5 (approval_decided) was changed"]


async def test_no_alarm_while_others_write_and_roll_back(stores: Stores, database_url: str, tmp_path: Path) -> None:
    await record(stores)
    file = await export(stores, tmp_path / "first.jsonl")
    going = True

    async def write(thread: str) -> None:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            for number in itertools.count():
                for of in (thread, f"new {thread} {number}"):
                    await connection.execute("SELECT interlock.audit(%s, 'transition', 'x', 'x', '{}')", (of,))
                await (connection.rollback if number % 2 else connection.commit)()
                if not going:
                    return

    writers = [asyncio.create_task(write(thread)) for thread in ("t", "t", "z")]
    try:
        for number in range(15):
            assert await faults(stores) == []
            assert await against(stores, file) == []
            audit_export.check(await export(stores, tmp_path / f"{number % 2}.jsonl"))
    finally:
        going = False
        await asyncio.gather(*writers)
    assert await against(stores, tmp_path / "0.jsonl") == []


async def test_an_export_holds_little_of_a_large_record(stores: Stores, database_url: str, tmp_path: Path) -> None:
    """Twice as many events take no more memory."""
    import tracemalloc

    def fill(thread: str) -> None:
        with psycopg.connect(database_url) as connection:
            many = "SELECT interlock.audit(%s, 'transition', 'x', 'x', to_json(repeat('x', 4000))::text) FROM generate_series(1, 1500)"
            connection.execute(many, (thread,))

    peaks = []
    for thread in ("a", "b"):
        fill(thread)
        tracemalloc.start()
        file = await export(stores, tmp_path / "export.jsonl")
        assert audit_export.check(file).events == 1500 * (len(peaks) + 1)
        assert await against(stores, file) == []
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.5, peaks
