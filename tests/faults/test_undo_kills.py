"""SIGKILL at every step of undoing: each effect is undone once, whatever its way back declares, and what is left is shown meanwhile.

The default run takes a cross-section, FAULTS=full every step of every undo.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest
from bench import undo_tools
from bench.cli import Cli
from bench.openai_server import OpenAIServer, by_turn, call
from bench.world import World

FULL = os.environ.get("FAULTS") == "full"
EACH = ("undo_before_intent", "undo_after_intent", "undo_after_effect", "undo_after_outcome")
UNDOS = ("unkeep", "unrent", "unbook")  # in that order: transactional, idempotent, nothing declared
POINTS = [("undo_before_first", 1), ("undo_before_end", 1), *((point, number) for point in EACH for number in (1, 2, 3))]
SOME = [("undo_before_first", 1), ("undo_before_end", 1), *((EACH[index % 4], 1 + index % 3) for index in (1, 2, 3, 6, 7, 8))]
WHAT = {"what": "a"}


@pytest.fixture
def thread(commands: Cli, model_server: OpenAIServer, database_url: str) -> Cli:
    """It kept, rented and booked, and asks whether it may pay."""
    shutil.copy(Path(undo_tools.__file__), commands.cwd)
    commands.environment["INTERLOCK_TOOLS"] += ",undo_tools:TOOLS"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE public.kept (what text)")
    model_server.always(by_turn(call("book", WHAT), call("rent", WHAT), call("keep", WHAT), call("pay", {"amount": 5})))
    commands("start", "go", "--thread", "t", "--json").expect(3)
    return commands


def finish(cli: Cli, world: World) -> dict[str, Any]:
    """As a person does who looks at the world before saying what became of an undo."""
    for _ in range(4):
        shown = cli("resume", "t", "--json")
        if shown.exit_code == 0:
            document: dict[str, Any] = shown.json
            return document
        [asked] = shown.expect(3).json["pending"]
        assert (asked["kind"], asked["tool"]) == ("unknown_outcome", "unbook"), "what can settle itself has asked a person"
        assert [row["tool"] for row in shown.json["compensation"]["not_undone"]] == ["book"]
        how = ("--done", "unbooked a") if world.count("unbook") else ("--retry",)
        cli("resolve", "t", *how, "--json", "--detach").expect(0)
    raise AssertionError("it does not end")


@pytest.mark.parametrize(("point", "number"), POINTS if FULL else SOME)
def test_each_effect_is_undone_once(thread: Cli, world: World, database_url: str, point: str, number: int) -> None:
    thread("reject", "t", "--then", "compensate", "--json", environment=Cli.crashing(point, number)).expect(-9)
    between = thread("show", "t", "--json").expect(0).json["compensation"]
    assert len(between["undone"]) + len(between["not_undone"]) == 3
    ended = finish(thread, world)
    assert (ended["status"], ended["pending"]) == ("rejected", [])
    assert [row["tool"] for row in ended["compensation"]["undone"]] == ["keep", "rent", "book"]
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT FROM public.kept").rowcount == 0
    assert [world.count(name) for name in UNDOS[1:]] == [1, 1]
    record = thread("audit", "t", "--verify", "--json").expect(0).json
    kinds = [event["kind"] for event in record["events"]]
    assert record["verified"] is True
    assert (kinds.count("compensation_ended"), kinds.count("thread_ended"), kinds[-1]) == (1, 1, "thread_ended")


@pytest.mark.parametrize("moment", ["before", "during", "after"] if FULL else ["during"])
def test_killed_inside_an_undo(thread: Cli, world: World, moment: Any) -> None:
    """The first that crashes is the one that may be called again; nothing is asked about it."""
    dying = world.environment(crash=moment)
    thread("reject", "t", "--then", "compensate", "--json", environment=dying).expect(-9)
    assert finish(thread, world)["status"] == "rejected"
    assert [world.count(name) for name in UNDOS[1:]] == [1, 1]
