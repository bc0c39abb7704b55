"""What a worker takes next, out of very much that is due."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from memory.postgres.database import Database
from memory.postgres.runs import PostgresRuns

ROW = """
INSERT INTO interlock.run (thread_id, status, requester, requester_source, starter, starter_source, tenant, lineage_root, graph_version,
    tools_version, wake_seq, settled_seq, lease_epoch, lease_owner, lease_until, created_at, updated_at)
SELECT name, %(status)s, 'ada', 'os', 'ada', 'os', %(tenant)s, name, '1', '1', %(woken)s, 0, %(epoch)s, %(owner)s,
    clock_timestamp() + make_interval(secs => %(lease)s), clock_timestamp() - make_interval(secs => %(age)s),
    clock_timestamp() + make_interval(secs => number)
FROM (SELECT number, %(name)s || CASE WHEN %(count)s > 1 THEN number::text ELSE '' END AS name
    FROM generate_series(1, %(count)s) AS number) AS names
"""


class Table:
    def __init__(self, database: Database) -> None:
        self.database, self.runs = database, PostgresRuns(database)

    async def add(self, name: str, tenant: str = "small", *, count: int = 1, status: str = "waiting", **more: Any) -> None:
        """Decided and not taken up, unless something else is said."""
        values = {"woken": 1, "epoch": 1, "owner": None, "lease": None, "age": 0.0, **more}
        async with self.database.connection() as db:
            await db.execute(ROW, {"name": name, "tenant": tenant, "count": count, "status": status, **values})


@pytest.fixture
async def table(database_url: str) -> AsyncIterator[Table]:
    async with Database(database_url) as database:
        yield Table(database)


async def test_one_tenant_with_a_thousand_does_not_hold_up_another(table: Table) -> None:
    await table.add("many", "big", count=1000)
    await table.add("one")
    assert sorted(await table.runs.due(2)) == ["many1", "one"]
    assert (await table.runs.due(4))[2:] == ["many2", "many3"]


async def test_who_is_driven_already_has_had_a_turn(table: Table) -> None:
    await table.add("many", "big", count=10)
    await table.add("ours", "big", owner="elsewhere:1::", lease=30.0, status="running", woken=0)
    await table.add("few", count=3)
    assert await table.runs.due(3) == ["few1", "many1", "few2"]


async def test_a_persons_decision_then_what_was_left_then_what_is_new(table: Table) -> None:
    await table.add("new", epoch=0, status="running")
    await table.add("left", woken=0, status="running", owner="elsewhere:1::", lease=-1.0)
    await table.add("decided")
    await table.add("resting")
    assert await table.runs.due(9, besides=["resting"]) == ["decided", "left", "new"]


async def test_not_what_is_driven_waits_or_is_on_its_way_to_who_made_it(table: Table) -> None:
    await table.add("driven", owner="elsewhere:1::", lease=30.0)
    await table.add("waits", woken=0)
    await table.add("ended", woken=0, status="completed")
    await table.add("made", woken=0, epoch=0, status="running")
    assert await table.runs.due(9) == []
    await table.add("forgotten", woken=0, epoch=0, status="running", age=61.0)
    assert await table.runs.due(9) == ["forgotten"]
