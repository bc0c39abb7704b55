"""Behind a pooler in transaction mode, which gives every transaction another session: lease, gate and ledger hold, and nothing is lost."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from bench.cli import Cli
from bench.openai_server import OpenAIServer, by_turn, call, calls, say
from bench.pooler import PgBouncer, Pooler
from bench.world import World


@pytest.fixture(params=["ours", *(["pgbouncer"] if shutil.which("pgbouncer") else [])])
def pooler(request: pytest.FixtureRequest, database_url: str) -> Iterator[Pooler | PgBouncer]:
    """A small one of the tests' own; and PgBouncer, where that is installed."""
    if request.param == "ours":
        with Pooler(database_url) as ours:
            yield ours
        return
    folder = Path(tempfile.mkdtemp(prefix="pgbouncer-"))
    folder.chmod(0o711)
    with PgBouncer(database_url, folder) as real:
        yield real
    shutil.rmtree(folder)


def test_the_pooler_keeps_no_session(pooler: Pooler | PgBouncer) -> None:
    """What would break behind a real one breaks here: so what does not break says something."""
    def session(client: psycopg.Connection) -> int:
        row = client.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
        assert row
        return int(row[0])

    with psycopg.connect(pooler.url, autocommit=True) as one, psycopg.connect(pooler.url) as two:
        seen = {session(one)}
        session(two)  # keeps its session for its transaction
        seen.add(session(one))
        two.rollback()
        seen |= {session(one), session(one)}
    assert len(seen) == 2


def test_c032_a_thread_behind_it(pooler: Pooler | PgBouncer, commands: Cli, model_server: OpenAIServer, world: World) -> None:
    """Nothing is prepared in a session and no lock outlives its transaction: behind a pooler all holds."""
    cli = commands
    cli.environment["INTERLOCK_DATABASE_URL"] = pooler.url
    pay = [call("transfer", {"to": name, "amount": 5}) for name in ("ann", "ben")]
    model_server.always(by_turn(calls(*pay, call("note_add", {"text": "x"})), say("Paid.")))
    first, second = cli("start", "pay", "--thread", "t", "--json").expect(3).json["pending"]
    racing = [cli.spawn("approve", first["approval_id"], "--as", name, "--json") for name in ("a", "b")]
    assert sorted(process.wait().exit_code for process in racing) == [3, 5]
    cli("approve", second["approval_id"], environment=cli.crashing("after_intent")).expect(-9)
    [unknown] = cli("recover", "--json").expect(0).json["recovered"]
    assert unknown["status"] == "waiting"
    assert cli("resolve", "t", "--retry", "--json").expect(0).json["status"] == "completed"
    assert (sorted(world.lines("transfer")), world.count("note_add")) == (["5 to ann", "5 to ben"], 1)
    assert cli("audit", "--verify", "--json").expect(0).json["verified"] is True
    assert pooler.transactions is None or pooler.transactions > 50
