"""SIGKILL at every named point × every kind of tool × in `start`, in `approve` and in the recovery itself; and inside the effect.
SIGSTOP at every point of a call beyond the lease, another process that takes over, and SIGCONT.

The default run takes a cross-section, FAULTS=full takes every combination.
"""

import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
from bench.cli import Cli
from bench.postgres import LEASES_ARE_OVER, wait_until
from faults.bank import KINDS, NOTHING_DECLARED, THREAD, Bank
from faults.test_undo_kills import POINTS as UNDO

FULL = os.environ.get("FAULTS") == "full"
BEGIN = ("before_claim", "after_claim", "think_before_model", "think_after_model", "before_settle")
GATE = ("gate_before_interrupt",)
ANSWER = ("gate_before_interrupt", "gate_after_answer")
ACT = ("before_intent", "after_intent", "after_effect", "after_outcome")
EFFECT = ("before", "during", "after")  # in the tool itself: bench.world

# Here a tool that declares nothing leaves a question.
UNCERTAIN = ("after_intent", "after_effect", *(f"{moment} the effect" for moment in EFFECT))

TERMINATE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'interlock' AND datname = current_database()
"""

Judged = Callable[[Bank, str, str], None]


@pytest.fixture
def judged(record_property: Callable[[str, object], None]) -> Judged:
    def judge(bank: Bank, command: str, point: str) -> None:
        asked = bank.kind in NOTHING_DECLARED and point.startswith(UNCERTAIN)
        assert (bank.unknowns > 0) is asked, "what nobody can know is asked, and nothing else"
        record_property("fault", {"command": command, "point": point, **bank.judge()})

    return judge


def starts() -> list[tuple[str, str]]:
    return [(kind, point) for kind in KINDS for point in BEGIN + (ACT if kind == "note_add" else GATE)]


def approvals() -> list[tuple[str, str]]:
    return [(kind, point) for kind in KINDS if kind != "note_add" for point in BEGIN + ANSWER + ACT]


def effects() -> list[tuple[str, str]]:
    return [(kind, moment) for kind in KINDS for moment in EFFECT if (kind, moment) != ("transfer_tx", "after")]


def recoveries() -> list[tuple[str, str, str]]:
    first, second = ("after_intent", "after_effect"), ("after_claim", *ACT, "before_settle")
    return [(kind, point, then) for kind in KINDS for point in first for then in second if _meets(kind, then)]


def _meets(kind: str, point: str) -> bool:
    """Whether the recovery comes by: what must ask a person acts no more, and a found result is not acted for again."""
    return point in {"after_claim", "before_intent", "after_intent", "before_settle"} or kind in {"transfer_keyed", "transfer_tx"}


def some(combinations: list[Any], every: int) -> list[Any]:
    """Every n-th, and whichever dies between an effect and its outcome."""
    core = [one for one in combinations if one[1:] in {("after_effect",), ("after",)}]
    return combinations if FULL else list(dict.fromkeys([*combinations[::every], *core]))


@pytest.mark.parametrize(("kind", "point"), some(starts(), 5))
def test_killed_in_start(open_bank: Callable[[str], Bank], judged: Judged, kind: str, point: str) -> None:
    bank = open_bank(kind)
    bank.killed("start", "pay", "--thread", THREAD, environment=Cli.crashing(point))
    bank.finish()
    judged(bank, "start", point)


@pytest.mark.parametrize(("kind", "point"), some(approvals(), 6))
def test_c002_killed_in_approve(open_bank: Callable[[str], Bank], judged: Judged, kind: str, point: str) -> None:
    """Killed at any point after an approval, a step that had finished is not done again."""
    bank = open_bank(kind)
    bank.run("start", "pay", "--thread", THREAD).expect(3)
    bank.killed("approve", THREAD, environment=Cli.crashing(point))
    bank.finish()
    judged(bank, "approve", point)


@pytest.mark.parametrize(("kind", "moment"), some(effects(), 3))
def test_c003_killed_by_its_own_tool(open_bank: Callable[[str], Bank], judged: Judged, kind: str, moment: Any) -> None:
    """Killed between the effect and its outcome, it is unknown: told by the tool's declaration, else by a person."""
    bank = open_bank(kind)
    dying: Mapping[str, str] = bank.world.environment(crash=moment)
    if kind == "note_add":
        bank.killed("start", "pay", "--thread", THREAD, environment=dying)
    else:
        bank.run("start", "pay", "--thread", THREAD).expect(3)
        bank.killed("approve", THREAD, environment=dying)
    bank.finish()
    judged(bank, "tool", f"{moment} the effect")


@pytest.mark.parametrize(("kind", "point", "then"), some(recoveries(), 9))
def test_killed_again_in_the_recovery(open_bank: Callable[[str], Bank], judged: Judged, kind: str, point: str, then: str) -> None:
    bank = open_bank(kind)
    if kind == "note_add":
        bank.killed("start", "pay", "--thread", THREAD, environment=Cli.crashing(point))
    else:
        bank.run("start", "pay", "--thread", THREAD).expect(3)
        bank.killed("approve", THREAD, environment=Cli.crashing(point))
    bank.killed("resume", THREAD, environment=Cli.crashing(then))
    bank.finish()
    judged(bank, "resume", f"{point}, then {then}")


FREEZE = ("after_claim", *ACT, "before_settle")


def frozen() -> list[tuple[str, str]]:
    return [(kind, point) for kind in KINDS for point in FREEZE]


@pytest.mark.parametrize(("kind", "point"), some(frozen(), 7))
def test_frozen_beyond_the_lease(
    open_bank: Callable[[str], Bank], record_property: Callable[[str, object], None], kind: str, point: str
) -> None:
    """Whoever takes over cannot know whether it will wake, and when it does it neither acts under the lease nor writes."""
    bank = open_bank(kind)
    bank.may_be_alive = True
    freezing = {**Cli.crashing(point, freeze=True), "INTERLOCK_LEASE_SECONDS": "1"}
    words = ("start", "pay", "--thread", THREAD) if kind == "note_add" else ("approve", THREAD)
    if kind != "note_add":
        bank.run("start", "pay", "--thread", THREAD).expect(3)
    sleeper: Any = bank.cli.spawn(*words, "--json", environment=freezing)
    sleeper.wait_until_frozen()
    wait_until(bank.database_url, LEASES_ARE_OVER)
    assert bank.run("resume", THREAD).exit_code in {0, 3}
    sleeper.cont()
    assert sleeper.wait().exit_code in {0, 3, 5}
    bank.finish()
    record_property("fault", {"command": "frozen", "point": point, **bank.judge()})


@pytest.mark.parametrize("kind", KINDS if FULL else ["transfer_tx"])
def test_every_session_is_ended_again_and_again(
    open_bank: Callable[[str], Bank], record_property: Callable[[str, object], None], database_url: str, kind: str
) -> None:
    """As by a proxy that drops connections: the command comes through, or says how to go on; nothing is lost or done twice."""
    bank = open_bank(kind)
    words = ("start", "pay", "--thread", THREAD) if kind == "note_add" else ("approve", THREAD)
    if kind != "note_add":
        bank.run("start", "pay", "--thread", THREAD).expect(3)
    process = bank.cli.spawn(*words, "--json")
    with psycopg.connect(database_url, autocommit=True) as connection:
        while process.running:
            connection.execute(TERMINATE)
            time.sleep(0.1)
    ended = process.wait()
    if ended.exit_code not in {0, 3}:
        error = ended.expect(7).json["error"]
        assert "interlock resume" in error["remedy"] or "thread_id" not in error
    if not bank.run("runs").json["runs"] or bank.run("inbox").json["pending"]:
        bank.run(*words)  # it had not come so far
    bank.finish()
    record_property("fault", {"command": "sessions", "point": "all the time", **bank.judge()})


def test_no_point_is_left_out() -> None:
    code = "".join(file.read_text() for file in (Path(__file__).parents[2] / "graph").rglob("*.py"))
    elsewhere = {"after_prune_batch"}  # tests/e2e/test_prune.py
    assert set(re.findall(r"""reach\("(\w+)"\)""", code)) == {*BEGIN, *GATE, *ANSWER, *ACT, *(point for point, _ in UNDO), *elsewhere}
