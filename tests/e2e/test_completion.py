"""What a shell offers when Tab is pressed: names from the database, quickly, and nothing at all where there is none."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.cli import Cli
from bench.openai_server import call, say

HEAVY = ("langgraph", "langchain_core", "openai", "pydantic")


def offered(cli: Cli, *words: str, **environment: str | None) -> list[str]:
    """As the script that `--install-completion` writes asks for it; the last word is the one being typed."""
    asked = {"_INTERLOCK_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["interlock", *words]), "COMP_CWORD": str(len(words))}
    result = cli(environment={**asked, **environment}).expect(0)
    assert result.stderr == ""
    return result.stdout.split()


def test_names_of_what_there_is(agent: Any) -> None:
    [waiting] = agent.start(call("transfer", {"to": "bob", "amount": 5}))["pending"]
    agent.start(say("Done."), thread="u", expect=0)
    agent.start(say("Done."), thread="$(touch pwned); x", expect=0)
    assert offered(agent.cli, "resume", "") == ["u", "t"], "newest first, and no name that a shell would run"
    assert offered(agent.cli, "approve", waiting["approval_id"][:7]) == [waiting["approval_id"]]
    assert offered(agent.cli, "approve", "zz") == []
    assert offered(agent.cli, "policy", "explain", "tr") == ["transfer"]
    assert offered(agent.cli, "policy", "explain", "dep") == ["deploy_code"]
    assert offered(agent.cli, "runs", "--status", "wai") == ["waiting"]


@pytest.mark.parametrize("url", ["postgresql://127.0.0.1:9/none", "postgresql:/u:p@h/db", None])
def test_nothing_where_no_database_answers(cli_factory: Any, home: Path, url: str | None) -> None:
    cli = cli_factory(environment={"INTERLOCK_DATABASE_URL": url})
    assert offered(cli, "approve", "") == []
    assert offered(cli, "policy", "explain", "cr", INTERLOCK_NO_SUCH="1") == ["create_ticket"]
    assert not (home / "postgres").exists(), "it started nothing"


def test_it_loads_neither_the_graph_nor_a_tool() -> None:
    code = (
        "import sys; from graph.commands import completing\n"
        "assert completing.tool_names('c') == ['create_ticket']\n"
        f"print(*(set({HEAVY!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == ""


def test_the_shipped_tools_are_the_ones_that_it_knows() -> None:
    from graph.commands.completing import SHIPPED
    from tools.table import load

    assert set(SHIPPED) == set(load([], {}).names)
