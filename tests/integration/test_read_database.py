"""read_database: what PostgreSQL itself refuses, what comes back, and whose account reads. Judged in a real database."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from bench.cli import Cli
from bench.openai_server import OpenAIServer, call, say
from bench.postgres import PostgresBench

from memory.analytics import Table
from memory.errors import UnavailableError, UsageError
from memory.postgres import analytics
from memory.postgres.analytics import PostgresAnalytics
from memory.postgres.embedded import SUPERUSER
from tools import calling, table
from tools.calling import Failed, Outcome, Returned
from tools.database import LONGEST_TABLE, as_text, database_tools
from tools.spec import Tool


class Reading:
    """The example of a migrated database, and its tool."""

    def __init__(self, bench: PostgresBench, url: str) -> None:
        self.bench, self.url, self.name = bench, url, urlsplit(url).path.removeprefix("/")
        self.owner = bench.server.url(database=self.name, user=SUPERUSER)
        self.analytics = self.adapter()

    def adapter(self, own: str | None = None) -> PostgresAnalytics:
        async def address() -> str:
            return own or self.owner

        return PostgresAnalytics(None, address)

    async def __call__(self, sql: str) -> Outcome:
        return await ask(self.analytics, sql)

    async def failure(self, sql: str) -> str:
        outcome = await self(sql)
        assert isinstance(outcome, Failed), outcome
        return outcome.message

    async def text(self, sql: str) -> str:
        outcome = await self(sql)
        assert isinstance(outcome, Returned), outcome
        return outcome.text

    def rows(self, query: str) -> list[Any]:
        with self.bench.admin(self.url) as database:
            return database.execute(query).fetchall()  # type: ignore[arg-type]

    def role(self, name: str, rights: str = "") -> str:
        """An account with a password, of this test's database. Returns its address."""
        role = f"{name}_{self.name}"
        with self.bench.admin(self.url) as database:
            database.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'SENTINEL' {rights}")  # type: ignore[arg-type]
        return self.bench.server.url(database=self.name, user=f"{role}:SENTINEL")


async def ask(port: Any, sql: str) -> Outcome:
    [base] = database_tools(port)
    one = Tool.of(base)
    return await calling.call(one, one.validate({"sql": sql}), idempotency_key="k")


@pytest.fixture(scope="module")
def shared(postgres_server: PostgresBench) -> Iterator[Reading]:
    """For tests that can change nothing, if what they say is true."""
    url = postgres_server.create()
    with opened(postgres_server, url) as made:
        yield made
    postgres_server.drop(url)


@pytest.fixture
def reading(postgres_server: PostgresBench, database_url: str) -> Iterator[Reading]:
    with opened(postgres_server, database_url) as made:
        yield made


@contextmanager
def opened(bench: PostgresBench, url: str) -> Iterator[Reading]:
    yield Reading(bench, url)
    with bench.admin(url) as database:
        for (role,) in database.execute("SELECT rolname FROM pg_roles WHERE rolname LIKE '%%_' || current_database()").fetchall():
            database.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")  # type: ignore[arg-type]


# What comes back


async def test_a_table_is_plain_and_aligned(reading: Reading) -> None:
    assert await reading.text("SELECT customer_id, name, closed_on FROM customers WHERE customer_id IN (3, 7) ORDER BY 1") == (
        "customer_id  name            closed_on\n"
        "-----------  --------------  ----------\n"
        "3            Café Mirabelle  NULL\n"
        "7            Granja del Sol  2026-04-30\n"
        "(2 rows)"
    )
    assert (await reading.text("SELECT count(*) FROM users;  -- all of them")).endswith("36\n(1 row)")
    assert (await reading.text("TABLE monthly_revenue")).count("\n") == 8
    assert (await reading.text("SELECT name FROM customers WHERE false")).endswith("(0 rows)")
    assert await reading.text("SELECT") == "(1 rows without columns)"
    assert "customers" in await reading.text("SELECT table_name FROM information_schema.tables")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("NULL", "NULL"),
        ("''", "''"),
        ("'NULL'", "'NULL'"),
        ("'  '", "'  '"),
        ("date 'infinity'", "infinity"),
        ("date '9999-12-31' + 900", "10002-06-18"),
        ("1e40::numeric", "1" + "0" * 40),
        ("row(1, 'a b')", '(1,"a b")'),
        ("array[1, NULL]", "{1,NULL}"),
        ("int4range(1, 5)", "[1,5)"),
        ("'\\x00ff'::bytea", "\\x00ff"),
        ("'{\"a\": 1}'::json", '{"a": 1}'),
        ("interval '1 year'", "1 year"),
        ("'now'::regclass IS NULL OR '$1' = '%s'", None),
        ("E'two\\nlines\\tand'", "two\\nlines\\tand"),
        ("U&'\\202Eevil\\200B\\001B[2J'", "\\u{202e}evil\\u{200b}\\u{1b}[2J"),
        ("'日本 %s $1'", "日本 %s $1"),
    ],
)
async def test_any_value_has_a_text(shared: Reading, value: str, shown: str | None) -> None:
    outcome = await shared(f"SELECT {value} AS value")
    if shown is None:
        assert isinstance(outcome, Failed)
    else:
        assert isinstance(outcome, Returned) and outcome.text.split("\n")[2] == shown


async def test_what_is_too_much_is_cut_visibly(reading: Reading) -> None:
    many = await reading.text("SELECT g FROM generate_series(1, 1000) AS g")
    assert "\n200\n(the first 200 rows; there are more" in many and "\n201" not in many
    assert (await reading.text("SELECT g FROM generate_series(1, 200) AS g")).endswith("(200 rows)")

    long = await reading.text("SELECT repeat('x', 5000) AS long, 'seen' AS after")
    assert "more]" in long and "seen" in long and len(long) < 1000

    wide = await reading.text("SELECT repeat('x', 280) FROM generate_series(1, 100)")
    assert len(wide) < LONGEST_TABLE + 500 and "there are more" in wide

    huge = await reading.text("SELECT repeat('x', 5000000) FROM generate_series(1, 200)")
    assert len(huge) < LONGEST_TABLE + 500 and "the first 1 row" in huge

    assert (await reading.text("SELECT repeat('x', 2000000)")).endswith("(1 row)")

    wide = await reading.text("SELECT 1, repeat(' ', 400), E'\\u2028'")
    assert "[… 100 more]" in wide and "\\u{2028}" in wide
    columns = ", ".join(f"{number} AS c{number}" for number in range(1200))
    assert len(await reading.text(f"SELECT {columns}")) < LONGEST_TABLE + 500


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells how much memory a process had at most")
async def test_a_huge_value_stays_in_the_database(reading: Reading) -> None:
    await reading.text("SELECT 1")
    before = peak(anew=True)
    for ending in ("", ";", " ; -- all of it\n"):
        table = await reading.analytics.query(f"SELECT repeat('é', 40000000) AS x, NULL AS x{ending}", most=5)
        assert table.rows == (("é" * 2000 + "[… 79996000 bytes left out …]", None),)
    assert peak() - before < 40_000


def peak(*, anew: bool = False) -> int:
    """KiB of memory that this process had at most, since the count began `anew`."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1])


@pytest.mark.parametrize(
    "sql",
    ["SELECT 'a;-- b' AS t", "SELECT $$a;$$ AS t;", 'SELECT 1 AS ";--"', "SELECT 1 /* ; -- */", "TABLE users;; -- all\n /* of */ -- it"],
)
async def test_a_semicolon_ends_a_statement_only_where_it_is_one(shared: Reading, sql: str) -> None:
    assert isinstance(await shared(sql), Returned)


def test_a_value_cannot_pass_for_a_line_of_the_table() -> None:
    shown = as_text(Table(("a", "b\u202e"), (("1\n(2 rows)", "x\r2"), (None, "\u2028")), more=False))
    assert len(shown.split("\n")) == 5 and len(shown.splitlines()) == 5


# What is refused

REFUSED = [
    ("SELECT 1; SELECT 2", "several statements"),
    ("SELECT 1; COMMIT; DELETE FROM users", "several statements"),
    ("INSERT INTO users VALUES (100, 1, 'x', 'y')", "one statement that reads"),
    ("UPDATE users SET role = 'admin'", "one statement that reads"),
    ("DELETE FROM users", "one statement that reads"),
    ("DROP TABLE users", "one statement that reads"),
    ("WITH gone AS (DELETE FROM users RETURNING 1) SELECT * FROM gone", "data-modifying"),
    ("SELECT 1 INTO other", "INTO"),
    ("SELECT * FROM users FOR UPDATE", "read-only"),
    ("SET ROLE postgres", "one statement that reads"),
    ("RESET ALL", "one statement that reads"),
    ("DO $$ BEGIN END $$", "one statement that reads"),
    ("COPY users TO PROGRAM 'cat'", "one statement that reads"),
    ("COMMIT", "one statement that reads"),
    ("CREATE TEMP TABLE x (y int)", "one statement that reads"),
    ("", "valid"),
    ("-- nothing", "Syntax error"),
    ("SELECT '\0'", "valid"),
    ("SELECT pg_read_file('/etc/passwd')", "Permission denied"),
    ("SELECT pg_ls_dir('.')", "Permission denied"),
    ("SELECT lo_import('/etc/passwd')", "Permission denied"),
    ("SELECT lo_export(1, '/tmp/x')", "Permission denied"),
    ("SELECT set_config('role', 'postgres', false)", "Permission denied"),
    ("SELECT set_config('role', 'interlock', false)", "Permission denied"),
    ("SELECT set_config('session_authorization', 'postgres', false)", "Permission denied"),
    ("SELECT set_config('transaction_read_only', 'off', true)", "read-write mode"),
    ("SELECT pg_reload_conf()", "Permission denied"),
    ("SELECT * FROM pg_authid", "Permission denied"),
    ("SELECT * FROM interlock.approval", "Permission denied"),
    ("SELECT * FROM interlock.audit_event", "Permission denied"),
    ("SELECT password FROM interlock.analytics_reader", "Permission denied"),
    ("SELECT * FROM public.checkpoints", "Permission denied"),
    ("SELECT * FROM checkpoint_blobs", "does not exist"),
    ("SELECT query_to_xml('SELECT * FROM interlock.run', true, true, '')", "Permission denied"),
    ("SELECT query_to_xml('DELETE FROM users', true, true, '')", "not allowed"),
    ("SELECT set_config('role', 'none', true), query_to_xml('SELECT pg_read_file(''/etc/passwd'')', true, true, '')", "ermission"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "said"), REFUSED)
async def test_the_database_refuses_whatever_does_not_read_the_example(shared: Reading, sql: str, said: str) -> None:
    [base] = database_tools(shared.analytics)
    one = Tool.of(base)
    before = [shared.rows("SELECT count(*), sum(user_id), max(role) FROM interlock_analytics.users")]
    try:
        outcome: Outcome = await calling.call(one, {"sql": sql}, idempotency_key="k")
    finally:
        assert [shared.rows("SELECT count(*), sum(user_id), max(role) FROM interlock_analytics.users")] == before
    assert isinstance(outcome, Failed) and said in outcome.message
    assert "\n" not in outcome.message


async def test_what_a_query_leaves_behind_is_rolled_back(reading: Reading) -> None:
    """Large objects can be made in a transaction that is read-only, before PostgreSQL 16."""
    with reading.bench.admin(reading.url) as database:
        database.execute("LISTEN heard")
        await reading.text("SELECT pg_notify('heard', 'x'), set_config('statement_timeout', '0', false)")
        await reading("SELECT lo_from_bytea(0, 'x')")
        assert list(database.notifies(timeout=0.2)) == []
    assert reading.rows("SELECT count(*) FROM pg_largeobject_metadata") == [(0,)]
    assert await reading.text("SELECT current_setting('statement_timeout') AS t") == "t\n---\n15s\n(1 row)"


async def test_an_account_that_may_write_does_not(reading: Reading) -> None:
    port = PostgresAnalytics(reading.role("writer"), unwanted)
    with reading.bench.admin(reading.url) as database:
        database.execute("CREATE SEQUENCE public.numbers; CREATE TABLE public.leads AS SELECT 7 AS n")
        database.execute("CREATE FUNCTION public.drop_leads() RETURNS int LANGUAGE sql AS 'DELETE FROM public.leads RETURNING n'")
        database.execute(f"GRANT ALL ON SEQUENCE public.numbers TO writer_{reading.name}")  # type: ignore[arg-type]
        database.execute(f"GRANT ALL ON public.leads TO writer_{reading.name}")  # type: ignore[arg-type]
    for sql in ("SELECT nextval('numbers')", "SELECT * FROM leads FOR UPDATE", "SELECT drop_leads()"):
        outcome = await ask(port, sql)
        assert isinstance(outcome, Failed) and "in a read-only transaction" in outcome.message
    assert reading.rows("SELECT (SELECT count(*) FROM public.leads), (SELECT is_called FROM public.numbers)") == [(1, False)]


async def test_a_slow_query_is_stopped(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analytics, "LIMITS", b"SET LOCAL statement_timeout = '300ms'")
    assert "was stopped" in await reading.failure("SELECT pg_sleep(30)")
    assert "was stopped" in await reading.failure("SELECT set_config('statement_timeout', '0', true), pg_sleep(30)")


async def test_a_mistake_comes_back_with_what_there_is(reading: Reading) -> None:
    unknown = await reading.failure("SELECT * FROM custmers")
    assert unknown == (
        'Relation "custmers" does not exist. Readable are: customers, deployments, monthly_revenue, orders, users. '
        "For columns, see information_schema.columns."
    )
    assert 'Perhaps you meant to reference the column "customers.name"' in await reading.failure("SELECT nme FROM customers")
    assert await reading.failure("SELECT 1/0") == "Division by zero."


# Whose account reads


async def test_the_account_can_do_nothing_else(reading: Reading) -> None:
    await reading("SELECT 1")
    oid = reading.rows("SELECT oid FROM pg_database WHERE datname = current_database()")[0][0]
    rights = "rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls"
    assert reading.rows(f"SELECT {rights} FROM pg_roles WHERE rolname = 'interlock_reader_{oid}'") == [(False,) * 5]
    granted = reading.rows(f"""
        SELECT DISTINCT table_schema, privilege_type FROM information_schema.role_table_grants
        WHERE grantee = 'interlock_reader_{oid}'""")
    assert granted == [("interlock_analytics", "SELECT")]


async def test_many_who_need_it_at_once_make_one_account(reading: Reading) -> None:
    outcomes = await asyncio.gather(*(ask(reading.adapter(), "SELECT current_user AS who") for _ in range(8)))
    assert len({outcome.text for outcome in outcomes if isinstance(outcome, Returned)}) == 1
    assert all(isinstance(outcome, Returned) for outcome in outcomes)
    assert reading.rows("SELECT count(*) FROM interlock.analytics_reader") == [(1,)]


async def test_a_role_left_by_a_database_that_is_gone_gets_a_new_password(reading: Reading) -> None:
    await reading("SELECT 1")
    with reading.bench.admin(reading.url) as database:
        database.execute("DELETE FROM interlock.analytics_reader")
    assert isinstance(await ask(reading.adapter(), "SELECT 1"), Returned)


async def test_an_account_that_may_not_make_another_says_what_to_set(reading: Reading) -> None:
    outcome = await ask(reading.adapter(own=reading.url), "SELECT 1")
    assert isinstance(outcome, Failed)
    assert "'interlock'" in outcome.message and "Set INTERLOCK_ANALYTICS_URL" in outcome.message
    maker = reading.role("maker", "CREATEROLE IN ROLE interlock")
    assert isinstance(await ask(reading.adapter(own=maker), "SELECT count(*) FROM users"), Returned)


async def test_a_reading_account_of_the_users_own(reading: Reading) -> None:
    url = reading.role("own")
    with reading.bench.admin(reading.url) as database:
        database.execute("CREATE SCHEMA sales; CREATE TABLE sales.leads AS SELECT 7 AS n")
        database.execute(f"GRANT USAGE ON SCHEMA sales TO own_{reading.name}")  # type: ignore[arg-type]
        database.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA sales TO own_{reading.name}")  # type: ignore[arg-type]
    port = PostgresAnalytics(url, unwanted)
    outcome = await ask(port, "SELECT n FROM sales.leads")
    assert outcome == Returned("n\n-\n7\n(1 row)")
    outcome = await ask(port, "SELECT * FROM leads")
    assert isinstance(outcome, Failed) and "Readable are: sales.leads." in outcome.message
    outcome = await ask(port, "SELECT * FROM interlock_analytics.users")
    assert isinstance(outcome, Failed) and "Permission denied" in outcome.message


async def unwanted() -> str:
    raise AssertionError("nobody needs interlock's own database")


async def test_accounts_that_may_more_than_read_are_refused(reading: Reading) -> None:
    """What they lay aside with SET ROLE, a query takes back with set_config."""
    urls = {
        reading.owner: "do everything",
        reading.url: "read the records of interlock",
        reading.role("admin", "NOINHERIT IN ROLE postgres"): "do everything as a member of 'postgres'",
        reading.role("all_data", "IN ROLE pg_read_all_data"): "read the records of interlock",
        reading.role("files", "NOINHERIT IN ROLE pg_read_server_files"): "use the files and programs",
    }
    for url, said in urls.items():
        outcome = await ask(PostgresAnalytics(url, unwanted), "SELECT 1")
        assert isinstance(outcome, Failed) and said in outcome.message and "INTERLOCK_ANALYTICS_URL" in outcome.message, url


async def test_a_role_that_is_laid_aside_can_be_taken_back(reading: Reading) -> None:
    """Why a superuser is refused: the day this fails, SET LOCAL ROLE would be enough."""
    with psycopg.connect(reading.owner) as database:
        database.execute("SET TRANSACTION READ ONLY; SET LOCAL ROLE pg_read_all_data")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), database.transaction():
            database.execute("SELECT pg_read_file('PG_VERSION')")
        inner = "SELECT to_tsvector('simple', pg_read_file('PG_VERSION'))"
        query = f"SELECT word FROM (SELECT set_config('role', 'none', true) AS x OFFSET 0) AS y, LATERAL ts_stat($${inner}$$ || left(x, 0))"
        assert database.execute(query).fetchall() == [(str(database.info.server_version // 10000),)]


async def test_no_failure_shows_a_password(reading: Reading) -> None:
    good = reading.role("own")
    for url in (
        good.replace("SENTINEL", "SENTINEL2"),
        "postgresql://reader:SENTINEL@127.0.0.1:1/shop",
        "postgresql://reader:SENTINEL@127.0.0.1:1/shop?sslmode=require",
        f"postgresql://nobody:SENTINEL@/{reading.name}?host={reading.bench.server.socket}",
    ):
        outcome = await ask(PostgresAnalytics(url, unwanted), "SELECT 1")
        assert isinstance(outcome, Failed) and "INTERLOCK_ANALYTICS_URL" in outcome.message and "SENTINEL" not in outcome.message
    for url in ("postgresql:/u:SENTINEL@h/db", "postgresql://u:SENT@INEL@h/db", "host=h pasword=SENTINEL"):
        with pytest.raises(UsageError, match="INTERLOCK_ANALYTICS_URL") as caught:
            PostgresAnalytics(url, unwanted)
        assert "SENTINEL" not in str(caught.value.as_json())
    await reading("SELECT 1")
    shown = reading.rows("SELECT password FROM interlock.analytics_reader")[0][0]
    with reading.bench.admin(reading.url) as database:
        database.execute("DROP SCHEMA interlock_analytics CASCADE")
    assert shown not in await reading.failure("SELECT * FROM users") and shown not in repr(vars(calling))


async def test_a_server_that_does_not_answer(reading: Reading) -> None:
    with pytest.raises(UnavailableError, match="Connection refused"):
        await PostgresAnalytics("postgresql://reader@127.0.0.1:1/shop", unwanted).query("SELECT 1", most=1)
    assert await ask(None, "SELECT 1") == Failed("There is no analytics database here.")


# How tools get what they need


def test_functions_that_return_tools_ask_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "asking_tools.py").write_text(
        "from tools.database import database_tools\n"
        "from tools.spec import tool\n"
        "def both(analytics, environment):\n"
        "    def found(): 'Tells.'\n"
        "    found.__name__ = f'found_{environment[\"NAME\"]}_{analytics}'\n"
        "    return [tool(found)]\n"
        "def wrong(environment, ledger): raise SystemExit\n"
    )
    registry = table.load(["asking_tools:both"], {"NAME": "x"}, analytics=5)
    assert set(registry.names) == {"create_ticket", "deploy_code", "read_database", "found_x_5"}
    with pytest.raises(UsageError, match="asks for 'ledger'") as caught:
        table.load(["asking_tools:wrong"], {})
    assert "environment and analytics" in caught.value.remedy


def test_listing_the_tools_connects_to_nothing(cli_factory: Callable[..., Cli], home: Path) -> None:
    cli = cli_factory(environment={"INTERLOCK_DATABASE_URL": None, "INTERLOCK_ANALYTICS_URL": "postgresql://a:SENTINEL@127.0.0.1:1/b"})
    tools = {tool["name"]: tool for tool in cli("tools", "--json").expect(0).json["tools"]}
    assert not tools["read_database"]["critical"] and tools["read_database"]["idempotent"]
    assert tools["create_ticket"]["critical"] and tools["create_ticket"]["transactional"]
    assert not (home / "postgres").exists()
    broken = cli("tools", "--json", environment={"INTERLOCK_ANALYTICS_URL": "postgresql:/u:SENTINEL@h/db"}).expect(2)
    assert broken.json["error"]["code"] == "bad_setting" and "SENTINEL" not in broken.stdout + broken.stderr


def test_an_agent_reads_the_example(reading: Reading, cli_factory: Callable[..., Cli], model_server: OpenAIServer) -> None:
    cli = cli_factory(model=model_server, environment={"INTERLOCK_DATABASE_URL": reading.owner})
    model_server.play(
        call("read_database", {"sql": "SELECT month, revenue FROM monthly_revenue LIMIT 1"}),
        call("read_database", {"sql": "SELECT * FROM interlock.run"}),
        say("January brought 1984.80 euros."),
    )
    ended = cli("start", "how was January?", "--json").expect(0).json
    assert [execution["status"] for execution in ended["executions"]] == ["succeeded", "failed"]
    told = [message["content"] for message in model_server.requests[1]["messages"] if message["role"] == "tool"]
    assert told == ["month    revenue\n-------  -------\n2026-01  1984.80\n(1 row)"]
    assert model_server.last_tool_messages()[-1]["content"].startswith("read_database failed: Permission denied for schema interlock.")


def test_without_any_setting_the_example_of_the_embedded_server_is_read(cli_factory: Callable[..., Cli]) -> None:
    """The first thing that a stranger asks: the practice model, the embedded server, and an account that is made for it."""
    cli = cli_factory(environment={"INTERLOCK_DATABASE_URL": None})
    ended = cli("start", "how many users are there?", "--json").expect(0).json
    assert [execution["status"] for execution in ended["executions"]] == ["succeeded"]
    assert "36" in ended["final_answer"]
