"""What people do to episodic memory, on the record. The memory itself is elsewhere: these come after what they tell of."""

from collections.abc import Sequence

from memory.audit import MEMORY_RECORD
from memory.people import Identity
from memory.postgres.audit import append
from memory.postgres.database import Database


class PostgresMemories:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def added(self, by: Identity, name: str, tenant: str) -> None:
        async with self._database.transaction() as db:
            await append(db, MEMORY_RECORD, "memory_added", by, {"id": name, "tenant": tenant})

    async def forgotten(self, by: Identity, ids: Sequence[str], tenant: str) -> None:
        async with self._database.transaction() as db:
            await append(db, MEMORY_RECORD, "memory_forgotten", by, {"ids": list(ids), "tenant": tenant})

    async def reembedded(self, by: Identity, records: int, tenant: str | None) -> None:
        """`tenant` is None where it was everybody's."""
        async with self._database.transaction() as db:
            await append(db, MEMORY_RECORD, "memory_reembedded", by, {"records": records, "tenant": tenant})
