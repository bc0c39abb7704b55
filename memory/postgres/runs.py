"""Runs in PostgreSQL: the thread's row and its lease. Each change is one transaction with its place on the record."""

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.types.json import Json

from memory.errors import BusyError, ConflictError, NotFoundError
from memory.leases import Lease, LeaseLostError, is_dead
from memory.moments import moment, moment_or_none
from memory.people import Identity
from memory.postgres.audit import append
from memory.postgres.database import Connection, Database
from memory.postgres.due import DUE, OWNERS
from memory.postgres.outbox import PostgresOutbox
from memory.runs import ENDED, NewRun, Run, Status
from memory.text import clean

SELECT = """
SELECT *, coalesce(lease_until > clock_timestamp(), false) AS lease_live FROM interlock.run
"""
MEMORY = Identity("memory", "process")


class PostgresRuns:
    def __init__(self, database: Database, outbox: PostgresOutbox | None = None) -> None:
        self._database, self._outbox = database, outbox

    async def create(self, new: NewRun, *, adopted: bool = False, moving: bool = False) -> Run:
        async with self._database.transaction() as db:
            row = await (await db.execute(INSERT, _parameters(new))).fetchone()
            orphaned = not adopted and (await db.execute(CHECKPOINTED, (new.thread_id,))).rowcount
            if row is None or orphaned:
                remedy = f"Go on with it: interlock resume {new.thread_id}"
                raise ConflictError(f"Thread {new.thread_id!r} exists already.", remedy=remedy, code="thread_exists")
            head = await (await db.execute(ADOPT_HEAD, (new.thread_id,))).fetchone() if adopted and not moving else None
            await append(db, new.thread_id, "thread_adopted" if adopted else "thread_started", new.starter, {
                "checkpoint_id": head["head_checkpoint_id"] if head else None,
                "graph_version": new.graph_version,
                "input": new.input,
                "requester": new.requester.name,
                "requester_source": new.requester.source,
                "tenant": new.tenant,
                "tools_version": new.tools_version,
            })  # fmt: skip
        return _run(row)

    async def fork(self, source: str, thread_id: str, by: Identity) -> Run:
        names = {"source": source, "thread_id": thread_id}
        async with self._database.transaction() as db:
            await db.execute(HOLD, names)  # no checkpoint of it is stored or dropped meanwhile
            row = await (await db.execute(FORK, names)).fetchone()
            if row is None or (await db.execute(CHECKPOINTED, (thread_id,))).rowcount:
                raise ConflictError(f"Thread {thread_id!r} exists already.", remedy="Choose another name.", code="thread_exists")
            copied = await (await db.execute(COPY_CHECKPOINT, names)).fetchone()
            await db.execute(COPY_BLOBS, names)
            await db.execute(ADOPT_HEAD, (thread_id,))
            for each in (source, thread_id):
                await append(db, each, "thread_forked", by, {
                    "checkpoint_id": copied["checkpoint_id"] if copied else None, "from": source, "to": thread_id,
                })  # fmt: skip
        return _run(row)

    async def get(self, thread_id: str) -> Run | None:
        if clean(thread_id) != thread_id:
            return None  # no thread has such a name, and PostgreSQL would not take it
        async with self._database.connection() as db:
            row = await (await db.execute(SELECT + "WHERE thread_id = %s", (thread_id,))).fetchone()
        return _run(row) if row else None

    async def newest(self, *, status: Status | None = None, limit: int = 100) -> Sequence[Run]:
        query = SELECT + "WHERE %(status)s::text IS NULL OR status = %(status)s ORDER BY updated_at DESC LIMIT %(limit)s"
        async with self._database.connection() as db:
            rows = await (await db.execute(query, {"status": status, "limit": limit})).fetchall()
        return [_run(row) for row in rows]

    async def left(self) -> Sequence[Run]:
        async with self._database.connection() as db:
            rows = await (await db.execute(SELECT + LEFT)).fetchall()
        return [_run(row) for row in rows]

    async def due(self, limit: int, *, besides: Sequence[str] = ()) -> Sequence[str]:
        async with self._database.connection() as db:
            owners = [row["lease_owner"] for row in await (await db.execute(OWNERS)).fetchall()]
            values = {"limit": limit, "besides": list(besides), "dead": [one for one in owners if is_dead(one)]}
            rows = await (await db.execute(DUE, values)).fetchall()
        return [row["thread_id"] for row in rows]

    async def wake_overdue(self) -> int:
        async with self._database.connection() as db:
            return (await db.execute(WAKE_OVERDUE)).rowcount

    async def acquire(self, thread_id: str, owner: str, seconds: float, *, dead_owner: str | None = None) -> Lease:
        async with self._database.transaction() as db:
            row = await (await db.execute(SELECT + "WHERE thread_id = %s FOR NO KEY UPDATE", (thread_id,))).fetchone()
            if row is None:
                raise NotFoundError(f"There is no thread {thread_id!r}.", code="no_such_thread")
            run = _run(row)
            if run.lease_live and run.lease_owner != dead_owner:
                raise busy(run)
            epoch = run.lease_epoch + 1
            await db.execute(TAKE, {"thread_id": thread_id, "owner": owner, "epoch": epoch, "seconds": seconds})
            kind = "process_taken_over" if run.lease_owner else "process_began"
            since = moment_or_none(run.lease_since) if run.lease_owner else None
            await append(db, thread_id, kind, Identity(owner, "process"), {
                "epoch": epoch, "from": run.lease_owner, "since": since,
            })  # fmt: skip
        return Lease(thread_id, owner, epoch, sure=run.lease_owner in {None, dead_owner})

    async def renew(self, lease: Lease, seconds: float) -> None:
        async with self._database.connection() as db:
            await _changed(db, lease, RENEW, {"seconds": seconds})

    async def settle(
        self,
        lease: Lease,
        *,
        seen_wake_seq: int,
        status: Status,
        final_answer: str | None = None,
        error: Mapping[str, Any] | None = None,
    ) -> bool:
        async with self._database.transaction() as db:
            run = await locked(db, lease)
            if run.wake_seq != seen_wake_seq:
                return False
            await db.execute(SETTLE, {
                "thread_id": lease.thread_id, "status": status, "final_answer": final_answer, "error": error and Json(error),
            })  # fmt: skip
            if status in ENDED and self._outbox:
                await self._outbox.put(db, "ended", lease.thread_id, about=status)
            if status in ENDED:
                await append(db, lease.thread_id, "thread_ended", Identity(lease.owner, "process"), {
                    "error": dict(error) if error else None, "final_answer": final_answer, "status": status,
                })  # fmt: skip
        return True

    async def caught_up(self, lease: Lease, *, seen_wake_seq: int) -> None:
        async with self._database.connection() as db:
            await _changed(db, lease, CAUGHT_UP, {"seen": seen_wake_seq})

    async def release(self, lease: Lease) -> None:
        async with self._database.connection() as db:
            await db.execute(RELEASE, {"thread_id": lease.thread_id, "epoch": lease.epoch})

    async def reopen(self, lease: Lease) -> None:
        async with self._database.connection() as db:
            await _changed(db, lease, REOPEN, {})

    async def request_cancel(self, thread_id: str, by: Identity, comment: str) -> None:
        wish = {"by": by.name, "comment": comment, "source": by.source}
        async with self._database.transaction() as db:
            found = await db.execute(CANCEL, {"thread_id": thread_id, "wish": Json(wish)})
            if found.rowcount:
                await append(db, thread_id, "cancel_requested", by, {"comment": comment})

    async def recalled(self, thread_id: str, about: Mapping[str, Any]) -> None:
        async with self._database.transaction() as db:
            if await _noted(db, thread_id, {"recalled": about}):
                await append(db, thread_id, "memory_recalled", MEMORY, about)

    async def remembered(self, thread_id: str, about: Mapping[str, Any]) -> None:
        async with self._database.transaction() as db:
            if await _noted(db, thread_id, {"remembered": about}):
                await append(db, thread_id, "memory_kept", MEMORY, about)


async def _noted(db: Connection, thread_id: str, about: Mapping[str, Any]) -> bool:
    return (await db.execute(NOTE_MEMORY, {"thread_id": thread_id, "about": Json(about)})).rowcount == 1


async def locked(db: Connection, lease: Lease, *, lock: str = "FOR NO KEY UPDATE") -> Run:
    """The fence: the row of the run, locked, as long as this lease is still the current one."""
    row = await (await db.execute(SELECT + "WHERE thread_id = %s " + lock, (lease.thread_id,))).fetchone()
    if row is None or row["lease_epoch"] != lease.epoch or row["lease_owner"] != lease.owner:
        raise LeaseLostError(f"Another process drives thread {lease.thread_id!r} now.")
    return _run(row)


def busy(run: Run) -> BusyError:
    since = moment(run.lease_since) if run.lease_since else "an unknown time"
    owner = (run.lease_owner or "").rsplit(":", 2)[0]
    return BusyError(
        f"Thread {run.thread_id!r} is driven by process {owner} since {since}.",
        remedy="Wait until it ends or waits for a person. If that process is gone, its right runs out by itself: try again in a moment.",
        owner=run.lease_owner,
    )


async def _changed(db: Connection, lease: Lease, query: str, values: dict[str, Any]) -> None:
    done = await db.execute(query, {"thread_id": lease.thread_id, "epoch": lease.epoch, **values})
    if done.rowcount != 1:
        raise LeaseLostError(f"Another process drives thread {lease.thread_id!r} now.")


def _parameters(new: NewRun) -> dict[str, Any]:
    return {
        "thread_id": new.thread_id,
        "input": new.input,
        "requester": new.requester.name,
        "requester_source": new.requester.source,
        "starter": new.starter.name,
        "starter_source": new.starter.source,
        "tenant": new.tenant,
        "graph_version": new.graph_version,
        "tools_version": new.tools_version,
        "wake_seq": int(new.detached),
    }


def _run(row: Mapping[str, Any]) -> Run:
    return Run(
        thread_id=row["thread_id"],
        status=row["status"],
        input=row["input"],
        requester=Identity(row["requester"], row["requester_source"]),
        starter=Identity(row["starter"], row["starter_source"]),
        tenant=row["tenant"],
        lineage_root=row["lineage_root"],
        graph_version=row["graph_version"],
        tools_version=row["tools_version"],
        final_answer=row["final_answer"],
        error=row["error"],
        cancel_requested=row["cancel_requested"],
        wake_seq=row["wake_seq"],
        settled_seq=row["settled_seq"],
        lease_owner=row["lease_owner"],
        lease_epoch=row["lease_epoch"],
        lease_since=row["lease_since"],
        lease_live=row["lease_live"],
        memory=row["memory"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        forked_from=row["forked_from"],
    )


INSERT = """
INSERT INTO interlock.run (
    thread_id, input, requester, requester_source, starter, starter_source, tenant, lineage_root, graph_version, tools_version,
    wake_seq)
VALUES (
    %(thread_id)s, %(input)s, %(requester)s, %(requester_source)s, %(starter)s, %(starter_source)s, %(tenant)s, %(thread_id)s,
    %(graph_version)s, %(tools_version)s, %(wake_seq)s)
ON CONFLICT (thread_id) DO NOTHING
RETURNING *, false AS lease_live
"""
CHECKPOINTED = "SELECT FROM checkpoints WHERE thread_id = %s LIMIT 1"
ADOPT_HEAD = """
UPDATE interlock.run r SET head_checkpoint_id = (
    SELECT max(c.checkpoint_id) FROM checkpoints c WHERE c.thread_id = r.thread_id AND c.checkpoint_ns = '')
WHERE r.thread_id = %s
RETURNING head_checkpoint_id
"""
HOLD = "SELECT FROM interlock.run WHERE thread_id = %(source)s FOR SHARE"
FORK = """
INSERT INTO interlock.run (
    thread_id, input, requester, requester_source, starter, starter_source, tenant, lineage_root, graph_version, tools_version, forked_from)
SELECT %(thread_id)s, input, requester, requester_source, starter, starter_source, tenant, lineage_root, graph_version, tools_version,
    thread_id
FROM interlock.run WHERE thread_id = %(source)s
ON CONFLICT (thread_id) DO NOTHING
RETURNING *, false AS lease_live
"""
COPY_CHECKPOINT = """
INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata)
SELECT %(thread_id)s, '', c.checkpoint_id, c.type, c.checkpoint, c.metadata || '{"source": "fork"}'
FROM checkpoints c JOIN interlock.run r USING (thread_id)
WHERE c.thread_id = %(source)s AND c.checkpoint_ns = '' AND c.checkpoint_id = r.head_checkpoint_id
RETURNING checkpoint_id
"""
COPY_BLOBS = """
INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
SELECT c.thread_id, '', b.channel, b.version, b.type, b.blob
FROM checkpoints c JOIN checkpoint_blobs b
    ON b.thread_id = %(source)s AND b.checkpoint_ns = '' AND b.version = c.checkpoint -> 'channel_versions' ->> b.channel
WHERE c.thread_id = %(thread_id)s AND c.checkpoint_ns = ''
"""
TAKE = """
UPDATE interlock.run
SET lease_owner = %(owner)s, lease_epoch = %(epoch)s, lease_since = clock_timestamp(),
    lease_until = clock_timestamp() + make_interval(secs => %(seconds)s),
    status = CASE status WHEN 'waiting' THEN 'running' ELSE status END
WHERE thread_id = %(thread_id)s
"""
# A beat that meets the end of its own work changes nothing, and is no loss: the epoch tells whether another took over.
RENEW = """
UPDATE interlock.run
SET lease_until = CASE WHEN lease_owner IS NOT NULL THEN clock_timestamp() + make_interval(secs => %(seconds)s) END
WHERE thread_id = %(thread_id)s AND lease_epoch = %(epoch)s
"""
# A thread that nobody has driven yet is, for its first minute, on the way into the hands of the process that made it.
LEFT = """
WHERE wake_seq <> settled_seq
    OR (status = 'running' AND (lease_epoch > 0 OR created_at < clock_timestamp() - interval '1 minute'))
    OR (status = 'waiting' AND EXISTS (SELECT FROM interlock.approval a
        WHERE a.thread_id = run.thread_id AND a.status = 'pending' AND a.expires_at <= clock_timestamp()))
ORDER BY updated_at
"""
WAKE_OVERDUE = """
UPDATE interlock.run SET wake_seq = wake_seq + 1
WHERE status = 'waiting' AND wake_seq = settled_seq AND thread_id IN (
    SELECT thread_id FROM interlock.approval WHERE status = 'pending' AND expires_at <= clock_timestamp())
"""
SETTLE = """
UPDATE interlock.run
SET status = %(status)s, final_answer = %(final_answer)s, error = %(error)s, lease_owner = NULL, lease_until = NULL,
    settled_seq = wake_seq, updated_at = clock_timestamp()
WHERE thread_id = %(thread_id)s
"""
CAUGHT_UP = "UPDATE interlock.run SET settled_seq = %(seen)s WHERE thread_id = %(thread_id)s AND lease_epoch = %(epoch)s"
NOTE_MEMORY = """
UPDATE interlock.run SET memory = (coalesce(memory::jsonb, '{}') || %(about)s::jsonb)::json WHERE thread_id = %(thread_id)s
"""
# With a call that it began and did not settle, the owner stays, its time over: that call's thread may still be at work, and the
# next holder is not sure of the contrary (memory/leases.py).
RELEASE = """
UPDATE interlock.run r
SET lease_owner = CASE WHEN left_behind THEN lease_owner END, lease_until = CASE WHEN left_behind THEN clock_timestamp() END,
    status = CASE
    WHEN r.status = 'running' AND EXISTS (
        SELECT FROM interlock.approval a WHERE a.thread_id = r.thread_id AND (a.status = 'pending' OR (
            a.status = 'approved' AND NOT EXISTS (SELECT FROM interlock.execution e WHERE e.call_key = a.call_key)))) THEN 'waiting'
    ELSE r.status END
FROM (SELECT EXISTS (
    SELECT FROM interlock.execution e
    WHERE e.thread_id = %(thread_id)s AND e.status = 'started' AND e.lease_epoch = %(epoch)s) AS left_behind) AS work
WHERE thread_id = %(thread_id)s AND lease_epoch = %(epoch)s
"""
REOPEN = """
UPDATE interlock.run SET status = 'running', error = NULL, updated_at = clock_timestamp()
WHERE thread_id = %(thread_id)s AND lease_epoch = %(epoch)s
"""
CANCEL = """
UPDATE interlock.run SET cancel_requested = %(wish)s, wake_seq = wake_seq + 1, updated_at = clock_timestamp()
WHERE thread_id = %(thread_id)s AND status NOT IN ('completed', 'rejected', 'cancelled')
"""
