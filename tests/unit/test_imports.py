"""Who may import whom, what a quick command may load, and that the top-level names are ours alone."""

import ast
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("langgraph", "langchain_core", "langchain_openai", "openai", "qdrant_client", "langchain_qdrant")
QUICK = (
    "cli",
    "memory.postgres.approvals",
    "memory.postgres.audit",
    "memory.postgres.database",
    "memory.postgres.embedded",
    "memory.postgres.ledger",
    "memory.postgres.migrate",
    "memory.postgres.runs",
)
OURS = ("graph", "tools", "memory", "cli")


def test_the_rooms_import_only_downwards() -> None:
    check = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports(no_cache=True))"
    done = run_python(check)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_line_imports_no_adapter() -> None:
    """import-linter knows packages only, and `cli` is a module."""
    imported = set()
    for file in (ROOT / "cli.py", *(ROOT / "graph/commands").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported |= {f"{node.module}.{alias.name}" for alias in node.names}
    forbidden = ("memory.postgres", "memory.qdrant", "psycopg", "qdrant_client")
    assert not [name for name in imported if name.startswith(forbidden)]


@pytest.mark.parametrize("module", QUICK)
def test_deciding_and_listing_load_no_graph(module: str) -> None:
    done = run_python(f"import sys, {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))")
    assert done.returncode == 0, done.stderr
    assert not set(HEAVY) & set(done.stdout.split())


@pytest.mark.parametrize("name", OURS)
def test_nobody_else_owns_our_top_level_names(name: str) -> None:
    owners = importlib.metadata.packages_distributions().get(name, [])
    assert set(owners) <= {"interlock-agent"}, f"{owners} ship a top-level {name!r} too: one of them would never be loaded"


def run_python(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
