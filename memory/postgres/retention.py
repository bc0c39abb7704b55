"""Retention in PostgreSQL. The row of a run is locked before it is looked at once more, as a driver locks it to take the lease."""

from collections.abc import Sequence
from typing import Any

from memory.people import Identity
from memory.postgres.audit import append
from memory.postgres.database import Database
from memory.retention import FINAL, Prunable, Rule


class PostgresRetention:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def due(self, rule: Rule) -> Sequence[Prunable]:
        async with self._database.connection() as db:
            rows = await (await db.execute(DUE + NEWEST_STAY + OLDEST_FIRST, _values(rule))).fetchall()
        return [Prunable(**row) for row in rows]

    async def prune(self, thread_ids: Sequence[str], rule: Rule, by: Identity) -> Sequence[Prunable]:
        async with self._database.transaction() as db:
            locked = [row["thread_id"] for row in await (await db.execute(LOCK, (list(thread_ids),))).fetchall()]
            rows = await (await db.execute(DUE + NAMED + OLDEST_FIRST, {**_values(rule), "ids": locked})).fetchall()
            gone = [Prunable(**row) for row in rows]
            for drop in DROP:
                await db.execute(drop, ([one.thread_id for one in gone],))
            for one in gone:
                await append(db, one.thread_id, "thread_pruned", by, {
                    "bytes": one.bytes, "checkpoints": one.checkpoints, "older_than": rule.seconds, "results": one.results,
                })  # fmt: skip
        return gone


def _values(rule: Rule) -> dict[str, Any]:
    return {"seconds": rule.seconds, "statuses": list(rule.statuses), "keep_last": rule.keep_last, "final": list(FINAL)}


LOCK = "SELECT thread_id FROM interlock.run WHERE thread_id = ANY (%s) FOR NO KEY UPDATE SKIP LOCKED"
DUE = """
SELECT r.thread_id, r.status, r.updated_at, c.count AS checkpoints, e.count AS results,
    (c.bytes + w.bytes + b.bytes + e.bytes)::bigint AS bytes
FROM interlock.run r
CROSS JOIN LATERAL (
    SELECT count(*), coalesce(sum(pg_column_size(checkpoint) + pg_column_size(metadata)), 0) AS bytes
    FROM checkpoints WHERE thread_id = r.thread_id) AS c
CROSS JOIN LATERAL (
    SELECT count(*), coalesce(sum(pg_column_size(blob)), 0) AS bytes FROM checkpoint_writes WHERE thread_id = r.thread_id) AS w
CROSS JOIN LATERAL (
    SELECT count(*), coalesce(sum(pg_column_size(blob)), 0) AS bytes FROM checkpoint_blobs WHERE thread_id = r.thread_id) AS b
CROSS JOIN LATERAL (
    SELECT count(result), coalesce(sum(pg_column_size(result)), 0) AS bytes
    FROM interlock.execution WHERE thread_id = r.thread_id) AS e
WHERE r.status = ANY (%(statuses)s) AND r.status = ANY (%(final)s)
  AND r.updated_at <= clock_timestamp() - make_interval(secs => %(seconds)s)
  AND r.lease_owner IS NULL AND r.wake_seq = r.settled_seq
  AND c.count + w.count + b.count + e.count > 0
  AND NOT EXISTS (SELECT FROM interlock.approval a WHERE a.thread_id = r.thread_id AND a.status = 'pending')
  AND NOT EXISTS (SELECT FROM interlock.execution x WHERE x.thread_id = r.thread_id AND x.status IN ('started', 'unknown'))
  AND NOT EXISTS (
      SELECT FROM interlock.review v JOIN interlock.approval a USING (approval_id) WHERE a.thread_id = r.thread_id AND v.status = 'open')
  AND NOT EXISTS (
      SELECT FROM interlock.run o
      WHERE o.lineage_root = r.lineage_root AND o.thread_id <> r.thread_id AND o.status <> ALL (%(final)s))
"""
NAMED = "AND r.thread_id = ANY (%(ids)s)"
NEWEST_STAY = """
  AND r.thread_id NOT IN (
      SELECT n.thread_id FROM interlock.run n WHERE n.status = ANY (%(statuses)s)
      ORDER BY n.updated_at DESC, n.thread_id LIMIT %(keep_last)s)
"""
OLDEST_FIRST = "ORDER BY r.updated_at, r.thread_id"
DROP = (
    "DELETE FROM checkpoint_writes WHERE thread_id = ANY (%s)",
    "DELETE FROM checkpoint_blobs WHERE thread_id = ANY (%s)",
    "DELETE FROM checkpoints WHERE thread_id = ANY (%s)",
    "UPDATE interlock.execution SET result = NULL WHERE thread_id = ANY (%s) AND result IS NOT NULL",
)
