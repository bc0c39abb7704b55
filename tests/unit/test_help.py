"""What the command line says about itself, and what the README says about it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from cli import app

README = (Path(__file__).parents[2] / "README.md").read_text()
WORD = re.compile(r"[a-z]+\b")


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command that does something, under the words that call it."""
    below = getattr(command, "commands", None)
    if below is None:
        yield " ".join(path), command
        return
    for name, one in below.items():
        yield from walk(one, (*path, name))


COMMANDS = dict(walk(typer.main.get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example_of_the_command_itself(name: str) -> None:
    [example] = re.findall(r"^ *Example: (.*)$", COMMANDS[name].help, re.MULTILINE)
    assert f"interlock {name}" in example
    for option in re.findall(r"--[a-z][a-z-]*", example.partition("|")[0]):
        assert option in options_of(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_used_by_a_machine(name: str) -> None:
    assert {"--json", "--log"} <= options_of(name)


def test_commands_and_options_that_the_readme_names_exist() -> None:
    """In its sentences and its table: what stands in its blocks is run by tests/e2e/test_readme.py."""
    text = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (`.*?) \|", text[text.index("## Commands") : text.index("| exit code")], re.MULTILINE)
    named = {name for row in rows for part in re.findall(r"`([^`]+)`", row) for name in called(part)}
    for row in rows:  # `policy check`, `explain TOOL ARGS`, `test`: the later words are of the same group
        group, *words = (part.partition(" ")[0] for part in re.findall(r"`([^`]+)`", row))
        named |= {f"{group} {word}" for word in words} & COMMANDS.keys()
    assert named == COMMANDS.keys()
    every = {option for name in COMMANDS for option in options_of(name)}
    for place in re.findall(r"`([^`\n]+)`", text):
        assert set(re.findall(r"--[a-z][a-z-]*", place)) - {"--help", "--install-completion"} <= every, place
        if place.startswith("interlock ") and "--install-completion" not in place:
            assert called(place.removeprefix("interlock ")), place


def called(text: str) -> list[str]:
    """The command that a text like `db up` or `start TEXT [--thread ID]` begins with."""
    words = " ".join(WORD.findall(text.partition("[")[0]))
    return [name for name in COMMANDS if re.match(rf"{name}\b", words)]


def options_of(name: str) -> set[str]:
    return {option for parameter in COMMANDS[name].params for option in [*parameter.opts, *parameter.secondary_opts]}
