"""What the README shows is done here as a stranger does it: in a fresh copy, with a fresh HOME, without a server or a key.

Its code blocks are taken in their order, and all of them. A comment that no reader sees, `<!-- check: … -->` before a block, says what a
block is where that is not plain: a file to write, what a command prints, or commands that are tried in another way.
"""

import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bench.cli import TRACEBACK, base_environment

from memory.postgres.embedded import EmbeddedServer

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"(?:^<!-- check: (?P<note>.*?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = {
    "export INTERLOCK_MODEL=openai:gpt-5-mini OPENAI_API_KEY=...": "needs a key; tests/integration/test_model_wire.py has a server",
    "export INTERLOCK_MODEL=openai:NAME OPENAI_BASE_URL=http://127.0.0.1:8000/v1": "needs a server of the reader's; the same tests",
}
# What the reader is supposed to have.
GIVEN = {
    "with deploy.sh": (
        "deploy.sh",
        '#!/bin/sh\nif [ "$1" = check ]; then grep -q "$5" live.txt || exit 3; exit 0; fi\necho "$@" >> live.txt\necho "live: $2 $3"\n',
    )
}
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".env", ".*_cache", "__pycache__", ".hypothesis", "*.egg-info")
SAME = {  # what differs from one run to another, and its shape
    r"\b[0-9a-f]{64}\b": "(64 hex digits)",
    r"\b[0-9a-f]{32}\b": "(32 hex digits)",
    r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z": "(time)",
    r"\bdemo-\d{8}-\d{6}-\d+\b": "(thread)",
    r"\S+@\S+ \(os\)": "(user)@(host) (os)",
}


@dataclass
class Stranger:
    """Types commands one after the other; what one exports, the next ones have."""

    folder: Path
    environment: dict[str, str]
    thread: str = ""
    printed: dict[str, str] = field(default_factory=dict)

    def types(self, line: str) -> str:
        """Both streams of a command, which must end with the exit code that its comment names, or 0."""
        command = re.sub(r"\bTHREAD\b", self.thread, line)
        named = re.search(r"#.*exit code (\d+)", line)
        script = f"{command}\ncode=$?\nexport -p > .exported\nexit $code"
        known = ". ./.exported\n" if (self.folder / ".exported").exists() else ""
        done = subprocess.run(
            ["bash", "-c", known + script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        shown = done.stdout + done.stderr
        assert done.returncode == (int(named[1]) if named else 0), f"$ {command}\n(exit code {done.returncode})\n{shown}"
        assert not TRACEBACK.search(shown), f"$ {command}\n{shown}"
        if made := re.search(r"^thread (\S+)$", shown, re.MULTILINE):
            self.thread = made[1]
        self.printed[line.split("#", maxsplit=1)[0].strip().replace(" THREAD", "")] = shown
        return shown


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


def commands_of(text: str) -> list[str]:
    lines = text.splitlines()
    assert all(line.startswith("$ ") for line in lines), f"a console block shows something else than commands:\n{text}"
    return [line.removeprefix("$ ") for line in lines]


@pytest.mark.slow
@pytest.mark.timeout(600)  # some thirty processes
def test_every_block_of_the_readme(stranger: Stranger) -> None:
    blocks = list(BLOCK.finditer(README))
    assert len(blocks) == len(re.findall("^```", README, re.MULTILINE)) / 2
    shown = []
    for block in blocks:
        note, kind, text = block["note"] or "", block["kind"], block["text"]
        if note.startswith("file "):
            (stranger.folder / note.removeprefix("file ")).write_text(text)
        elif note.startswith("printed by "):
            shown.append((note.removeprefix("printed by "), text))
        elif note == "not run":
            assert {re.sub(r"\s*#.*", "", line) for line in commands_of(text)} <= NOT_RUN.keys()
        elif note == "each after make demo":
            for line in commands_of(text):
                stranger.types("make demo")
                stranger.types(line)
        else:
            assert kind == "console", f"what is this block?\n{text}"
            if note:
                name, content = GIVEN[note]
                (stranger.folder / name).write_text(content)
                (stranger.folder / name).chmod(0o755)
            for line in commands_of(text):
                stranger.types(line)

    for command, text in shown:
        assert of_one_shape(text) in of_one_shape(stranger.printed[command]), stranger.printed[command]
        assert of_one_shape(text) in of_one_shape(stranger.printed["make demo"])
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
    [first] = [block["text"] for block in BLOCK.finditer(README) if "make demo" in block["text"]]
    makefile = (ROOT / "Makefile").read_text()
    for line in commands_of(first)[3:]:
        assert re.sub(r"\s*#.*", "", line).replace("interlock", "$(BIN)/interlock").replace("THREAD", "$$thread") in makefile
