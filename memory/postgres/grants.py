"""What an administrator runs, so that a role which owns nothing can run the application. Nothing is run here.

Which tables there are is asked of the catalog, so none is forgotten; here stand only those that get less than the rest.
"""

import json
from collections.abc import Iterator
from typing import LiteralString, NamedTuple

from psycopg import sql

from memory.errors import RefusedError, UnavailableError, UsageError
from memory.postgres.database import Connection, Database

USUAL: LiteralString = "SELECT, INSERT, UPDATE"
LESS: dict[str, LiteralString] = {
    "audit_event": "SELECT, INSERT",
    "audit_head": "SELECT",  # kept by a trigger that has its owner's rights
    "analytics_reader": "SELECT",
    "operator": "SELECT",  # who may add operators decides who may decide: docs/decisions/0020
    "secret_key": "",  # used by a function that has its owner's rights
    "_yoyo_migration": "SELECT",
    "_yoyo_log": "",
    "_yoyo_version": "",
    "yoyo_lock": "",
}
SAVER: dict[str, LiteralString] = {
    "checkpoints": "SELECT, INSERT, UPDATE, DELETE",
    "checkpoint_blobs": "SELECT, INSERT, UPDATE, DELETE",
    "checkpoint_writes": "SELECT, INSERT, UPDATE, DELETE",
    "checkpoint_migrations": "SELECT",
}


class _Place(NamedTuple):
    database: str
    owner: str
    saver: str
    owns: bool


async def grants(database: Database, role: str) -> str:
    """SQL, a statement a line. Raises RefusedError for a role that no grant can restrict."""
    if not role or len(role.encode()) > 63 or not role.isprintable():
        raise UsageError(f"{role!r} is no name for a role: 1 to 63 bytes of printable characters.", code="bad_role")
    async with database.connection() as db:
        place = await _place(db, role)
        tables = [row["relname"] for row in await (await db.execute(TABLES)).fetchall()]
        statements = [statement.as_string(db) for statement in _statements(place, role, tables)]
        # A name in a comment must not end its line, so it is written as in JSON.
        names = f"{json.dumps(place.database)} as {json.dumps(place.owner)}"
        where = f"-- Run this in database {names}, and again after each `interlock db migrate`."
        make = f"-- Before it, once: CREATE ROLE {sql.Identifier(role).as_string(db)} LOGIN PASSWORD '…';"
    return "\n".join([where, make, "BEGIN;", *statements, "COMMIT;"])


async def _place(db: Connection, role: str) -> _Place:
    row = await (await db.execute(PLACE, {"role": role})).fetchone()
    if row is None or row["saver"] is None:
        raise UnavailableError("The schema is not set up.", remedy="Run `interlock db migrate`.", code="schema_behind")
    place = _Place(**row)
    if place.owns:
        raise RefusedError(
            f"Role {role!r} has the rights of {place.owner!r}, which owns the record; no grant can keep it from changing that.",
            remedy="Name a role of its own with --role, which is no superuser and no member of that one.",
            code="role_owns",
        )
    return place


def _statements(place: _Place, role: str, tables: list[str]) -> Iterator[sql.Composable]:
    name, ours = sql.Identifier(role), sql.Identifier("interlock")
    saver = sql.Identifier(place.saver)
    yield sql.SQL("GRANT CONNECT ON DATABASE {} TO {};").format(sql.Identifier(place.database), name)
    yield sql.SQL("GRANT USAGE ON SCHEMA {} TO {};").format(ours, name)
    yield sql.SQL("GRANT USAGE ON SCHEMA {} TO {};").format(saver, name)
    if place.saver != "public":
        database = sql.Identifier(place.database)
        yield sql.SQL("ALTER ROLE {} IN DATABASE {} SET search_path TO {};").format(name, database, saver)
    yield sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {} FROM {};").format(ours, name)
    for table in tables:
        if rights := LESS.get(table, USUAL):
            yield _on_table(rights, "interlock", table, name)
    yield sql.SQL("GRANT USAGE ON ALL SEQUENCES IN SCHEMA {} TO {};").format(ours, name)
    yield sql.SQL("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {} TO {};").format(ours, name)
    for table, rights in SAVER.items():
        yield _on_table(rights, place.saver, table, name)


def _on_table(rights: LiteralString, schema: str, table: str, role: sql.Identifier) -> sql.Composed:
    return sql.SQL("GRANT {} ON {} TO {};").format(sql.SQL(rights), sql.Identifier(schema, table), role)


TABLES = """
SELECT relname FROM pg_class WHERE relnamespace = 'interlock'::regnamespace AND relkind IN ('r', 'p') ORDER BY relname COLLATE "C"
"""
PLACE = """
SELECT current_database() AS database, pg_get_userbyid(c.relowner) AS owner,
    (SELECT n.nspname FROM pg_class s JOIN pg_namespace n ON n.oid = s.relnamespace WHERE s.oid = to_regclass('checkpoints')) AS saver,
    EXISTS (SELECT FROM pg_roles r WHERE r.rolname = %(role)s AND (r.rolsuper OR pg_has_role(r.oid, c.relowner, 'MEMBER'))) AS owns
FROM pg_class c WHERE c.oid = to_regclass('interlock.audit_event')
"""
