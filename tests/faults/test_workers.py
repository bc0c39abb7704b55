"""Several workers that are killed at random: every thread ends right, nothing is done twice, nothing is stuck.

The default run has 8 threads and 4 kills, FAULTS=full has 200 threads and kills for two minutes.
"""

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from bench.cli import Cli, Process
from bench.openai_server import OpenAIServer, Reply, by_turn, call, say
from bench.world import World

FULL = os.environ.get("FAULTS") == "full"
THREADS, KILLS, EVERY, LIMIT = (200, 120, 1.0, 900.0) if FULL else (8, 4, 0.4, 90.0)
WORKERS = 3


def payer(request: dict[str, Any]) -> Reply:
    """Thread N was asked to `pay N`; every other payment can be asked about afterwards."""
    number = next(str(one["content"]).split()[-1] for one in request["messages"] if one["role"] == "user")
    tool = "transfer_checked" if int(number) % 2 else "transfer"
    return by_turn(call(tool, {"to": f"n{number}", "amount": 5}), say("Paid."))(request)


def paid(world: World) -> list[str]:
    return sorted(line.split()[-1] for kind in ("transfer", "transfer_checked") for line in world.lines(kind))


def answer_all(cli: Cli, world: World) -> None:
    """As a person does who looks at the world before saying what became of a call."""
    for one in cli("inbox", "--limit", "1000", "--json").expect(0).json["pending"]:
        if one["kind"] == "pre_execution":
            words: tuple[str, ...] = ("approve", one["approval_id"])
        else:
            settled = ("--done", "it was paid") if one["args"]["to"] in paid(world) else ("--retry",)
            words = ("resolve", one["approval_id"], *settled)
        cli(*words, "--detach", "--json").expect(0)


def begin_worker(cli: Cli, health: Path) -> Process:
    health.unlink(missing_ok=True)
    return cli.spawn("worker", "--concurrency", "2", "--health", str(health), "--json")


def wait_for(file: Path) -> None:
    end = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.timeout(1200)
def test_workers_that_are_killed_lose_nothing_and_repeat_nothing(commands: Cli, model_server: OpenAIServer, world: World) -> None:
    chance, wanted = random.Random(9), [f"t{number}" for number in range(THREADS)]
    model_server.always(payer)
    for number, name in enumerate(wanted):
        commands("start", f"pay {number}", "--thread", name, "--detach", "--json").expect(0)
    health = [commands.cwd / f"health{number}" for number in range(WORKERS)]
    workers = [begin_worker(commands, file) for file in health]
    kills, due, end = 0, time.monotonic() + EVERY, time.monotonic() + LIMIT
    while True:
        answer_all(commands, world)
        if kills < KILLS and time.monotonic() >= due:
            victim = chance.randrange(WORKERS)
            workers[victim].kill()
            workers[victim] = begin_worker(commands, health[victim])
            kills, due = kills + 1, time.monotonic() + EVERY * chance.uniform(0.2, 1.8)
        runs = {one["thread_id"]: one["status"] for one in commands("runs", "--limit", "1000", "--json").expect(0).json["runs"]}
        if kills == KILLS and set(runs.values()) == {"completed"}:
            break
        assert time.monotonic() < end, f"stuck: {[name for name, status in runs.items() if status != 'completed']}"
    for worker, file in zip(workers, health, strict=True):
        wait_for(file)  # before it has begun, SIGTERM interrupts it as it does any command
        worker.signal(signal.SIGTERM)
    assert [worker.wait().expect(0).json["given_up"] for worker in workers] == [[]] * WORKERS
    assert sorted(runs) == sorted(wanted)
    assert paid(world) == sorted(f"n{number}" for number in range(THREADS))
    assert commands("inbox", "--json").json["pending"] == []
    assert commands("audit", "--verify", "--json").expect(0).json["verified"] is True


def paying(cli: Cli, server: OpenAIServer, world: World, *options: str) -> Process:
    """A worker in the middle of a payment."""
    shutil.copy(Path(__file__).with_name("slow_tools.py"), cli.cwd)
    cli.environment["INTERLOCK_TOOLS"] += ",slow_tools:TOOLS"
    server.always(by_turn(call("slow_payment"), say("Paid.")))
    cli("start", "pay", "--thread", "t", "--json").expect(3)
    cli("approve", "t", "--detach", "--json").expect(0)
    worker = cli.spawn("worker", *options, "--json")
    world.wait_for("slow_payment.attempts")
    return worker


def test_a_worker_that_is_ended_finishes_its_call(commands: Cli, model_server: OpenAIServer, world: World) -> None:
    worker = paying(commands, model_server, world)
    worker.signal(signal.SIGTERM)
    world.append("go")
    assert worker.wait().expect(0).json["given_up"] == []
    assert commands("show", "t", "--json").json["executions"][0]["status"] == "succeeded"
    assert world.attempts("slow_payment") == 1


def test_when_the_grace_is_over_people_are_asked_what_became_of_the_call(commands: Cli, model_server: OpenAIServer, world: World) -> None:
    worker = paying(commands, model_server, world, "--grace", "0.2")
    worker.signal(signal.SIGTERM)
    assert worker.wait().expect(0).json["given_up"] == ["t"]
    [asked] = commands("inbox", "--json").json["pending"]
    assert (asked["thread_id"], asked["kind"]) == ("t", "unknown_outcome")
    assert world.attempts("slow_payment") == 1


def test_the_health_file_tells_how_the_worker_is_and_goes_with_it(commands: Cli, model_server: OpenAIServer, world: World) -> None:
    health = commands.cwd / "health.json"
    worker = paying(commands, model_server, world, "--health", str(health))
    wait_for(health)
    end = time.monotonic() + 30
    while json.loads(health.read_text())["driving"] != 1:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert json.loads(health.read_text()) == {"driving": 1, "driven": 1, "unavailable": None}
    worker.signal(signal.SIGTERM)
    world.append("go")
    worker.wait().expect(0)
    assert not health.exists()
