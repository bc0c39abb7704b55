"""The graph under the Agent Server, as LangGraph Studio uses it: a real server, the real client, and the command line beside it."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.cli import Cli, base_environment
from langgraph_sdk import get_client

CHECKOUT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/ok", timeout=1) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
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
        process.wait(20)


async def test_from_the_question_to_the_end(server: str, cli_factory: Callable[..., Cli]) -> None:
    async with get_client(url=server) as client:
        thread = (await client.threads.create())["thread_id"]
        asked: Any = await client.runs.wait(thread, "interlock", input={"input": "deploy shop 7.1"})
        [question] = asked["__interrupt__"]
        assert question["value"]["action_requests"][0]["args"] == {"project_id": "shop", "version": "7.1", "environment": "production"}
        gate = question["value"]["gate"]
        cli = cli_factory()
        [pending] = cli("inbox", "--json").expect(0).json["pending"]
        assert (pending["approval_id"], pending["thread_id"]) == (gate["approval_id"], thread)

        again: Any = await client.runs.wait(thread, "interlock", command={"resume": "yes, do it"})
        assert again["__interrupt__"][0]["value"]["gate"]["approval_id"] == gate["approval_id"]

        ended: Any = await client.runs.wait(thread, "interlock", command={"resume": {"decisions": [{"type": "approve"}]}})
        assert ended["final_answer"] == {"text": "Deployed shop 7.1 to production (release 1, the first)."}
        record = cli("audit", thread, "--verify", "--json").expect(0).json
        kinds = [event["kind"] for event in record["events"]]
        assert [kinds.count(kind) for kind in ("approval_requested", "approval_decided", "execution_succeeded")] == [1, 1, 1]
