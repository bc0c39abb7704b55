"""interlock from Python: the calls of the command line, for notebooks and for programs of your own.

    from graph.notebook import Interlock

    with Interlock() as interlock:
        thread = interlock.start("deploy shop 1.4.2 to staging")
        interlock.decide(thread["pending"][0]["approval_id"], "approve", comment="checked")

Every call is plain and returns what the command prints with `--json`. The work is done in a loop and a thread of its own, so the calls
work the same where a loop is running (a notebook) and where none is; inside async code of yours, `await asyncio.to_thread(call, …)`
keeps your loop free. What cannot be done raises an InterlockError of memory/errors.py.
"""

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from graph import deciding, view
from graph.app import App, open_app
from graph.commands.record import record_of
from graph.commands.running import advanced
from graph.commands.threads import thread_name
from graph.identity import named
from graph.settings import load_settings
from graph.version import GRAPH_VERSION
from memory.approvals import Approval, Ballot, VoteType
from memory.errors import BusyError, InterlockError, RefusedError, UsageError
from memory.people import Identity
from memory.runs import NewRun
from memory.text import clean

Answer = Literal["approve", "modify", "reject", "escalate", "done", "retry", "abandon"]
Document = dict[str, Any]
T = TypeVar("T")


class Interlock:
    """Opened at its first call, on the settings of the environment and the `.env` file, or on `settings` (INTERLOCK_ names)."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = load_settings(settings)
        self._loop = _Loop()
        self._stack = AsyncExitStack()
        self._app: App | None = None
        self._close = weakref.finalize(self, _closed, self._loop, self._stack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the database; nothing can be called afterwards. The end of the process does it too."""
        self._close()

    def start(self, text: str, *, thread: str | None = None, requester: str | None = None, drive: bool = True) -> Document:
        """States a task and works until it is done or waits. A thread of that name that waits already is returned as it stands."""

        async def work(application: App) -> Document:
            thread_id = thread_name(thread)
            if not clean(text).strip():
                raise UsageError("The task is empty.", code="empty_task")
            existing = await application.runs.get(thread_id)
            if existing is not None and existing.status == "waiting":
                return await application.view(thread_id)
            starter, _ = await _voter(application, None)
            if drive:
                await application.meet()
            asked_by = Identity(named(requester), "claimed") if requester else starter
            await application.runs.create(NewRun(
                thread_id=thread_id, input=clean(text), requester=asked_by, starter=starter, tenant=application.settings.tenant,
                graph_version=GRAPH_VERSION, tools_version=application.registry.version,
            ))  # fmt: skip
            return await _driven(application, thread_id) if drive else await application.view(thread_id)

        return self._run(work)

    def decide(
        self,
        approval: str,
        answer: Answer,
        *,
        comment: str = "",
        args: Mapping[str, Any] | None = None,
        then: Literal["continue", "compensate", "stop"] = "continue",
        text: str = "",
        by: str | None = None,
        drive: bool = True,
    ) -> Document:
        """Answers a question, then drives its thread on. `approval` is an id, a prefix of it, or a thread with one open question.

        `args` are all arguments of a modification; `then` is what follows a rejection; `text` is what came out, for `done`.
        """

        async def work(application: App) -> Document:
            question = await application.find_approval(approval)
            me, tier = await _voter(application, by)
            ballot = Ballot(_vote(answer), me, clean(comment), _detail(answer, args, then, text), question.version)
            decided: Approval = await deciding.decide(application, question, ballot, tier=tier, here=drive)
            if drive and decided.status != "pending":
                try:
                    return await _driven(application, question.thread_id)
                except BusyError:
                    pass  # whoever drives it takes the decision up at its next step
            return await application.view(question.thread_id)

        return self._run(work)

    def resume(self, thread: str) -> Document:
        """Goes on after a crash or a decision; a finished thread is returned as it stands."""
        return self._run(lambda application: _driven(application, thread))

    def cancel(self, thread: str, comment: str, *, by: str | None = None) -> Document:
        """Ends a thread; nothing that waits will run."""

        async def work(application: App) -> Document:
            await application.view(thread)  # raises where there is none
            me, _ = await _voter(application, by)
            await application.runs.request_cancel(thread, me, clean(comment))
            return await _driven(application, thread)

        return self._run(work)

    def show(self, thread: str) -> Document:
        """How a thread stands, and every open question in full."""
        return self._run(lambda application: application.view(thread))

    def inbox(self, *, tier: int | None = None, limit: int = 1000) -> list[Document]:
        """What waits for a person, oldest first; `limit` of it at most."""

        async def work(application: App) -> list[Document]:
            return [view.question(one) for one in await application.approvals.pending(tier=tier, limit=limit)]

        return self._run(work)

    def runs(self, *, limit: int = 100) -> list[Document]:
        """Threads, newest first."""

        async def work(application: App) -> list[Document]:
            return [view.line(one) for one in await application.runs.newest(limit=limit)]

        return self._run(work)

    def history(self, thread: str) -> list[Document]:
        """The events of the record, oldest first. RefusedError `tampered` where the chain does not hold."""

        async def work(application: App) -> list[Document]:
            events, faults = await record_of(application, thread)
            if faults:
                raise RefusedError(f"The record does not verify: {'; '.join(faults)}.", code="tampered")
            return [view.event(one) for one in events]

        return self._run(work)

    def replay(self, thread: str) -> str:
        """The whole story in words."""

        async def work(application: App) -> str:
            from graph import replay

            return replay.text(replay.story(thread, *await record_of(application, thread)))

        return self._run(work)

    def _run(self, work: Callable[[App], Awaitable[T]]) -> T:
        async def opened() -> T:
            if self._app is None:
                self._app = await self._stack.enter_async_context(open_app(self._settings))
            return await work(self._app)

        try:
            return self._loop.result(opened())
        except InterlockError as error:
            if error.remedy:
                error.add_note(error.remedy)
            raise


class _Loop:
    """A loop in a thread of its own, for as long as it is not closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="interlock")
        self._thread.start()

    def result(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("this Interlock is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _closed(loop: _Loop, stack: AsyncExitStack) -> None:
    loop.result(stack.aclose())
    loop.close()


async def _voter(application: App, claimed: str | None) -> tuple[Identity, int | None]:
    return await application.voter(claimed=claimed, token=application.settings.operator_token)


async def _driven(application: App, thread_id: str) -> Document:
    await advanced(application.driver(), thread_id)
    return await application.view(thread_id)


def _vote(answer: Answer) -> VoteType:
    known = ("approve", "modify", "reject", "escalate", "done", "retry", "abandon")
    if answer not in known:
        raise UsageError(f"{answer!r} is no answer.", remedy=f"There are: {', '.join(known)}.", code="usage")
    return answer


def _detail(answer: Answer, args: Mapping[str, Any] | None, then: str, text: str) -> Document:
    match answer:
        case "modify" if args is None:
            raise UsageError("A modification needs args.", remedy="All arguments, as the question shows them.", code="usage")
        case "modify":
            return {"args": dict(args or {})}
        case "reject":
            return {"then": then}
        case "done":
            return {"text": clean(text)}
        case _:
            return {}
