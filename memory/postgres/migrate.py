"""The schema: what the code needs, what the database has, and the way from one to the other.

Our migrations are numbered SQL files, kept by yoyo. All that are missing are applied in one transaction together with
their bookkeeping, and LangGraph's own tables are made before that: from outside a database is empty or complete, and a
process that is killed in the middle leaves nothing that the next one could stumble over.
"""

import asyncio
import contextlib
import glob
import importlib.metadata
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from memory.errors import UnavailableError
from memory.postgres.database import Connection, Database, connect_options, describe, parse_dsn, unavailable

MIGRATIONS = Path(__file__).parent / "migrations"
BOOKS = "_yoyo_migration"  # in schema interlock
LANGGRAPH = "langgraph-checkpoint-postgres"
PATIENCE = 120.0  # seconds that a migration of another process may take

APPLIED = "SELECT migration_id FROM interlock._yoyo_migration"
# The books are a table, and tables get emptied; then they would say that a full database is a new one. The comment stays.
KEPT = "SELECT coalesce(obj_description('interlock._yoyo_migration'::regclass), '') AS names"
# The number is ours alone; it is written out because a parameter would make a portal, which keeps its snapshot.
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(7595448483041370987) AS got"
SCHEMA_EXISTS = "SELECT FROM pg_namespace WHERE nspname = 'interlock'"
# To a role named interlock, "$user" in the search path means our schema: a role of another name would not find the tables.
AVOID_OURS = """
SELECT set_config('search_path', quote_ident(name), false) FROM unnest(current_schemas(false)) AS name
WHERE current_schema() = 'interlock' AND name <> 'interlock' LIMIT 1
"""
# A process killed inside CREATE INDEX CONCURRENTLY leaves an index that is never used, and IF NOT EXISTS takes it for done.
BROKEN_INDEXES = """
SELECT format('DROP INDEX %s', indexrelid::regclass) AS repair FROM pg_index
WHERE NOT indisvalid
  AND indrelid IN (to_regclass('checkpoints'), to_regclass('checkpoint_blobs'), to_regclass('checkpoint_writes'))
"""


async def prepare(database: Database, *, embedded: bool) -> None:
    """At every start: one cheap query. An empty database is set up at first use; one that is behind only if it is ours.

    Raises UnavailableError with code schema_behind, schema_ahead or schema_forbidden.
    """
    async with database.connection() as connection:
        applied = await _applied(connection)
    if not applied or (embedded and needed() - applied):
        await migrate(database.dsn)
    else:
        _check(applied, database.where)


async def check_schema(database: Database) -> None:
    """Raises UnavailableError with code schema_behind, schema_ahead or schema_forbidden."""
    async with database.connection() as connection:
        _check(await _applied(connection), database.where)


async def pending(dsn: str, *, folder: Path = MIGRATIONS) -> list[str]:
    dsn = parse_dsn(dsn)
    try:
        async with await Connection.connect(dsn, **connect_options(dsn)) as connection:
            return sorted(needed(folder) - await _applied(connection))
    except psycopg.OperationalError as error:
        raise unavailable(error, describe(dsn)) from error


async def migrate(dsn: str, *, folder: Path = MIGRATIONS) -> list[str]:
    """Brings the database up to the code and returns what was applied; any number of processes may do it at once."""
    dsn = parse_dsn(dsn)
    try:
        async with _alone(dsn), await Connection.connect(dsn, **connect_options(dsn)) as connection:
            return await _migrate(connection, dsn, folder)
    except psycopg.OperationalError as error:
        raise unavailable(error, describe(dsn)) from error
    except psycopg.Error as error:
        raise UnavailableError(
            f"The migration of {describe(dsn)} stopped: {error.diag.message_primary or error}",
            remedy="Put that right and run `interlock db migrate` again; what is half done does not count.",
            code="migration_failed",
        ) from error


def needed(folder: Path = MIGRATIONS) -> set[str]:
    """Names of all migrations. LangGraph's tables count as one for each version of the library, which makes them."""
    return {file.stem for file in folder.glob("*.sql")} | {_langgraph()}


def _langgraph() -> str:
    return f"{LANGGRAPH}-{importlib.metadata.version(LANGGRAPH)}"


async def _applied(connection: Connection) -> set[str]:
    try:
        applied = {row["migration_id"] for row in await (await connection.execute(APPLIED)).fetchall()}
        if not applied and (row := await (await connection.execute(KEPT)).fetchone()):
            applied = set(row["names"].split())
        return applied
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        return set()
    except psycopg.errors.InsufficientPrivilege as error:
        raise UnavailableError(
            f"Role {connection.info.user!r} may not read schema interlock in database {connection.info.dbname!r}.",
            remedy="Let the schema's owner run what `interlock db grants` prints.",
            code="schema_forbidden",
        ) from error


def _check(applied: set[str], where: str, folder: Path = MIGRATIONS) -> None:
    _refuse_newer(applied, where, folder)
    if missing := sorted(needed(folder) - applied):
        raise UnavailableError(
            f"The schema in {where} is behind this version of interlock: {', '.join(missing)} missing.",
            remedy="Run `interlock db migrate`.",
            code="schema_behind",
        )


def _refuse_newer(applied: set[str], where: str, folder: Path) -> None:
    newer = sorted(name for name in applied - needed(folder) if not name.startswith(LANGGRAPH))
    if newer:
        raise UnavailableError(
            f"The schema in {where} is ahead of this version of interlock, which does not know {', '.join(newer)}.",
            remedy="Use the version of interlock that migrated it, or a newer one.",
            code="schema_ahead",
        )


@contextlib.asynccontextmanager
async def _alone(dsn: str) -> AsyncIterator[None]:
    """Asks for the lock again and again instead of waiting in the query: a waiting query has a snapshot.

    LangGraph's CREATE INDEX CONCURRENTLY waits for every older snapshot, so it and the waiting process would wait for
    each other, unseen by the server. A transaction that is idle has no snapshot. It, and not the session, holds the lock,
    because a pooler in transaction mode shares sessions.
    """
    deadline = time.monotonic() + PATIENCE
    async with await Connection.connect(dsn, **connect_options(dsn)) as connection:
        while time.monotonic() < deadline:
            async with connection.transaction():
                await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                row = await (await connection.execute(TRY_LOCK)).fetchone()
                if row and row["got"]:
                    yield
                    return
            await asyncio.sleep(0.05)
    raise UnavailableError(
        f"Another process has been migrating {describe(dsn)} for {PATIENCE:.0f} seconds.",
        remedy="Wait for it, or end it; then run `interlock db migrate`.",
        code="migrating",
    )


async def _migrate(connection: Connection, dsn: str, folder: Path) -> list[str]:
    applied = await _applied(connection)
    _refuse_newer(applied, describe(dsn), folder)
    if not needed(folder) - applied:
        return []
    try:
        if not (await connection.execute(SCHEMA_EXISTS)).rowcount:
            await connection.execute("CREATE SCHEMA interlock")
        if _langgraph() not in applied:
            await _set_up_checkpoints(connection)
        return await asyncio.to_thread(_apply, dsn, folder)
    except psycopg.errors.InsufficientPrivilege as error:
        role, name = connection.info.user, connection.info.dbname
        raise UnavailableError(
            f"Role {role!r} may not set up database {name!r}: {error.diag.message_primary}",
            remedy=f'Let an owner run: GRANT CREATE ON DATABASE "{name}" TO "{role}"; GRANT USAGE, CREATE ON SCHEMA '
            f'public TO "{role}"; or `interlock db migrate`, and then what `interlock db grants` prints.',
            code="schema_forbidden",
        ) from error


async def _set_up_checkpoints(connection: Connection) -> None:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    await connection.execute(AVOID_OURS)
    for row in await (await connection.execute(BROKEN_INDEXES)).fetchall():
        await connection.execute(row["repair"])
    await AsyncPostgresSaver(connection).setup()


class _QuietCursor(psycopg.Cursor[tuple[object, ...]]):
    """yoyo prints the rows of a statement that returns some, and standard output is not its to write to."""

    @property
    def description(self) -> None:
        return None


def _apply(dsn: str, folder: Path) -> list[str]:
    """Uses yoyo's parts under our own lock and transaction: its lock is a row that stays when a process is killed."""
    from yoyo import internalmigrations
    from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
    from yoyo.connections import DatabaseURI
    from yoyo.migrations import get_migration_hash, read_migrations

    options = connect_options(dsn) | {"row_factory": psycopg.rows.tuple_row, "cursor_factory": _QuietCursor}
    parts = conninfo_to_dict(dsn)
    uri = DatabaseURI("postgresql+psycopg", None, None, None, None, parts.pop("dbname", None), parts | options)
    with PostgresqlPsycopgBackend(uri, BOOKS) as backend, backend.transaction():
        backend.execute("SET LOCAL search_path TO interlock")  # where yoyo keeps its books
        _restore_version(backend)
        if internalmigrations.needs_upgrading(backend):
            internalmigrations.upgrade(backend)
        kept = set() if backend.get_applied_migration_hashes() else set(backend.execute(KEPT).fetchone()[0].split())
        known, name = read_migrations(glob.escape(str(folder))), _langgraph()
        library = SimpleNamespace(id=name, hash=get_migration_hash(name))
        for one in (*known, library):
            if one.id in kept:
                backend.mark_one(one, log=False)
        done = list(backend.to_apply(known))
        for migration in done:
            migration.process_steps(backend, "apply")
            backend.mark_one(migration, log=False)
        if not backend.is_applied(library):
            backend.mark_one(library, log=False)
            done.append(library)
        backend.execute(f"COMMENT ON TABLE {BOOKS} IS '{' '.join(sorted(one.id for one in (*known, library)))}'")
    return [migration.id for migration in done]


def _restore_version(backend: Any) -> None:
    """yoyo stumbles over an empty table of its own version."""
    from yoyo import internalmigrations

    tables = backend.list_tables()
    if backend.version_table in tables and not backend.execute(f"SELECT 1 FROM {backend.version_table}").fetchone():  # noqa: S608
        internalmigrations.mark_schema_version(backend, max(internalmigrations.schema_versions))
