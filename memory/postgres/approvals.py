"""Approvals in PostgreSQL. Locks are taken in one order everywhere: run, approval, execution, and the record last."""

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.types.json import Json

from memory.approvals import Approval, Ballot, Judge, NewApproval, Proposal, Revision, Ruling, Vote
from memory.errors import InterlockError, NotFoundError, RefusedError
from memory.outbox import Event
from memory.people import Identity
from memory.postgres.audit import append, on_record
from memory.postgres.database import Connection, Database
from memory.postgres.outbox import PostgresOutbox
from memory.text import clean

SELECT = """
SELECT a.*, r.requester, r.requester_source, r.starter, r.starter_source, r.memory,
    coalesce(a.expires_at <= clock_timestamp(), false) AS overdue,
    (SELECT count(*) FROM interlock.decision d WHERE d.approval_id = a.approval_id AND d.version = a.version
        AND d.type IN ('approve', 'modify')) AS have,
    e.started_at AS begun_at, e.idempotency_key
FROM interlock.approval a JOIN interlock.run r USING (thread_id)
LEFT JOIN interlock.execution e
    ON a.kind = 'unknown_outcome' AND e.call_key = a.call_key AND e.attempts = (a.rules ->> 'attempt')::int
"""
AGENT = Identity("agent", "process")
DEADLINE = Identity("deadline", "process")
POLICY = Identity("policy", "policy")


class PostgresApprovals:
    def __init__(self, database: Database, outbox: PostgresOutbox | None = None) -> None:
        self._database, self._outbox = database, outbox

    async def open(self, questions: Sequence[NewApproval]) -> Sequence[Approval]:
        ids = [question.approval_id for question in questions]
        found = {approval.approval_id: approval for approval in await self._read("WHERE a.approval_id = ANY(%s)", (ids,))}
        missing = [question for question in questions if question.approval_id not in found]
        if missing:
            async with self._database.transaction() as db:
                for question in missing:
                    await insert(db, question, self._outbox)
            return await self.open(questions)
        return [found[name] for name in ids]

    async def get(self, approval_id: str) -> Approval | None:
        found = await self._read("WHERE a.approval_id = %s", (approval_id,))
        return found[0] if found else None

    async def find(self, name: str) -> Sequence[Approval]:
        if clean(name) != name:
            return []
        prefix = name.lower() if len(name) >= 6 and all(char in "0123456789abcdef" for char in name.lower()) else None
        where = "WHERE starts_with(a.approval_id, %s) OR (a.thread_id = %s AND a.status = 'pending')"
        return await self._read(where, (prefix, name))

    async def of_thread(self, thread_id: str) -> Sequence[Approval]:
        return await self._read("WHERE a.thread_id = %s", (thread_id,))

    async def pending(self, *, tier: int | None = None, limit: int = 1000) -> Sequence[Approval]:
        return await self._read(
            "WHERE a.status = 'pending' AND (%(tier)s::int IS NULL OR a.tier = %(tier)s)",
            {"tier": tier, "limit": limit},
            tail="LIMIT %(limit)s",
        )

    async def waiting(self) -> int:
        async with self._database.connection() as db:
            row = await (await db.execute("SELECT count(*) AS waiting FROM interlock.approval WHERE status = 'pending'")).fetchone()
        return int(row["waiting"]) if row else 0

    async def decide(self, approval_id: str, ballot: Ballot, judge: Judge) -> Approval:
        try:
            ruling = await self._judged(approval_id, ballot, judge)
        except NotFoundError:
            raise
        except InterlockError as why:
            await self.refused(approval_id, ballot, why)
            raise
        if ruling.refusal:
            await self.refused(approval_id, ballot, ruling.refusal)
            raise ruling.refusal
        decided = await self.get(approval_id)
        assert decided is not None  # noqa: S101 - approvals are never deleted
        return decided

    async def refused(self, approval_id: str, ballot: Ballot, why: InterlockError) -> None:
        async with self._database.transaction() as db:
            row = await (
                await db.execute("SELECT thread_id FROM interlock.approval WHERE approval_id = %s", (approval_id,))
            ).fetchone()
            if row:
                await append(db, row["thread_id"], "refused_attempt", ballot.actor, {
                    "approval_id": approval_id, "code": why.code, "comment": ballot.comment, "type": ballot.type, "why": why.message,
                })  # fmt: skip

    async def forbidden(self, thread_id: str, proposals: Sequence[Proposal]) -> None:
        for one in proposals:
            async with self._database.transaction() as db:
                await db.execute("SELECT FROM interlock.run WHERE thread_id = %s FOR NO KEY UPDATE", (thread_id,))
                if not (await db.execute(PROPOSED, {"thread_id": thread_id, "call_key": one.call_key})).rowcount:
                    await proposed(db, thread_id, one)

    async def shown(self, questions: Sequence[Approval], to: Identity) -> None:
        for question in questions:
            values = (question.approval_id, question.version, to.name, to.source)
            async with self._database.transaction() as db:
                if (await db.execute(INSERT_SHOWN, values)).rowcount:
                    await append(db, question.thread_id, "approval_shown", to, {
                        "approval_id": question.approval_id, "args_sha256": question.args_sha256, "version": question.version,
                    })  # fmt: skip

    async def _judged(self, approval_id: str, ballot: Ballot, judge: Judge) -> Ruling:
        async with self._database.transaction() as db:
            await db.execute(LOCK_RUN, (approval_id,))
            row = await (await db.execute(SELECT + "WHERE a.approval_id = %s FOR UPDATE OF a", (approval_id,))).fetchone()
            if row is None:
                raise NotFoundError(f"There is no approval {approval_id!r}.", code="no_such_approval")
            approval = approval_of(row)
            await _refuse_who_is_no_operator_any_more(db, ballot.actor)
            votes = [_vote(vote) for vote in await (await db.execute(VOTES, (approval_id,))).fetchall()]
            ruling = judge(approval, votes, ballot)
            await self._write(db, approval, ballot, ruling)
        return ruling

    async def overdue(self, thread_id: str | None = None) -> Sequence[Approval]:
        return await self._read(
            "WHERE a.status = 'pending' AND a.expires_at <= clock_timestamp() AND (%(thread)s::text IS NULL OR a.thread_id = %(thread)s)",
            {"thread": thread_id},
        )

    async def remind(self, thread_id: str | None = None) -> int:
        async with self._database.connection() as db:
            due = await (await db.execute(TO_REMIND, {"thread": thread_id})).fetchall()
        return sum([await self._reminded(row["approval_id"]) for row in due])

    async def _reminded(self, approval_id: str) -> bool:
        async with self._database.transaction() as db:
            await db.execute(LOCK_RUN, (approval_id,))
            row = await (await db.execute(REMIND, (approval_id,))).fetchone()
            if row is not None:
                if self._outbox:
                    await self._outbox.put(db, "reminder", row["thread_id"], approval_id)
                await append(db, row["thread_id"], "approval_reminded", DEADLINE, {"approval_id": approval_id})
        return row is not None

    async def _write(self, db: Connection, approval: Approval, ballot: Ballot, ruling: Ruling) -> None:
        new = ruling.modified or Revision(approval.args, approval.args_sha256, approval.tier, approval.required, approval.rules)
        version = approval.version + (1 if ruling.modified else 0)
        if ruling.by is None:
            await db.execute(INSERT_VOTE, {
                "approval_id": approval.approval_id, "version": version, "voter": ballot.actor.voter, "actor": ballot.actor.name,
                "actor_source": ballot.actor.source, "type": ballot.type, "comment": ballot.comment, "detail": Json(ballot.detail),
            })  # fmt: skip
        await db.execute(UPDATE, {
            "approval_id": approval.approval_id, "version": version, "status": ruling.status, "args": Json(new.args),
            "args_sha256": new.args_sha256, "tier": new.tier, "required": new.required, "rules": Json({**approval.rules, **new.rules}),
            "outcome": ruling.outcome and Json(ruling.outcome), "deadline": new.rules.get("deadline") if ruling.modified else None,
        })  # fmt: skip
        if ruling.status == "expired" and self._outbox:
            await self._outbox.put(db, "expired", approval.thread_id, approval.approval_id)
        if ruling.status != "pending":
            await db.execute("UPDATE interlock.run SET wake_seq = wake_seq + 1 WHERE thread_id = %s", (approval.thread_id,))
        told = await _on_the_record(db, approval, ballot, ruling, new, version)
        await append(db, approval.thread_id, _kind_of(ruling), ruling.by or ballot.actor, told)
        if ruling.successor:
            await insert(db, ruling.successor, self._outbox, escalated=True)

    async def pre_approve(self, question: NewApproval) -> Approval:
        comment = f"pre-approved by the rule {question.rules['rule']!r}"
        outcome = {"by": POLICY.name, "comment": comment, "source": POLICY.source, "type": "approve"}
        async with self._database.transaction() as db:
            if await insert(db, question):
                await db.execute(PRE_APPROVE, {"approval_id": question.approval_id, "outcome": Json(outcome)})
                await db.execute(INSERT_VOTE, {
                    "approval_id": question.approval_id, "version": 1, "voter": "policy", "actor": POLICY.name,
                    "actor_source": POLICY.source, "type": "approve", "comment": comment, "detail": Json({}),
                })  # fmt: skip
                if question.rules.get("drawn"):
                    await db.execute("INSERT INTO interlock.review (approval_id) VALUES (%s)", (question.approval_id,))
                await append(db, question.thread_id, "approval_decided", POLICY, {
                    "approval_id": question.approval_id, "args_sha256": question.args_sha256, "status": "approved",
                    "tier": question.tier, "version": 1, "comment": comment, "detail": {}, "type": "approve", "own_request": False,
                    "modified_args": None,
                })  # fmt: skip
        approved = await self.get(question.approval_id)
        assert approved is not None  # noqa: S101 - approvals are never deleted
        return approved

    async def _read(self, where: str, values: Any, *, tail: str = "") -> list[Approval]:
        query = f"{SELECT} {where} ORDER BY a.requested_at, a.approval_id {tail}"
        async with self._database.connection() as db:
            rows = await (await db.execute(query, values)).fetchall()
        return [approval_of(row) for row in rows]


async def insert(db: Connection, new: NewApproval, outbox: PostgresOutbox | None = None, *, escalated: bool = False) -> bool:
    """Puts a question and its place on the record. False if it is there already; then nothing happens."""
    done = await db.execute(INSERT, {
        "approval_id": new.approval_id, "thread_id": new.thread_id, "call_key": new.call_key, "tool_call_id": new.tool_call_id,
        "kind": new.kind, "tool": new.tool, "args": Json(new.args), "args_sha256": new.args_sha256,
        "schema_sha256": new.schema_sha256, "note": new.note, "said": new.said, "tier": new.tier, "required": new.required,
        "rules": Json({**new.rules, "secret": list(new.secret)}), "graph_version": new.graph_version, "deadline": new.deadline,
        "reminder": new.rules.get("reminder"),
    })  # fmt: skip
    if done.rowcount and outbox:
        raised = escalated and outbox.wants("escalated")
        event: Event = "escalated" if raised else "unknown_outcome" if new.kind == "unknown_outcome" else "asked"
        await outbox.put(db, event, new.thread_id, new.approval_id)
    if done.rowcount and new.kind in {"pre_execution", "final_answer"} and not await _asked_before(db, new):
        verdict = "pre_approve" if new.rules.get("pre_approved") else "ask"
        await proposed(db, new.thread_id, Proposal(
            new.call_key, new.tool, await on_record(db, new.args, new.secret), new.args_sha256, verdict, str(new.rules.get("rule", "")),
            str(new.rules.get("policy", "")),
        ))  # fmt: skip
    if done.rowcount:
        await append(db, new.thread_id, "approval_requested", AGENT, {
            "approval_id": new.approval_id, "args": await on_record(db, new.args, new.secret), "args_sha256": new.args_sha256,
            "call_key": new.call_key, "kind": new.kind, "note": new.note, "required": new.required, "rules": dict(new.rules),
            "said": new.said, "tier": new.tier, "tool": new.tool,
        })  # fmt: skip
    return bool(done.rowcount)


async def _refuse_who_is_no_operator_any_more(db: Connection, actor: Identity) -> None:
    """Their token was looked at when the command began, and that may be long ago at a terminal."""
    if actor.source == "token":
        row = await (await db.execute(IN_FORCE, (actor.name,))).fetchone()
        if row is not None and row["in_force"] is False:
            remedy = "`interlock operator add` makes a new one."
            raise RefusedError(f"The operator token of {actor.name} was revoked or has expired.", remedy=remedy, code="unknown_token")


async def _asked_before(db: Connection, new: NewApproval) -> bool:
    query = "SELECT FROM interlock.approval WHERE call_key = %s AND thread_id = %s AND approval_id <> %s LIMIT 1"
    return bool((await db.execute(query, (new.call_key, new.thread_id, new.approval_id))).rowcount)


async def proposed(db: Connection, thread_id: str, one: Proposal) -> None:
    await append(db, thread_id, "action_proposed", AGENT, {
        "args": dict(one.args), "args_sha256": one.args_sha256, "call_key": one.call_key, "policy": one.policy, "rule": one.rule,
        "tool": one.tool, "verdict": one.verdict,
    })  # fmt: skip


async def _on_the_record(
    db: Connection, approval: Approval, ballot: Ballot, ruling: Ruling, new: Revision, version: int
) -> dict[str, Any]:
    secret = approval.rules.get("secret", [])
    args = await on_record(db, new.args, secret)
    detail = {name: args if name == "args" else value for name, value in ballot.detail.items()}
    told: dict[str, Any] = {
        "approval_id": approval.approval_id, "args_sha256": new.args_sha256, "status": ruling.status, "tier": new.tier, "version": version,
    }  # fmt: skip
    if ruling.by is None:
        told |= {"comment": ballot.comment, "detail": detail, "type": ballot.type, "own_request": ruling.own_request}
        told["modified_args"] = args if ruling.modified else None
    if ruling.successor:
        told["successor"] = ruling.successor.approval_id
    return told


def _kind_of(ruling: Ruling) -> str:
    match ruling.status:
        case "pending":
            return "vote_cast"
        case "expired":
            return "approval_expired"
        case "escalated":
            return "approval_escalated"
        case "approved" | "rejected" | "cancelled":
            return "approval_decided"


def _vote(row: Mapping[str, Any]) -> Vote:
    actor = Identity(row["actor"], row["actor_source"])
    return Vote(row["version"], row["voter"], actor, row["type"], row["comment"], row["detail"], row["at"])


def approval_of(row: Mapping[str, Any]) -> Approval:
    values = {name: row[name] for name in Approval.__slots__ if name not in {"requester", "starter"}}
    return Approval(
        **values,
        requester=Identity(row["requester"], row["requester_source"]),
        starter=Identity(row["starter"], row["starter_source"]),
    )


LOCK_RUN = """
SELECT 1 FROM interlock.run WHERE thread_id = (SELECT thread_id FROM interlock.approval WHERE approval_id = %s) FOR NO KEY UPDATE
"""
IN_FORCE = """
SELECT bool_or(revoked_at IS NULL AND coalesce(expires_at > clock_timestamp(), true)) AS in_force FROM interlock.operator WHERE name = %s
"""
VOTES = "SELECT * FROM interlock.decision WHERE approval_id = %s ORDER BY at"
INSERT = """
INSERT INTO interlock.approval (
    approval_id, thread_id, call_key, tool_call_id, kind, tool, args, proposed_args, args_sha256, schema_sha256, note, said, tier,
    required, rules, graph_version, expires_at, remind_at)
VALUES (
    %(approval_id)s, %(thread_id)s, %(call_key)s, %(tool_call_id)s, %(kind)s, %(tool)s, %(args)s, %(args)s, %(args_sha256)s,
    %(schema_sha256)s, %(note)s, %(said)s, %(tier)s, %(required)s, %(rules)s, %(graph_version)s,
    clock_timestamp() + make_interval(secs => %(deadline)s), clock_timestamp() + make_interval(secs => %(reminder)s))
ON CONFLICT (approval_id) DO NOTHING
"""
INSERT_VOTE = """
INSERT INTO interlock.decision (approval_id, version, voter, actor, actor_source, type, comment, detail)
VALUES (%(approval_id)s, %(version)s, %(voter)s, %(actor)s, %(actor_source)s, %(type)s, %(comment)s, %(detail)s)
ON CONFLICT (approval_id, version, voter) DO UPDATE
SET actor = EXCLUDED.actor, actor_source = EXCLUDED.actor_source, type = EXCLUDED.type, comment = EXCLUDED.comment,
    detail = EXCLUDED.detail, at = clock_timestamp()
"""
PROPOSED = """
SELECT FROM interlock.audit_event
WHERE thread_id = %(thread_id)s AND kind = 'action_proposed' AND payload ->> 'call_key' = %(call_key)s LIMIT 1
"""
INSERT_SHOWN = """
INSERT INTO interlock.shown (approval_id, version, actor, actor_source) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING
"""
TO_REMIND = """
SELECT approval_id FROM interlock.approval
WHERE status = 'pending' AND reminded_at IS NULL AND remind_at <= clock_timestamp()
  AND (expires_at IS NULL OR expires_at > clock_timestamp()) AND (%(thread)s::text IS NULL OR thread_id = %(thread)s)
ORDER BY remind_at
"""
REMIND = """
UPDATE interlock.approval SET reminded_at = clock_timestamp()
WHERE approval_id = %s AND status = 'pending' AND reminded_at IS NULL
RETURNING thread_id
"""
PRE_APPROVE = """
UPDATE interlock.approval SET status = 'approved', outcome = %(outcome)s, decided_at = clock_timestamp()
WHERE approval_id = %(approval_id)s
"""
UPDATE = """
UPDATE interlock.approval
SET status = %(status)s, version = %(version)s, args = %(args)s, args_sha256 = %(args_sha256)s, tier = %(tier)s,
    required = %(required)s, rules = %(rules)s, outcome = %(outcome)s,
    expires_at = least(expires_at, clock_timestamp() + make_interval(secs => %(deadline)s)),
    decided_at = CASE WHEN %(status)s = 'pending' THEN NULL ELSE clock_timestamp() END
WHERE approval_id = %(approval_id)s
"""
