"""Tells people that they are needed, and that something ended: what a message says, and how it gets on its way without holding a run."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from graph import screen, view
from memory.approvals import Approval
from memory.errors import InterlockError
from memory.outbox import SEND_SECONDS, Message, Outbox
from memory.runs import Run
from memory.text import shorten

LONGEST = 4000  # characters that a message may have: what is left out is marked, and `show` has it
LOADING_SECONDS = 20.0  # what a command waits at its end for apprise to load
LAST_SECONDS = 2.0  # and then for services to answer; what is not sent by then is left to `recover`, `worker` and `notify`
POLL_SECONDS = 0.5
TITLES = {
    "asked": "may this run?", "reminder": "still waiting for a decision", "escalated": "handed on to the next tier",
    "expired": "nobody decided in time", "unknown_outcome": "did this happen?",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Letter:
    title: str
    body: str
    weight: Literal["info", "warning", "failure"] = "info"


def letter(message: Message, run: Run | None, question: Approval | None, undone: str = "") -> Letter:
    """Facts, the digest, and what to type; no word of the model, whose text could pass for ours, and no secret. Pure."""
    last = f"(message {message.id})"  # the same at every attempt, for a service that gets one twice
    if question is None:
        return _of_the_end(message, run, undone, last)
    shown = {**view.question(question), "said": ""}
    gone = "" if question.status == "pending" else f"Meanwhile it is {question.status}."
    hints = screen.hints({"pending": [shown]}) if question.status == "pending" else f"  interlock show {screen.escape(question.thread_id)}"
    title = f"interlock: {TITLES[message.event]} {screen.escape(question.tool)}"
    body = "\n\n".join(part for part in (shorten(screen.question(shown), LONGEST), gone, hints, last) if part)
    return Letter(title, body, "failure" if message.event == "unknown_outcome" else "warning")


def _of_the_end(message: Message, run: Run | None, undone: str, last: str) -> Letter:
    thread = screen.escape(message.thread_id)
    lines = [f"thread     {thread}", f"status     {message.about}"]
    if run is not None:
        lines.append(f"asked for by {screen.escape(run.requester.name)} ({run.requester.source})")
    if run is not None and run.error and run.status == message.about:
        lines.append(f"error      {shorten(screen.escape(str(run.error.get('message', ''))), LONGEST)}")
    if undone:
        lines.append(f"undoing    {shorten(screen.escape(undone), LONGEST)}")
    body = "\n".join([*lines, "", f"  interlock show {thread}", f"  interlock audit {thread} --verify", "", last])
    failed = message.about in {"failed", "stopped"}
    return Letter(f"interlock: thread {thread} {message.about}", body, "failure" if failed else "info")


class Sender(Protocol):
    def load(self) -> None: ...
    def send(self, target: int, letter: Letter) -> str | None: ...


@dataclass
class Tally:
    sent: int = 0
    failed: int = 0


class Courier:
    """Sends what is due, in the background. Blocking work is done in threads that no process waits for.

    Open it with `async with`. A service that is silent costs a command `LAST_SECONDS` at its end, and a run nothing.
    """

    def __init__(
        self, outbox: Outbox, targets: Callable[[], int], sender: Callable[[], Sender], words: Callable[[Message], Awaitable[Letter]]
    ) -> None:
        self._outbox, self._targets, self._make, self._words = outbox, targets, sender, words
        self._sender: Sender | None = None
        self._loaded: asyncio.Future[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing.set()
        if self._task is None:
            return
        if error is not None and not isinstance(error, InterlockError):
            self._task.cancel()  # it was interrupted: nobody waits for messages now
            return
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({self._task, asyncio.ensure_future(self._ready())}, timeout=LOADING_SECONDS, return_when="FIRST_COMPLETED")
            await asyncio.wait({self._task}, timeout=LAST_SECONDS)
        self._task.cancel()
        await asyncio.wait({self._task})

    def warm_up(self) -> None:
        """Loads what sending needs while there is other work to wait for."""
        if self._loaded is None:
            self._sender = self._make()
            self._loaded = in_thread(self._sender.load)

    def wake(self) -> None:
        """Something was put into the outbox, or may be there."""
        if self._task is None:
            self.warm_up()
            self._task = asyncio.create_task(self._deliver_until_closed())

    async def deliver(self, *, now: bool = False) -> Tally:
        """All that is due, each once; with `now` also what waits for its next attempt. The targets do not wait for each other."""
        tally = Tally()
        await self._ready()
        await asyncio.gather(*(self._deliver(target, tally, now) for target in range(self._targets())))
        return tally

    async def _ready(self) -> None:
        self.warm_up()
        if self._loaded is not None:
            await asyncio.wait({self._loaded})

    async def _deliver_until_closed(self) -> None:
        """A database that is away for a moment is no reason to stop: what is not sent stays."""
        while True:
            last = self._closing.is_set()  # what was put in before the closing is seen by one more round
            with contextlib.suppress(InterlockError):
                await self.deliver()
            if last:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), POLL_SECONDS)

    async def _deliver(self, target: int, tally: Tally, now: bool) -> None:
        after = 0
        while message := await self._outbox.claim(target, after=after, now=now):
            after = message.id
            problem = await self._attempt(message)
            if problem is None:
                await self._outbox.sent(message)
                tally.sent += 1
            else:
                await self._outbox.failed(message, problem)
                tally.failed += 1

    async def _attempt(self, message: Message) -> str | None:
        if self._sender is None:
            raise AssertionError("it is made before anything is sent")
        attempt = in_thread(self._sender.send, message.target, await self._words(message))
        done, _ = await asyncio.wait({attempt}, timeout=SEND_SECONDS)
        if not done:
            return f"no answer within {SEND_SECONDS:g} s"
        answer: str | None = attempt.result()
        return answer


def in_thread(work: Callable[..., Any], *values: Any) -> "asyncio.Future[Any]":
    """As `asyncio.to_thread`, in a thread that keeps no process from ending."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Any] = loop.create_future()

    def tell(value: Any, error: BaseException | None) -> None:
        if ended.done():
            return
        if error is not None:
            ended.set_exception(error)
        else:
            ended.set_result(value)

    def body() -> None:
        try:
            value, error = work(*values), None
        except BaseException as raised:  # noqa: BLE001 - raised again where it is awaited
            value, error = None, raised
        with contextlib.suppress(RuntimeError):  # the loop is closed, nobody waits
            loop.call_soon_threadsafe(tell, value, error)

    threading.Thread(target=body, daemon=True, name="courier").start()
    return ended
