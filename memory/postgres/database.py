"""Connections to PostgreSQL. Here, and only here, a driver's failure to connect becomes UnavailableError."""

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Protocol, Self

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from memory.errors import UnavailableError, UsageError

Connection = AsyncConnection[DictRow]

CONNECT_TIMEOUT = 5  # seconds for one attempt
# What passes with the server's state, and is no mistake of ours: a lost session, a replica that a failover left us with.
AWAY = (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.IdleInTransactionSessionTimeout)
PATIENCE = 10.0  # seconds for a connection of the pool: enough to sit out a restart of the server
DEFAULTS: dict[str, Any] = {  # what the DSN says wins
    "connect_timeout": CONNECT_TIMEOUT,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

# The pool logs each failed attempt; without a handler of its own, Python would print that to the user's stderr.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


FACTS = """
SELECT current_setting('server_version') AS version, pg_size_pretty(pg_database_size(current_database())) AS size,
       extract(epoch FROM clock_timestamp()) AS clock,
       (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user) AS makes_roles, current_user AS account,
       (SELECT max(migration_id) FROM interlock._yoyo_migration WHERE migration_id ~ '^[0-9]') AS schema
"""


class Database:
    """A small pool, opened with `async with`. Connections are in autocommit mode and give rows as dicts.

    Statements are never prepared on the server, so a pooler in transaction mode may stand between.
    """

    def __init__(self, dsn: str, *, application_name: str = "interlock", max_size: int = 4) -> None:
        self.dsn = parse_dsn(dsn)
        self.where = describe(self.dsn)
        self.max_size = max_size
        self._application_name = application_name
        self._pool: AsyncConnectionPool[Connection] | None = None
        self._failure: psycopg.OperationalError | None = None

    @property
    def pool(self) -> AsyncConnectionPool[Connection]:
        if self._pool is None:
            raise RuntimeError("the database is not open: use `async with database`")
        return self._pool

    async def __aenter__(self) -> Self:
        refuse_proactor(asyncio.get_running_loop())
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        options = connect_options(self.dsn, self._application_name)
        self._pool = AsyncConnectionPool(
            self.dsn, connection_class=_Observed, kwargs={**options, "observe": self._observer(first)}, open=False,
            check=AsyncConnectionPool.check_connection, min_size=1, max_size=self.max_size, timeout=PATIENCE,
        )  # fmt: skip
        try:
            await self._pool.open()
            async with asyncio.timeout(PATIENCE):
                await first  # later failures are sat out, but a server that is not there at first is said at once
        except (psycopg.OperationalError, TimeoutError) as error:
            await self._pool.close()
            raise unavailable(error, self.where) from error
        except BaseException:
            await self._pool.close()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.pool.close()

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        try:
            async with self.pool.connection() as connection:
                yield connection
        except PoolTimeout as error:
            raise self._no_connection(error) from error
        except AWAY as error:
            raise unavailable(error, self.where) from error

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def facts(self) -> dict[str, Any]:
        """The server's version, the last migration, the size in words, our account, and how many seconds its clock is ahead of ours."""
        before = time.time()
        async with self.connection() as connection:
            row = await (await connection.execute(FACTS)).fetchone()
        if row is None:
            raise AssertionError("an aggregate gives a row")
        return {**row, "clock_seconds": float(row["clock"]) - (before + time.time()) / 2}

    def _observer(self, first: "asyncio.Future[None]") -> "_Observe":
        def observe(failure: psycopg.OperationalError | None) -> None:
            self._failure = failure
            if first.done():
                return
            if failure is None:
                first.set_result(None)
            else:
                first.set_exception(failure)

        return observe

    def _no_connection(self, error: PoolTimeout) -> UnavailableError:
        if self._failure is not None:
            return unavailable(self._failure, self.where)
        return UnavailableError(
            f"All {self.max_size} connections to {self.where} stayed in use: {error}.",
            remedy="Lower --concurrency, or raise max_size of memory.postgres.database.Database.",
            code="pool_exhausted",
        )


class _Observe(Protocol):
    def __call__(self, failure: psycopg.OperationalError | None) -> None: ...


class _Observed(AsyncConnection[DictRow]):
    """Tells how each attempt to connect went: the pool itself says only that it waited in vain."""

    @classmethod
    async def connect(cls, conninfo: str = "", *, observe: _Observe, **options: Any) -> Self:  # type: ignore[override]
        try:
            connection = await super().connect(conninfo, **options)
        except psycopg.OperationalError as error:
            observe(error)
            raise
        observe(None)
        return connection


def parse_dsn(dsn: str) -> str:
    """A DSN for libpq; `postgresql+driver://` is understood. Raises UsageError, which never repeats a password."""
    plain = re.sub(r"^postgres(ql)?\+\w+://", "postgresql://", dsn.strip())
    try:
        parts = conninfo_to_dict(plain)
    except psycopg.ProgrammingError:
        parts = None
    if parts is None or _holds_a_password(parts):
        raise UsageError(
            "The database URL cannot be read.",  # libpq's own message would repeat parts of the password
            remedy="Write postgresql://user:password@host:port/database, with @ : / ? # % in the password as %40 %3A …",
            code="bad_database_url",
        ) from None
    return plain


def _holds_a_password(parts: dict[str, Any]) -> bool:
    """Whether an @ or / in the password was taken for a separator, so that a rest of it stands elsewhere."""
    port = str(parts.get("port") or "")
    return any("@" in str(parts.get(name) or "") for name in ("host", "dbname")) or not re.fullmatch(r"[\d,]*", port)


def describe(dsn: str) -> str:
    """Database, and host and port of each server that the DSN names, for messages."""
    parts = conninfo_to_dict(dsn)
    hosts = str(parts.get("host") or parts.get("hostaddr") or "the local socket").split(",")
    ports = str(parts.get("port") or "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports  # libpq's rule: one port is everybody's
    servers = [f"{host}:{port}" if port and not host.startswith("/") else host for host, port in zip(hosts, ports, strict=False)]
    return f"database {str(parts.get('dbname') or parts.get('user') or 'of the user')!r} at {', '.join(servers)}"


def refuse_proactor(loop: object) -> None:
    """The loop that Windows gives by default cannot wait for a database's socket."""
    if type(loop).__name__ == "ProactorEventLoop":
        remedy = "Use WSL, or run under asyncio.SelectorEventLoop."
        raise UnavailableError("PostgreSQL cannot be used under Windows' ProactorEventLoop.", remedy=remedy, code="wrong_loop")


def connect_options(dsn: str, application_name: str = "interlock") -> dict[str, Any]:
    """What every connection of ours is opened with, beside the DSN."""
    given = conninfo_to_dict(dsn)
    options = {name: value for name, value in DEFAULTS.items() if name not in given}
    if "application_name" not in given:
        options["application_name"] = application_name
    return {**options, "autocommit": True, "row_factory": dict_row, "prepare_threshold": None}


def unavailable(error: BaseException, where: str) -> UnavailableError:
    """One line of what the driver said. The saver's errors need it too: it takes connections of the pool itself."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return UnavailableError(
        f"PostgreSQL, {where}: {lines[0] if lines else 'no answer in time'}",
        remedy="See `interlock db status`, or check INTERLOCK_DATABASE_URL and that its server runs.",
        code="database",
    )
