"""The outbox in PostgreSQL. An attempt is claimed before it is made, so that two processes never send the same message at once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory.outbox import MOST_ATTEMPTS, SEND_SECONDS, Event, Message
from memory.postgres.database import Connection, Database


class PostgresOutbox:
    """`targets` says how many want to hear of an event; `written` is called when something was put in, before its commit."""

    def __init__(self, database: Database, targets: Callable[[Event], int]) -> None:
        self._database, self._targets = database, targets
        self.written: Callable[[], None] = lambda: None

    async def put(self, db: Connection, event: Event, thread_id: str, approval_id: str | None = None, *, about: str = "") -> None:
        for target in range(self._targets(event)):
            values = {"event": event, "thread_id": thread_id, "approval_id": approval_id, "target": target, "about": about}
            await db.execute(PUT, values)
            self.written()

    def wants(self, event: Event) -> bool:
        return self._targets(event) > 0

    async def claim(self, target: int, *, after: int = 0, now: bool = False) -> Message | None:
        values = {"target": target, "after": after, "now": now, "longest": SEND_SECONDS * 2}
        async with self._database.connection() as db:
            row = await (await db.execute(CLAIM, values)).fetchone()
        return _message(row) if row else None

    async def sent(self, message: Message) -> None:
        async with self._database.connection() as db:
            await db.execute(SENT, (message.id,))

    async def failed(self, message: Message, why: str) -> None:
        async with self._database.connection() as db:
            await db.execute(FAILED, {"id": message.id, "why": why, "most": MOST_ATTEMPTS})

    async def left(self) -> Sequence[Message]:
        async with self._database.connection() as db:
            rows = await (await db.execute(LEFT)).fetchall()
        return [_message(row) for row in rows]


def _message(row: Mapping[str, Any]) -> Message:
    return Message(**{name: row[name] for name in Message.__slots__})


PUT = """
INSERT INTO interlock.notification (thread_id, approval_id, event, target, about)
VALUES (%(thread_id)s, %(approval_id)s, %(event)s, %(target)s, %(about)s)
"""
CLAIM = """
UPDATE interlock.notification n
SET attempts = attempts + 1, claimed_at = clock_timestamp(),
    next_at = clock_timestamp() + make_interval(secs => least(3600, 30 * 2 ^ least(attempts, 10)))
WHERE n.id = (
    SELECT c.id FROM interlock.notification c
    WHERE c.sent_at IS NULL AND c.given_up_at IS NULL AND c.target = %(target)s AND c.id > %(after)s
      AND (c.next_at <= clock_timestamp() OR %(now)s)
      AND (c.claimed_at IS NULL OR c.claimed_at < clock_timestamp() - make_interval(secs => %(longest)s))
    ORDER BY c.id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING n.*
"""
SENT = "UPDATE interlock.notification SET sent_at = clock_timestamp(), claimed_at = NULL, error = NULL WHERE id = %s"
FAILED = """
UPDATE interlock.notification SET claimed_at = NULL, error = %(why)s,
    given_up_at = CASE WHEN attempts >= %(most)s THEN clock_timestamp() END
WHERE id = %(id)s AND sent_at IS NULL
"""
LEFT = "SELECT * FROM interlock.notification WHERE sent_at IS NULL AND given_up_at IS NULL ORDER BY id"
