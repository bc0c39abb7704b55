"""A role that owns nothing runs the application with what `interlock db grants` prints, and cannot change the record."""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from bench.openai_server import call, say

from memory.postgres import grants
from memory.postgres.embedded import NAME, SUPERUSER

POSTGRES = Path(grants.__file__).parent
PAY = {"to": "bob", "amount": 5}
ODD = 'odd "Ünit"; --'
REFUSED = (
    "UPDATE interlock.audit_event SET kind = 'x'", "DELETE FROM interlock.audit_event", "TRUNCATE interlock.audit_event",
    "ALTER TABLE interlock.audit_event DISABLE TRIGGER ALL", "UPDATE interlock.audit_head SET seq = 1", "DELETE FROM interlock.audit_head",
    "INSERT INTO interlock.audit_head VALUES ('x', 1, '', '')", "DELETE FROM interlock.decision", "DELETE FROM interlock.approval",
    "DELETE FROM interlock.execution", "INSERT INTO interlock._yoyo_migration DEFAULT VALUES", "CREATE TABLE interlock.x ()",
    "CREATE TABLE public.x ()", "SET session_replication_role = replica",
    "SELECT key FROM interlock.secret_key", "UPDATE interlock.operator SET revoked_at = NULL",
    "INSERT INTO interlock.operator (name, tier, token_sha256, added_by) VALUES ('x', 9, 'x', 'x')",
    "DROP FUNCTION interlock.audit_chain CASCADE",
)  # fmt: skip


@pytest.fixture(params=["plain", ODD])
def role(request: pytest.FixtureRequest, agent: Any) -> Iterator[str]:
    """A role that may log in and nothing else; the server is shared, so its name is this test's own."""
    name = f"{request.param} {secrets.token_hex(4)}"
    quoted = psycopg.sql.Identifier(name)
    with agent.superuser() as database:
        database.execute(psycopg.sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(quoted))
    yield name
    agent.cli.environment["INTERLOCK_DATABASE_URL"] = agent.url
    with agent.superuser() as database:
        database.execute(psycopg.sql.SQL("DROP OWNED BY {}; DROP ROLE {}").format(quoted, quoted))


@pytest.mark.timeout(600)
def test_c037_the_whole_way_with_that_role(agent: Any, role: str) -> None:
    """A role that owns nothing and may not change the record runs everything."""
    assert agent.cli("show", "t", "--json", environment=as_role(agent, role)).expect(7).json["error"]["code"] == "schema_forbidden"
    printed = agent("db", "grants", "--role", role, expect=0)["sql"]
    assert printed == agent.cli("db", "grants", "--role", role).expect(0).stdout.removesuffix("\n")
    with psycopg.connect(agent.url, autocommit=True) as owner:
        for _ in range(2):  # it may be run again
            owner.execute(printed)
    ada = {"INTERLOCK_OPERATOR_TOKEN": agent("operator", "add", "ada", expect=0)["token"]}
    agent.cli.environment.update(as_role(agent, role))
    for change in (("add", "mallory"), ("revoke", "ada")):
        assert agent("operator", *change, expect=6)["error"]["code"] == "not_permitted"

    agent.start(call("note_add", {"text": "first"}), call("transfer", PAY), call("transfer", PAY), say("Paid."))
    agent.cli("approve", "t", environment=agent.world.environment(crash="after")).expect(-9)
    asked = agent("resume", "t", expect=3)["pending"][0]
    assert asked["kind"] == "unknown_outcome"
    assert agent("resolve", "t", "--done", "payment 17", expect=3)["pending"][0]["kind"] == "pre_execution"
    assert agent("modify", "t", "--set", "amount=3", expect=0, environment=ada)["status"] == "completed"
    agent.model.play(call("transfer", PAY))
    agent("start", "again", "--thread", "u", expect=3)
    agent("cancel", "u", "--comment", "no", expect=0)
    assert agent("audit", "--verify", expect=0)["verified"] is True
    assert agent("replay", "t", expect=0)["verified"] is True
    assert agent.world.lines("transfer") == ["5 to bob", "3 to bob"]
    for command in (("inbox",), ("runs",), ("db", "status"), ("db", "migrate")):
        agent(*command, expect=0)

    with psycopg.connect(as_role(agent, role)["INTERLOCK_DATABASE_URL"], autocommit=True) as database:
        for statement in REFUSED:
            with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.SyntaxError)) as refused:
                database.execute(statement)
            assert isinstance(refused.value, psycopg.errors.InsufficientPrivilege), statement


def as_role(agent: Any, role: str) -> dict[str, str]:
    """A DSN in words, because a name may hold anything."""
    with agent.superuser() as database:
        host, port = database.info.host, database.info.port
    name = urlsplit(agent.url).path.removeprefix("/")
    return {"INTERLOCK_DATABASE_URL": psycopg.conninfo.make_conninfo("", user=role, password="secret", dbname=name, host=host, port=port)}


def test_a_role_that_owns_the_record_cannot_be_restricted(agent: Any) -> None:
    for owner in (NAME, SUPERUSER):
        assert agent("db", "grants", "--role", owner, expect=6)["error"]["code"] == "role_owns"
    for bad in ("", "x" * 64, "a\nb", "a\x1b"):
        assert agent("db", "grants", "--role", bad, expect=2)["error"]["code"] == "bad_role"


def test_nothing_is_run_and_nobody_is_forgotten(agent: Any) -> None:
    """A table that is new gets the usual rights without a word in the code."""
    with agent.superuser() as database:
        database.execute('CREATE TABLE interlock."A new; one" (id int)')
    before = agent.rows("SELECT relacl::text FROM pg_class WHERE relnamespace = 'interlock'::regnamespace ORDER BY oid")
    sql = agent("db", "grants", expect=0)["sql"]
    assert 'GRANT SELECT, INSERT, UPDATE ON "interlock"."A new; one" TO "interlock_app";' in sql
    assert agent.rows("SELECT relacl::text FROM pg_class WHERE relnamespace = 'interlock'::regnamespace ORDER BY oid") == before
    assert agent.rows("SELECT FROM pg_roles WHERE rolname = 'interlock_app'") == []


def test_no_statement_of_ours_deletes_what_no_grant_allows() -> None:
    """Where a table of ours is to lose rows one day, the grants must say so."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in [*POSTGRES.glob("*.py"), *POSTGRES.glob("migrations/*.sql")])
    deleted = {name for name in re.findall(r"DELETE FROM interlock\.(\w+)", text) if "DELETE" not in grants.LESS.get(name, "")}
    assert deleted == set()
