"""Commands as forks of one process that has loaded everything: as real and as mortal as any process, and there at once.

    python -m bench.zygote FD

takes requests from a socket (a byte, with a file that says what to run and the three streams attached) and forks for each. A fork leads
a session of its own, says that it is there, and runs what the command names, as an interpreter of its own would: an installed script, or
`python -c CODE`. What the product loads is loaded already and nothing else of it has happened; tests/unit/test_bench.py holds a fork
beside a start, and the mark `cold_start` keeps real starts among the tests of each subject.
"""

import atexit
import gc
import importlib
import io
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Self

PRELOADED = (
    "cli", "graph.app", "graph.run", "graph.build", "graph.openai_chat", "graph.practice", "memory.postgres.saver", "apprise",
    "tools.table", "tools.tickets", "tools.deploy", "tools.database", "memory.choosing", "memory.qdrant.store", "bench.world",
    "openai.resources.chat.completions", "openai.lib.streaming.chat", "httpcore2", "anyio._backends._asyncio", "pydoc",
    "langchain_core.tracers.context", "langchain_core.tracers.stdout", "langchain_core.tracers.run_collector",
)  # fmt: skip
# What the interpreter and libraries read when they are loaded: a command that needs it otherwise is started anew.
READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "PSYCOPG_")
ANSWER_SECONDS = 150


class Child:
    """What `bench.cli` uses of a Popen, of a process that is a child of the zygote."""

    def __init__(self, zygote: "Zygote", pid: int, args: Sequence[str], pipes: Sequence[IO[bytes] | None]) -> None:
        self.pid, self.args = pid, list(args)
        self.returncode: int | None = None
        self._zygote = zygote
        self.stdin, self.stdout, self.stderr = pipes
        self._taken: dict[IO[bytes], bytearray] = {pipe: bytearray() for pipe in (self.stdout, self.stderr) if pipe}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self.stdin, *self._taken):
            if pipe:
                pipe.close()
        self.wait()

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._zygote.ended(self.pid, 0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self.returncode = self._zygote.ended(self.pid, timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def communicate(self, given: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        """As Popen has it: until nobody holds the other end of its pipes any more."""
        end = None if timeout is None else time.monotonic() + timeout
        with selectors.DefaultSelector() as open_pipes:
            for pipe in self._taken:
                open_pipes.register(pipe, selectors.EVENT_READ)
            if self.stdin and not self.stdin.closed:
                os.set_blocking(self.stdin.fileno(), False)
                open_pipes.register(self.stdin, selectors.EVENT_WRITE)
            left = memoryview(given or b"")
            while open_pipes.get_map():
                ready = open_pipes.select(None if end is None else max(0, end - time.monotonic()))
                for key, _ in ready:
                    left = self._move(open_pipes, key.fileobj, left)
                if not ready and end is not None and time.monotonic() > end:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0, self._out, self._err)
        self.wait(None if end is None else max(0, end - time.monotonic()))
        return self._out, self._err

    def _move(self, open_pipes: selectors.BaseSelector, pipe: Any, left: memoryview) -> memoryview:
        if pipe is self.stdin:
            try:
                left = left[os.write(pipe.fileno(), left[:4096]) :] if left else left
            except BrokenPipeError:
                left = left[:0]
            if not left:
                open_pipes.unregister(pipe)
                pipe.close()
        elif piece := os.read(pipe.fileno(), 65536):
            self._taken[pipe] += piece
        else:
            open_pipes.unregister(pipe)
        return left

    @property
    def _out(self) -> bytes:
        return bytes(self._taken.get(self.stdout, b""))  # type: ignore[arg-type]

    @property
    def _err(self) -> bytes:
        return bytes(self._taken.get(self.stderr, b""))  # type: ignore[arg-type]


class Zygote:
    """The parent of such processes; close it to end them all. `environment` is what it is started with."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._at_start = _read_at_start(environment)
        self._ours, theirs = socket.socketpair()
        self._codes: dict[int, int] = {}
        self._born: list[int] = []
        self._changed, self._forking = threading.Condition(), threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.zygote", str(theirs.fileno())], env=dict(environment), cwd=folder,
                pass_fds=[theirs.fileno()], start_new_session=True, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def can_become(self, command: Sequence[str], environment: Mapping[str, str]) -> bool:
        """Whether a fork is what a start would be."""
        return _read_at_start(environment) == self._at_start and (command[0] != sys.executable or command[1] == "-c")

    def popen(
        self, command: Sequence[str], env: Mapping[str, str], cwd: Path, *, stdin: Any, stdout: Any, stderr: Any, terminal: bool = False
    ) -> Child:
        """The streams are a file, a descriptor, DEVNULL or PIPE. `terminal`: stdin is one, and becomes the one that controls it."""
        asked = {"command": list(command), "env": dict(env), "cwd": str(cwd), "terminal": terminal}
        with _Streams(stdin, stdout, stderr) as streams, tempfile.TemporaryFile() as request:
            request.write(json.dumps(asked).encode())
            request.flush()
            with self._forking, self._changed:
                socket.send_fds(self._ours, [b"!"], [request.fileno(), *streams.theirs])
                assert self._changed.wait_for(lambda: self._born, ANSWER_SECONDS), "no process was forked"
                return Child(self, self._born.pop(), command, streams.ours)

    def ended(self, pid: int, timeout: float | None) -> int | None:
        with self._changed:
            self._changed.wait_for(lambda: pid in self._codes, timeout)
            return self._codes.get(pid)

    def close(self) -> None:
        self._ours.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._listener.join(10)
        self._ours.close()

    def _listen(self) -> None:
        with self._ours.makefile("rb") as lines:
            for line in lines:
                news = json.loads(line)
                with self._changed:
                    if "code" in news:
                        self._codes[news["pid"]] = news["code"]
                    else:
                        self._codes.pop(news["pid"], None)  # of an earlier process with that number
                        self._born.append(news["pid"])
                    self._changed.notify_all()


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


class _Streams:
    """Descriptors for the other process, closed when it has them, and this side's end of each pipe."""

    def __init__(self, *wanted: Any) -> None:
        self.theirs: list[int] = []
        self.ours: list[IO[bytes] | None] = []
        self._to_close: list[int] = []
        for number, stream in enumerate(wanted):
            if stream == subprocess.PIPE:
                read, write = os.pipe()
                self.ours.append(os.fdopen(read, "rb", 0) if number else os.fdopen(write, "wb", 0))
                self._ends_here(write if number else read)
                continue
            self.ours.append(None)
            if stream == subprocess.DEVNULL:
                self._ends_here(os.open(os.devnull, os.O_RDWR))
            else:
                self.theirs.append(stream if isinstance(stream, int) else stream.fileno())

    def _ends_here(self, descriptor: int) -> None:
        self.theirs.append(descriptor)
        self._to_close.append(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._to_close:
            os.close(descriptor)


# --- in the zygote ---------------------------------------------------------------------------------------------------


def serve(connection: socket.socket) -> dict[str, Any] | None:
    """Until the other side closes; its children die with it. In a fork it returns what that has to run."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    ended_r, ended_w = os.pipe()
    os.set_blocking(ended_w, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ended_w)
    children: set[int] = set()
    while True:
        readable, _, _ = select.select([connection, ended_r], [], [])
        if ended_r in readable:
            os.read(ended_r, 4096)
            _reap(connection, children)
        if connection in readable:
            data, descriptors, _, _ = socket.recv_fds(connection, 1, 4)
            if not data:
                break
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.close(ended_r)
                os.close(ended_w)
                return _born(connection, *descriptors)
            for each in descriptors:
                os.close(each)
            children.add(pid)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    return None


def _reap(connection: socket.socket, children: set[int]) -> None:
    for pid in list(children):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            children.discard(pid)
            connection.sendall(json.dumps({"pid": pid, "code": os.waitstatus_to_exitcode(status)}).encode() + b"\n")


# --- in a fork -------------------------------------------------------------------------------------------------------


def _born(connection: socket.socket, asked: int, *streams: int) -> dict[str, Any]:
    with open(asked, "rb") as file:
        file.seek(0)
        request: dict[str, Any] = json.load(file)
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if request["terminal"]:
        os.close(os.open(os.ttyname(0), os.O_RDWR))
    connection.sendall(json.dumps({"pid": os.getpid()}).encode() + b"\n")
    connection.close()
    return request


def become(request: dict[str, Any]) -> int:
    """The exit code of what was asked for, run as an interpreter runs it."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    _open_streams()
    program, *arguments = request["command"]
    if program == sys.executable:
        place, name, code, sys.argv = "", "<string>", arguments[1], ["-c", *arguments[2:]]
    else:
        place, name, code, sys.argv = str(Path(program).parent), program, Path(program).read_text(), [program, *arguments]
    sys.path[0] = place
    sys.modules["__main__"] = main = ModuleType("__main__")
    _do_what_importing_does()
    return _ended(compile(code, name, "exec"), main)


def _do_what_importing_does() -> None:
    """All that loading the product does besides loading it."""
    from graph.withheld import withhold

    withhold()


def _ended(code: Any, main: ModuleType) -> int:
    result = 0
    try:
        exec(code, vars(main))
    except SystemExit as ended:
        result = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        result = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for what an interpreter waits for at its end
    atexit._run_exitfuncs()
    gc.collect()  # what was left open says so
    try:
        sys.stdout.flush()
    except OSError as error:
        print(f"Exception ignored in: {sys.stdout!r}\n{error!r}", file=sys.stderr)
        result = 120
    if result == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return result


def _open_streams() -> None:
    """The descriptors are other ones now, and may be terminals."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before: Any = getattr(sys, name)
        raw: Any = io.FileIO(number, "w" if number else "r", closefd=False)
        raw.name = f"<{name}>"
        buffer: Any = io.BufferedWriter(raw) if number else io.BufferedReader(raw)
        lines = number == 2 or os.isatty(number)
        stream = io.TextIOWrapper(buffer, before.encoding, before.errors, line_buffering=lines)
        stream.mode = before.mode  # type: ignore[misc]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    accepted = socket.socket(fileno=int(sys.argv[1]))
    asked = serve(accepted)
    if asked is not None:
        os._exit(become(asked))
