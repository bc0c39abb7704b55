"""What does not kill: freezing, a live rival, signals, lost sessions and servers, and a tool that does not answer in time."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest
from bench.cli import Cli, Process, Result
from bench.openai_server import OpenAIServer, Reply, by_turn, call, calls, say, slow
from bench.postgres import LEASES_ARE_OVER, wait_until
from bench.world import World

from memory.postgres.embedded import EmbeddedServer

FULL = os.environ.get("FAULTS") == "full"
SHORT = {"INTERLOCK_LEASE_SECONDS": "1"}


@pytest.fixture
def slowly(commands: Cli) -> Cli:
    """With the tools of slow_tools."""
    shutil.copy(Path(__file__).with_name("slow_tools.py"), commands.cwd)
    commands.environment["INTERLOCK_TOOLS"] += ",slow_tools:TOOLS"
    return commands


def begin_payment(
    cli: Cli, server: OpenAIServer, world: World, *, tool: str = "slow_payment", as_json: bool = True, **environment: str
) -> Process:
    """A process in the middle of a payment that a person approved."""
    server.always(by_turn(call(tool), say("Paid.")))
    cli("start", "pay", "--thread", "t", "--json").expect(3)
    process = cli.spawn("approve", "t", *(("--json",) if as_json else ()), environment=environment)
    world.wait_for(f"{tool}.attempts")
    return process


def end_payment(cli: Cli, server: OpenAIServer, world: World, *, settle: tuple[str, ...] = ("--done", "paid")) -> None:
    """The question about the outcome is there, a person answers it, and it was paid once."""
    one, = cli("inbox", "--json").json["pending"]
    assert one["kind"] == "unknown_outcome"
    ended = cli("resolve", one["approval_id"], *settle, "--json").expect(0).json
    assert (ended["status"], ended["final_answer"]) == ("completed", "Paid.")
    assert world.attempts("slow_payment") == 1
    assert_sound(cli, server)


def assert_sound(cli: Cli, server: OpenAIServer) -> list[str]:
    assert server.refusals == [] and server.unexpected == []
    record = cli("audit", "t", "--verify", "--json").expect(0).json
    assert record["verified"] is True
    return [event["kind"] for event in record["events"]]


# --- frozen ----------------------------------------------------------------------------------------------------------


def test_frozen_in_a_tool(slowly: Cli, model_server: OpenAIServer, world: World, database_url: str) -> None:
    frozen = begin_payment(slowly, model_server, world, **SHORT)
    frozen.stop()
    wait_until(database_url, LEASES_ARE_OVER)
    slowly("resume", "t", "--json").expect(3)
    kinds = assert_sound(slowly, model_server)
    assert "process_taken_over" in kinds and "execution_unknown" in kinds
    world.append("go")
    frozen.cont()
    assert frozen.wait().expect(5).json["error"]["code"] in {"lease_lost", "stale"}
    assert "execution_succeeded" not in assert_sound(slowly, model_server)
    end_payment(slowly, model_server, world)
    assert world.count("slow_payment") == 1


def test_a_retry_never_runs_beside_a_call_that_may_still_be_running(
    slowly: Cli, model_server: OpenAIServer, world: World, database_url: str
) -> None:
    frozen = begin_payment(slowly, model_server, world, **SHORT)
    frozen.stop()
    wait_until(database_url, LEASES_ARE_OVER)
    slowly("resume", "t", "--json").expect(3)
    refused = slowly("resolve", "t", "--retry", "--json").expect(6).json["error"]
    assert refused["code"] == "still_running" and f":{frozen.pid}:" in refused["message"]
    assert world.attempts("slow_payment") == 1
    assert "refused_attempt" in assert_sound(slowly, model_server)
    frozen.kill()
    world.append("go")
    assert slowly("resolve", "t", "--retry", "--json").expect(0).json["status"] == "completed"
    assert (world.attempts("slow_payment"), world.count("slow_payment")) == (2, 1)


def test_frozen_while_the_model_thinks(slowly: Cli, model_server: OpenAIServer, world: World, database_url: str) -> None:
    """Two answers come, one counts."""
    first, thought = iter([True]), Event()

    def answer(request: dict[str, Any]) -> Reply:
        if next(first, False):
            assert thought.wait(120)
        return by_turn(call("transfer", {"to": "bob", "amount": 5}), say("Paid."))(request)

    model_server.always(answer)
    frozen = slowly.spawn("start", "pay", "--thread", "t", "--json", environment=SHORT)
    model_server.wait_for_requests(1)
    frozen.stop()
    wait_until(database_url, LEASES_ARE_OVER)
    one, = slowly("resume", "t", "--json").expect(3).json["pending"]
    thought.set()
    frozen.cont()
    frozen.wait().expect(5)
    assert [other["approval_id"] for other in slowly("inbox", "--json").json["pending"]] == [one["approval_id"]]
    slowly("approve", "t", "--json").expect(0)
    assert world.count("transfer") == 1
    assert assert_sound(slowly, model_server).count("approval_requested") == 1


# --- a live rival ----------------------------------------------------------------------------------------------------


def test_a_live_driver_is_left_alone_and_hears_of_a_decision(slowly: Cli, model_server: OpenAIServer, world: World) -> None:
    model_server.always(by_turn(calls(call("slow_look"), call("transfer", {"to": "bob", "amount": 5})), say("Paid.")))
    driver = slowly.spawn("start", "look and pay", "--thread", "t", "--json")
    world.wait_for("slow_look.attempts")
    refused = slowly("resume", "t", "--json").expect(5).json["error"]
    assert refused["code"] == "busy" and str(driver.pid) in refused["owner"] and str(driver.pid) in refused["message"]
    assert "since 20" in refused["message"]
    slowly("approve", "t", "--json").expect(0)
    assert driver.running and world.count("transfer") == 0
    world.append("go")
    assert driver.wait().expect(0).json["final_answer"] == "Paid."
    assert (world.count("transfer"), world.count("slow_look")) == (1, 1)
    assert_sound(slowly, model_server)


@pytest.mark.parametrize("count", [2, 8] if FULL else [3])
def test_many_decide_and_resume_at_once(commands: Cli, model_server: OpenAIServer, world: World, count: int) -> None:
    model_server.always(by_turn(call("transfer", {"to": "bob", "amount": 5}), say("Paid.")))
    one, = commands("start", "pay", "--thread", "t", "--json").expect(3).json["pending"]
    racing = [commands.spawn("approve", one["approval_id"], "--as", f"p{number}", "--json") for number in range(count)]
    racing += [commands.spawn("resume", "t", "--json") for _ in range(count)]
    ended = [process.wait() for process in racing]
    approvals, resumes = ended[:count], ended[count:]
    winners = [result for result in approvals if result.exit_code == 0]
    assert len(winners) == 1, [str(result) for result in approvals]
    assert {result.json["error"]["code"] for result in approvals if result.exit_code} <= {"already_decided"}
    assert {result.exit_code for result in resumes} <= {0, 3, 5}
    commands("resume", "t", "--json").expect(0)
    assert world.count("transfer") == 1
    assert assert_sound(commands, model_server).count("execution_started") == 1


def test_eight_recover_at_once(commands: Cli, model_server: OpenAIServer, world: World) -> None:
    model_server.always(by_turn(call("transfer_keyed", {"to": "bob", "amount": 5}), say("Paid.")))
    commands("start", "pay", "--thread", "t", "--json").expect(3)
    commands("approve", "t", "--json", environment=commands.crashing("after_intent")).expect(-9)
    ended = [process.wait() for process in [commands.spawn("resume", "t", "--json") for _ in range(8)]]
    assert {result.exit_code for result in ended} <= {0, 5}
    assert (world.count("transfer_keyed"), world.attempts("transfer_keyed")) == (1, 1)
    assert_sound(commands, model_server)


# --- people and platforms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_asked_to_stop_it_ends_the_call_and_stops(
    slowly: Cli, model_server: OpenAIServer, world: World, number: signal.Signals
) -> None:
    """A service manager, or a terminal that is closed: what is under way ends and is recorded, and nothing more begins."""
    process = begin_payment(slowly, model_server, world, as_json=False)
    process.signal(number)
    process.read_until("Stopping when the call that is under way has ended")
    world.append("go")
    assert_interrupted(process.wait(20))
    shown = slowly("show", "t", "--json").json
    assert [one["status"] for one in shown["executions"]] == ["succeeded"] and shown["pending"] == []
    assert len(model_server.requests) == 1, "the model was asked once more"
    assert slowly("recover", "--json").expect(0).json["recovered"] == [{"thread_id": "t", "status": "completed", "error": None}]
    assert (world.attempts("slow_payment"), world.count("slow_payment")) == (1, 1)
    assert_sound(slowly, model_server)


@pytest.mark.parametrize("numbers", [(signal.SIGINT,), (signal.SIGTERM, signal.SIGTERM), (signal.SIGHUP, signal.SIGINT)])
def test_c006_interrupted_in_a_tool(slowly: Cli, model_server: OpenAIServer, world: World, numbers: tuple[int, ...]) -> None:
    """It is given up: nobody knows its outcome, and the question is there at once."""
    process = begin_payment(slowly, model_server, world, as_json=False)
    for number in numbers[:-1]:
        process.signal(number)
        process.read_until("Stopping when")
    process.signal(numbers[-1])
    assert_interrupted(process.wait(20))
    one, = slowly("inbox", "--json").json["pending"]
    assert (one["kind"], one["note"]) == ("unknown_outcome", "the work was interrupted while it ran")
    slowly("resume", "t", "--json").expect(3)
    world.append("go")
    end_payment(slowly, model_server, world)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_second_ctrl_c_ends_it_at_once(slowly: Cli, model_server: OpenAIServer, world: World, options: tuple[str, ...]) -> None:
    """Whatever holds it up. Nothing could be written any more, and what was begun is still known."""
    process = begin_payment(slowly, model_server, world, tool="stubborn_payment", as_json=bool(options))
    process.signal(signal.SIGINT)
    world.wait_for("stubborn_payment.cancelled")
    process.signal(signal.SIGINT)
    ended = process.wait(20).expect(130)
    assert "interlock resume t" in (ended.json["error"]["remedy"] if options else ended.stderr)
    assert slowly("show", "t", "--json").json["executions"][0]["status"] == "started"
    one, = slowly("resume", "t", "--json").expect(3).json["pending"]
    slowly("resolve", one["approval_id"], "--done", "paid", "--json").expect(0)
    assert world.attempts("stubborn_payment") == 1
    assert_sound(slowly, model_server)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_c098_a_broken_pipe(slowly: Cli, model_server: OpenAIServer, world: World, stream: str) -> None:
    """Who read it went away. The tool prints, the progress the answer has no reader: the call is made all the same."""
    model_server.always(by_turn(call("talking_payment"), say("Paid.")))
    slowly("start", "pay", "--thread", "t", "--json").expect(3)
    process = subprocess.Popen(
        [*slowly.command, "approve", "t", "--log", "json"], cwd=slowly.cwd, env=slowly.environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        for each in (process.stdout, process.stderr) if stream == "stdout" else (process.stderr,):
            assert each
            each.close()
        world.append("go")
        assert process.wait(60) == (141 if stream == "stdout" else 0)
    shown = slowly("show", "t", "--json").expect(0).json
    assert (shown["status"], shown["executions"][0]["result"]) == ("completed", "paid")
    assert world.attempts("talking_payment") == 1
    assert_sound(slowly, model_server)


def test_the_terminal_is_closed(slowly: Cli, model_server: OpenAIServer, world: World) -> None:
    model_server.always(by_turn(call("talking_payment"), say("Paid.")))
    slowly("start", "pay", "--thread", "t", "--json").expect(3)
    terminal = Cli(slowly.environment, slowly.cwd).terminal("approve", "t")
    world.wait_for("talking_payment.attempts")
    terminal.hang_up()
    world.append("go")
    terminal.popen.wait(60)
    assert slowly("show", "t", "--json").json["executions"][0]["result"] == "paid"
    assert slowly("resume", "t", "--json").expect(0).json["status"] == "completed"
    assert world.attempts("talking_payment") == 1
    assert_sound(slowly, model_server)


def assert_interrupted(ended: Result) -> None:
    ended.expect(130)
    assert "interlock resume t" in ended.stderr, "the hint names the thread"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_the_model_thinks(commands: Cli, model_server: OpenAIServer, world: World, number: signal.Signals) -> None:
    model_server.play(slow(30, say("never heard"))).always(by_turn(call("transfer", {"to": "bob", "amount": 5}), say("Paid.")))
    process = commands.spawn("start", "pay", "--thread", "t")
    model_server.wait_for_requests(1)
    process.signal(number)
    assert_interrupted(process.wait(20))
    commands("resume", "t", "--json").expect(3)
    commands("approve", "t", "--json").expect(0)
    assert world.count("transfer") == 1
    assert_sound(commands, model_server)


# --- the database ----------------------------------------------------------------------------------------------------


def test_c030_every_session_is_terminated(slowly: Cli, model_server: OpenAIServer, world: World, database_url: str) -> None:
    """Sessions that are ended while a tool runs cost nothing: its outcome is recorded, it ran once."""
    process = begin_payment(slowly, model_server, world)
    with psycopg.connect(database_url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'interlock' AND datname = current_database()"
        )
        assert ended.rowcount > 0
    world.append("go")
    assert process.wait().expect(0).json["executions"][0]["status"] == "succeeded"
    assert world.count("slow_payment") == 1
    assert_sound(slowly, model_server)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT] if FULL else [signal.SIGKILL])
def test_the_server_dies_and_comes_back(slowly: Cli, model_server: OpenAIServer, world: World, home: Path, number: int) -> None:
    """SIGQUIT is an immediate shutdown. Here the server is the embedded one, which the next command starts."""
    del slowly.environment["INTERLOCK_DATABASE_URL"]
    process = begin_payment(slowly, model_server, world)
    server = EmbeddedServer(home)
    os.kill(int(server.status()["pid"]), number)
    time.sleep(0.3)
    server.up()
    world.append("go")
    assert process.wait().expect(0).json["executions"][0]["status"] == "succeeded"
    assert world.count("slow_payment") == 1
    assert_sound(slowly, model_server)


if FULL:  # it takes half a minute, most of it patience with a server that may come back

    def test_the_server_stays_away(slowly: Cli, model_server: OpenAIServer, world: World, home: Path) -> None:
        """The command says so and how to go on; once the server is back, what nobody could store is asked of a person."""
        server = EmbeddedServer(home)
        server.up()
        slowly.environment["INTERLOCK_DATABASE_URL"] = server.url()  # a server that no command starts
        process = begin_payment(slowly, model_server, world)
        os.kill(int(server.status()["pid"]), signal.SIGKILL)
        world.append("go")
        error = process.wait(120).expect(7).json["error"]
        assert error["code"] == "database" and "interlock resume t" in error["remedy"]
        assert world.count("slow_payment") == 1
        server.up()
        assert slowly("recover", "--json").expect(0).json["recovered"] == [{"thread_id": "t", "status": "waiting", "error": None}]
        end_payment(slowly, model_server, world)
        assert world.count("slow_payment") == 1


# --- no answer in time -----------------------------------------------------------------------------------------------


def test_no_answer_in_time(commands: Cli, model_server: OpenAIServer, world: World) -> None:
    """It is unknown at once, and the process does not wait for what may never come."""
    model_server.always(by_turn(call("slow_transfer", {"to": "bob", "amount": 5, "seconds": 120}), say("Paid.")))
    commands("start", "pay", "--thread", "t", "--json").expect(3)
    began = time.monotonic()
    one, = commands("approve", "t", "--json").expect(3).json["pending"]
    assert time.monotonic() - began < 60
    assert one["kind"] == "unknown_outcome" and commands("inbox", "--json").json["pending"] == [one]
    assert (world.attempts("slow_transfer"), world.count("slow_transfer")) == (1, 0)
    commands("resolve", "t", "--abandon", "--json").expect(0)
    assert world.attempts("slow_transfer") == 1
    assert "120" not in str(model_server.last_tool_messages()[0]["content"])
    assert_sound(commands, model_server)


def test_a_late_answer_is_recorded_and_changes_nothing(
    slowly: Cli, model_server: OpenAIServer, world: World, database_url: str
) -> None:
    slow_call = call("slow_transfer", {"to": "bob", "amount": 5, "seconds": 5})
    model_server.always(by_turn(calls(slow_call, call("slow_payment")), say("Paid.")))
    for one in slowly("start", "pay", "--thread", "t", "--json").expect(3).json["pending"]:
        slowly("approve", one["approval_id"], "--detach", "--json").expect(0)
    process = slowly.spawn("resume", "t", "--json")
    world.wait_for("slow_transfer")
    wait_until(database_url, "SELECT EXISTS (SELECT FROM interlock.audit_event WHERE kind = 'execution_late')", timeout=25)
    world.append("go")
    shown = process.wait().expect(3).json
    assert {one["tool"]: one["status"] for one in shown["executions"]} == {"slow_transfer": "unknown", "slow_payment": "succeeded"}
    assert "execution_late" in assert_sound(slowly, model_server)
    slowly("resolve", "t", "--done", "seen at the bank", "--json").expect(0)
    assert (world.count("slow_transfer"), world.count("slow_payment")) == (1, 1)


