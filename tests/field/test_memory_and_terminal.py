"""A memory that is locked, old or without embeddings; and text that a terminal could take for something else."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer
from bench.openai_server import DIMENSIONS, Reply, call, calls, say, status
from bench.qdrant_server import QdrantServer
from qdrant_client import QdrantClient

from graph.console import Shown, present

ON = {"INTERLOCK_EMBEDDINGS": "openai:words"}
MARKUP = ["rm [bold]-rf[/bold] /x", "path [/etc] y", "[link=http://evil]ok[/link]"]


@pytest.fixture
def qdrant() -> Iterator[QdrantServer]:
    with closing(QdrantServer(version="1.1.0")) as server:
        yield server


def test_c058_a_memory_that_another_process_holds_costs_the_run_nothing(agent: Any, home: Path) -> None:
    """Another process holds the folder: the run completes without memory, says so once and names the way out; then all is as before."""
    agent.start(say("Done."), thread="first", expect=0, environment=ON)
    [lock] = home.rglob(".lock")
    with closing(QdrantClient(path=str(lock.parent), force_disable_check_same_thread=True)):
        agent.model.play(say("Done."))
        result = agent.cli("start", "again", "--thread", "second", environment=ON).expect(0)
        assert result.stderr.count("in use by another process") == 1 and "INTERLOCK_QDRANT_URL" in result.stderr
        assert agent("show", "second", expect=0)["memory"]["recalled"]["status"] == "unavailable"
    third = agent.start(say("Done."), thread="third", expect=0, environment=ON)
    assert third["memory"]["recalled"]["status"] == "ok"


def test_c059_an_old_server_is_named_and_a_key_goes_nowhere_in_the_clear(agent: Any, qdrant: QdrantServer) -> None:
    """`doctor` names both versions; calls that fail cost the run nothing; a key over plain http to another host is refused."""
    old = {**ON, "INTERLOCK_QDRANT_URL": qdrant.url}
    agent.model.play(call("report_ready", {"word": "ready"}))
    document = agent.cli("doctor", "--json", environment=old).json
    [memory] = [one["detail"] for one in document["checks"] if one["name"] == "memory"]
    assert "1.1.0" in memory and "qdrant-client" in memory
    qdrant.status = 404
    ended = agent.start(say("Done."), expect=0, environment=old)
    assert ended["memory"]["recalled"]["status"] == "unavailable"
    open_key = {**ON, "INTERLOCK_QDRANT_URL": "http://memory.example.com:6333", "INTERLOCK_QDRANT_API_KEY": "sentinel"}
    refused = agent.cli("memory", "search", "x", "--json", environment=open_key).expect(6)
    assert refused.json["error"]["code"] == "open_key" and "sentinel" not in refused.stdout + refused.stderr


@pytest.mark.parametrize(("code", "why"), [(500, "busy"), (400, "input too long")])
def test_c062_embeddings_that_fail_repeat_no_tool_and_end_no_run(agent: Any, code: int, why: str) -> None:
    """The turn ends, the tool ran once, and the thread says that memory could not be asked."""
    agent.start(say("Done."), thread="first", expect=0, environment=ON)
    agent.model.answer_embeddings = lambda _: status(code, why)
    ended = agent.start(call("note_add", {"text": "x" * 100_000}), say("Noted."), expect=0, environment=ON)
    assert (ended["status"], agent.world.attempts("note_add")) == ("completed", 1)
    assert {ended["memory"][part]["status"] for part in ("recalled", "remembered")} == {"unavailable"}


def test_c099_markup_in_text_is_text(agent: Any) -> None:
    """Brackets of markup are shown as they are: in a question, in a list, and in an error."""
    agent.start(calls(*(call("transfer", {"to": text, "amount": 1}) for text in MARKUP), call("failing", {"text": MARKUP[1]})))
    shown = agent.cli("show", "t").expect(0).stdout + agent.cli("inbox").expect(0).stdout + agent.cli("replay", "t").expect(0).stdout
    for text in MARKUP:
        assert text in shown
    wrong = agent.cli("approve", "[/etc] [red]x[/red]").expect(4)
    assert "[/etc] [red]x[/red]" in wrong.stderr
    assert agent.world.attempts("transfer") == 0


def test_c103_a_mistake_of_ours_is_one_line_without_what_stood_in_its_variables(capfd: pytest.CaptureFixture[str]) -> None:
    """No traceback, no local variables: the kind of the mistake, in one line, and exit 1."""

    def work() -> Shown:
        secret = "sentinel"  # stands in the frame only
        raise ValueError(f"a text of {len(secret)} characters")

    with pytest.raises(typer.Exit) as ended:
        present(False, work)
    out, err = capfd.readouterr()
    assert ended.value.exit_code == 1 and "a text of 8 characters" in err
    assert "sentinel" not in out + err and "Traceback" not in out + err


@pytest.mark.parametrize("vector", [[None] * DIMENSIONS, [1.0, 2.0]], ids=["none", "shorter"])
def test_vectors_that_are_none_cost_the_run_nothing_and_spoil_no_memory(agent: Any, vector: list[Any]) -> None:
    agent.start(say("Done."), thread="first", expect=0, environment=ON)
    honest = agent.model.answer_embeddings
    agent.model.answer_embeddings = lambda request: Reply(document={
        "object": "list", "model": "words", "usage": {"prompt_tokens": 1, "total_tokens": 1},
        "data": [{"object": "embedding", "index": index, "embedding": vector} for index, _ in enumerate(request["input"])],
    })  # fmt: skip
    ended = agent.start(call("note_add", {"text": "a note"}), say("Noted."), thread="second", expect=0, environment=ON)
    assert (ended["status"], agent.world.attempts("note_add")) == ("completed", 1)
    assert {ended["memory"][part]["status"] for part in ("recalled", "remembered")} == {"unavailable"}
    agent.model.answer_embeddings = honest
    found = agent("memory", "search", "do what is due", expect=0, environment=ON)
    assert found["status"] == "ok" and len(found["records"]) == 1
