"""Workers as a fleet: they are told what is due, tenants take turns, and periodic work is done once."""

import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.cli import Cli, Process
from bench.openai_server import by_turn, call, say
from bench.pooler import Pooler

SLOW_TOOLS = Path(__file__).parents[1] / "faults/slow_tools.py"
LISTENS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'interlock listener'"


class Fleet:
    """Workers that look by themselves once in `every` seconds."""

    def __init__(self, cli: Cli) -> None:
        self.cli, self.begun = cli, list[Process]()

    def __call__(self, *options: str, every: float = 600, environment: Any = None) -> Process:
        code = f"import graph.worker; graph.worker.SCAN_SECONDS = {every}; from cli import main; main()"
        cli = self.cli.extended({})
        cli.command = (sys.executable, "-P", "-c", code)
        worker = cli.spawn("worker", *options, "--json", environment=environment)
        self.begun.append(worker)
        worker.read_until("The worker has begun")
        return worker

    def end(self) -> None:
        for worker in self.begun:
            worker.signal(signal.SIGTERM)
        while self.begun:
            self.begun.pop().wait().expect(0)


@pytest.fixture
def begin(agent: Any) -> Iterator[Fleet]:
    fleet = Fleet(agent.cli)
    yield fleet
    fleet.end()


def wait(reached: Callable[[], Any]) -> Any:
    end = time.monotonic() + 30
    while not (found := reached()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def completed(agent: Any) -> list[str]:
    """In the order in which they ended."""
    query = "SELECT thread_id FROM interlock.audit_event WHERE kind = 'thread_ended' ORDER BY at"
    return [row[0] for row in agent.rows(query)]


def asked(agent: Any, *threads: str, tenant: str = "default") -> None:
    agent.model.always(by_turn(call("transfer", {"to": "bob", "amount": 5}), say("Paid.")))
    for thread in threads:
        agent("start", "pay", "--thread", thread, expect=3, environment={"INTERLOCK_TENANT": tenant})


def test_a_worker_is_told_of_a_decision_of_another_process(agent: Any, begin: Fleet) -> None:
    """It looks by itself every ten minutes here. What was told while its connection was lost is seen when it has a new one."""
    asked(agent, "first", "second")
    begin()
    [[listener]] = wait(lambda: agent.rows(LISTENS))
    agent("approve", "first", "--detach", expect=0)
    wait(lambda: completed(agent) == ["first"])
    with agent.superuser() as database:
        database.execute("SELECT pg_terminate_backend(%s)", (listener,))
    agent("approve", "second", "--detach", expect=0)
    wait(lambda: completed(agent) == ["first", "second"])
    agent("start", "pay", "--thread", "third", "--detach", expect=0)
    wait(lambda: agent("show", "third", expect=0)["status"] == "waiting")


@pytest.fixture
def pooler(database_url: str, begin: Fleet) -> Iterator[Pooler]:
    with Pooler(database_url, sessions=3) as made:
        yield made
        begin.end()


def test_behind_a_pooler_it_says_so_and_looks(agent: Any, pooler: Pooler, begin: Fleet) -> None:
    asked(agent, "t")
    worker = begin(every=0.2, environment={"INTERLOCK_DATABASE_URL": pooler.url})
    worker.read_until("INTERLOCK_DATABASE_DIRECT_URL")
    agent("approve", "t", "--detach", expect=0)
    wait(lambda: completed(agent) == ["t"])


def test_behind_a_pooler_a_direct_connection_hears(agent: Any, pooler: Pooler, begin: Fleet) -> None:
    asked(agent, "t")
    begin(environment={"INTERLOCK_DATABASE_URL": pooler.url, "INTERLOCK_DATABASE_DIRECT_URL": agent.url})
    wait(lambda: agent.rows(LISTENS))
    agent("approve", "t", "--detach", expect=0)
    wait(lambda: completed(agent) == ["t"])


def test_tenants_take_turns_and_a_slow_thread_holds_up_nobody(agent: Any, begin: Fleet) -> None:
    """Who has much to do waits behind who has little; of one tenant, what a person decided comes before what nobody has begun."""
    shutil.copy(SLOW_TOOLS, agent.project)
    agent.cli.environment["INTERLOCK_TOOLS"] += ",slow_tools:TOOLS"
    asked(agent, "decided", tenant="big")
    asked(agent, "small", tenant="small")
    agent.model.always(by_turn(call("slow_look"), say("Seen.")))
    agent("start", "look", "--thread", "slow", "--detach", expect=0, environment={"INTERLOCK_TENANT": "big"})
    worker = begin("--concurrency", "2")
    agent.world.wait_for("slow_look.attempts")
    worker.stop()
    agent.model.always(say("Done."))
    new = [f"new{number}" for number in range(4)]
    for thread in new:
        agent("start", "talk", "--thread", thread, "--detach", expect=0, environment={"INTERLOCK_TENANT": "big"})
    agent("approve", "decided", "--detach", expect=0)
    agent("approve", "small", "--detach", expect=0)
    worker.cont()
    wait(lambda: len(completed(agent)) == 6)
    assert completed(agent) == ["small", "decided", *new]
    agent.world.append("go")
    wait(lambda: "slow" in completed(agent))
