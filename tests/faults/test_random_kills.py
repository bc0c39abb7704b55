"""SIGKILL of the driving process at random moments of a whole flow, wherever they fall: between the named points, inside libraries.

The default run kills twice a kind, FAULTS=full many times. What a failure prints as FAULTS_SEED draws the same moments again.
"""

import os
import secrets
from collections.abc import Callable
from random import Random
from time import monotonic
from typing import Any

import pytest
from bench.cli import Result
from faults.bank import KILLED, KINDS, THREAD, Bank

FULL = os.environ.get("FAULTS") == "full"
KILLS = 4 if FULL else 2
FLOWS = 6 if FULL else 1


@pytest.fixture(scope="session")
def seed() -> str:
    return os.environ.get("FAULTS_SEED") or secrets.token_hex(4)


@pytest.mark.parametrize("flow", range(FLOWS))
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_random_moments(
    open_bank: Callable[[str], Bank], record_property: Callable[[str, object], None], seed: str, kind: str, flow: int
) -> None:
    print(f"FAULTS_SEED={seed}")
    bank, random = open_bank(kind), Random(f"{seed} {kind} {flow}")
    bank.run("runs").expect(0)
    for _ in range(3 * KILLS):
        began = monotonic()
        runs = bank.run("runs").expect(0).json["runs"]
        short = monotonic() - began  # a command that does nothing: the measure of this machine
        words = next_command(bank, runs, random)
        if bank.crashes == KILLS or words is None:
            break
        seconds = random.uniform(0.3, 5) * short
        print(f"{' '.join(words)}: {seconds:.3f} s")
        ended = bank.killed_after(seconds, *words)
        assert ended.exit_code in {0, 3, KILLED} or came_too_late(ended), ended
    if not bank.run("runs").json["runs"]:
        bank.run("start", "pay", "--thread", THREAD)  # it had not come so far
    bank.finish()
    record_property("fault", {"command": "any", "point": "any moment", **bank.judge()})


def next_command(bank: Bank, runs: list[dict[str, Any]], random: Random) -> tuple[str, ...] | None:
    """What a person does next, who sees only what the commands show; None once it has ended."""
    if not runs:
        return ("start", "pay", "--thread", THREAD)
    asked = bank.run("inbox").expect(0).json["pending"]
    if asked:
        return bank.answer_to(asked[0])
    return None if runs[0]["status"] == "completed" else random.choice((("resume", THREAD), ("recover",)))


def came_too_late(ended: Result) -> bool:
    """A command that was killed had been heard, and its session went on to the end of what it had asked for."""
    return ended.json["error"]["code"] in {"thread_exists", "already_decided"}
