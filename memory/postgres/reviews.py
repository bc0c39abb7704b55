"""Reviews in PostgreSQL. They are opened with the permit of the call, in memory/postgres/approvals.py."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory.errors import InterlockError, NotFoundError
from memory.people import Identity
from memory.postgres.approvals import approval_of
from memory.postgres.audit import append
from memory.postgres.database import Database
from memory.reviews import Review, ReviewStatus
from memory.text import clean

VERBS = {"accepted": "accept", "flagged": "flag"}


class PostgresReviews:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, name: str) -> Sequence[Review]:
        if clean(name) != name:
            return []
        prefix = name.lower() if len(name) >= 6 and all(char in "0123456789abcdef" for char in name.lower()) else None
        by_id = await self._read("starts_with(a.approval_id, %(prefix)s)", {"prefix": prefix}) if prefix else []
        return by_id or await self._read("a.thread_id = %(thread)s AND v.status = 'open'", {"thread": name})

    async def listed(self, *, every: bool = False, limit: int = 1000) -> Sequence[Review]:
        return await self._read("%(every)s OR v.status = 'open'", {"every": every}, limit=limit)

    async def open(self, *, most: int) -> tuple[int, float]:
        async with self._database.connection() as db:
            row = await (await db.execute(OPEN, {"most": most})).fetchone()
        return (int(row["many"]), float(row["age"])) if row else (0, 0.0)

    async def give(self, approval_id: str, status: ReviewStatus, by: Identity, comment: str, allowed: Callable[[Review], None]) -> Review:
        try:
            await self._give(approval_id, status, by, comment, allowed)
        except NotFoundError:
            raise
        except InterlockError as why:
            await self._refused(approval_id, status, by, comment, why)
            raise
        return (await self._read("a.approval_id = %(id)s", {"id": approval_id}))[0]

    async def _give(
        self, approval_id: str, status: ReviewStatus, by: Identity, comment: str, allowed: Callable[[Review], None]
    ) -> None:
        async with self._database.transaction() as db:
            row = await (await db.execute(LOCKED, {"id": approval_id})).fetchone()
            if row is None:
                raise NotFoundError(f"There is no review {approval_id!r}.", code="no_such_review")
            review = _review(row)
            allowed(review)
            await db.execute(GIVE, {"id": approval_id, "status": status, "by": by.name, "source": by.source, "comment": comment})
            await append(db, review.permit.thread_id, f"review_{status}", by, {
                "approval_id": approval_id, "call_key": review.permit.call_key, "comment": comment, "rule": review.permit.rules.get("rule"),
                "tool": review.permit.tool,
            })  # fmt: skip

    async def _refused(self, approval_id: str, status: str, by: Identity, comment: str, why: InterlockError) -> None:
        async with self._database.transaction() as db:
            row = await (await db.execute("SELECT thread_id FROM interlock.approval WHERE approval_id = %s", (approval_id,))).fetchone()
            if row:
                await append(db, row["thread_id"], "refused_attempt", by, {
                    "approval_id": approval_id, "code": why.code, "comment": comment, "type": VERBS[status], "why": why.message,
                })  # fmt: skip

    async def _read(self, where: str, values: Mapping[str, Any], *, limit: int = 1000) -> list[Review]:
        query = f"{SELECT} WHERE ({where}) AND {RAN} ORDER BY v.opened_at, a.approval_id LIMIT %(limit)s"
        async with self._database.connection() as db:
            rows = await (await db.execute(query, {**values, "limit": limit})).fetchall()
        return [_review(row) for row in rows]


def _review(row: Mapping[str, Any]) -> Review:
    return Review(
        permit=approval_of(row),
        status=row["review_status"],
        opened_at=row["opened_at"],
        age=float(row["age"]),
        reviewer=Identity(row["reviewer"], row["reviewer_source"]) if row["reviewer"] else None,
        comment=row["review_comment"],
        reviewed_at=row["reviewed_at"],
        ran=row["ran"],
        result=row["result"],
    )


SELECT = """
SELECT a.*, r.requester, r.requester_source, r.starter, r.starter_source, r.memory, false AS overdue, 1 AS have,
    NULL::timestamptz AS begun_at, NULL AS idempotency_key,
    v.status AS review_status, v.opened_at, v.reviewer, v.reviewer_source, v.comment AS review_comment, v.reviewed_at,
    extract(epoch FROM coalesce(v.reviewed_at, clock_timestamp()) - v.opened_at) AS age, e.status AS ran,
    coalesce(e.result, e.error) AS result
FROM interlock.review v JOIN interlock.approval a USING (approval_id) JOIN interlock.run r USING (thread_id)
LEFT JOIN interlock.execution e ON e.approval_id = a.approval_id
"""
RAN = "(e.call_key IS NOT NULL OR a.kind = 'final_answer')"  # a permit that nothing was begun with leaves nothing to look at
OPEN = f"""
SELECT count(*) AS many, coalesce(extract(epoch FROM clock_timestamp() - min(opened_at)), 0) AS age
FROM (
    SELECT v.opened_at
    FROM interlock.review v JOIN interlock.approval a USING (approval_id)
    LEFT JOIN interlock.execution e ON e.approval_id = a.approval_id
    WHERE v.status = 'open' AND {RAN} ORDER BY v.opened_at LIMIT %(most)s) AS open
"""  # noqa: S608 - constants
LOCKED = f"{SELECT} WHERE a.approval_id = %(id)s AND {RAN} FOR UPDATE OF v"
GIVE = """
UPDATE interlock.review SET status = %(status)s, reviewer = %(by)s, reviewer_source = %(source)s, comment = %(comment)s,
    reviewed_at = clock_timestamp()
WHERE approval_id = %(id)s
"""
