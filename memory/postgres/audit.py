"""The record in PostgreSQL. The chain itself is made by a trigger (migration 0001); here events are appended and read."""

from collections.abc import Mapping, Sequence
from typing import Any

from memory.audit import Event, Head
from memory.canonical import canonical
from memory.people import Identity
from memory.postgres.database import Connection, Database


async def append(db: Connection, thread_id: str, kind: str, actor: Identity, payload: Mapping[str, Any]) -> None:
    """Last in a transaction: it locks the end of the thread's chain."""
    await db.execute(
        "SELECT interlock.audit(%s, %s, %s, %s, %s)",
        (thread_id, kind, actor.name, actor.source, canonical(dict(payload))),
    )


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
            rows = await (await db.execute(HEADS, {"thread_id": thread_id})).fetchall()
        return [Head(**row) for row in rows]


# A time that Python cannot hold was never ours: it is read as one that it can, and the hash tells that it was changed.
EVENTS = """
SELECT thread_id, seq, least(greatest(at, '0001-01-02 UTC'), '9999-12-30 UTC') AS at, kind, actor, actor_source,
    payload::text AS payload, prev_hash, hash
FROM interlock.audit_event WHERE %(thread_id)s::text IS NULL OR thread_id = %(thread_id)s
ORDER BY thread_id COLLATE "C", seq
"""
HEADS = """
SELECT thread_id, coalesce(h.seq, 0) AS seq, coalesce(h.hash, '') AS hash, coalesce(h.seal, '') AS seal
FROM (SELECT thread_id FROM interlock.run UNION SELECT thread_id FROM interlock.audit_head
      UNION SELECT thread_id FROM interlock.audit_event) t
LEFT JOIN interlock.audit_head h USING (thread_id)
WHERE %(thread_id)s::text IS NULL OR thread_id = %(thread_id)s
"""
