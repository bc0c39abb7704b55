"""The tutorial as its reader follows it: the files that it shows, and every command, in order and in one shell."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.cli import Cli

TEXT = (Path(__file__).parents[2] / "docs/tutorial.md").read_text()
FILES = dict(re.findall(r"^([\w.]+):\n\n```\w+\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
COMMANDS = [line[2:] for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
WAITS, REFUSED = 3, 6


@pytest.mark.timeout(900)
def test_every_command_does_what_the_tutorial_says(cli_factory: Callable[..., Cli], tmp_path: Path) -> None:
    cli = cli_factory()
    assert set(FILES) == {"deploy.sh", "policy.toml", "my_tools.py"}
    for name, text in FILES.items():
        (cli.cwd / name).write_text(text)
    expected = [f"({command}) </dev/null; code=$?; echo \"CODE $code {number}\"" if command.startswith("interlock") else command
                for number, command in enumerate(COMMANDS)]  # fmt: skip
    script = "\n".join(expected)
    environment = {**cli.environment, "PATH": os.pathsep.join([str(Path(sys.executable).parent), cli.environment["PATH"]])}
    done = subprocess.run(["bash", "-c", script], cwd=cli.cwd, env=environment, capture_output=True, text=True, timeout=800, check=False)
    ended = re.findall(r"^CODE (\d+) (\d+)$", done.stdout, re.MULTILINE)
    codes = {f"{COMMANDS[int(number)]} #{number}": int(code) for code, number in ended}
    assert not re.search("Traceback", done.stderr)
    assert [name for name, code in codes.items() if code == WAITS] == [
        name for name in codes if re.search("--thread (first|third)", name)
    ], f"{codes}\n{done.stderr}"  # fmt: skip
    assert [name.split(" #")[0] for name, code in codes.items() if code == REFUSED] == ["interlock approve third"], done.stderr
    assert set(codes.values()) == {0, WAITS, REFUSED}, f"{codes}\n{done.stderr}"
    deployed = [line.split()[1:] for line in (cli.cwd / "deployed.txt").read_text().splitlines()]
    assert deployed == [["shop", "1.4.2", "staging"], ["shop", "1.4.3", "staging"], ["shop", "1.4.3", "production"]]
    assert (cli.cwd / "story.html").exists()
