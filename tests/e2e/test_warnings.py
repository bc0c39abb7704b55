"""No dependency warns: what is deprecated today breaks with its next version, and a warning would stand between a person and a question."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.openai_server import call, say

ROOT = Path(__file__).parents[2]
IMPORT_ALL = """
import importlib, pkgutil
import cli, graph, memory, tools
for room in (graph, memory, tools):
    for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
        importlib.import_module(module.name)
"""


def test_every_module_is_imported_with_warnings_as_errors() -> None:
    command = [sys.executable, "-W", "error", "-c", IMPORT_ALL]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=170, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_c042_a_thread_is_driven_with_warnings_as_errors(agent: Any) -> None:
    """Start and resume in two processes, strict about stored types and with every warning an error: there is none."""
    strict = {"PYTHONWARNINGS": "error"}
    agent.model.play(call("note_add", {"text": "x"}), call("transfer", {"to": "bob", "amount": 5}), say("Paid."))
    agent.cli("start", "pay bob", "--thread", "t", environment=strict).expect(3)
    ended = agent.cli("approve", "t", environment=strict).expect(0)
    assert "Warning" not in ended.stderr
    assert agent.world.lines("transfer") == ["5 to bob"]
