"""Reading for questions in PostgreSQL, which itself sees to it that nothing else is done.

The text of a query proves nothing, so nobody looks at it. It is sent alone through the extended protocol, behind DECLARE CURSOR,
in a transaction that is READ ONLY, on a connection that is closed without a commit: one statement, and one that reads.
What it may read is settled by the account. That of INTERLOCK_ANALYTICS_URL is refused where it could do more than read,
because a query can call set_config('role', …) and take back every right that its session has laid aside. Without that
setting there is the example in schema interlock_analytics, and an account that we make for it.
"""

import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
from psycopg import AsyncCursor, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import tuple_row

from memory.analytics import QueryError, Table
from memory.errors import UnavailableError, UsageError
from memory.postgres.database import Connection, connect_options, describe, parse_dsn

SETTING = "INTERLOCK_ANALYTICS_URL"
EXAMPLE = "interlock_analytics"  # the schema of migration 0007
LONGEST_VALUE = 2000  # characters
LARGEST = 1_000_000  # bytes of all values together, before they are cut; then no further rows are asked for
LARGEST_BATCH = 16  # rows
LIMITS = b"SET LOCAL statement_timeout = '15s'; SET LOCAL lock_timeout = '2s'; SET LOCAL idle_in_transaction_session_timeout = '30s'"
REMEDY = f"Set {SETTING} to a database, and to an account of it that may only read."


class PostgresAnalytics:
    """`own` gives the address of our own database, of an account that may make roles; it is asked at the first query, if at all."""

    def __init__(self, url: str | None, own: Callable[[], Awaitable[str]]) -> None:
        """Connects to nothing. Raises UsageError for a `url` that cannot be read."""
        try:
            self._dsn = parse_dsn(url) if url else None
        except UsageError as error:
            raise UsageError(f"{SETTING} cannot be read.", remedy=error.remedy, code="bad_setting") from None
        self._own = own

    async def query(self, sql: str, *, most: int) -> Table:
        if self._dsn is None:
            self._dsn = await _reader_of(await self._own())
        connection = await _connect(self._dsn)
        try:
            await _refuse_what_may_more(connection)
            return await _read(connection, sql, most)
        except (psycopg.Error, UnicodeError) as error:
            raise await _told(connection, error) from error
        finally:
            await connection.close()  # and not `async with`, which would commit


async def _connect(dsn: str) -> Connection:
    options = {**connect_options(dsn, "interlock read_database"), "client_encoding": "UTF8"}
    try:
        return await Connection.connect(dsn, **options)
    except psycopg.OperationalError as error:
        raise UnavailableError(f"{describe(dsn)}: {_line(error)}", remedy=REMEDY, code="analytics") from error


async def _refuse_what_may_more(connection: Connection) -> None:
    if row := await (await connection.execute(MIGHTY)).fetchone():
        account, role = connection.info.user, row["role"]
        through = f" as a member of {role!r}" if role != account else ""
        raise UnavailableError(
            f"The account {account!r} may {row['what']}{through}, so no query is run with it.", remedy=REMEDY, code="analytics"
        )


async def _read(connection: Connection, sql: str, most: int) -> Table:
    if "\0" in sql:
        raise QueryError("A query cannot hold the character NUL.")
    await connection.execute("BEGIN READ ONLY")
    await connection.execute(LIMITS)
    await _declare(connection, sql)
    columns = [column.name for column in (await connection.execute("FETCH 0 FROM reading")).description or []]
    if columns:
        await connection.execute("CLOSE reading; SAVEPOINT alone")
        try:
            await _declare(connection, _shortened(sql, len(columns)))
        except errors.SyntaxError:  # what looks like the end of the statement is one
            await connection.execute("ROLLBACK TO alone")
            await _declare(connection, _shortened(ENDING.sub("", sql), len(columns)))
    async with connection.cursor(row_factory=tuple_row) as cursor:
        rows, more = await _fetch(cursor, most)
    return Table(tuple(columns), tuple(rows), more)


async def _declare(connection: Connection, sql: str) -> None:
    """`binary` is how psycopg is made to use the extended protocol, in which a second statement has no place."""
    await connection.execute(f"DECLARE reading NO SCROLL CURSOR FOR\n{sql}".encode(), binary=True)


def _shortened(sql: str, columns: int) -> str:
    """The query, which was accepted alone and so has every bracket closed, inside one that cuts its values where they are.

    A value can have a gigabyte, and the client would take in a whole row of them. Each becomes PostgreSQL's own text for it (`concat`, and
    not a cast, which writes some types in another way); a last column has their sizes.
    """
    names = [f"v{number}" for number in range(columns)]
    texts = ", ".join(f"CASE WHEN {name} IS DISTINCT FROM NULL THEN concat({name}) END AS {name}" for name in names)
    cut = ", ".join(CUT.format(value=name) for name in names)
    sizes = " + ".join(f"coalesce(octet_length({name}), 0)::bigint" for name in names)
    return f"SELECT {cut}, {sizes} FROM (SELECT {texts} FROM (\n{sql}\n) AS query ({', '.join(names)}) OFFSET 0) AS texts"  # noqa: S608


async def _fetch(cursor: AsyncCursor[Any], most: int) -> tuple[list[tuple[str | None, ...]], bool]:
    """Few rows at a time, and at first one: the server puts together all that a FETCH asks for before it sends any."""
    rows: list[tuple[str | None, ...]] = []
    size, count = 0, 1
    while size <= LARGEST:
        await cursor.execute(f"FETCH {min(count, most + 1 - len(rows)):d} FROM reading".encode())
        batch = await cursor.fetchall()
        if not batch:
            return rows, False
        size += sum(sum(row[-1:]) for row in batch)
        rows += [row[:-1] for row in batch]
        if len(rows) > most:
            return rows[:most], True
        count = min(2 * count, LARGEST_BATCH)
    return rows, (await cursor.execute("MOVE 1 FROM reading")).rowcount > 0


# What went wrong, for the one who wrote the query


async def _told(connection: Connection, error: Exception) -> Exception:
    if not isinstance(error, psycopg.Error):
        return QueryError("The query is no valid text.")
    if error.sqlstate is None and isinstance(error, psycopg.OperationalError):
        return UnavailableError(f"The connection was lost: {_line(error)}", remedy="Try again.", code="analytics")
    match error:
        case errors.QueryCanceled():
            return QueryError("It took longer than 15 seconds and was stopped. Ask for less.")
        case errors.UndefinedTable() | errors.InvalidSchemaName() | errors.InsufficientPrivilege():
            return QueryError(f"{_said(error)} {await _readable(connection)}")
        case errors.SyntaxError() | errors.InvalidCursorDefinition():
            return QueryError(f"{_said(error)} It must be one statement that reads: SELECT, WITH … SELECT, VALUES or TABLE.")
    return QueryError(_said(error))


def _said(error: psycopg.Error) -> str:
    said = (error.diag.message_primary or _line(error)).removesuffix(".")
    if isinstance(error, errors.SyntaxError) and "multiple commands" in said:
        said = "these are several statements"
    return f"{said[:1].upper()}{said[1:]}." + (f" {hint}" if (hint := error.diag.message_hint) else "")


async def _readable(connection: Connection, most: int = 40) -> str:
    try:
        await connection.execute("ROLLBACK")
        names = [row["name"] for row in await (await connection.execute(READABLE)).fetchall()]
    except psycopg.Error:
        return ""
    shown = ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
    return f"Readable are: {shown or 'no tables'}. For columns, see information_schema.columns."


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


# The account for the example


async def _reader_of(own: str) -> str:
    """The address of the account that reads the example, which is made where it does not exist."""
    dsn = parse_dsn(own)
    async with await _connect(dsn) as connection:
        try:
            role, password = await _known(connection) or await _make(connection)
        except psycopg.errors.InsufficientPrivilege as error:
            raise UnavailableError(
                f"There is nothing to read: {connection.info.user!r}, interlock's own account, may not make one that only reads "
                f"({error.diag.message_primary}).",
                remedy=REMEDY, code="analytics",
            ) from error  # fmt: skip
        except psycopg.Error as error:
            raise UnavailableError(f"No account that only reads could be made: {_line(error)}", remedy=REMEDY, code="analytics") from error
    parts = {name: value for name, value in conninfo_to_dict(dsn).items() if name not in {"options", "passfile"}}
    return make_conninfo("", **{**parts, "user": role, "password": password})


async def _known(connection: Connection) -> tuple[str, str] | None:
    row = await (await connection.execute(KNOWN)).fetchone()
    return (row["role"], row["password"]) if row else None


async def _make(connection: Connection) -> tuple[str, str]:
    """A role of this database only. One of its name without a known password is of a database that is gone."""
    async with connection.transaction():
        await connection.execute(ONE_AT_A_TIME)
        if known := await _known(connection):
            return known
        row = await (await connection.execute(NAMES)).fetchone()
        assert row is not None  # noqa: S101 - a row of its own making
        role, password = row["role"], secrets.token_urlsafe(32)
        hashed = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()  # no log may have it
        new = "ALTER" if row["exists"] else "CREATE"
        await connection.execute(f"{new} ROLE {role} LOGIN PASSWORD '{hashed}'".encode())
        for statement in GRANTS:
            await connection.execute(statement.format(role=role, database=row["database"]).encode())
        await connection.execute(KEEP, (role, password))
    return role, password


# A text or NULL. OFFSET 0 in the query around it keeps the planner from making the text once for each time that it stands here.
CUT = (
    f"CASE WHEN octet_length({{value}}) > octet_length(left({{value}}, {LONGEST_VALUE})) THEN left({{value}}, {LONGEST_VALUE}) || '[… ' || "
    f"octet_length({{value}}) - octet_length(left({{value}}, {LONGEST_VALUE})) || ' bytes left out …]' ELSE {{value}} END"
)
ENDING = re.compile(r"(?:;(?:\s|--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*)+\Z")  # semicolons, and comments behind them
GRANTS = (
    "GRANT CONNECT ON DATABASE {database} TO {role}",
    f"GRANT USAGE ON SCHEMA {EXAMPLE} TO {{role}}",
    f"GRANT SELECT ON ALL TABLES IN SCHEMA {EXAMPLE} TO {{role}}",
    f"ALTER ROLE {{role}} IN DATABASE {{database}} SET search_path = {EXAMPLE}",
    "ALTER ROLE {role} SET default_transaction_read_only = on",
)
ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('interlock.analytics_reader', 0))"
NAME = "'interlock_reader_' || oid FROM pg_database WHERE datname = current_database()"
KNOWN = f"""
SELECT a.role, a.password FROM interlock.analytics_reader a JOIN pg_roles r ON r.rolname = a.role
WHERE a.role = (SELECT {NAME})
"""  # noqa: S608 - constants
NAMES = f"""
SELECT role, quote_ident(current_database()) AS database, EXISTS (SELECT FROM pg_roles WHERE rolname = role) AS exists
FROM (SELECT {NAME}) AS named (role)
"""  # noqa: S608 - constants
KEEP = """
INSERT INTO interlock.analytics_reader (role, password) VALUES (%s, %s)
ON CONFLICT (role) DO UPDATE SET password = excluded.password
"""
# Of the account itself, and of each role that it could take: what no reader of business data has.
MIGHTY = """
SELECT r.rolname AS role, CASE
    WHEN r.rolsuper THEN 'do everything'
    WHEN r.rolname ~ '^pg_(read|write)_server_files$|^pg_execute_server_program$' THEN 'use the files and programs of the server'
    ELSE 'read the records of interlock' END AS what
FROM pg_roles r
WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND (
    r.rolsuper
    OR r.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
    OR EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p') AND has_any_column_privilege(r.oid, c.oid, 'SELECT')
          AND (n.nspname = 'interlock'
               OR (c.relname IN ('checkpoints', 'checkpoint_blobs', 'checkpoint_writes')
                   AND EXISTS (SELECT FROM pg_namespace WHERE nspname = 'interlock')))))
ORDER BY r.rolsuper DESC, r.rolname = session_user DESC LIMIT 1
"""
READABLE = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN quote_ident(c.relname)
            ELSE quote_ident(n.nspname) || '.' || quote_ident(c.relname) END AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
  AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY NOT pg_table_is_visible(c.oid), 1
"""
