"""The stores behind the ports, on a database of the test's own. Only here stands who answers."""

from collections.abc import AsyncIterator

import pytest
from contract.stores import Stores

from memory.postgres.approvals import PostgresApprovals
from memory.postgres.audit import PostgresAudit
from memory.postgres.database import Database
from memory.postgres.ledger import PostgresLedger
from memory.postgres.runs import PostgresRuns


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with Database(database_url, max_size=8) as opened:
        yield opened


@pytest.fixture
def stores(database: Database) -> Stores:
    return Stores(PostgresRuns(database), PostgresApprovals(database), PostgresLedger(database), PostgresAudit(database))
