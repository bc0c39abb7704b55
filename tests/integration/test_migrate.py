"""The schema: set up by many at once, killed in the middle, behind, ahead, forbidden; and a database that is not there."""

import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from bench.postgres import PostgresBench
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memory.errors import UnavailableError, UsageError
from memory.postgres import database as database_module
from memory.postgres.database import Database, describe, parse_dsn
from memory.postgres.migrate import MIGRATIONS, check_schema, migrate, needed, pending, prepare

CHECKOUT = Path(__file__).parents[2]
PREPARE = """
import asyncio, sys
from memory.postgres.database import Database
from memory.postgres.migrate import prepare
async def main():
    async with Database(sys.argv[1]) as database:
        await prepare(database, embedded=False)
asyncio.run(main())
"""
MIGRATE = """
import asyncio, sys
from pathlib import Path
from memory.postgres.migrate import migrate
asyncio.run(migrate(sys.argv[1], folder=Path(sys.argv[2])))
"""


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    words = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    return subprocess.Popen(words, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def rows(url: str, query: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute(query).fetchall()]


def books(url: str) -> list[str]:
    return rows(url, "SELECT migration_id FROM interlock._yoyo_migration ORDER BY 1")


def tables(url: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    with psycopg.connect(url) as connection:
        query = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'interlock')"
        for schema, table in connection.execute(query):
            found.setdefault(schema, set()).add(table)
    return found


def first_migrations(folder: Path, number: int) -> Path:
    for file in sorted(MIGRATIONS.glob("*.sql"))[:number]:
        shutil.copy(file, folder)
    return folder


async def code_of_check(url: str) -> str | None:
    async with Database(url) as database:
        try:
            await check_schema(database)
        except UnavailableError as error:
            return error.code
    return None


async def test_an_empty_database_is_set_up_once(empty_database_url: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert await pending(empty_database_url) == sorted(needed())
    assert sorted(await migrate(empty_database_url)) == sorted(needed())
    assert await migrate(empty_database_url) == []
    assert await pending(empty_database_url) == []
    assert await code_of_check(empty_database_url) is None
    assert books(empty_database_url) == sorted(needed())
    found = tables(empty_database_url)
    assert found["public"] == {"checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations"}
    assert {"run", "approval", "audit_event", "_yoyo_migration"} <= found["interlock"]
    assert capfd.readouterr() == ("", "")


async def test_a_database_whose_tables_were_emptied_is_not_taken_for_a_new_one(empty_database_url: str, tmp_path: Path) -> None:
    first_migrations(tmp_path, 2)
    await migrate(empty_database_url, folder=tmp_path)
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("TRUNCATE interlock._yoyo_migration, interlock._yoyo_version")
    assert await pending(empty_database_url, folder=tmp_path) == []
    assert await migrate(empty_database_url, folder=tmp_path) == []
    rest = sorted(needed() - needed(tmp_path))
    assert await pending(empty_database_url) == rest
    assert sorted(await migrate(empty_database_url)) == rest
    assert books(empty_database_url) == sorted(needed())


def test_c035_eight_processes_set_up_an_empty_database_at_once(empty_database_url: str) -> None:
    """Eight processes set up one empty database, and all eight succeed."""
    processes = [python(PREPARE, empty_database_url) for _ in range(8)]
    ends = [(process.communicate(timeout=100), process.returncode) for process in processes]
    assert ends == [(("", ""), 0)] * 8
    assert books(empty_database_url) == sorted(needed())
    assert rows(empty_database_url, "SELECT count(*) - count(DISTINCT v) FROM checkpoint_migrations") == [0]


def test_c036_a_killed_migration_is_done_again(empty_database_url: str, tmp_path: Path) -> None:
    """A migration that was killed left nothing and is done again."""
    first_migrations(tmp_path, 1)
    slow = "-- depends: 0001_audit\nCREATE TABLE interlock.slow ();\nSELECT pg_advisory_xact_lock(2, 2);\n"
    (tmp_path / "0002_slow.sql").write_text(slow)
    with psycopg.connect(empty_database_url) as slows_down:
        slows_down.execute("SELECT pg_advisory_xact_lock(2, 2)")
        process = python(MIGRATE, empty_database_url, tmp_path)
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 2 AND objsubid = 2 AND NOT granted"
        while rows(empty_database_url, waiting) == [0]:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.kill()
        process.communicate()
        assert "interlock" not in tables(empty_database_url)  # as if nothing had happened

    done = python(MIGRATE, empty_database_url, tmp_path)
    assert (done.communicate(timeout=100), done.returncode) == (("", ""), 0)
    assert books(empty_database_url)[:2] == ["0001_audit", "0002_slow"]
    assert "slow" in tables(empty_database_url)["interlock"]


async def test_a_migration_that_fails_leaves_nothing(empty_database_url: str, tmp_path: Path) -> None:
    first_migrations(tmp_path, 1)
    (tmp_path / "0002_wrong.sql").write_text("-- depends: 0001_audit\nCREATE TABLE interlock.half ();\nSELECT no_such_thing;\n")
    with pytest.raises(UnavailableError, match="no_such_thing") as caught:
        await migrate(empty_database_url, folder=tmp_path)
    assert caught.value.code == "migration_failed"
    assert "interlock" not in tables(empty_database_url)


async def test_rows_of_a_migration_are_not_printed(empty_database_url: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first_migrations(tmp_path, 1)
    (tmp_path / "0002_talks.sql").write_text("-- depends: 0001_audit\nSELECT 'hello';\n")
    await migrate(empty_database_url, folder=tmp_path)
    assert capfd.readouterr() == ("", "")


async def test_c036_what_a_killed_setup_of_langgraph_left_is_repaired(postgres_server: PostgresBench, database_url: str) -> None:
    """What a killed set-up of LangGraph's own tables left behind is completed."""
    with postgres_server.admin(database_url) as connection:
        connection.execute("DELETE FROM checkpoint_migrations WHERE v >= 6")
        connection.execute("DELETE FROM interlock._yoyo_migration WHERE migration_id LIKE 'langgraph%'")
        connection.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'checkpoints_thread_id_idx'::regclass")
    assert await code_of_check(database_url) == "schema_behind"
    assert [name.partition("-")[0] for name in await migrate(database_url)] == ["langgraph"]
    assert rows(database_url, "SELECT max(v) FROM checkpoint_migrations") == [9]
    assert rows(database_url, "SELECT count(*) FROM pg_index WHERE NOT indisvalid") == [0]


async def test_a_schema_behind_is_refused_and_the_embedded_one_brought_up(empty_database_url: str, tmp_path: Path) -> None:
    await migrate(empty_database_url, folder=first_migrations(tmp_path, 2))
    async with Database(empty_database_url) as database:
        with pytest.raises(UnavailableError, match="0003_approval") as caught:
            await prepare(database, embedded=False)
        assert (caught.value.code, caught.value.exit_code) == ("schema_behind", 7)
        assert "interlock db migrate" in caught.value.remedy
        await prepare(database, embedded=True)
        await prepare(database, embedded=False)
    assert books(empty_database_url) == sorted(needed())


async def test_a_schema_ahead_is_refused_and_left_alone(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO interlock._yoyo_migration VALUES ('x', '9999_future', now())")
        connection.execute("INSERT INTO interlock._yoyo_migration VALUES ('y', 'langgraph-checkpoint-postgres-99.0', now())")
    assert await code_of_check(database_url) == "schema_ahead"
    async with Database(database_url) as database:
        for embedded in (True, False):
            with pytest.raises(UnavailableError, match="9999_future"):
                await prepare(database, embedded=embedded)
    with pytest.raises(UnavailableError, match="9999_future"):
        await migrate(database_url)


async def test_c037_a_role_without_rights_is_told_what_it_needs(postgres_server: PostgresBench, empty_database_url: str) -> None:
    """A role without rights is told the GRANT that it needs."""
    role = f"limited_{empty_database_url.partition('test_')[2][:12]}"
    with postgres_server.admin() as connection:
        connection.execute(f"CREATE ROLE {role}; GRANT {role} TO interlock")
    try:
        limited = f"{empty_database_url}&options=-crole%3D{role}"
        with pytest.raises(UnavailableError, match="permission denied") as caught:
            await migrate(limited)
        assert caught.value.code == "schema_forbidden"
        assert "GRANT CREATE ON DATABASE" in caught.value.remedy
        await migrate(empty_database_url)
        assert await code_of_check(limited) == "schema_forbidden"
    finally:
        postgres_server.drop(empty_database_url)
        with postgres_server.admin() as connection:
            connection.execute(f"DROP ROLE {role}")


UNREACHABLE = """
import asyncio, json, sys
from memory.errors import InterlockError
from memory.postgres.database import Database
async def main():
    async with Database(sys.argv[1]):
        pass
try:
    asyncio.run(main())
except InterlockError as error:
    print(json.dumps(error.as_json()))
    sys.exit(error.exit_code)
"""


def test_c111_an_unreachable_server_is_said_in_one_line_and_at_once() -> None:
    """A server that is not there is said in one line, without the password."""
    began = time.monotonic()
    process = python(UNREACHABLE, "postgresql://user:SENTINEL@127.0.0.1:1/name")
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert (process.returncode, err) == (7, "")
    message = json.loads(out)["message"]
    assert "127.0.0.1:1" in message
    assert "'name'" in message
    assert "\n" not in message
    assert "SENTINEL" not in out


async def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(database_module.DEFAULTS, "connect_timeout", 2)  # libpq's smallest
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(UnavailableError, match=f"127.0.0.1:{port}"):
            async with Database(f"postgresql://127.0.0.1:{port}/name"):
                pass


@pytest.mark.parametrize(
    "dsn",
    ["postgresql:/u:SENTINEL@h/db", "postgresql://u:p@SENTINEL@h/db", "postgresql://h/db?SENTINEL=1", "SENTINEL", "postgresql://u:a/SENTINEL@h/db"],
)  # fmt: skip
def test_c111_a_url_that_cannot_be_read_is_not_repeated(dsn: str) -> None:
    """A URL that cannot be read is not repeated."""
    with pytest.raises(UsageError) as caught:
        parse_dsn(dsn)
    assert "SENT" not in json.dumps(caught.value.as_json())
    assert caught.value.code == "bad_database_url"


@pytest.mark.parametrize("prefix", ["postgres", "postgresql", "postgresql+psycopg", "postgresql+asyncpg"])
def test_c111_dialects_of_others_are_understood(prefix: str) -> None:
    """Prefixes of other libraries are understood."""
    assert parse_dsn(f"{prefix}://u:p%40w@h:5/db").endswith("://u:p%40w@h:5/db")
    assert "+" not in parse_dsn(f"{prefix}://u@h/db")


async def test_c031_a_pool_in_use_is_said(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few connections are an error that names the setting."""
    monkeypatch.setattr(database_module, "PATIENCE", 0.5)
    async with Database(database_url, max_size=1) as database, database.connection():
        with pytest.raises(UnavailableError, match="All 1 connections") as caught:
            async with database.connection():
                pass
    assert caught.value.code == "pool_exhausted"
    assert "max_size" in caught.value.remedy


async def test_c030_a_connection_that_is_cut_is_an_error_once(postgres_server: PostgresBench, database_url: str) -> None:
    """A pool gives no dead connection twice."""
    async with Database(database_url, application_name="cut") as database:
        with pytest.raises(UnavailableError, match="terminat") as caught:
            async with database.transaction() as connection:
                with postgres_server.admin() as admin:
                    admin.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
                await connection.execute("SELECT 1")
        assert isinstance(caught.value.__cause__, errors.AdminShutdown)
        async with database.connection() as connection:
            row = await (await connection.execute("SELECT current_setting('application_name') AS name")).fetchone()
    assert row == {"name": "cut"}


async def test_a_transaction_is_kept_whole_or_not_at_all(database_url: str) -> None:
    async with Database(database_url) as database:
        with pytest.raises(ZeroDivisionError):
            async with database.transaction() as connection:
                await connection.execute("CREATE TABLE public.lost ()")
                raise ZeroDivisionError
        async with database.transaction() as connection:
            await connection.execute("CREATE TABLE public.kept ()")
    assert {"kept", "lost"} & tables(database_url)["public"] == {"kept"}


@pytest.mark.parametrize(
    ("dsn", "where"),
    [
        ("postgresql://one:5433,two:5434/name?target_session_attrs=read-write", "'name' at one:5433, two:5434"),
        ("host=one,two port=5433 dbname=name", "'name' at one:5433, two:5433"),
        ("postgresql://one,two/name", "'name' at one, two"),
        ("postgresql:///name?host=/tmp/one,/tmp/two&port=5432", "'name' at /tmp/one, /tmp/two"),
    ],
)
def test_several_servers_are_named_one_by_one(dsn: str, where: str) -> None:
    assert describe(parse_dsn(dsn)) == f"database {where}"


async def test_of_several_servers_the_one_that_can_write_is_taken(empty_database_url: str) -> None:
    """The first is not there."""
    parts = conninfo_to_dict(empty_database_url)
    several = {**parts, "host": f"/nowhere,{parts['host']}", "port": "5432,5432", "target_session_attrs": "read-write"}
    dsn = make_conninfo("", **several)
    assert set(await migrate(dsn)) == needed()
    assert await pending(dsn) == []
    async with Database(dsn) as database:
        await check_schema(database)
