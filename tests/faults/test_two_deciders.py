"""Two processes decide the same question at once, and whoever wins drives the thread on: one winner each, one effect each.

The default run has 20 races, FAULTS=full has 1,000. The processes stay, so that what is measured is the race.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from bench.cli import Cli
from bench.world import World

FULL = os.environ.get("FAULTS") == "full"
RACES = 1000 if FULL else 20
RIVALS = ("approve", "modify", "reject")
PAID = {"approve": "5 to {}", "modify": "4 to {}"}

Decider = subprocess.Popen[str]


@pytest.fixture
def deciders(cli_factory: Callable[..., Cli], world: World) -> Iterator[list[Decider]]:
    cli = cli_factory(world=world)
    made = [
        subprocess.Popen(
            [sys.executable, "-m", "faults.decider", name], env=cli.environment, cwd=cli.cwd, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for name in ("ann", "ben")
    ]  # fmt: skip
    assert [answer(one) for one in made] == [{"ready": "ann"}, {"ready": "ben"}]
    yield made
    for one in made:
        one.communicate(timeout=30)
        assert one.returncode == 0


def tell(decider: Decider, thread: str, verb: str) -> None:
    assert decider.stdin
    decider.stdin.write(json.dumps({"thread": thread, "verb": verb}) + "\n")
    decider.stdin.flush()


def answer(decider: Decider) -> Any:
    assert decider.stdout
    return json.loads(decider.stdout.readline())


@pytest.mark.timeout(7200 if FULL else 180)
def test_c046_one_winner_and_one_effect(
    deciders: list[Decider], world: World, database_url: str, cli: Cli, record_property: Callable[[str, object], None]
) -> None:
    """Of those who decide at once one wins, and there is one effect."""
    won: dict[str, str] = {}
    for number in range(RACES):
        thread, verbs = f"t{number}", ("approve", RIVALS[number % 3])
        first = number % 2
        tell(deciders[first], thread, "start")
        assert answer(deciders[first])["code"] == 0
        for decider, verb in zip(deciders, verbs, strict=True):
            tell(decider, thread, verb)
        answers = [answer(decider) for decider in deciders]
        assert sorted(one["code"] for one in answers) == [0, 5], answers
        winner = [one["code"] for one in answers].index(0)
        assert {one["by"] for one in answers} == {("ann", "ben")[winner]}
        won[thread] = verbs[winner]
    paid = [PAID[verb].format(thread) for thread, verb in won.items() if verb in PAID]
    assert sorted(world.lines("transfer")) == sorted(paid), "one effect each, and none where it was rejected"
    assert judged(database_url) == (RACES, RACES, RACES, len(paid))
    assert cli("audit", "--verify", "--json").expect(0).json["verified"] is True
    for number, (thread, verb) in enumerate(won.items()):
        record_property("fault", {
            "kind": "transfer", "command": "race", "point": f"approve beside {RIVALS[number % 3]}", "crashes": 0,
            "effects": world.lines("transfer").count(PAID.get(verb, "").format(thread)), "duplicates": 0, "losses": 0, "unknowns": 0,
        })  # fmt: skip


def judged(url: str) -> tuple[Any, ...]:
    """Threads that are completed, decisions and refused attempts on the record, calls that succeeded at their first attempt."""
    with psycopg.connect(url) as database:
        row = database.execute("""
            SELECT (SELECT count(*) FROM interlock.run WHERE status = 'completed'),
                (SELECT count(*) FROM interlock.audit_event WHERE kind = 'approval_decided'),
                (SELECT count(*) FROM interlock.audit_event WHERE kind = 'refused_attempt'),
                (SELECT count(*) FROM interlock.execution WHERE status = 'succeeded' AND attempts = 1)
        """).fetchone()
    assert row
    return row
