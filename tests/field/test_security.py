"""Injection, what a database could make of us, and secrets."""

import json
from pathlib import Path
from typing import Any

import ormsgpack
from bench.openai_server import call, say

PAY = {"to": "bob", "amount": 5}
INJECTED = ["a' OR 1=1 --", 'a"', "a}", "100%s %(x)s", "x'; DROP TABLE interlock.run; --"]


def test_c108_names_are_values_and_never_part_of_a_statement(agent: Any) -> None:
    """Whatever stands in a name or a filter is a value: it is found as it is, or it is refused; no SQL is shown."""
    for number, name in enumerate(INJECTED):
        environment = {"INTERLOCK_TENANT": name}
        assert agent.start(say("Done."), thread=name, expect=0, environment=environment)["thread_id"] == name
        assert agent("show", name, expect=0)["thread_id"] == name
        assert agent("runs", "--status", name, expect=2)["error"]["code"] == "bad_status"
        assert len(agent("runs", expect=0)["runs"]) == number + 1
        for command in (("approve", name + "x"), ("show", name + "x"), ("audit", name + "x")):
            assert "SELECT" not in agent(*command, expect=4)["error"]["message"]
        shown = agent.cli("stats", "--tool", name, "--json")
        assert shown.exit_code in {0, 2, 4} and "syntax" not in shown.stdout + shown.stderr
    with agent.superuser() as database:
        versions = database.execute("SELECT count(DISTINCT thread_id) FROM interlock.audit_event").fetchone()
    assert versions == (len(INJECTED),)


def test_c109_a_checkpoint_that_names_a_function_calls_nothing(agent: Any, tmp_path: Path) -> None:
    """A checkpoint that names what we never store is refused as untrusted by our saver itself; nothing is built or called."""
    agent.start(call("transfer", PAY))
    marker = tmp_path / "marker"
    planted = ormsgpack.packb([ormsgpack.Ext(0, ormsgpack.packb(["os", "mkdir", str(marker)]))])
    with agent.superuser(triggers=False) as database:
        database.execute("UPDATE checkpoint_blobs SET type = 'msgpack', blob = %s WHERE channel = 'messages'", (planted,))
    for command in (("resume", "t"), ("approve", "t")):
        error = agent(*command, expect=6, environment={"LANGGRAPH_STRICT_MSGPACK": "false"})["error"]
        assert error["code"] == "untrusted_checkpoint" and "os.mkdir" in error["message"]
    assert not marker.exists()
    assert agent.world.attempts("transfer") == 0


def test_c110_secrets_are_in_no_table_and_in_nothing_that_is_shown(agent: Any) -> None:
    """Keys and tokens are in no table; a secret argument is in its own question and call alone, masked where it is shown."""
    agent.rewrite_tools("@tool(is_critical=True)\ndef transfer(", '@tool(is_critical=True, secret=("to",))\ndef transfer(')
    given = {"INTERLOCK_QDRANT_API_KEY": "sentinel-qdrant", "GITHUB_TOKEN": "sentinel-github"}
    given["INTERLOCK_OPERATOR_TOKEN"] = token = agent("operator", "add", "ada", expect=0)["token"]
    agent.start(call("transfer", {"to": "sentinel-argument", "amount": 5}), say("Paid."), environment=given)
    shown = [agent.cli(*words, environment=given) for words in (("show", "t"), ("inbox",), ("show", "t", "--json"), ("inbox", "--json"))]
    shown += [agent.cli("approve", "t", "--json", environment=given).expect(0)]
    shown += [agent.cli(*words) for words in (("audit", "t"), ("audit", "t", "--json"), ("replay", "t", "--json"), ("replay", "t"))]
    for result in shown:
        assert "sentinel" not in result.stdout + result.stderr, result
    with agent.superuser() as database:
        named = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname IN ('interlock', 'public')"
        tables = {table: database.execute(f"SELECT t::text FROM {table} t").fetchall() for (table,) in database.execute(named).fetchall()}
        keys = {key for (key,) in database.execute("SELECT DISTINCT jsonb_object_keys(metadata) FROM checkpoints").fetchall()}
    for table, rows in tables.items():
        text = json.dumps(rows)
        for secret in ("sentinel-qdrant", "sentinel-github", token, agent.cli.environment["OPENAI_API_KEY"]):
            assert secret not in text, table
    for table in ("interlock.audit_event", "interlock.notification", "interlock.run"):
        assert "sentinel-argument" not in json.dumps(tables[table]), table
    assert keys <= {"step", "source", "parents", "thread_id", "lease_epoch", "lease_writer", "writes", "run_attempt"}
