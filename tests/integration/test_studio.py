"""The graph under the Agent Server, as LangGraph Studio uses it: a real server, the real client, and the command line beside it."""

import http.client
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.cli import Cli, base_environment
from bench.ports import free_port
from langgraph_sdk import get_client

CHECKOUT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(600)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/ok", timeout=1) as response:
            return bool(response.status == 200)
    except (OSError, http.client.HTTPException):
        return False


@pytest.fixture
def server(database_url: str, home: Path, tmp_path: Path) -> Iterator[str]:
    """`langgraph dev` on a copy of what it needs: it writes into the current folder."""
    for name in ("graph", "tools", "memory", "langgraph.json"):
        (tmp_path / name).symlink_to(CHECKOUT / name)
    (tmp_path / ".env").touch()
    (tmp_path / "pyproject.toml").symlink_to(CHECKOUT / "pyproject.toml")
    port = free_port()
    environment = base_environment(home) | {
        "INTERLOCK_DATABASE_URL": database_url,
        "INTERLOCK_HOME": str(home),
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    }
    program = str(Path(sys.executable).with_name("langgraph"))
    command = [program, "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 90
        while not answers(url):
            assert process.poll() is None and time.monotonic() < deadline, (tmp_path / "log").read_text(errors="replace")[-3000:]
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


async def test_c086_c087_from_the_question_to_the_end(server: str, cli_factory: Callable[..., Cli]) -> None:
    """Under `langgraph dev`, which refuses blocking calls, with our saver: question, answer, effect, record."""
    async with get_client(url=server) as client:
        thread = (await client.threads.create())["thread_id"]
        asked: Any = await client.runs.wait(thread, "interlock", input={"input": "deploy shop 7.1"})
        [question] = asked["__interrupt__"]
        assert question["value"]["action_requests"][0]["args"] == {"project_id": "shop", "version": "7.1", "environment": "production"}
        gate = question["value"]["gate"]
        cli = cli_factory(timeout=170)
        shown = cli("show", thread, "--json").expect(0).json
        [pending] = shown["pending"]
        assert (pending["approval_id"], shown["status"], shown["input"]) == (gate["approval_id"], "waiting", "deploy shop 7.1")

        again: Any = await client.runs.wait(thread, "interlock", command={"resume": "yes, do it"})
        assert again["__interrupt__"][0]["value"]["gate"]["approval_id"] == gate["approval_id"]

        ended: Any = await client.runs.wait(thread, "interlock", command={"resume": {"decisions": [{"type": "approve"}]}})
        assert ended["final_answer"] == {"text": "Deployed shop 7.1 to production (release 1, the first)."}
        [run] = cli("runs", "--json").expect(0).json["runs"]
        assert (run["thread_id"], run["status"], run["driven"]) == (thread, "completed", False)
        assert cli("resume", thread, "--json").expect(0).json["final_answer"] == ended["final_answer"]["text"]
        record = cli("audit", thread, "--verify", "--json").expect(0).json
        kinds = [event["kind"] for event in record["events"]]
        once = ("approval_requested", "approval_decided", "execution_succeeded", "thread_ended")
        assert [kinds.count(kind) for kind in once] == [1, 1, 1, 1]

        await from_a_chat_and_decided_at_the_command_line(client, cli)
        await rejected_in_an_inbox(client, cli)
        await seen_from_the_server(client, cli)


async def from_a_chat_and_decided_at_the_command_line(client: Any, cli: Cli) -> None:
    """A chat sends messages; the question waits in the server while somebody decides elsewhere."""
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "interlock", input={"messages": [{"type": "human", "content": "deploy shop 7.2 to staging"}]})
    done = cli("approve", thread, "--json").expect(0).json
    assert done["final_answer"] == "Deployed shop 7.2 to staging (release 2, the first)."
    state = await client.threads.get_state(thread)
    assert state["next"] == [] and state["values"]["final_answer"] == {"text": done["final_answer"]}


async def rejected_in_an_inbox(client: Any, cli: Cli) -> None:
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "interlock", input={"input": "deploy shop 7.3"})
    await client.runs.wait(thread, "interlock", command={"resume": [{"type": "ignore", "args": None}]})
    assert cli("show", thread, "--json").expect(0).json["status"] == "rejected"


async def seen_from_the_server(client: Any, cli: Cli) -> None:
    """A thread of the command line: once the server is told its name, its state is there, and it can be answered there."""
    cli("start", "deploy shop 7.4 to staging", "--thread", "0190c7a1-7a3d-7000-8000-000000000001", "--json").expect(3)
    thread = (await client.threads.create(thread_id="0190c7a1-7a3d-7000-8000-000000000001", graph_id="interlock"))["thread_id"]
    state = await client.threads.get_state(thread)
    assert state["next"] == ["await_human_approval"]
    ended = await client.runs.wait(thread, "interlock", command={"resume": {"decisions": [{"type": "approve"}]}})
    assert ended["final_answer"]["text"].startswith("Deployed shop 7.4 to staging")
    assert cli("show", thread, "--json").expect(0).json["status"] == "completed"
