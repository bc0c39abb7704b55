"""The world outside: what tools did, counted in files that no transaction, state or ledger can roll back.

The test and the tools are different processes and share the folder only. One line is one effect.
"""

import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

FOLDER = "WORLD"  # the variable that names the folder
CRASH = "WORLD_CRASH"  # before | during | after the effect: the process kills itself there, the first time it comes by
UNREACHABLE = "WORLD_UNREACHABLE"  # set: who asks the world what happened gets an error

Moment = Literal["before", "during", "after"]


class World:
    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    @classmethod
    def here(cls) -> Self:
        """The world of this process, named by its environment at this moment."""
        return cls(Path(os.environ[FOLDER]))

    def environment(self, *, crash: Moment | None = None, unreachable: bool = False) -> Mapping[str, str]:
        """What a process needs to act in this world."""
        chosen = {FOLDER: str(self.folder)}
        if crash:
            chosen[CRASH] = crash
        if unreachable:
            chosen[UNREACHABLE] = "1"
        return chosen

    def append(self, name: str, text: str = "") -> None:
        """One line, whole and on disk when this returns, whatever happens to the process then."""
        line = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        file = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line)
            os.fsync(file)
        finally:
            os.close(file)

    def lines(self, name: str) -> list[str]:
        try:
            written = (self.folder / name).read_bytes()
        except FileNotFoundError:
            return []
        return [json.loads(line.decode("utf-8", "surrogatepass")) for line in written.splitlines()]

    def count(self, name: str) -> int:
        return len(self.lines(name))

    def attempts(self, name: str) -> int:
        """How often `effect` was entered; `count` is how often it happened."""
        return self.count(f"{name}.attempts")

    def wait_for(self, name: str, count: int = 1, timeout: float = 30) -> None:
        end = time.monotonic() + timeout
        while self.count(name) < count:
            assert time.monotonic() < end, f"{name!r} happened {self.count(name)} of {count} times within {timeout} s"
            time.sleep(0.01)

    def effect(self, name: str, text: str = "") -> None:
        """An effect that can die before it happens, between its attempt and its happening, or after it."""
        self.reach("before")
        self.append(f"{name}.attempts", text)
        self.reach("during")
        self.append(name, text)
        self.reach("after")

    def reach(self, moment: Moment) -> None:
        """Kills this process if it was told to die here, once in the life of this world."""
        if os.environ.get(CRASH) == moment and self._first(f"crashed.{moment}"):
            os.kill(os.getpid(), signal.SIGKILL)

    def crashed(self, moment: Moment) -> bool:
        return (self.folder / f"crashed.{moment}").exists()

    def _first(self, marker: str) -> bool:
        try:
            os.close(os.open(self.folder / marker, os.O_CREAT | os.O_EXCL, 0o644))
        except FileExistsError:
            return False
        return True
