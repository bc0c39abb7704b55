"""Two real PostgreSQL servers in streaming replication: the primary is killed while a thread runs, the standby is promoted.

A commit waits for the standby here, as docs/failover.md advises, except in the test that shows what is lost when it does not.
FAULTS=full adds every point of a call, and both orders: the process wakes before the promotion, and after it.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.cli import Cli, Result
from bench.openai_server import OpenAIServer
from bench.postgres import make_folder
from bench.replicas import Pair
from bench.world import World
from faults.bank import NOTHING_DECLARED, THREAD, Bank
from faults.test_interruptions import assert_sound, begin_payment

FULL = os.environ.get("FAULTS") == "full"
POINTS = ("after_claim", "before_intent", "after_intent", "after_effect", "after_outcome", "think_before_model", "before_settle")
KINDS = ("transfer", "transfer_keyed", "transfer_checked", "transfer_tx") if FULL else ("transfer",)


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    folder = make_folder()
    pair = Pair(folder)
    yield pair
    pair.down()
    shutil.rmtree(folder)


@pytest.fixture
def pair(servers: Pair) -> Pair:
    if servers.standby.pid() is None:
        servers.rebuild()
    servers.synchronous(True)
    return servers


@pytest.fixture
def database_url(pair: Pair) -> str:
    return pair.create()


@pytest.fixture
def open_bank(commands: Cli, model_server: OpenAIServer, world: World, database_url: str) -> Callable[[str], Bank]:
    return lambda kind: Bank(kind, commands, model_server, world, database_url)


def decided(bank: Bank) -> list[dict[str, Any]]:
    return [event for event in bank.run("audit", THREAD).expect(0).json["events"] if event["kind"] == "approval_decided"]


def away(result: Result) -> None:
    error = result.expect(7).json["error"]
    assert error["remedy"], error


def test_it_waits_for_a_person(pair: Pair, open_bank: Callable[[str], Bank]) -> None:
    """Between the two there is nobody to write to, and it is said so; afterwards the question is where it was."""
    bank = open_bank("transfer")
    one, = bank.run("start", "pay", "--thread", THREAD).expect(3).json["pending"]
    pair.lose_primary()
    away(bank.run("approve", THREAD))
    pair.promote()
    again, = bank.run("inbox").expect(0).json["pending"]
    assert again["approval_id"] == one["approval_id"]
    assert bank.run("approve", THREAD).expect(0).json["status"] == "completed"
    bank.judge()


def points() -> list[tuple[str, str, bool]]:
    if not FULL:
        return [("transfer", "before_intent", True), ("transfer_keyed", "after_intent", False)]
    return [(kind, point, first) for kind in KINDS for point in POINTS for first in (True, False)]


@pytest.mark.parametrize(("kind", "point", "promoted_first"), points())
def test_between_a_decision_and_its_end(
    pair: Pair,
    open_bank: Callable[[str], Bank],
    record_property: Callable[[str, object], None],
    kind: str,
    point: str,
    promoted_first: bool,
) -> None:
    """The process goes on with the new primary, or says how to; the decision stands, and the effect is there once."""
    bank = open_bank(kind)
    bank.run("start", "pay", "--thread", THREAD).expect(3)
    frozen: Any = bank.cli.spawn("approve", THREAD, "--json", environment=Cli.crashing(point, freeze=True))
    frozen.wait_until_frozen()
    before = decided(bank)
    pair.lose_primary()
    if promoted_first:
        pair.promote()
        frozen.cont()
    else:
        frozen.cont()
        pair.promote()
    ended = frozen.wait()
    if ended.exit_code not in {0, 3}:
        away(ended)
    assert len(before) == 1 and decided(bank)[:1] == before, "a decision that was acknowledged is lost"
    bank.may_be_alive = kind not in NOTHING_DECLARED  # its check may be asked while the process that began it is still there
    bank.finish()
    record_property("fault", {"command": "failover", "point": point, **bank.judge()})


def test_during_an_effect(pair: Pair, commands: Cli, model_server: OpenAIServer, world: World) -> None:
    """The effect lasts longer than the failover: its outcome is written to the new primary."""
    shutil.copy(Path(__file__).with_name("slow_tools.py"), commands.cwd)
    commands.environment["INTERLOCK_TOOLS"] += ",slow_tools:TOOLS"
    paying = begin_payment(commands, model_server, world)
    pair.lose_primary()
    pair.promote()
    world.append("go")
    assert paying.wait().expect(0).json["status"] == "completed"
    assert world.count("slow_payment") == 1
    kinds = assert_sound(commands, model_server)
    assert (kinds.count("approval_decided"), kinds.count("execution_succeeded")) == (1, 1)


def test_no_effect_is_begun_on_an_intent_that_the_standby_has_not(pair: Pair, open_bank: Callable[[str], Bank]) -> None:
    """The standby is cut off and then promoted: the commit that it never got was never acknowledged, and nothing came of it."""
    bank = open_bank("transfer")
    bank.run("start", "pay", "--thread", THREAD).expect(3)
    paying: Any = bank.cli.spawn("approve", THREAD, "--json", environment=Cli.crashing("before_intent", freeze=True))
    paying.wait_until_frozen()
    pair.cut_off()
    paying.cont()
    pair.wait_for_a_held_commit()
    assert bank.world.attempts("transfer") == 0
    pair.lose_primary()
    pair.promote()
    ended = paying.wait()
    if ended.exit_code not in {0, 3}:
        away(ended)
    assert len(decided(bank)) == 1
    bank.finish()
    bank.judge()


@pytest.mark.parametrize("kind", ["transfer", "transfer_keyed"])
def test_without_it_a_decision_and_an_intent_can_be_lost(pair: Pair, open_bank: Callable[[str], Bank], kind: str, tmp_path: Path) -> None:
    """Asked again, and a tool that takes a key does it once all the same; any other does it again. An export tells."""
    bank = open_bank(kind)
    one, = bank.run("start", "pay", "--thread", THREAD).expect(3).json["pending"]
    pair.synchronous(False)
    pair.cut_off()
    bank.run("approve", THREAD).expect(0)
    export = str(tmp_path / "audit.jsonl")
    bank.cli("audit", "--export", export).expect(0)
    pair.lose_primary()
    pair.promote()
    again, = bank.run("inbox").expect(0).json["pending"]
    assert again["approval_id"] == one["approval_id"]
    assert bank.run("audit", "--verify").expect(0).json["verified"] is True
    assert "of the export is missing" in bank.cli("audit", "--against", export).expect(6).stdout
    bank.run("approve", THREAD).expect(0)
    assert bank.effects == (1 if kind == "transfer_keyed" else 2)
