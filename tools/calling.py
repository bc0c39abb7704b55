"""Calls a tool, its check and its undo, and tells how they ended: returned, failed, or nobody knows.

A plain function runs in a thread of its own: one that outlives its timeout keeps no process from ending, and takes no
thread away from others. An async one runs as a task, and is cancelled at its timeout. Neither stops an effect that is
under way, so a call that did not answer in time is unknown, and so is one whose connection was lost.
"""

import asyncio
import contextvars
import errno
import functools
import inspect
import itertools
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool, StructuredTool, ToolException

from memory.approvals import redacted
from memory.text import clean, shorten
from tools.results import as_text
from tools.spec import InvalidArguments, OutcomeUnknown, Tool, Undo, function_of, is_async

CHECK_SECONDS = 60.0  # for a check whose tool has no timeout
GRACE_SECONDS = 5.0  # what a cancelled tool has to end what it started
LONGEST_MESSAGE = 2000
MOST_ITEMS = 1000  # of a result that is generated
LOST = re.compile(  # names of classes: no client's package need be here
    r"Timeout(Error|Exception|Expired)?|\w*Connection\w*Error|\w*Disconnected(Error)?|TransportError|ProtocolError"
    r"|IncompleteRead(Error)?|SSLEOFError|(Broken|Closed)ResourceError|OperationalError|InterfaceError"
)
LOST_ERRNO = {errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENOTCONN}


@dataclass(frozen=True, slots=True)
class Returned:
    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The tool raised: its effect did not happen as it should, the model is told why."""

    message: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody knows whether the effect happened. `late` is done when the tool answers after all; it never raises."""

    reason: str
    late: "asyncio.Future[Outcome] | None" = None


Outcome = Returned | Failed | Unknown


async def call(tool: Tool, args: Mapping[str, Any], *, idempotency_key: str, connection: Any = None) -> Outcome:
    """Runs it once, with validated arguments. Raises nothing for the tool; a cancellation from outside goes through."""
    try:
        values = tool.values(args, idempotency_key)
    except InvalidArguments as error:
        return Failed(str(error))
    ours = {"idempotency_key": idempotency_key, "connection": connection}
    filled = {name: ours[name] for name in tool.facts.injected if name not in values}
    return await _settled(tool, _runner(tool.langchain, values, filled), args, acts=tool.facts.is_critical)


async def check(tool: Tool, args: Mapping[str, Any], idempotency_key: str, connection: Any = None) -> str | None:
    """What the tool's own check says: the result, or None if it did not happen. Raises whatever the check raises."""
    function = tool.facts.check
    if function is None:
        raise LookupError(f"the tool {tool.name!r} has no check")
    given = {**tool.values(args), "idempotency_key": idempotency_key, "connection": connection}
    async with asyncio.timeout(tool.facts.timeout or CHECK_SECONDS):
        found = await _value(functools.partial(function, **_asked(function, given)))
    if found is None or isinstance(found, str):
        return found if found is None else _redacted(as_text(found), tool, args)
    raise TypeError(f"the check of {tool.name!r} gave {type(found).__name__}, neither text nor None")


async def undo(way: Undo, args: Mapping[str, Any], *, idempotency_key: str, connection: Any = None) -> Outcome:
    """Undoes an effect; `args` are those of `way.arguments`. Outcomes as those of `call`."""
    if way.tool is not None:
        return await call(way.tool, args, idempotency_key=idempotency_key, connection=connection)
    given = {name: value for name, value in args.items() if name != "result"}
    return await compensate(way.of, str(args["result"]), given, idempotency_key, connection)


async def compensate(tool: Tool, result: str, args: Mapping[str, Any], idempotency_key: str, connection: Any = None) -> Outcome:
    """Undoes an effect by the function that the tool names for it, under a key of its own. Outcomes as those of `call`."""
    function = tool.facts.compensate
    if function is None or isinstance(function, BaseTool):
        return Failed(f"The tool {tool.name!r} has no way back.")
    try:
        values = tool.values(args)
    except InvalidArguments as error:
        return Failed(str(error))
    given = {**values, "result": result, "idempotency_key": idempotency_key, "connection": connection}
    return await _settled(tool, functools.partial(function, **_asked(function, given)), args, acts=True)


def _runner(base: BaseTool, values: dict[str, Any], filled: dict[str, Any]) -> Callable[[], Any]:
    """Through LangChain, so that its callbacks see the call. What we fill into a function they do not see."""
    if isinstance(base, StructuredTool):
        name = "coroutine" if base.coroutine else "func"
        function = _kept_in(function_of(base)) if base.coroutine else function_of(base)
        base = base.model_copy(update={name: functools.partial(function, **filled)})
    else:
        values = {**values, **filled}
    config = ensure_config()
    run = base.arun if is_async(function_of(base)) else base.run
    return functools.partial(run, values, callbacks=config.get("callbacks"), config=config)


def _asked(function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return given
    names = {parameter.name for parameter in parameters}
    return {name: value for name, value in given.items() if name in names}


async def _settled(tool: Tool, work: Callable[[], Any], args: Mapping[str, Any], *, acts: bool) -> Outcome:
    running = asyncio.create_task(_outcome(tool, work, args, acts), name=f"tool {tool.name}")
    _keep(running)
    seconds = tool.facts.timeout
    try:
        await asyncio.wait({running}, timeout=seconds)
        if running.done():
            return running.result()
        await _stop(tool, running, work)
    except asyncio.CancelledError:
        await _stop(tool, running, work)
        raise
    return Unknown(f"no answer within {seconds:g} s", late=running)


async def _stop(tool: Tool, running: "asyncio.Task[Outcome]", work: Callable[[], Any]) -> None:
    """A thread cannot be stopped, and its answer may still come. A connection is given back when nobody uses it any more."""
    if _is_async(work):
        running.cancel()
        await asyncio.wait({running}, timeout=None if tool.facts.transactional else GRACE_SECONDS)


async def _outcome(tool: Tool, work: Callable[[], Any], args: Mapping[str, Any], acts: bool) -> Outcome:
    try:
        value = await _value(work)
    except GeneratorExit:
        raise  # the loop is gone
    except asyncio.CancelledError:
        return Unknown("it was cancelled on its way")
    except BaseException as error:  # noqa: BLE001 - a tool ends no run and no process
        return _judged(tool, error, args, acts)
    text = _redacted(as_text(value), tool, args)
    return Failed(text) if isinstance(value, ToolMessage) and value.status == "error" else Returned(text)


def _judged(tool: Tool, error: BaseException, args: Mapping[str, Any], acts: bool) -> Outcome:
    text = shorten(_redacted(_message(error), tool, args), LONGEST_MESSAGE)
    if isinstance(error, OutcomeUnknown) or (acts and _lost(error)):
        return Unknown(text)
    if type(error).__module__.startswith("langgraph."):
        return Failed(f"A tool cannot pause or steer the graph by itself ({type(error).__name__}).")
    return Failed(text)


def _lost(error: BaseException, depth: int = 0) -> bool:
    """Whether a connection or an answer was lost, here or in a cause. A ToolException is its author's own verdict."""
    if isinstance(error, ToolException) or depth > 20:
        return False
    if isinstance(error, OutcomeUnknown) or (isinstance(error, OSError) and error.errno in LOST_ERRNO):
        return True
    if any(LOST.fullmatch(kind.__name__) and kind.__module__ != "sqlite3" for kind in type(error).__mro__):
        return True
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    causes = (*inner, before, getattr(error, "reason", None))  # `reason`: of urllib
    return any(_lost(one, depth + 1) for one in causes if isinstance(one, BaseException))


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the error of an error
        text = "its message cannot be read"
    said = isinstance(error, ToolException | OutcomeUnknown | _Quit) and text  # written for readers, unlike a class's name
    return clean(said or f"{type(error).__name__}: {text}".removesuffix(": "))


class _Quit(Exception):  # noqa: N818
    """Stands in for a SystemExit or KeyboardInterrupt of a tool's own, which would end the loop."""


def _kept_in(function: Callable[..., Any]) -> Callable[..., Any]:
    """An async function whose SystemExit ends it alone. A KeyboardInterrupt may be a real one that met it by chance."""

    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return await function(*args, **kwargs)
        except SystemExit as error:
            raise _Quit(f"the tool raised SystemExit({error})") from error
        except KeyboardInterrupt as error:
            raise OutcomeUnknown("it was interrupted on its way") from error

    return run


async def _value(work: Callable[[], Any]) -> Any:
    """An async function is awaited here; a plain one runs in a thread, and what it leaves to await is awaited here."""
    value = _kept_in(work)() if _is_async(work) else await _in_thread(work)
    return await value if inspect.isawaitable(value) else value


def _is_async(work: Callable[[], Any]) -> bool:
    return is_async(work.func if isinstance(work, functools.partial) else work)


async def _in_thread(work: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def tell(value: Any, error: BaseException | None) -> None:
        if not ended.done():
            ended.set_result((value, error))

    def body() -> None:
        value, error = context.run(_caught, work)
        with suppress(RuntimeError):  # the loop is closed, nobody waits
            loop.call_soon_threadsafe(tell, value, error)

    threading.Thread(target=body, daemon=True, name="tool").start()
    value, error = await ended
    if error is not None:
        raise error
    return value


def _caught(work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        value = work()
        return list(itertools.islice(value, MOST_ITEMS)) if isinstance(value, GeneratorType) else value, None
    except (SystemExit, KeyboardInterrupt) as error:  # in this thread, only the tool itself can have raised them
        return None, _Quit(f"the tool raised {type(error).__name__}({error})")
    except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
        return None, error


_running: set["asyncio.Task[Outcome]"] = set()


def _keep(task: "asyncio.Task[Outcome]") -> None:
    """A loop holds its tasks weakly, and one that answers late has no other owner."""
    _running.add(task)
    task.add_done_callback(_running.discard)


def _redacted(text: str, tool: Tool, args: Mapping[str, Any]) -> str:
    """A tool that repeats an argument marked secret does not put it on the record."""
    return redacted(text, args, tool.facts.secret)
