"""What the command line says about itself, and what the README says about it."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from pages.blocks import DOCUMENTS
from pages.reference import walk

from cli import app
from graph.documents import PRINTED

README = (Path(__file__).parents[2] / "README.md").read_text()
OF_OTHERS = {"--help"}
WORD = re.compile(r"[a-z]+\b")


COMMANDS = dict(walk(typer.main.get_command(app)))
GROUPS = {name.partition(" ")[0] for name in COMMANDS if " " in name}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example_that_the_command_itself_understands(name: str) -> None:
    [example] = re.findall(r"^ *Example: (.*)$", COMMANDS[name].help, re.MULTILINE)
    words = shlex.split(example.replace("$(interlock db url)", "").partition(" | ")[0])
    if name != "db url":
        at = words.index("interlock") + 1
        assert words[at : at + len(name.split())] == name.split()
        COMMANDS[name].make_context(name, words[at + len(name.split()) :])  # parsed, and not run


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_every_option_and_argument_means(name: str) -> None:
    assert [one.name for one in COMMANDS[name].params if not one.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_used_by_a_machine(name: str) -> None:
    assert {"--json", "--log"} <= options_of(name)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_and_options_that_a_document_names_exist(document: Path) -> None:
    """In its sentences and tables, and in files for other programs: what stands in console blocks is run by tests/e2e/test_documents.py."""
    every = {option for name in COMMANDS for option in options_of(name)}
    text = document.read_text()
    services = re.sub(r"^```(?!ini|yaml).*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for words in re.findall(r"(?:`|bin/)interlock ([^`\n]*)", services):
        if "--install-completion" not in words and words not in GROUPS:
            [name, *_] = called(words) or [""]
            assert name, f"interlock {words}"
            assert set(re.findall(r"--[a-z][a-z-]*", words.partition(" | ")[0])) <= options_of(name), f"interlock {words}"
    for place in re.findall(r"`(--[a-z][a-z-]+[^`\n]*)`", text):
        assert set(re.findall(r"--[a-z][a-z-]*", place)) <= every | OF_OTHERS, place


def test_the_table_of_the_readme_has_every_command() -> None:
    text = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (`.*?) \|", text[text.index("## Commands") : text.index("| exit code")], re.MULTILINE)
    named = {name for row in rows for part in re.findall(r"`([^`]+)`", row) for name in called(part)}
    for row in rows:  # `policy check`, `explain TOOL ARGS`, `test`: the later words are of the same group
        group, *words = (part.partition(" ")[0] for part in re.findall(r"`([^`]+)`", row))
        named |= {f"{group} {word}" for word in words} & COMMANDS.keys()
    assert named == COMMANDS.keys()


def test_what_every_command_prints_is_described() -> None:
    assert PRINTED.keys() == COMMANDS.keys()


def called(text: str) -> list[str]:
    """The command that a text like `db up` or `start TEXT [--thread ID]` begins with."""
    words = " ".join(WORD.findall(text.partition("[")[0]))
    return [name for name in COMMANDS if re.match(rf"{name}\b", words)]


def options_of(name: str) -> set[str]:
    return {option for parameter in COMMANDS[name].params for option in [*parameter.opts, *parameter.secondary_opts]}
