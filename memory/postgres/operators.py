"""Operators in PostgreSQL. Each change is one transaction with its place on the record."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from psycopg.errors import InsufficientPrivilege

from memory.errors import ConflictError, NotFoundError, RefusedError
from memory.moments import moment_or_none
from memory.operators import RECORD, Operator
from memory.people import Identity
from memory.postgres.audit import append
from memory.postgres.database import Connection, Database

FIELDS = """name, tier, added_by, added_at, expires_at, revoked_at,
    revoked_at IS NULL AND coalesce(expires_at > clock_timestamp(), true) AS in_force"""


class PostgresOperators:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, name: str, tier: int, token_sha256: str, by: Identity, *, seconds: float | None) -> Operator:
        async with self._changing() as db:
            await db.execute("UPDATE interlock.operator SET revoked_at = expires_at WHERE name = %s AND revoked_at IS NULL"
                             " AND expires_at <= clock_timestamp()", (name,))  # fmt: skip
            values = {"name": name, "tier": tier, "hash": token_sha256, "by": str(by), "seconds": seconds}
            row = await (await db.execute(INSERT, values)).fetchone()
            if row is None:
                remedy = f"Revoke the old token first: interlock operator revoke {name}"
                raise ConflictError(f"There is an operator {name!r} already.", remedy=remedy, code="operator_exists")
            expires = row["expires_at"]
            await append(db, RECORD, "operator_added", by, {
                "expires_at": moment_or_none(expires), "name": name, "tier": tier,
            })  # fmt: skip
        return Operator(**row)

    async def revoke(self, name: str, by: Identity) -> Operator:
        async with self._changing() as db:
            row = await (await db.execute(REVOKE, (name,))).fetchone()
            if row is None:
                remedy = "`interlock operator list` has their names."
                raise NotFoundError(f"There is no operator {name!r} to revoke.", remedy=remedy, code="no_such_operator")
            await append(db, RECORD, "operator_revoked", by, {"name": name, "tier": row["tier"]})
        return Operator(**row)

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[Connection]:
        """A transaction of a role that may say who decides; a role of `interlock db grants` may not."""
        try:
            async with self._database.transaction() as db:
                yield db
        except InsufficientPrivilege as error:
            message = "This database role may not say who decides."
            remedy = "Use the owner's INTERLOCK_DATABASE_URL to add and revoke operators."
            raise RefusedError(message, remedy=remedy, code="not_permitted") from error

    async def newest(self) -> Sequence[Operator]:
        return [Operator(**row) for row in await self._read("ORDER BY added_at DESC, id DESC", {})]

    async def of_token(self, token_sha256: str) -> Operator | None:
        rows = await self._read("WHERE token_sha256 = %(hash)s", {"hash": token_sha256})
        return Operator(**rows[0]) if rows else None

    async def highest_tier(self) -> int:
        return max((one.tier for one in await self.newest() if one.in_force), default=1)

    async def _read(self, where: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        async with self._database.connection() as db:
            return await (await db.execute(f"SELECT {FIELDS} FROM interlock.operator {where}", values)).fetchall()  # noqa: S608 - constants


INSERT = f"""
INSERT INTO interlock.operator (name, tier, token_sha256, added_by, expires_at)
VALUES (%(name)s, %(tier)s, %(hash)s, %(by)s, clock_timestamp() + make_interval(secs => %(seconds)s))
ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING
RETURNING {FIELDS}
"""  # noqa: S608 - constants
REVOKE = f"""
UPDATE interlock.operator SET revoked_at = clock_timestamp() WHERE name = %s AND revoked_at IS NULL RETURNING {FIELDS}
"""  # noqa: S608 - constants
