"""The ledger in PostgreSQL: the gate, the fence and the intent are one transaction; the outcome is another."""

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg.types.json import Json

from memory.approvals import NewApproval, Proposal
from memory.leases import Lease, LeaseLostError
from memory.ledger import AtWork, Begun, Effect, Execution, Intent, Result
from memory.people import Identity
from memory.postgres.approvals import insert as open_approval
from memory.postgres.approvals import proposed
from memory.postgres.audit import append, on_record
from memory.postgres.database import Connection, Database
from memory.postgres.outbox import PostgresOutbox
from memory.postgres.runs import locked

FIELDS = """call_key, thread_id, tool_call_id, tool, args, args_sha256, approval_id, idempotency_key, status, attempts, result,
error, started_at, finished_at, undo, undoes, secret"""
ONE = f"SELECT {FIELDS}, lease_epoch FROM interlock.execution WHERE call_key = %s FOR NO KEY UPDATE"  # noqa: S608 - constants
AGENT = Identity("agent", "process")


class _Undone(Exception):  # noqa: N818 - carries a result out of a transaction that must not commit
    def __init__(self, result: Result) -> None:
        self.result = result


class PostgresLedger:
    def __init__(self, database: Database, outbox: PostgresOutbox | None = None) -> None:
        self._database, self._outbox = database, outbox

    async def begin(self, lease: Lease, intent: Intent) -> Begun:
        async with self._database.transaction() as db:
            run = await locked(db, lease, lock="FOR SHARE")
            begun = await self._past(db, lease, intent.call_key, digest=None if run.cancel_requested else intent.args_sha256)
            if run.cancel_requested and (begun is None or begun.state == "unsettled"):
                return Begun("cancelled")
            return begun or await self._first(db, lease, intent)

    async def past(self, lease: Lease, call_key: str) -> Begun | None:
        async with self._database.transaction() as db:
            await locked(db, lease, lock="FOR SHARE")
            return await self._past(db, lease, call_key, digest=None)

    async def _past(self, db: Connection, lease: Lease, call_key: str, *, digest: str | None) -> Begun | None:
        """`digest` is the hash of what would run; without one, nothing may."""
        row = await (await db.execute(ONE, (call_key,))).fetchone()
        if row is None:
            return None
        epoch = row.pop("lease_epoch")
        execution = Execution(**row)
        if execution.thread_id != lease.thread_id and execution.status in {"started", "unknown"}:
            return Begun("refused", execution, "it was begun on another thread")
        match execution.status:
            case "succeeded" | "failed" | "abandoned":
                return Begun("done", execution)
            case "started":
                return Begun("running" if epoch == lease.epoch else "unsettled", execution)
            case "unknown":
                return await self._settled(db, lease, execution, digest=digest)

    async def refuse(self, lease: Lease, intent: Intent, *, why: str) -> None:
        async with self._database.transaction() as db:
            await locked(db, lease, lock="FOR SHARE")
            if execution := await _insert(db, lease, intent):
                await _finish(db, execution, Result("failed", why), "refused before it began")

    async def compensated(self, lease: Lease, report: Mapping[str, Any]) -> None:
        async with self._database.transaction() as db:
            await locked(db, lease)
            if not (await db.execute(COMPENSATED, (lease.thread_id,))).rowcount:
                await append(db, lease.thread_id, "compensation_ended", AGENT, report)

    async def again(self, lease: Lease, execution: Execution, *, why: str) -> Execution:
        async with self._database.transaction() as db:
            await locked(db, lease, lock="FOR SHARE")
            return await self._next_attempt(db, lease, execution, why)

    async def finish(self, execution: Execution, result: Result, *, how: str = "returned") -> None:
        async with self._database.transaction() as db:
            await _finish(db, execution, result, how)

    async def transact(self, lease: Lease, execution: Execution, effect: Effect) -> Result:
        async with self._database.connection() as db:
            try:
                async with db.transaction():
                    return await self._committed(db, lease, execution, effect)
            except _Undone as undone:
                if db.closed:
                    # It was our connection that the tool lost: no answer of the tool. Left as begun, the next run repeats it.
                    raise psycopg.OperationalError(undone.result.text) from undone
                result = Result("failed", undone.result.text)  # rolled back: whatever the tool met, nothing happened
        await self.finish(execution, result)
        return result

    async def _committed(self, db: Connection, lease: Lease, execution: Execution, effect: Effect) -> Result:
        await locked(db, lease, lock="")
        result = await effect(db)
        if result.status != "succeeded":
            raise _Undone(result)
        await locked(db, lease, lock="FOR SHARE")  # the fence counts at the commit; until then nobody waits for this tool
        if not await _finish(db, execution, result, "committed with its effect"):
            raise LeaseLostError(f"Another process settled call {execution.call_key!r} meanwhile.")
        return result

    async def give_up(self, execution: Execution, *, why: str, question: NewApproval, ended: bool = False) -> bool:
        async with self._database.transaction() as db:
            values = {"call_key": execution.call_key, "attempts": execution.attempts, "why": why}
            done = await db.execute(GIVE_UP, values)
            if not done.rowcount and not (await db.execute(STILL_UNKNOWN, values)).rowcount:
                return False
            await open_approval(db, question, self._outbox)
            if done.rowcount:
                await append(db, execution.thread_id, "execution_unknown", AGENT, {
                    "attempt": execution.attempts, "call_key": execution.call_key, "ended": ended, "tool": execution.tool, "why": why,
                })  # fmt: skip
        return True

    async def at_work(self, call_key: str) -> AtWork | None:
        async with self._database.connection() as db:
            row = await (await db.execute(AT_WORK, (call_key,))).fetchone()
        return AtWork(**row) if row else None

    async def refused(self, lease: Lease, *, call_key: str | None, tool: str | None, why: str) -> None:
        async with self._database.transaction() as db:
            await append(db, lease.thread_id, "execution_refused", AGENT, {"call_key": call_key, "tool": tool, "why": why})

    async def late(self, execution: Execution, text: str) -> None:
        async with self._database.transaction() as db:
            await _late(db, execution, text)

    async def of_thread(self, thread_id: str) -> Sequence[Execution]:
        query = f"SELECT {FIELDS} FROM interlock.execution WHERE thread_id = %s ORDER BY started_at, call_key"  # noqa: S608
        async with self._database.connection() as db:
            rows = await (await db.execute(query, (thread_id,))).fetchall()
        return [Execution(**row) for row in rows]

    async def _first(self, db: Connection, lease: Lease, intent: Intent) -> Begun:
        if (intent.critical or intent.undoes) and (why := await _not_permitted(db, intent)):
            return Begun("refused", why=why)
        execution = await _insert(db, lease, intent)
        if execution is None:
            begun = await self._past(db, lease, intent.call_key, digest=None)
            assert begun is not None  # noqa: S101 - its row was in the way
            return begun
        args = await on_record(db, intent.args, intent.secret)
        if intent.approval_id is None:
            await proposed(db, intent.thread_id, Proposal(
                intent.call_key, intent.tool, args, intent.args_sha256, "run", intent.rule, intent.policy,
            ))  # fmt: skip
        await _started(db, lease, execution, "", args=args)
        return Begun("go", execution)

    async def _settled(self, db: Connection, lease: Lease, execution: Execution, *, digest: str | None) -> Begun:
        """What a person said of an attempt whose outcome nobody knew."""
        query = """SELECT outcome FROM interlock.approval WHERE call_key = %s AND kind = 'unknown_outcome'
                   AND status IN ('approved', 'rejected') AND (outcome ->> 'attempt')::int = %s"""
        row = await (await db.execute(query, (execution.call_key, execution.attempts))).fetchone()
        if row is None:
            return Begun("unsettled", execution)
        outcome = row["outcome"]
        again = outcome["settle"] == "retry" and digest == execution.args_sha256
        # Who wants a retry says that it did not happen.
        status = "retried" if again else {"done": "succeeded", "retry": "failed", "abandon": "abandoned"}[outcome["settle"]]
        text = NOT_AGAIN.format(by=outcome["by"]) if status == "failed" else outcome.get("text")
        await append(db, execution.thread_id, "execution_resolved", AGENT, {
            "attempt": execution.attempts, "by": outcome["by"], "call_key": execution.call_key, "status": status, "text": text,
            "tool": execution.tool,
        })  # fmt: skip
        if again:
            return Begun("go", await self._next_attempt(db, lease, execution, "retried by " + outcome["by"]))
        row = await (await db.execute(RESOLVE, {"call_key": execution.call_key, "status": status, "text": text or ""})).fetchone()
        assert row is not None  # noqa: S101 - locked above
        return Begun("done", Execution(**row))

    async def _next_attempt(self, db: Connection, lease: Lease, execution: Execution, why: str) -> Execution:
        row = await (await db.execute(AGAIN, {
            "call_key": execution.call_key, "attempts": execution.attempts, "epoch": lease.epoch,
        })).fetchone()  # fmt: skip
        if row is None:
            raise LeaseLostError(f"Another process went on with call {execution.call_key!r} meanwhile.")
        following = Execution(**row)
        await _started(db, lease, following, why)
        return following


async def _insert(db: Connection, lease: Lease, intent: Intent) -> Execution | None:
    """None if it was begun before: here, or by a copy of this thread, whose calls have the same keys, at this very moment."""
    row = await (await db.execute(INSERT, {
        **{name: getattr(intent, name) for name in Intent.__slots__}, "args": Json(intent.args), "epoch": lease.epoch,
        "secret": list(intent.secret),
    })).fetchone()  # fmt: skip
    return Execution(**row) if row else None


async def _not_permitted(db: Connection, intent: Intent) -> str | None:
    """The gate. Nothing but a stored, positive approval for this very call and these very arguments lets it pass."""
    row = await (await db.execute(PERMIT, (intent.approval_id,))).fetchone()
    if intent.undoes is not None:
        return _may_not_undo(row, intent, await (await db.execute(ONE, (intent.undoes,))).fetchone())
    ours = row is not None and (row["call_key"], row["thread_id"]) == (intent.call_key, intent.thread_id)
    if row is None or not ours or row["kind"] != "pre_execution":
        return "no stored approval permits this call"
    if row["status"] != "approved":
        return f"its approval is {row['status']}, not approved"
    if row["args_sha256"] != intent.args_sha256:
        return "what was approved is not what would run: the arguments or the tool's schema differ"
    if not row["on_record"]:
        return "its approval is not on the record: the row was not written by a decision"
    if row["overdue"]:
        return "it was approved in time, and its deadline passed before it was begun"
    return None


def _may_not_undo(permit: Mapping[str, Any] | None, intent: Intent, effect: Mapping[str, Any] | None) -> str | None:
    """An undo needs an approval of its own, or a rejection that wished it; and something to undo."""
    if effect is None or effect["thread_id"] != intent.thread_id or effect["status"] != "succeeded":
        return "there is no effect of this thread that it would undo"
    if permit is None or permit["thread_id"] != intent.thread_id:
        return "no stored decision permits this undo"
    if permit["kind"] == "compensation":
        ours = (permit["call_key"], permit["args_sha256"]) == (intent.call_key, intent.args_sha256)
        return None if ours and permit["status"] == "approved" else "what was approved is not this undo"
    wish = permit["outcome"] or {}
    wished = permit["status"] == "rejected" and wish.get("then") == "compensate" and intent.undoes in wish.get("undo", [])
    return None if wished and not intent.critical else "nobody has decided on this undo"


async def _started(db: Connection, lease: Lease, execution: Execution, why: str, *, args: Mapping[str, Any] | None = None) -> None:
    """A further attempt runs with the arguments of the first, which are on the record there."""
    await append(db, execution.thread_id, "execution_started", Identity(lease.owner, "process"), {
        "approval_id": execution.approval_id, "args": args, "args_sha256": execution.args_sha256, "attempt": execution.attempts,
        "call_key": execution.call_key, "epoch": lease.epoch, "tool": execution.tool, "undoes": execution.undoes, "why": why,
    })  # fmt: skip


async def _finish(db: Connection, execution: Execution, result: Result, how: str) -> bool:
    values = {"call_key": execution.call_key, "attempts": execution.attempts, "status": result.status, "text": result.text}
    done = await db.execute(FINISH, values)
    if not done.rowcount:
        await _late(db, execution, f"{result.status}: {result.text}")
        return False
    await append(db, execution.thread_id, f"execution_{result.status}", AGENT, {
        "attempt": execution.attempts, "call_key": execution.call_key, "how": how, "text": result.text, "tool": execution.tool,
    })  # fmt: skip
    return True


async def _late(db: Connection, execution: Execution, text: str) -> None:
    late = Json([{"attempt": execution.attempts, "text": text}])
    await db.execute(LATE, {"call_key": execution.call_key, "late": late})
    await append(db, execution.thread_id, "execution_late", AGENT, {
        "attempt": execution.attempts, "call_key": execution.call_key, "text": text, "tool": execution.tool,
    })  # fmt: skip


NOT_AGAIN = "{by} said that it did not happen. It was not tried again: the thread has ended, or the tool is gone or has changed"
PERMIT = """
SELECT call_key, thread_id, kind, status, args_sha256, outcome, coalesce(expires_at <= clock_timestamp(), false) AS overdue,
    EXISTS (
        SELECT FROM interlock.audit_event e
        WHERE e.thread_id = a.thread_id AND e.kind = 'approval_decided' AND e.payload ->> 'approval_id' = a.approval_id
            AND e.payload ->> 'status' = 'approved' AND e.payload ->> 'args_sha256' = a.args_sha256
            AND e.hash = interlock.audit_hash(
                e.prev_hash, e.thread_id, e.seq, e.at, e.kind, e.actor, e.actor_source, e.payload::text)
    ) AS on_record
FROM interlock.approval a WHERE approval_id = %s FOR SHARE
"""
INSERT = f"""
INSERT INTO interlock.execution (
    call_key, thread_id, tool_call_id, tool, args, args_sha256, critical, approval_id, idempotency_key, status, lease_epoch, undo, undoes,
    secret)
VALUES (
    %(call_key)s, %(thread_id)s, %(tool_call_id)s, %(tool)s, %(args)s, %(args_sha256)s, %(critical)s, %(approval_id)s,
    %(idempotency_key)s, 'started', %(epoch)s, %(undo)s, %(undoes)s, %(secret)s)
ON CONFLICT (call_key) DO NOTHING
RETURNING {FIELDS}
"""  # noqa: S608 - constants
AGAIN = f"""
UPDATE interlock.execution SET status = 'started', attempts = attempts + 1, lease_epoch = %(epoch)s, error = NULL,
    started_at = clock_timestamp()
WHERE call_key = %(call_key)s AND attempts = %(attempts)s AND status IN ('started', 'unknown')
RETURNING {FIELDS}
"""  # noqa: S608 - constants
RESOLVE = f"""
UPDATE interlock.execution SET status = %(status)s, finished_at = clock_timestamp(),
    result = CASE WHEN %(status)s = 'succeeded' THEN %(text)s END, error = CASE WHEN %(status)s <> 'succeeded' THEN %(text)s END
WHERE call_key = %(call_key)s
RETURNING {FIELDS}
"""  # noqa: S608 - constants
FINISH = """
UPDATE interlock.execution SET status = %(status)s, finished_at = clock_timestamp(),
    result = CASE WHEN %(status)s = 'succeeded' THEN %(text)s END, error = CASE WHEN %(status)s = 'failed' THEN %(text)s END
WHERE call_key = %(call_key)s AND attempts = %(attempts)s AND status = 'started'
"""
GIVE_UP = """
UPDATE interlock.execution SET status = 'unknown', error = %(why)s
WHERE call_key = %(call_key)s AND attempts = %(attempts)s AND status = 'started'
"""
STILL_UNKNOWN = """
SELECT FROM interlock.execution WHERE call_key = %(call_key)s AND attempts = %(attempts)s AND status = 'unknown'
"""
AT_WORK = """
SELECT begun.actor AS owner, begun.at AS since
FROM interlock.execution x
JOIN interlock.audit_event begun ON begun.thread_id = x.thread_id AND begun.kind = 'execution_started'
    AND begun.payload ->> 'call_key' = x.call_key AND (begun.payload ->> 'attempt')::int = x.attempts
WHERE x.call_key = %s AND x.status IN ('started', 'unknown') AND NOT EXISTS (
    SELECT FROM interlock.audit_event over
    WHERE over.thread_id = x.thread_id AND over.payload ->> 'call_key' = x.call_key
        AND (over.payload ->> 'attempt')::int = x.attempts
        AND (over.kind = 'execution_late' OR over.kind = 'execution_unknown' AND (over.payload ->> 'ended')::boolean))
"""
COMPENSATED = "SELECT FROM interlock.audit_event WHERE thread_id = %s AND kind = 'compensation_ended'"
LATE = """
UPDATE interlock.execution SET late = (coalesce(late::jsonb, '[]') || %(late)s::jsonb)::json WHERE call_key = %(call_key)s
"""
