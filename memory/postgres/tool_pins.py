"""Pins of tools in PostgreSQL. Each change is one transaction with its place on the record."""

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Json

from memory.people import Identity
from memory.postgres.audit import append
from memory.postgres.database import Database
from memory.tool_pins import RECORD, Pin

AGENT = Identity("agent", "process")


class PostgresToolPins:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> Sequence[Pin]:
        async with self._database.connection() as db:
            rows = await (await db.execute("SELECT server, tool, sha256, definition FROM interlock.tool_pin")).fetchall()
        return [Pin(**row) for row in rows]

    async def pin(self, new: Sequence[Pin]) -> None:
        async with self._database.transaction() as db:
            for one in new:
                if (await db.execute(PIN, _values(one))).rowcount:
                    await append(db, RECORD, "tool_pinned", AGENT, _told(one))

    async def accept(self, changed: Pin, by: Identity) -> None:
        async with self._database.transaction() as db:
            await db.execute(ACCEPT, _values(changed))
            await append(db, RECORD, "tool_accepted", by, _told(changed))


def _values(pin: Pin) -> dict[str, Any]:
    return {"server": pin.server, "tool": pin.tool, "sha256": pin.sha256, "definition": Json(dict(pin.definition))}


def _told(pin: Pin) -> dict[str, Any]:
    return {"sha256": pin.sha256, "server": pin.server, "tool": pin.tool}


PIN = """
INSERT INTO interlock.tool_pin (server, tool, sha256, definition)
VALUES (%(server)s, %(tool)s, %(sha256)s, %(definition)s)
ON CONFLICT (server, tool) DO NOTHING
"""
ACCEPT = """
INSERT INTO interlock.tool_pin (server, tool, sha256, definition)
VALUES (%(server)s, %(tool)s, %(sha256)s, %(definition)s)
ON CONFLICT (server, tool) DO UPDATE SET sha256 = EXCLUDED.sha256, definition = EXCLUDED.definition, pinned_at = clock_timestamp()
"""
