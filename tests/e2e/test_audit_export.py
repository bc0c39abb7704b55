"""The record as a file: checked by the program in the documentation, and the database checked against it."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import call, say

DOCS = Path(__file__).parents[2] / "docs" / "audit.md"
Lines = list[str]


@pytest.fixture
def program(tmp_path: Path) -> Callable[[Path], "subprocess.CompletedProcess[str]"]:
    """The one that docs/audit.md shows."""
    [text] = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(text.splitlines()) <= 25
    file = tmp_path / "verify.py"
    file.write_text(text, encoding="utf-8")

    def run(export: Path) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-I", "-S", str(file), str(export)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path, env={})

    return run


@pytest.fixture
def exported(agent: Any) -> Path:
    agent.start(call("transfer", {"to": "Zoë \u2028 世界 😀\n\x7f", "amount": 5}), say("Paid."))
    agent("start", "do what is due", "--thread", "Ä b", "--detach", expect=0)
    agent("approve", "t", "--comment", "ok\tthen", expect=0)
    file = agent.project / "export.jsonl"
    made = agent("audit", "--export", str(file), expect=0)
    assert (made["verified"], made["faults"]) == (True, [])
    count = len(agent.events("t")) + len(agent.events("Ä b"))
    assert (made["export"]["events"], made["export"]["threads"], made["export"]["file"]) == (count, 2, str(file))
    return file


def test_the_documented_program_and_ours_agree(agent: Any, exported: Path, program: Any, tmp_path: Path) -> None:
    """On the export, and on every line of it changed, taken away, doubled or moved."""
    assert program(exported).stdout.startswith("verified: ")
    assert agent("audit", "--against", str(exported), "--verify", expect=0)["verified"] is True
    bad = tmp_path / "bad.jsonl"
    from memory import audit_export
    from memory.errors import RefusedError

    lines = exported.read_text(encoding="utf-8").split("\n")[:-1]
    assert [json.loads(line)["thread_id"] for line in lines[:-1]] == ["t"] * (len(lines) - 2) + ["Ä b"]
    for name, changed in tampered(lines):
        bad.write_text("".join(line + "\n" for line in changed), encoding="utf-8", newline="\n")
        assert program(bad).returncode != 0, name
        with pytest.raises(RefusedError, match="does not verify"):
            audit_export.check(bad)
    bad.write_bytes(exported.read_bytes()[:-1])
    assert program(bad).returncode != 0
    error = agent("audit", "--against", str(bad), "--verify", expect=6)["error"]
    assert error["code"] == "export_does_not_verify"
    assert "does not verify" in error["message"]


def tampered(lines: Lines) -> list[tuple[str, Lines]]:
    """Every kind of change, in the first thread's first, middle and last line, and in the trailer."""
    found: list[tuple[str, Lines]] = []
    for at in (0, len(lines) // 2, len(lines) - 3, len(lines) - 2):
        event = json.loads(lines[at])
        for name, value in event.items():
            other = value + 1 if isinstance(value, int) else value[:-1] + ("0" if value[-1:] != "0" else "1")
            found.append((f"{name} of {at}", replaced(lines, at, {**event, name: other})))
        found += [
            (f"{at} is missing", lines[:at] + lines[at + 1 :]),
            (f"{at} twice", lines[: at + 1] + lines[at:]),
            (f"{at} last", [*lines[:at], *lines[at + 1 :], lines[at]]),
            (f"another name in {at}", replaced(lines, at, {**event, "more": 1})),
            (f"number as text in {at}", replaced(lines, at, {**event, "seq": str(event["seq"])})),
            (f"a name twice in {at}", [*lines[:at], '{"actor":"mallory",' + lines[at][1:], *lines[at + 1 :]]),
        ]
    trailer = json.loads(lines[-1])["export"]
    heads = trailer["heads"]
    changes = ({"events": 1}, {"heads": heads[1:]}, {"heads": [*heads, {**heads[0], "thread_id": "v"}]}, {"heads": [heads[0], *heads]})
    found += [(f"trailer {change}", replaced(lines, len(lines) - 1, {"export": {**trailer, **change}})) for change in changes[:3]]
    return [*found, ("no trailer", lines[:-1]), ("the last thread", [*lines[:-2], lines[-1]]), ("nothing", [])]


def replaced(lines: Lines, at: int, record: Any) -> Lines:
    line = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return [*lines[:at], line, *lines[at + 1 :]]


def test_the_database_against_an_earlier_export(agent: Any, exported: Path) -> None:
    """It may grow. A chain that was computed anew, and a thread that is gone, are named."""
    agent.model.play(say("Done."))
    agent("resume", "Ä b", expect=0)
    grown = agent("audit", "--against", str(exported), expect=0)
    assert grown["verified"] is True
    assert grown["against"]["events"] < len(agent("audit", expect=0)["events"])
    with agent.superuser(triggers=False) as database:
        keep(database)
        database.execute("DELETE FROM interlock.audit_event WHERE thread_id = 't'")
        database.execute("DELETE FROM interlock.audit_head WHERE thread_id = 't'")
        kept = "SELECT kind, actor, actor_source, payload::text FROM kept_event WHERE thread_id = 't' ORDER BY seq"
        rows = database.execute(kept).fetchall()
        database.execute("SET session_replication_role = origin")
        for number, (kind, actor, source, payload) in enumerate(rows, start=1):  # computed anew by the database itself
            new = ("t", kind, "mallory" if number == 4 else actor, source, payload)
            database.execute("SELECT interlock.audit(%s, %s, %s, %s, %s)", new)
    assert agent("audit", "--verify", expect=0)["verified"] is True
    told = agent("audit", "--against", str(exported), expect=6)
    assert (told["verified"], len(told["faults"])) == (False, 1)
    assert re.fullmatch(r"t: event 1 \(thread_started\) is not the one of the export \(thread_started\)", told["faults"][0])
    assert agent("audit", "Ä b", "--against", str(exported), expect=0)["verified"] is True
    with agent.superuser(triggers=False) as database:
        restore(database)
    assert agent("audit", "--against", str(exported), expect=0)["verified"] is True


def test_one_thread_alone(agent: Any, exported: Path, program: Any) -> None:
    file = agent.project / "one.jsonl"
    assert agent("audit", "Ä b", "--export", str(file), expect=0)["export"]["thread_id"] == "Ä b"
    assert "1 threads" in program(file).stdout
    assert agent("audit", "--against", str(file), expect=0)["verified"] is True
    assert agent("audit", "nobody", "--export", str(agent.project / "none"), expect=4)["error"]["code"] == "no_such_thread"
    assert agent("audit", "t", "--against", str(file), expect=4)["error"]["code"] == "not_in_export"


def test_files_that_are_there_stay(agent: Any, exported: Path) -> None:
    before = exported.read_bytes()
    assert exported.stat().st_mode & 0o077 == 0
    assert agent("audit", "--export", str(exported), expect=6)["error"]["code"] == "file_exists"
    assert exported.read_bytes() == before
    agent("audit", "--export", str(exported), "--force", expect=0)
    for impossible in (agent.project / "no such folder" / "x", agent.project):
        assert agent("audit", "--export", str(impossible), "--force", expect=2)["error"]["code"] == "bad_file"
    assert agent("audit", "--against", str(agent.project / "nothing"), expect=2)["error"]["code"] == "bad_file"
    assert agent("audit", "--against", "x", "--export", "y", expect=2)["error"]["code"] == "usage"
    assert {one.name for one in agent.project.iterdir() if "jsonl" in one.name} == {"export.jsonl"}


def test_what_does_not_verify_is_exported_and_said_so(agent: Any, exported: Path, program: Any) -> None:
    with agent.superuser(triggers=False) as database:
        keep(database)
        database.execute("UPDATE interlock.audit_event SET actor = 'mallory' WHERE thread_id = 't' AND seq = 4")
    file = agent.project / "later.jsonl"
    made = agent("audit", "--export", str(file), expect=6)
    assert (made["verified"], len(made["faults"])) == (False, 1)
    assert program(file).returncode == 1
    assert agent("audit", "--against", str(file), expect=6)["error"]["code"] == "export_does_not_verify"
    with agent.superuser(triggers=False) as database:
        restore(database)


def keep(database: Any) -> None:
    for table in ("event", "head"):
        database.execute(f"CREATE TABLE kept_{table} AS SELECT * FROM interlock.audit_{table}")


def restore(database: Any) -> None:
    for table in ("event", "head"):
        database.execute(f"DELETE FROM interlock.audit_{table}")
        database.execute(f"INSERT INTO interlock.audit_{table} SELECT * FROM kept_{table}")
