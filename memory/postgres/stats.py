"""The numbers, aggregated by PostgreSQL: what comes out is a row a tool, rule and person, however many questions there are."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from memory.postgres.database import Database
from memory.stats import Figures, Gate, Operator, Votes

Key = tuple[str | None, str | None]
LEAST, FRAME, SPEED = 2.0, 150.0, 40.0  # seconds; characters of a question beside its values; characters that a quick reader takes a second
COUNTED = tuple(one.name for one in fields(Gate) if one.name not in {"tool", "rule", "votes", "median", "p90"})


class PostgresStats:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def figures(self, *, seconds: float | None = None, tool: str | None = None) -> Figures:
        values = {"seconds": seconds, "tool": tool, "least": LEAST, "frame": FRAME, "speed": SPEED}
        async with self._database.transaction() as db:
            await db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            await db.execute("SET LOCAL jit = off")  # to compile these would take longer than to run them
            gates = await (await db.execute(GATES, values)).fetchall()
            votes = await (await db.execute(VOTES, values)).fetchall()
        of_gates = {_key(row): _votes(row) for row in votes if row["scope"] == "gate"}
        read = {_key(row): _gate(row, of_gates.get(_key(row), Votes())) for row in gates}
        people = [_operator(row) for row in votes if row["scope"] == "person"]
        overall = read.pop((None, None))  # an aggregate over nothing gives a row as well
        return Figures(
            overall=overall,
            tools=[gate for gate in read.values() if gate.rule is None],
            rules=[gate for gate in read.values() if gate.rule is not None],
            operators=people,
        )


def _key(row: Mapping[str, Any]) -> Key:
    return row["tool"], row["rule"]


def _votes(row: Mapping[str, Any]) -> Votes:
    return Votes(**{one.name: row[one.name] or 0 for one in fields(Votes)})


def _gate(row: Mapping[str, Any], votes: Votes) -> Gate:
    median, p90 = row["times"] or (None, None)
    return Gate(row["tool"], row["rule"], votes, median=median, p90=p90, **{name: row[name] for name in COUNTED})


def _operator(row: Mapping[str, Any]) -> Operator:
    median, p90 = row["times"]
    return Operator(
        name=row["actor"], source=row["actor_source"], votes=_votes(row), approved=row["approved"], modified=row["modified"],
        rejected=row["rejected"], escalated=row["escalated"], median=median, p90=p90,
    )  # fmt: skip


# Names are sorted by their bytes: that is quicker, and the same on every server. A rule that could not be evaluated names the reason
# behind its own name: those are one row.
QUESTIONS = """
question AS MATERIALIZED (
    SELECT a.approval_id, a.tool COLLATE "C" AS tool, a.status, a.version, a.requested_at, a.decided_at,
        regexp_replace(coalesce(a.rules ->> 'rule', '-'), ' \\(failed: .*', ' (failed)') COLLATE "C" AS rule,
        coalesce((a.rules ->> 'pre_approved')::boolean, false) AS pre_approved,
        extract(epoch FROM a.decided_at - a.requested_at)::float8 AS took,
        greatest(%(least)s, (length(a.args::text) + length(a.note) + length(a.said) + %(frame)s) / %(speed)s) AS reading
    FROM interlock.approval a
    WHERE a.kind <> 'unknown_outcome' AND (%(tool)s::text IS NULL OR a.tool = %(tool)s)
        AND (%(seconds)s::float8 IS NULL OR a.requested_at >= clock_timestamp() - make_interval(secs => %(seconds)s))
)
"""
GATES = f"""
WITH {QUESTIONS}
SELECT tool, rule,
    count(*) FILTER (WHERE asked) AS asked,
    count(*) FILTER (WHERE asked AND q.status = 'approved' AND version = 1) AS approved,
    count(*) FILTER (WHERE asked AND q.status = 'approved' AND version > 1) AS modified,
    count(*) FILTER (WHERE asked AND q.status = 'rejected') AS rejected,
    count(*) FILTER (WHERE asked AND q.status = 'expired') AS expired,
    count(*) FILTER (WHERE asked AND q.status = 'escalated') AS escalated,
    count(*) FILTER (WHERE asked AND q.status = 'cancelled') AS cancelled,
    count(*) FILTER (WHERE asked AND q.status = 'pending') AS waiting,
    percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY took) FILTER (WHERE asked AND q.status IN ('approved', 'rejected')) AS times,
    extract(epoch FROM max(clock_timestamp() - requested_at) FILTER (WHERE q.status = 'pending'))::float8 AS oldest_waiting,
    count(*) FILTER (WHERE NOT asked) AS pre_approved,
    count(*) FILTER (WHERE r.status = 'accepted') AS accepted,
    count(*) FILTER (WHERE r.status = 'flagged') AS flagged,
    count(*) FILTER (WHERE r.status = 'open') AS unreviewed,
    extract(epoch FROM max(clock_timestamp() - r.opened_at) FILTER (WHERE r.status = 'open'))::float8 AS oldest_unreviewed
FROM (SELECT *, NOT pre_approved AS asked FROM question) q LEFT JOIN interlock.review r USING (approval_id)
GROUP BY GROUPING SETS ((tool, rule), (tool), ())
ORDER BY count(*) DESC, tool, rule
"""  # noqa: S608 - constants
# A run of approvals begins anew behind each vote that was none: their number so far names the run that a vote belongs to.
VOTES = f"""
WITH {QUESTIONS}, vote AS MATERIALIZED (
    SELECT d.actor COLLATE "C" AS actor, d.actor_source COLLATE "C" AS actor_source, d.type, d.at, q.tool, q.rule,
        d.type = 'approve' AS yes,
        extract(epoch FROM d.at - q.requested_at)::float8 AS took, s.at IS NULL AND d.actor_source <> 'ui' AS unseen,
        extract(epoch FROM d.at - coalesce(s.at, q.requested_at)) < q.reading AS fast
    FROM question q JOIN interlock.decision d USING (approval_id)
    LEFT JOIN interlock.shown s ON s.approval_id = d.approval_id AND s.actor = d.actor AND s.actor_source = d.actor_source
        AND s.version = d.version - (d.type = 'modify')::int AND s.at <= d.at -- a modification is kept with the version that it made
    WHERE NOT q.pre_approved AND d.type IN ('approve', 'modify', 'reject', 'escalate')
), numbered AS (
    SELECT *, count(*) FILTER (WHERE NOT yes) OVER (PARTITION BY actor, actor_source ORDER BY at) AS of_person,
        count(*) FILTER (WHERE NOT yes) OVER (PARTITION BY tool, rule ORDER BY at) AS of_rule,
        count(*) FILTER (WHERE NOT yes) OVER (PARTITION BY tool ORDER BY at) AS of_tool,
        count(*) FILTER (WHERE NOT yes) OVER (ORDER BY at) AS of_all
    FROM vote
), run AS (
    SELECT actor, actor_source, tool, rule, count(*) FILTER (WHERE yes) AS long,
        coalesce(of_person, of_rule, of_tool, of_all) AS number
    FROM numbered
    GROUP BY GROUPING SETS ((actor, actor_source, of_person), (tool, rule, of_rule), (tool, of_tool), (of_all))
), streak AS (
    SELECT actor, actor_source, tool, rule, max(long) AS longest, (array_agg(long ORDER BY number DESC))[1] AS streak
    FROM run GROUP BY actor, actor_source, tool, rule
), counted AS (
    SELECT actor, actor_source, tool, rule, count(*) AS votes, count(*) FILTER (WHERE fast) AS fast,
        count(*) FILTER (WHERE unseen) AS unseen, count(*) FILTER (WHERE yes) AS approved,
        count(*) FILTER (WHERE type = 'modify') AS modified, count(*) FILTER (WHERE type = 'reject') AS rejected,
        count(*) FILTER (WHERE type = 'escalate') AS escalated,
        percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY took) AS times
    FROM vote GROUP BY GROUPING SETS ((actor, actor_source), (tool, rule), (tool), ())
)
SELECT c.*, s.streak, s.longest, CASE WHEN c.actor IS NULL THEN 'gate' ELSE 'person' END AS scope
FROM counted c LEFT JOIN streak s
    ON (c.actor, c.actor_source, c.tool, c.rule) IS NOT DISTINCT FROM (s.actor, s.actor_source, s.tool, s.rule)
ORDER BY c.votes DESC, c.actor, c.actor_source
"""  # noqa: S608 - constants
