"""Whatever stands on a command line: an exit code of the contract, one JSON document where JSON is wanted, no traceback, and nothing runs.

Drawn at random, the same ones each time. PROPERTIES=N tries N of them.
"""

import os
from typing import Any

import pytest
import typer
from bench.cli import Cli
from bench.openai_server import OpenAIServer, call
from bench.world import World
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cli import app

TRIES = int(os.environ.get("PROPERTIES", "12"))
CODES = {0, 1, 2, 3, 4, 5, 6, 7, 8}
APART = {"worker", "db up", "db down", "doctor", "approve"}  # they wait, concern the machine, or are meant to let it run


def commands(command: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    below = getattr(command, "commands", None)
    return {path: command} if below is None else {k: v for name, one in below.items() for k, v in commands(one, (*path, name)).items()}


COMMANDS = {path: one for path, one in commands(typer.main.get_command(app)).items() if " ".join(path) not in APART}
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12) | st.sampled_from([
    "t", "../t", "", " ", "-", "--", "-1", "0", "1e9", "99999999999999999999", "nan", "%s", "{}", "a" * 300,
    "'; DROP TABLE interlock.run; --",
    '{"to": "bob"}', "[]", "null", "to=eve", "to", "=", "transfer", "waiting", "\u202e", "\udcff", "/", "/dev/null", ".", "ffffff",
])  # fmt: skip


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    path = draw(st.sampled_from(sorted(COMMANDS)))
    arguments = [one for one in COMMANDS[path].params if one.param_type_name == "argument"]
    options = [name for one in COMMANDS[path].params if one.param_type_name == "option" for name in one.opts]
    words = [draw(WORDS) for _ in arguments if draw(st.integers(0, 9))]
    for name in draw(st.lists(st.sampled_from(options), max_size=3)):
        words += [name, draw(WORDS)] if draw(st.booleans()) else [name]
    return [*path, *draw(st.sampled_from([[], ["--json"], ["--json"]])), *words]


@pytest.mark.timeout(180 if TRIES <= 12 else 7200)
def test_any_command_line_ends_as_the_contract_says(cli_factory: Any, model_server: OpenAIServer, world: World) -> None:
    """A question waits in the thread `t` all the while: whatever is typed without `approve`, nothing of it runs."""
    cli: Cli = cli_factory(model=model_server, world=world)
    model_server.play(call("transfer", {"to": "bob", "amount": 5}))
    cli("start", "pay", "--thread", "t", "--json").expect(3)

    @given(lines())
    @example(["modify", "t", "--args", "[" * 20_000, "--json"])
    @example(["start", "\udcff", "--thread", "\udcff", "--json"])
    @example(["audit", "t", "--export", "/nowhere/file", "--json"])
    @settings(max_examples=TRIES, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def ends(line: list[str]) -> None:
        result = cli(*line)
        assert result.exit_code in CODES, str(result)
        assert '"internal"' not in result.stdout and "mistake in interlock" not in result.stderr, str(result)
        if "--json" in line and not {"--help", "--version"} & set(line):
            assert isinstance(result.json, dict), str(result)

    ends()
    assert world.attempts("transfer") == 0
