"""The command line as a process: without a terminal, in the background, and at a pseudo-terminal.

    result = cli("start", "deploy web", "--json").expect(3)
    approval = result.json["pending"][0]["approval_id"]

Every process leads a process group of its own and gets an environment that is named here, never the developer's.
"""

import fcntl
import functools
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bench.zygote import Child, Zygote

TESTS = Path(__file__).parents[1]
TIMEOUT = 60.0
ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
TRACEBACK = re.compile(r"Traceback \(?most recent call last")  # Python's form, and rich's
_TAKE_TERMINAL = "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execvp(sys.argv[1], sys.argv[1:])"

Popen = subprocess.Popen[bytes] | Child
Environment = Mapping[str, str | None]  # None takes a name away


def default_command() -> tuple[str, ...]:
    """The installed script, whose import path is the one users have; without it, the same from the same interpreter."""
    script = shutil.which("interlock", path=str(Path(sys.executable).parent))
    return (script,) if script else (sys.executable, "-P", "-c", "from cli import main; main()")


def base_environment(home: Path) -> dict[str, str]:
    """What every process gets: warnings are shown, `bench` can be imported, no proxy and no key of the developer's."""
    folders = [str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]
    kept = {name: os.environ[name] for name in ("TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {
        "PATH": os.pathsep.join(folders),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(TESTS),
        "INTERLOCK_EMBEDDINGS": "off",  # memory is on where a test is about it, and costs the others nothing
        "PYTHONWARNINGS": "default",
        "PYTHONFAULTHANDLER": "1",
    }


@dataclass(frozen=True)
class Result:
    """How a process ended; `exit_code` is -9 after SIGKILL. At a terminal, `stdout` is the screen, `stderr` empty."""

    command: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str

    @functools.cached_property
    def json(self) -> Any:
        """The whole of stdout, which must be exactly one JSON document."""
        try:
            return json.loads(self.stdout, parse_constant=_no_constant)
        except ValueError as error:
            raise AssertionError(f"stdout is not one JSON document ({error})\n{self}") from None

    def expect(self, exit_code: int) -> Self:
        assert self.exit_code == exit_code, f"exit code {self.exit_code} instead of {exit_code}\n{self}"
        return self

    def __str__(self) -> str:
        parts = [f"$ {' '.join(self.command)}", f"exit code: {self.exit_code}"]
        return "\n".join([*parts, f"--- stdout\n{self.stdout}", f"--- stderr\n{self.stderr}"])


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class Cli:
    """Call it to run a command to its end; `timeout` (seconds) kills the command and fails with what it printed.

    With a `zygote` a command is a fork of that, where a fork is what a start would be.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        cwd: Path,
        command: Sequence[str] | None = None,
        timeout: float = TIMEOUT,
        traceback_allowed: bool = False,
        zygote: Zygote | None = None,
    ) -> None:
        self.environment = dict(environment)
        self.cwd = cwd
        self.command = tuple(command or default_command())
        self.timeout = timeout
        self.traceback_allowed = traceback_allowed
        self.zygote = zygote
        self._started: list[Process | Terminal] = []

    def extended(self, environment: Environment, *, cwd: Path | None = None) -> "Cli":
        """The same command line in another environment; what it starts is closed with this one."""
        chosen = _merged(self.environment, environment)
        other = Cli(chosen, cwd or self.cwd, self.command, self.timeout, self.traceback_allowed, self.zygote)
        other._started = self._started
        return other

    @staticmethod
    def crashing(point: str, n: int = 1, *, freeze: bool = False) -> dict[str, str]:
        """The environment in which a process kills itself at its n-th arrival at a point named in graph/crash.py, or freezes."""
        return {"_INTERLOCK_CRASH_POINT": f"{point}:{n}" + (":STOP" if freeze else "")}

    def __call__(
        self,
        *arguments: str,
        input: str | bytes | None = None,
        environment: Environment | None = None,
        timeout: float | None = None,
        traceback_allowed: bool | None = None,
    ) -> Result:
        """Runs without a terminal: stdin is /dev/null, or a pipe that holds `input`."""
        popen = self._popen(
            arguments,
            environment,
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        given = input.encode() if isinstance(input, str) else input
        limit = timeout or self.timeout
        with popen:
            try:
                out, err = popen.communicate(given, limit)
            except subprocess.TimeoutExpired:
                self._give_up(popen, limit)
            except BaseException:
                _kill_group(popen)
                raise
        return self._result(popen, out, err, traceback_allowed)

    def spawn(self, *arguments: str, environment: Environment | None = None, stdin: Any = subprocess.DEVNULL) -> "Process":
        """Starts in the background; what it prints goes to files, so that it never waits for a reader."""
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - Process closes them
        popen = self._popen(arguments, environment, stdin=stdin, stdout=out, stderr=err)
        process = Process(popen, out, err, self._result, self.timeout)
        self._started.append(process)
        return process

    def terminal(self, *arguments: str, columns: int = 100, rows: int = 30, environment: Environment | None = None) -> "Terminal":
        """Starts at a pseudo-terminal of its own. Ctrl-C is `send("\\x03")`, the end of input `send("\\x04")`."""
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        env = {"TERM": "xterm-256color", **(environment or {})}
        try:
            popen = self._popen(arguments, env, stdin=slave, stdout=slave, stderr=slave, terminal=True)
        finally:
            os.close(slave)
        terminal = Terminal(popen, master, self._result, self.timeout)
        self._started.append(terminal)
        return terminal

    def close(self) -> None:
        """Kills what `spawn` and `terminal` started, with its children."""
        while self._started:
            self._started.pop().close()

    def _popen(self, arguments: Sequence[str], environment: Environment | None, *, terminal: bool = False, **streams: Any) -> Popen:
        env = _merged(self.environment, environment or {})
        command = [*self.command, *arguments]
        if self.zygote and self.zygote.can_become(command, env):
            return self.zygote.popen(command, env, self.cwd, terminal=terminal, **streams)
        wrapper = [sys.executable, "-I", "-S", "-c", _TAKE_TERMINAL] if terminal else []
        return subprocess.Popen([*wrapper, *command], env=env, cwd=self.cwd, start_new_session=True, **streams)

    def _give_up(self, popen: Popen, limit: float) -> None:
        _kill_group(popen)
        note = ""
        try:
            out, err = popen.communicate(timeout=2)
        except subprocess.TimeoutExpired as error:  # a process outside the group holds the pipes
            note = "; another process still holds its output"
            out, err = error.stdout or b"", error.stderr or b""
        shown = self._result(popen, out, err, traceback_allowed=True)
        raise AssertionError(f"not finished after {limit} s{note}\n{shown}")

    def _result(self, popen: Popen, out: bytes, err: bytes, traceback_allowed: bool | None = None) -> Result:
        command = tuple(str(word) for word in popen.args)  # type: ignore[union-attr]
        result = Result(command, popen.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
        if not (self.traceback_allowed if traceback_allowed is None else traceback_allowed):
            assert not TRACEBACK.search(result.stdout + result.stderr), f"a traceback was shown\n{result}"
        return result


Finish = Callable[[Popen, bytes, bytes, bool | None], Result]


class _Started:
    """A process that is under way, and the leader of its group."""

    def __init__(self, popen: Popen) -> None:
        self.popen = popen
        self.pid = popen.pid

    @property
    def running(self) -> bool:
        return self.popen.poll() is None

    def signal(self, number: int, *, group: bool = True) -> None:
        """To the whole group, as a terminal's Ctrl-C is; or to the process alone, as `kill PID` is."""
        if self.running:
            (os.killpg if group else os.kill)(self.pid, number)

    def kill(self, *, group: bool = True) -> None:
        """SIGKILL, and waits until the process is gone."""
        self.signal(signal.SIGKILL, group=group)
        self.popen.wait(10)

    def stop(self) -> None:
        """Freezes the group; returns when the process has stopped."""
        self.signal(signal.SIGSTOP)
        self.wait_until_frozen()

    def wait_until_frozen(self) -> None:
        end = time.monotonic() + TIMEOUT
        while self.running and Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "T":
            assert time.monotonic() < end, "it does not stop"
            time.sleep(0.01)

    def cont(self) -> None:
        self.signal(signal.SIGCONT)


class Process(_Started):
    def __init__(self, popen: Popen, out: Any, err: Any, finish: Finish, timeout: float) -> None:
        super().__init__(popen)
        self._out, self._err, self._finish, self._timeout = out, err, finish, timeout

    @property
    def stdout(self) -> str:
        """What it has printed so far."""
        return _content(self._out).decode(errors="replace")

    @property
    def stderr(self) -> str:
        return _content(self._err).decode(errors="replace")

    def read_until(self, text: str, timeout: float | None = None) -> None:
        """Until `text` stands in what it printed on either stream."""
        end = time.monotonic() + (timeout or self._timeout)
        while text not in self.stdout + self.stderr:
            ended = not self.running and text not in self.stdout + self.stderr
            if ended or time.monotonic() > end:
                why = "ended" if ended else "timed out"
                self._fail(f"{why} before it printed {text!r}")
            time.sleep(0.01)

    def wait(self, timeout: float | None = None, *, traceback_allowed: bool | None = None) -> Result:
        limit = timeout or self._timeout
        try:
            self.popen.wait(limit)
        except subprocess.TimeoutExpired:
            self._fail(f"not finished after {limit} s")
        return self._finish(self.popen, _content(self._out), _content(self._err), traceback_allowed)

    def close(self) -> None:
        _kill_group(self.popen)
        self.popen.wait(10)
        self._out.close()
        self._err.close()

    def _fail(self, why: str) -> None:
        _kill_group(self.popen)
        self.popen.wait(10)
        shown = self._finish(self.popen, _content(self._out), _content(self._err), True)
        raise AssertionError(f"{why}\n{shown}")


class Terminal(_Started):
    """`screen` is all that was printed so far as it came; `text` is it without ANSI sequences, with plain line ends."""

    def __init__(self, popen: Popen, master: int, finish: Finish, timeout: float) -> None:
        super().__init__(popen)
        self._master, self._finish, self._timeout = master, finish, timeout
        self._shown = b""
        self._read_to = 0
        self._ended = False

    @property
    def screen(self) -> str:
        self._take(0)
        return self._shown.decode(errors="replace")

    @property
    def text(self) -> str:
        return ANSI.sub("", self.screen).replace("\r\n", "\n")

    def send(self, keys: str) -> None:
        """Types `keys`; a line ends with "\\n"."""
        os.write(self._master, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, text: str, timeout: float | None = None) -> str:
        """What came on `text` since the last call, up to and with `text`."""
        end = time.monotonic() + (timeout or self._timeout)
        while (found := self.text.find(text, self._read_to)) < 0:
            if self._ended:
                self._fail(f"ended before {text!r} was shown")
            if not self._take(end - time.monotonic()) and time.monotonic() > end:
                self._fail(f"timed out before {text!r} was shown")
        start, self._read_to = self._read_to, found + len(text)
        return self.text[start : self._read_to]

    def wait(self, timeout: float | None = None, *, traceback_allowed: bool | None = None) -> Result:
        limit = timeout or self._timeout
        end = time.monotonic() + limit
        while self.running:
            if time.monotonic() > end:
                self._fail(f"not finished after {limit} s")
            self._take(0.02)
            if self._ended:
                with suppress(subprocess.TimeoutExpired):
                    self.popen.wait(0.02)
        while self._take(0):
            pass
        return self._finish(self.popen, self._shown, b"", traceback_allowed)

    def hang_up(self) -> None:
        """The terminal is gone, as when its window is closed."""
        os.close(self._master)
        self._master, self._ended = -1, True

    def close(self) -> None:
        _kill_group(self.popen)
        self.popen.wait(10)
        if self._master >= 0:
            os.close(self._master)
            self._master, self._ended = -1, True

    def _take(self, timeout: float) -> bool:
        """Reads what is there, or comes within `timeout` seconds; False if there was nothing."""
        if self._ended or not select.select([self._master], [], [], max(timeout, 0))[0]:
            return False
        try:
            piece = os.read(self._master, 65536)
        except OSError:  # Linux says so when the last process has closed the terminal
            piece = b""
        self._ended = not piece
        self._shown += piece
        return bool(piece)

    def _fail(self, why: str) -> None:
        _kill_group(self.popen)
        self.popen.wait(10)
        raise AssertionError(f"{why}\n--- screen\n{self.text}")


def _merged(environment: Mapping[str, str], changes: Environment) -> dict[str, str]:
    return {name: value for name, value in {**environment, **changes}.items() if value is not None}


def _content(file: Any) -> bytes:
    """All of a file that another process writes, without moving the place it writes at."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def _kill_group(popen: Popen) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(popen.pid, signal.SIGKILL)
