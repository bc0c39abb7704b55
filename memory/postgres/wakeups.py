"""Hearing of wake-ups as they are committed: LISTEN on a connection of its own. A hint, since what is due stands in the runs' rows."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import aclosing, suppress

import psycopg

from memory.errors import UnavailableError
from memory.postgres.database import Connection, Database, connect_options, parse_dsn

CHANNEL = "interlock_woken"  # the triggers of migration 0028 tell it
LISTEN = "LISTEN interlock_woken"
SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before the next attempt to connect
PROOF_SECONDS = 5.0


class PostgresWakeups:
    """`direct` is a DSN that passes no pooler in transaction mode; without one, that of the database is tried."""

    def __init__(self, database: Database, direct: str | None = None) -> None:
        self._database, self._dsn = database, parse_dsn(direct) if direct else database.dsn

    async def follow(self, woken: Callable[[], None]) -> None:
        """Calls `woken` after each wake-up of any thread, and after each gap. Comes back where none can be heard; never raises."""
        pause = SHORTEST_PAUSE
        while True:
            with suppress(psycopg.Error, UnavailableError):
                async with await Connection.connect(self._dsn, **connect_options(self._dsn, "interlock listener")) as connection:
                    if not await self._hears(connection):
                        return
                    pause = SHORTEST_PAUSE
                    woken()
                    async for _ in connection.notifies():
                        woken()
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, 2 * pause)

    async def _hears(self, connection: Connection) -> bool:
        """Whether it hears what is told on another connection: a pooler takes LISTEN as it takes everything, and forgets it."""
        await connection.execute(LISTEN)
        proof = secrets.token_hex(8)
        async with self._database.connection() as other:
            await other.execute("SELECT pg_notify(%s, %s)", (CHANNEL, proof))
        async with aclosing(connection.notifies(timeout=PROOF_SECONDS)) as heard:
            async for one in heard:
                if one.payload == proof:
                    return True
        await connection.execute("UNLISTEN *")
        return False
