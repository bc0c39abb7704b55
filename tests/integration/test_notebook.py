"""The calls from Python: in plain code, in a running loop, and in the notebook, which runs twice from clean kernels and offline."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from graph.notebook import Interlock
from memory.errors import InterlockError

TOUR = Path(__file__).parents[2] / "notebooks" / "tour.ipynb"
pytestmark = pytest.mark.timeout(600)
NO_NETWORK = """
import socket
def refuse(self, address, *_):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise OSError(f"the network is not there: {address}")
    return real(self, address)
real = socket.socket.connect
socket.socket.connect = refuse
"""


@pytest.fixture
def interlock(database_url: str, home: Path) -> Iterator[Interlock]:
    with Interlock({"INTERLOCK_DATABASE_URL": database_url, "INTERLOCK_HOME": str(home)}) as made:
        yield made


def test_c044_from_plain_code(interlock: Interlock) -> None:
    """From plain code the calls of the command line are plain functions."""
    thread = interlock.start("deploy shop 7.1 to staging", thread="t")
    assert thread["status"] == "waiting" and interlock.start("anything", thread="t") == thread
    [question] = interlock.inbox()
    assert question == thread["pending"][0]
    interlock.decide(question["approval_id"][:8], "approve", comment="yes", drive=False)
    done = interlock.resume("t")
    assert done["final_answer"] == "Deployed shop 7.1 to staging (release 1, the first)."
    assert interlock.resume("t") == interlock.show("t") == done
    decided = [event for event in interlock.history("t") if event["kind"] == "approval_decided"]
    assert len(decided) == 1
    with pytest.raises(InterlockError) as told:
        interlock.decide(question["approval_id"], "reject")
    assert told.value.code == "already_decided"


async def test_c044_c093_in_a_running_loop(interlock: Interlock) -> None:
    """In a running loop, as in a notebook, the same functions work."""
    assert interlock.start("deploy shop 7.1", thread="t")["status"] == "waiting"
    rejected = await asyncio.to_thread(interlock.decide, "t", "reject", comment="no", then="stop")
    assert rejected["status"] == "rejected"


def test_c093_the_tour_runs_twice_from_clean_kernels_without_a_network(
    database_url: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notebook runs twice from clean kernels and without a network."""
    monkeypatch.setenv("INTERLOCK_DATABASE_URL", database_url)
    monkeypatch.setenv("INTERLOCK_HOME", str(home))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    name, resources = kernel(tmp_path, monkeypatch), {"metadata": {"path": str(tmp_path)}}
    for _ in range(2):
        notebook: Any = nbformat.read(TOUR, as_version=4)
        notebook.cells.insert(0, nbformat.v4.new_code_cell(NO_NETWORK))
        NotebookClient(notebook, timeout=170, kernel_name=name, resources=resources).execute()
        shown = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
        assert "already_decided" in shown and "checked in the tour" in shown


def kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kernel of this very interpreter, whatever kernels the machine has."""
    place = folder / "jupyter" / "kernels" / "tour"
    place.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (place / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "tour", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
    return "tour"
