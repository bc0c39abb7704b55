"""How a call of a tool ends, what its check and its undo are given, and the text of every result."""

import asyncio
import contextvars
import errno
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_core.tools import Tool as SimpleTool
from pydantic import BaseModel

from tools import calling
from tools.calling import Failed, Outcome, Returned, Unknown, call, check, compensate
from tools.results import as_text
from tools.spec import OutcomeUnknown, Tool, tool


def made(function: Any, **facts: Any) -> Tool:
    if not isinstance(function, BaseTool) and not function.__doc__:
        function.__doc__ = "Does it."
    return Tool.of(tool(function, **facts))


async def ended(function: Any, args: dict[str, Any] | None = None, **facts: Any) -> Outcome:
    return await call(made(function, **facts), args or {}, idempotency_key="k", connection=facts.get("connection"))


def raising(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


# What a tool is given


class Account(BaseModel):
    owner: str


async def test_real_types_and_what_we_fill() -> None:
    async def pay(to: Account, on: date = date(2024, 1, 2), *, connection: Any, idempotency_key: str) -> list[Any]:
        return [to.owner, on.year, connection, idempotency_key]

    one = made(pay, transactional=True)
    args = one.validate({"to": {"owner": "bob"}})
    assert await call(one, args, idempotency_key="k", connection="c") == Returned('["bob",2024,"c","k"]')
    assert isinstance(await call(one, {}, idempotency_key="k", connection="c"), Failed)


async def test_tools_that_others_made() -> None:
    async def remote(**given: Any) -> str:
        return json.dumps(given)

    class Own(BaseTool):
        name: str = "own"
        description: str = "A class of tools."

        def _run(self, to: str, idempotency_key: str) -> str:
            return f"{to} {idempotency_key}"

    properties = {"to": {"type": "string"}, "type": {"type": "string"}, "idempotency_key": {"type": "string"}}
    schema = {"type": "object", "properties": properties}
    described = StructuredTool(name="remote", description="d", args_schema=schema, coroutine=remote)
    simple = SimpleTool(name="simple", description="d", func=lambda text: text.upper())
    outcome = await ended(described, {"to": "a", "type": "tool_call"})
    assert isinstance(outcome, Returned)
    assert json.loads(outcome.text) == {"to": "a", "type": "tool_call", "idempotency_key": "k"}
    assert await ended(Own(), {"to": "a"}) == Returned("a k")
    assert await ended(simple, {"__arg1": "a"}) == Returned("A")


async def test_langchain_cannot_turn_an_error_into_a_result() -> None:
    def refuse() -> str:
        """Refuses."""
        raise ToolException("no such account")

    given = StructuredTool.from_function(refuse, handle_tool_error=True)
    assert await ended(given) == Failed("no such account")
    assert await ended(lambda_returning(ToolMessage("no", tool_call_id="1", status="error"))) == Failed("no")
    assert await ended(lambda_returning(ToolMessage("yes", tool_call_id="1"))) == Returned("yes")


def lambda_returning(value: Any) -> Callable[[], Any]:
    def act() -> Any:
        return value

    return act


async def test_a_plain_function_runs_beside_the_loop_with_our_context() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name")
    name.set("ours")

    may_end = threading.Event()

    def act() -> str:
        assert may_end.wait(30)
        return f"{name.get()} {threading.current_thread().daemon}"

    running = asyncio.create_task(ended(act))
    for _ in range(4):
        await asyncio.sleep(0.02)
    assert not running.done()
    may_end.set()
    assert await running == Returned("ours True")


async def test_many_slow_tools_do_not_wait_for_each_other() -> None:
    gate = threading.Barrier(40, timeout=20)

    def act() -> str:
        gate.wait()
        return "together"

    assert await asyncio.gather(*(ended(act) for _ in range(40))) == [Returned("together")] * 40


async def test_a_plain_function_that_leaves_something_to_await() -> None:
    async def inner() -> str:
        return "awaited"

    def act() -> Any:
        return inner()

    assert await ended(act) == Returned("awaited")


async def test_c106_a_generator_has_done_its_work() -> None:
    """What a generator does is done before its result is kept."""
    did = []

    def act() -> Any:
        did.append(1)
        yield 1
        did.append(2)

    assert await ended(act) == Returned("[1]") and did == [1, 2]


# How it ends


class TransportError(Exception):
    """By name, as an HTTP client has it."""


class ReadTimeout(TransportError):  # noqa: N818
    pass


def caused(outer: Exception, cause: Exception) -> Exception:
    outer.__cause__ = cause
    return outer


LOST = [
    ConnectionResetError("gone"),
    TimeoutError(),
    OSError(errno.ENETUNREACH, "unreachable"),
    ReadTimeout("slow"),
    subprocess.TimeoutExpired("deploy", 3),
    OutcomeUnknown("the answer was cut off"),
    caused(RuntimeError("the deploy failed"), BrokenPipeError("gone")),
    ExceptionGroup("of tasks", [ValueError("a"), ConnectionError("b")]),
]
FAILED = [
    ValueError("no such account"),
    FileNotFoundError(errno.ENOENT, "missing"),
    caused(ToolException("not done, as the other side says"), ConnectionError("gone")),
    SystemExit(0),
    KeyboardInterrupt(),
    StopIteration("x"),
    RecursionError("deep"),
    MemoryError(),
    BaseException("base"),
]


@pytest.mark.parametrize("error", LOST, ids=repr)
async def test_c005_a_lost_connection_is_unknown_for_a_critical_tool(error: Exception) -> None:
    """A critical call that lost its connection is unknown, and not tried again."""
    assert isinstance(await ended(raising(error)), Unknown)
    harmless = await ended(raising(error), is_critical=False)
    assert isinstance(harmless, Unknown if isinstance(error, OutcomeUnknown) else Failed)


@pytest.mark.parametrize("error", FAILED, ids=repr)
async def test_c105_what_a_tool_raises_is_its_failure(error: BaseException) -> None:
    """Whatever a tool raises, SystemExit too, is the failure of its call alone, in one line."""
    outcome = await ended(raising(error))
    assert isinstance(outcome, Failed) and "\n" not in outcome.message
    assert type(error).__name__ in outcome.message or isinstance(error, ToolException)


async def test_c105_async_tools_end_no_process_either() -> None:
    """An async tool that wants to leave ends no process either."""
    async def leave() -> None:
        raise SystemExit(1)

    async def interrupt() -> None:
        raise KeyboardInterrupt

    async def cancel() -> None:
        raise asyncio.CancelledError

    assert isinstance(await ended(leave), Failed)
    assert isinstance(await ended(interrupt), Unknown)
    assert isinstance(await ended(cancel), Unknown)


async def test_c105_an_error_whose_text_cannot_be_read_or_is_long() -> None:
    """An error without a readable text is told by its type, a long one is cut visibly."""
    class Mute(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise RuntimeError

    assert await ended(raising(Mute())) == Failed("Mute: its message cannot be read")
    outcome = await ended(raising(ValueError("x" * 10_000 + "\0")))
    assert isinstance(outcome, Failed) and len(outcome.message) < 2200 and "\0" not in outcome.message


async def test_c107_a_tool_cannot_pause_the_graph() -> None:
    """A tool that interrupts by itself has failed; it neither pauses the graph nor passes the gate."""
    from langgraph.errors import GraphInterrupt

    assert "cannot pause" in getattr(await ended(raising(GraphInterrupt())), "message", "")


async def test_a_secret_argument_is_not_repeated() -> None:
    def echo(token: str, fail: bool = False) -> str:
        if fail:
            raise ValueError(f"bad {token}")
        return f"used {token}"

    facts: dict[str, Any] = {"secret": ("token",)}
    assert await ended(echo, {"token": "s3cr3t"}, **facts) == Returned("used [token]")
    assert await ended(echo, {"token": "s3cr3t", "fail": True}, **facts) == Failed("ValueError: bad [token]")


# Time


async def late(outcome: Outcome) -> Outcome:
    assert isinstance(outcome, Unknown) and outcome.late is not None
    told: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    outcome.late.add_done_callback(lambda one: told.set_result(one.result()))
    return await asyncio.wait_for(told, 10)


async def test_a_plain_function_that_answers_late() -> None:
    go = threading.Event()

    def act() -> str:
        go.wait(10)
        return "after all"

    outcome = await ended(act, timeout=0.05)
    assert isinstance(outcome, Unknown) and outcome.reason == "no answer within 0.05 s"
    go.set()
    assert await late(outcome) == Returned("after all")


async def test_an_async_tool_is_cancelled_at_its_timeout() -> None:
    did = []

    async def act() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            did.append("cleaned up")

    outcome = await ended(act, timeout=0.05)
    assert did == ["cleaned up"] and isinstance(await late(outcome), Unknown)


async def test_an_async_tool_that_will_not_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "GRACE_SECONDS", 0.05)
    go = asyncio.Event()

    async def act() -> str:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            await go.wait()
        return "after all"

    outcome = await ended(act, timeout=0.05)
    go.set()
    assert await late(outcome) == Returned("after all")


@pytest.mark.parametrize("seconds", [None, 30])
async def test_c006_a_cancellation_from_outside_goes_through(seconds: float | None) -> None:
    """A cancellation ends the wait for a tool, and is not taken for the tool's failure."""
    began, did = asyncio.Event(), []

    async def act() -> None:
        began.set()
        try:
            await asyncio.sleep(10)
        finally:
            did.append("cleaned up")

    running = asyncio.create_task(ended(act, timeout=seconds))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert did == ["cleaned up"]


def test_a_tool_that_never_ends_keeps_no_process_alive() -> None:
    code = """
import asyncio, time
from tools.calling import call
from tools.spec import Tool, tool

@tool(timeout=0.1)
def act() -> None:
    "Never ends."
    time.sleep(1000)

print(asyncio.run(call(Tool.of(act), {}, idempotency_key="k")).reason)
"""
    ran = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True,
                         text=True, timeout=30, check=True)  # fmt: skip
    assert ran.stdout == "no answer within 0.1 s\n" and not ran.stderr


# The check and the undo


async def test_a_check_gets_what_it_names() -> None:
    def pay(to: str, amount: int) -> str:
        return ""

    def plain(idempotency_key: str, amount: int) -> str | None:
        return f"{idempotency_key} {amount}" if amount else None

    async def everything(**given: Any) -> str:
        return ",".join(sorted(given))

    args = {"to": "bob", "amount": 5}
    assert await check(made(pay, check=plain), args, "k") == "k 5"
    assert await check(made(pay, check=plain), {**args, "amount": 0}, "k") is None
    assert await check(made(pay, check=everything), args, "k") == "amount,connection,idempotency_key,to"


async def test_a_check_that_cannot_tell_raises() -> None:
    def pay(to: str) -> str:
        return ""

    def unreachable() -> str:
        raise ConnectionError("unreachable")

    def slow() -> str:
        time.sleep(0.5)
        return "yes"

    for function, error in ((unreachable, ConnectionError), (lambda: False, TypeError), (raising(SystemExit()), Exception)):
        with pytest.raises(error):
            await check(made(pay, check=function), {"to": "bob"}, "k")
    with pytest.raises(TimeoutError):
        await check(made(pay, check=slow, timeout=0.05), {"to": "bob"}, "k")
    with pytest.raises(LookupError):
        await check(made(pay), {"to": "bob"}, "k")


async def test_an_undo_gets_the_result() -> None:
    def pay(to: str) -> str:
        return ""

    async def back(result: str, to: str, idempotency_key: str) -> str:
        return f"{result} from {to} ({idempotency_key})"

    def lost() -> None:
        raise ConnectionError("gone")

    args = {"to": "bob"}
    assert await compensate(made(pay, compensate=back), "5", args, "u") == Returned("5 from bob (u)")
    assert isinstance(await compensate(made(pay, compensate=lost, is_critical=False), "5", args, "u"), Unknown)
    assert isinstance(await compensate(made(pay), "5", args, "u"), Failed)
    assert isinstance(await compensate(made(pay, compensate=back), "5", {"amount": 1}, "u"), Failed)


# Results


class Colour(Enum):
    RED = "red"


class Word(StrEnum):
    A = "a"


@dataclass
class Point:
    x: int
    at: date


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


def circular() -> list[Any]:
    one: list[Any] = [1]
    one.append(one)
    return one


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\0b\ud800 é 😀", "a\ufffdb\ufffd é 😀"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (2**80, str(2**80)),
        (1.5, "1.5"),
        (float("nan"), "NaN"),
        ([float("-inf"), float("nan")], '["-Infinity","NaN"]'),
        ({"a": [1, None], "é": "ü"}, '{"a":[1,null],"é":"ü"}'),
        ({1: 2, None: 3, (1, 2): 4}, '{"1":2,"null":3,"[1,2]":4}'),
        ({3, 1, 2}, "[1,2,3]"),
        ((1, "a"), '[1,"a"]'),
        ("é".encode(), "é"),
        (b"\xff\x00", "base64:/wA="),
        (Colour.RED, "red"),
        ([Word.A, Colour.RED], '["a","red"]'),
        (Decimal("1.10"), "1.10"),
        (Path("a/b"), "a/b"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
        (Point(1, date(2024, 1, 2)), '{"x":1,"at":"2024-01-02"}'),
        (Account(owner="bob"), '{"owner":"bob"}'),
        (ValueError("x"), "x"),
        (AIMessage("said"), "said"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "text", "text": "a"}, {"type": "image"}], '[{"type":"text","text":"a"},{"type":"image"}]'),
        (circular(), '[1,"[circular]"]'),
        (object(), "[a result of type object, which has no text form]"),
        (print, "[a result of type builtin_function_or_method, which has no text form]"),
        (Hostile(), "[a result of type Hostile, which has no text form]"),
        ([Hostile()], "[a result of type list, which has no text form]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_c106_every_result_has_a_text(value: Any, text: str) -> None:
    """Whatever a tool returns has a defined text."""
    assert as_text(value) == text


def test_c106_deep_results() -> None:
    """A result that is nested too deeply has a text too."""
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert "nested too deeply" in as_text(deep)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner), max_leaves=8))  # fmt: skip
def test_c038_results_can_be_stored(value: Any) -> None:
    """NUL and lone surrogates in a result become U+FFFD, before it is kept anywhere."""
    text = as_text(value)
    assert "\0" not in text and text.encode().decode() == text
    if isinstance(value, list | dict):
        json.loads(text, parse_constant=pytest.fail)
