"""One command at a terminal, in a pipe or for a machine: what it prints where, and how it ends.

Standard output is the answer and nothing else. Progress, questions, hints and errors go to standard error: as text where a person
looks, as one JSON object a line with `--log json`.
"""

import asyncio
import contextlib
import functools
import inspect
import io
import json
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperCommand, TyperOption

from graph import screen
from graph.settings import Settings, load_settings
from memory.errors import InterlockError, InterruptedByPersonError, RunFailedError
from memory.moments import moment

LogFormat = Literal["text", "json"]
BROKEN_PIPE = 141  # what a shell says of a command that ended by SIGPIPE
QUIET_SECONDS = 10.0  # a person who waits longer without a word wonders whether it hangs
log_format: ContextVar[LogFormat] = ContextVar("log_format", default="text")  # `--log` stands on every command


class _EachOnce(TyperCommand):
    """A value that is given twice is a mistake: the last one would win in silence, and might not be the one that somebody looked at."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option in order:
            if isinstance(option, TyperOption) and not (option.is_flag or option.multiple) and order.count(option) > 1:
                ctx.fail(f"{option.opts[0]} is given twice.")
        return super().parse_args(ctx, args)


class Commands(typer.Typer):
    """Commands that all take `--log`."""

    def command(self, *args: Any, **settings: Any) -> Callable[[Any], Any]:
        register = super().command(*args, cls=_EachOnce, **settings)

        def take(function: Callable[..., Any]) -> Callable[..., Any]:
            register(_with_log(function))
            return function

        return take


def _with_log(function: Callable[..., Any]) -> Callable[..., Any]:
    option = typer.Option("--log", help="How progress and errors are written to standard error.")
    annotation = Annotated[LogFormat, option]

    @functools.wraps(function)
    def wrapped(*, log: LogFormat, **values: Any) -> Any:
        log_format.set(log)
        return function(**values)

    signature = inspect.signature(function)
    last = inspect.Parameter("log", inspect.Parameter.KEYWORD_ONLY, default="text", annotation=annotation)
    wrapped.__signature__ = signature.replace(parameters=[*signature.parameters.values(), last])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {**function.__annotations__, "log": annotation}
    return wrapped


@dataclass(frozen=True)
class Shown:
    """What a command prints: a document for machines, a text for people, and a hint that goes to standard error."""

    document: Any
    text: str = ""
    exit_code: int = 0
    hint: str = ""


@dataclass
class Session:
    """One command. `terminal`: a person sits here and may be asked."""

    json: bool
    settings: Settings = field(default_factory=load_settings)
    _has_no_memory: bool = field(default=False, init=False)
    _since: dict[str, float] = field(default_factory=dict, init=False)
    _speech: screen.Speech = field(default_factory=lambda: screen.Speech(shutil.get_terminal_size().columns), init=False)

    @property
    def terminal(self) -> bool:
        return not self.json and sys.stdin.isatty() and sys.stderr.isatty() and os.isatty(_answer[-1])

    @property
    def watched(self) -> bool:
        """A person looks at what is written to standard error."""
        return not self.json and log_format.get() == "text" and sys.stderr.isatty()

    def say(self, text: str) -> None:
        """A notice, on standard error."""
        if log_format.get() == "json":
            log("notice", message=text)
        else:
            self._line(screen.prose(screen.escape(text), _columns(2)))

    def tell(self, what: str, details: dict[str, Any]) -> None:
        """Progress: what began, what ended, and how long it took. Shown to who looks, and to a log."""
        if what == "notice":
            self.say(str(details["message"]))
            return
        name = str(next(iter(details.values())))
        seconds = self._clock(what, name)
        if log_format.get() == "json":
            log(what, **details, **({} if seconds is None else {"seconds": round(seconds, 3)}))
        elif (notice := screen.notice(what, details)) and not self._has_no_memory:
            self._has_no_memory = True  # once is enough
            self.say(notice)
        elif self.watched and (text := screen.progress(what, details, seconds)):
            self._line(text)

    def token(self, piece: str) -> None:
        """A piece of what the model is writing."""
        to_stderr(screen.dim(self._speech.add(piece), on=colours(sys.stderr)), end="")

    @contextlib.asynccontextmanager
    async def ticking(self) -> AsyncIterator[None]:
        """While it is open, a person who waits is told every now and then what for."""
        ticker = asyncio.create_task(self._tick()) if self.watched else None
        try:
            yield
        finally:
            if ticker:
                ticker.cancel()

    async def _tick(self) -> None:
        told: dict[str, float] = {}  # when it began: for how long it had been under way when that was last said
        while True:
            await asyncio.sleep(QUIET_SECONDS)
            for name, since in self._since.items():
                waited = time.monotonic() - since
                if waited >= max(QUIET_SECONDS, told.get(f"{name} {since}", 0) * 1.5):  # ever more seldom
                    told[f"{name} {since}"] = waited
                    self._line(screen.waiting(name, waited))

    def _clock(self, what: str, name: str) -> float | None:
        if what.endswith("_started"):
            self._since[name] = time.monotonic()
        elif what.endswith("_ended") and name in self._since:
            return time.monotonic() - self._since.pop(name)
        return None

    def _line(self, text: str) -> None:
        to_stderr(("\n" if self._speech.column else "") + text)
        self._speech.column = 0


def to_stderr(text: str, end: str = "\n") -> None:
    """That nobody reads any more, or that the terminal is gone, ends no work."""
    try:
        print(text, file=sys.stderr, end=end, flush=True)  # noqa: T201 - a command prints
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def log(event: str, **details: Any) -> None:
    """One JSON object on a line of standard error. `at` is UTC."""
    line = {"at": moment(datetime.now(UTC)), "event": event, **details}
    to_stderr(json.dumps(line, default=str))


def colours(stream: Any) -> bool:
    """https://no-color.org: any value of NO_COLOR that is not empty turns them off."""
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int | None:
    """Columns of the terminal that the answer goes to; None in a pipe, where nothing is fitted to anything."""
    return _columns(_answer[-1])


def _columns(file: int) -> int | None:
    if not os.isatty(file):
        return None
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isdecimal() and int(said) else os.get_terminal_size(file).columns or 80


def present(json_wanted: bool, work: Callable[[], Shown]) -> NoReturn:
    """Does the work, prints what it says, and ends the command. What tools print meanwhile goes to standard error."""
    out = sys.stdout
    with _printing_aside():
        shown = _guarded(work)
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
    text = json.dumps(shown.document, ensure_ascii=not str(out.encoding).lower().startswith("utf")) if json_wanted else shown.text
    try:
        print(text, end="\n" if text else "", file=out, flush=True)
    except OSError as error:  # nobody reads, the terminal is gone, or the disk is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(BROKEN_PIPE) from None
        to_stderr(f"error: the answer could not be written: {error.strerror}")
        raise typer.Exit(shown.exit_code or RunFailedError.exit_code) from None
    if shown.hint:
        _hint(shown, json_wanted)
    raise typer.Exit(shown.exit_code)


def _hint(shown: Shown, json_wanted: bool) -> None:
    if log_format.get() == "json":
        log("hint", message=shown.hint, exit_code=shown.exit_code)
    elif not json_wanted:
        text = screen.prose(shown.hint, _columns(2))
        to_stderr(screen.red(text, on=colours(sys.stderr) and text.startswith("error:")))


def end_at_once(error: InterlockError, *, json_wanted: bool) -> NoReturn:
    """From a signal's handler, in the middle of anything: so past every buffer, and nothing is cleaned up."""
    shown = failure(error)
    with contextlib.suppress(OSError):
        if json_wanted:
            os.write(_answer[-1], json.dumps(shown.document).encode() + b"\n")
        os.write(2, shown.hint.encode() + b"\n")
    os._exit(shown.exit_code)


def failure(error: InterlockError) -> Shown:
    remedy = f"\n{error.remedy}" if error.remedy else ""
    text = f"error: {screen.escape(error.message, lines=True)}{screen.escape(remedy, lines=True)}"
    return Shown({"error": error.as_json()}, "", error.exit_code, text)


def _guarded(work: Callable[[], Shown]) -> Shown:
    try:
        return work()
    except InterlockError as error:
        return failure(error)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return failure(InterruptedByPersonError("Interrupted; nothing more was decided."))
    except typer.Exit:
        raise
    except Exception as error:  # noqa: BLE001 - no traceback reaches a user
        return failure(RunFailedError(f"{type(error).__name__}: {error}", remedy="This is a mistake in interlock.", code="internal"))


_answer = [1]  # the file that the answer goes to; what tools print meanwhile goes elsewhere


class _Aside:
    """Standard error, for what tools print. It never fails: a call is not lost because nobody reads what it says."""

    def write(self, text: str) -> int:
        to_stderr(text, end="")
        return len(text)

    def flush(self) -> None:
        to_stderr("", end="")

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


@contextlib.contextmanager
def _printing_aside() -> Iterator[None]:
    """What tools print goes to standard error, and so does what the processes print that they start."""
    aside: Any = _Aside()
    try:
        kept = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # one of them is closed
        with contextlib.redirect_stdout(aside):
            yield
        return
    _answer.append(kept)
    try:
        with contextlib.redirect_stdout(aside):
            yield
    finally:
        _answer.pop()
        os.dup2(kept, 1)
        os.close(kept)
