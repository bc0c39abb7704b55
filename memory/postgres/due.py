"""Which threads a worker takes next. Tenants take turns; within each, what a person decided comes before what was left behind, and that
before what nobody has begun.

A thread's turn is how many of its tenant are driven already, plus its place among those of its tenant that wait: who has a thousand
waits behind who has one. The cost grows with the tenants that have something due and with the room a worker has, and with nothing else.
"""

URGENCY = "CASE WHEN lease_epoch = 0 THEN 2 WHEN wake_seq <> settled_seq THEN 0 ELSE 1 END"  # as index run_due has it
OPEN = "(wake_seq <> settled_seq OR status = 'running')"
# A thread that nobody has driven yet is, for its first minute, on the way into the hands of the process that made it.
ABANDONED = "(wake_seq <> settled_seq OR lease_epoch > 0 OR created_at < clock_timestamp() - interval '1 minute')"
FREE = "(lease_owner IS NULL OR lease_until <= clock_timestamp() OR lease_owner = ANY (%(dead)s))"

# The recursion goes from tenant to tenant in the index, over however many threads each has.
DUE = f"""
WITH RECURSIVE tenants (name) AS (
    (SELECT tenant FROM interlock.run WHERE {OPEN} ORDER BY tenant LIMIT 1)
    UNION ALL
    SELECT (SELECT tenant FROM interlock.run WHERE {OPEN} AND tenant > name ORDER BY tenant LIMIT 1) FROM tenants WHERE name IS NOT NULL
), driven AS (
    SELECT tenant, count(*) AS count FROM interlock.run
    WHERE lease_owner IS NOT NULL AND lease_until > clock_timestamp() AND lease_owner <> ALL (%(dead)s) GROUP BY tenant
)
SELECT thread_id FROM tenants
LEFT JOIN driven ON driven.tenant = tenants.name
CROSS JOIN LATERAL (
    SELECT thread_id, urgency, updated_at, row_number() OVER (ORDER BY urgency, updated_at) AS place FROM (
        SELECT thread_id, {URGENCY} AS urgency, updated_at FROM interlock.run
        WHERE {OPEN} AND tenant = tenants.name AND {ABANDONED} AND {FREE} AND thread_id <> ALL (%(besides)s)
        ORDER BY tenant, {URGENCY}, updated_at LIMIT %(limit)s) AS first
) AS due
ORDER BY coalesce(driven.count, 0) + place, urgency, updated_at LIMIT %(limit)s
"""  # noqa: S608 - put together from constants
OWNERS = "SELECT DISTINCT lease_owner FROM interlock.run WHERE lease_owner IS NOT NULL AND lease_until > clock_timestamp()"
