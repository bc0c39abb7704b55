"""Commands as forks of one process that has loaded everything: as real and as mortal as any process, and there at once.

    python -m faults.zygote FD

takes requests from a socket (a JSON line with the streams attached), forks for each, and tells how its children ended.
"""

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.cli import Cli, Environment, Process, Result, base_environment

PRELOADED = (
    "cli", "graph.app", "graph.run", "graph.build", "graph.openai_chat", "graph.practice", "memory.postgres.saver", "openai", "apprise",
    "bench.world",
)  # fmt: skip
ANSWER_SECONDS = 150


class Child:
    """What `bench.cli` uses of a Popen."""

    def __init__(self, zygote: "Zygote", pid: int, args: Sequence[str]) -> None:
        self.pid, self.args = pid, list(args)
        self.returncode: int | None = None
        self._zygote = zygote

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


class Zygote:
    """The parent of such processes; close it to end them all."""

    def __init__(self, folder: Path) -> None:
        self._ours, theirs = socket.socketpair()
        self._codes: dict[int, int] = {}
        self._born: list[int] = []
        self._changed = threading.Condition()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "faults.zygote", str(theirs.fileno())], env=base_environment(folder), cwd=folder,
                pass_fds=[theirs.fileno()], start_new_session=True, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def fork(self, arguments: Sequence[str], environment: Mapping[str, str], cwd: Path, streams: Sequence[int]) -> Child:
        request = json.dumps({"argv": ["interlock", *arguments], "env": dict(environment), "cwd": str(cwd)}) + "\n"
        with self._changed:
            socket.send_fds(self._ours, [request.encode()], list(streams))
            assert self._changed.wait_for(lambda: self._born, ANSWER_SECONDS), "no process was forked"
            return Child(self, self._born.pop(), ["interlock", *arguments])

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
                        self._born.append(news["pid"])
                    self._changed.notify_all()


class ForkedProcess(Process):
    def stop(self) -> None:
        """As the base has it, which can wait for children of its own only."""
        self.signal(signal.SIGSTOP)
        self.wait_until_frozen()

    def wait_until_frozen(self) -> None:
        end = time.monotonic() + ANSWER_SECONDS
        while Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "T":
            assert time.monotonic() < end, "it does not stop"
            time.sleep(0.01)


class ForkedCli(Cli):
    """The command line of `cli`, started by a zygote."""

    def __init__(self, cli: Cli, zygote: Zygote) -> None:
        super().__init__(cli.environment, cli.cwd, cli.command, cli.timeout)
        self._started, self._zygote = cli._started, zygote

    def __call__(self, *arguments: str, environment: Environment | None = None, timeout: float | None = None, **_: Any) -> Result:
        return self.spawn(*arguments, environment=environment).wait(timeout)

    def spawn(self, *arguments: str, environment: Environment | None = None, stdin: Any = None) -> ForkedProcess:
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - Process closes them
        merged = {name: value for name, value in {**self.environment, **(environment or {})}.items() if value is not None}
        child = self._zygote.fork(arguments, merged, self.cwd, [out.fileno(), err.fileno()])
        process = ForkedProcess(child, out, err, self._result, self.timeout)  # type: ignore[arg-type]
        self._started.append(process)
        return process


def serve(connection: socket.socket) -> None:
    """Until the other side closes. Its children die with it."""
    import importlib

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
            data, streams, _, _ = socket.recv_fds(connection, 1 << 20, 2)
            if not data:
                break
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for number in (ended_r, ended_w, connection.fileno()):
                    os.close(number)
                _become(json.loads(data), *streams)
            for stream in streams:
                os.close(stream)
            children.add(pid)
            connection.sendall(json.dumps({"pid": pid}).encode() + b"\n")
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _reap(connection: socket.socket, children: set[int]) -> None:
    for pid in list(children):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            children.discard(pid)
            connection.sendall(json.dumps({"pid": pid, "code": os.waitstatus_to_exitcode(status)}).encode() + b"\n")


def _become(request: dict[str, Any], out: int, err: int) -> None:
    code = 1
    try:
        os.setsid()
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.argv = request["argv"]
        import cli

        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]  # waits for what an ordinary process would wait for at its end
        os._exit(code)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as accepted:
        serve(accepted)
