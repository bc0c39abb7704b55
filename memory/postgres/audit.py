"""The record in PostgreSQL. The chain itself is made by a trigger (migration 0001); here events are appended and read."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from memory.audit import Event, Head, Snapshot
from memory.canonical import canonical
from memory.people import Identity
from memory.postgres.database import Connection, Database

AT_ONCE = 1000  # events that are fetched together


async def append(db: Connection, thread_id: str, kind: str, actor: Identity, payload: Mapping[str, Any]) -> None:
    """Last in a transaction: it locks the end of the thread's chain."""
    await db.execute(
        "SELECT interlock.audit(%s, %s, %s, %s, %s)",
        (thread_id, kind, actor.name, actor.source, canonical(dict(payload))),
    )


async def on_record(db: Connection, args: Mapping[str, Any], secret: Sequence[str]) -> dict[str, Any]:
    """Arguments as they may stand on the record: secret ones as a keyed digest of their canonical JSON."""
    return {name: await _digest(db, value) if name in secret else value for name, value in args.items()}


async def _digest(db: Connection, value: Any) -> str:
    row = await (await db.execute("SELECT interlock.keyed_digest(%s) AS digest", (canonical(value),))).fetchone()
    if row is None:
        raise AssertionError("a function gives a row")
    return f"‹secret {row['digest']}›"


class PostgresAudit:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, thread_id: str, kind: str, actor: Identity, payload: dict[str, object]) -> None:
        async with self._database.transaction() as db:
            await append(db, thread_id, kind, actor, payload)

    async def events(self, thread_id: str | None = None) -> Sequence[Event]:
        async with self._database.connection() as db:
            rows = await (await db.execute(EVENTS, {"thread_id": thread_id})).fetchall()
        return [Event(**row) for row in rows]

    async def heads(self, thread_id: str | None = None) -> Sequence[Head]:
        async with self._database.connection() as db:
            return await _heads(db, thread_id)

    @asynccontextmanager
    async def snapshot(self, thread_id: str | None = None) -> AsyncIterator[Snapshot]:
        async with self._database.transaction() as db:
            await db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            row = await (await db.execute("SELECT clock_timestamp() AS at")).fetchone()
            if row is None:
                raise AssertionError("there is always a time")
            yield Snapshot(row["at"], await _heads(db, thread_id), _stream(db, thread_id))


async def _heads(db: Connection, thread_id: str | None) -> Sequence[Head]:
    return [Head(**row) for row in await (await db.execute(HEADS, {"thread_id": thread_id})).fetchall()]


async def _stream(db: Connection, thread_id: str | None) -> AsyncIterator[Event]:
    async with db.cursor(name="interlock_audit") as cursor:
        cursor.itersize = AT_ONCE
        await cursor.execute(EVENTS, {"thread_id": thread_id})
        async for row in cursor:
            yield Event(**row)


# A value that Python cannot hold was never ours: it is read as one that it can, and the hash tells that it was changed.
EVENTS = """
SELECT coalesce(thread_id, '') AS thread_id, coalesce(seq, 0) AS seq,
    coalesce(least(greatest(at, '0001-01-02 UTC'), '9999-12-30 UTC'), '0001-01-02 UTC') AS at,
    coalesce(kind, '') AS kind, coalesce(actor, '') AS actor, coalesce(actor_source, '') AS actor_source,
    coalesce(payload::text, 'null') AS payload, coalesce(prev_hash, '?') AS prev_hash, coalesce(hash, '') AS hash
FROM interlock.audit_event WHERE %(thread_id)s::text IS NULL OR thread_id = %(thread_id)s
ORDER BY audit_event.thread_id COLLATE "C", audit_event.seq
"""
HEADS = """
SELECT thread_id, coalesce(h.seq, 0) AS seq, coalesce(h.hash, '') AS hash, coalesce(h.seal, '') AS seal
FROM (SELECT thread_id FROM interlock.run UNION SELECT thread_id FROM interlock.audit_head
      UNION SELECT thread_id FROM interlock.audit_event) t
LEFT JOIN interlock.audit_head h USING (thread_id)
WHERE thread_id IS NOT NULL AND (%(thread_id)s::text IS NULL OR thread_id = %(thread_id)s)
ORDER BY thread_id COLLATE "C"
"""
