"""Commands that work for everybody: a worker that does what is due, and the messages that wait to be sent."""

import asyncio
import json as encoding
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graph import screen, view
from graph.commands.opening import run
from graph.commands.options import Json
from graph.commands.running import advanced
from graph.console import Commands, Session, Shown, width
from memory.errors import BusyError, InterlockError, UnavailableError
from memory.text import message_of

if TYPE_CHECKING:
    from graph.app import App

commands = Commands()
SCAN_SECONDS = 1.0
LONGEST_BACK_OFF = 60.0  # seconds, for a thread that could not go on
Concurrency = Annotated[int, typer.Option("--concurrency", metavar="N", min=1, max=32, help="How many threads it drives at once.")]

Grace = Annotated[
    float, typer.Option("--grace", metavar="SECONDS", min=0, help="How long SIGTERM waits for its threads before it gives up their calls.")
]
Health = Annotated[
    Path | None, typer.Option("--health", metavar="FILE", dir_okay=False, help="A file it writes at each look, and removes at its end.")
]


@commands.command()
def worker(concurrency: Concurrency = 2, grace: Grace = 25.0, health: Health = None, json: Json = False) -> None:
    """Do what is due, for every thread, until SIGTERM: drive on what was decided or left behind, close or raise what is overdue, remind
    people, and send messages.

    The first SIGTERM or Ctrl-C lets it finish what it is doing within --grace, the second one does not.

    Example: interlock worker --concurrency 4
    """

    async def work(application: "App", session: Session) -> Shown:
        return await Worker(application, session, concurrency, grace, health).work()

    run(json, work, connections=4 + 2 * concurrency)


class Worker:
    """Looks once a second, and at once when it is free again for more that it saw; what no signal announces is found all the same."""

    def __init__(self, application: "App", session: Session, concurrency: int, grace: float, health: Path | None) -> None:
        self.application, self.session, self.concurrency = application, session, concurrency
        self.grace, self.health = grace, health
        self.stopping = asyncio.Event()
        self.awake = asyncio.Event()
        self.more = False  # than it could take when it looked
        self.driven: dict[str, asyncio.Task[None]] = {}
        self.failures: dict[str, int] = {}  # in a row, by thread
        self.not_before: dict[str, float] = {}
        self.count = 0

    async def work(self) -> Shown:
        me = asyncio.current_task()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stop, me)
        self.application.driver()  # a mistake in the settings is told at once
        self.session.say(f"The worker has begun; it drives {self.concurrency} threads at once. SIGTERM ends it.")
        try:
            while not self.stopping.is_set():
                await self._turn()
            given_up = await self._drain()
        finally:
            if self.health:
                self.health.unlink(missing_ok=True)
        document = {"stopped": True, "driven": self.count, "given_up": given_up}
        return Shown(document, f"The worker has ended; it drove threads {self.count} times.")

    async def _turn(self) -> None:
        self.awake.clear()
        away = ""
        try:
            await self._look()
        except UnavailableError as error:
            away = error.message
            self.session.say(f"{away} The worker waits for it.")
        self._tell(away)
        if not self.stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.awake.wait(), SCAN_SECONDS)

    def _tell(self, away: str) -> None:
        """Replaced as a whole, so that a probe never reads half of it. A service that is away is no reason to start us anew."""
        if self.health:
            fresh = self.health.with_name(f"{self.health.name}.new")
            fresh.write_text(encoding.dumps({"driving": len(self.driven), "driven": self.count, "unavailable": away or None}))
            fresh.replace(self.health)

    async def _drain(self) -> list[str]:
        """The threads whose grace ran out: calls that were under way there are of unknown outcome, and people are asked."""
        if not self.driven:
            return []
        self.session.say(f"Stopping: {len(self.driven)} threads have {self.grace:g} s to wait or end. A second signal ends it at once.")
        await asyncio.wait(self.driven.values(), timeout=self.grace)
        late = dict(self.driven)
        for task in late.values():
            task.cancel()
        if late:
            await asyncio.wait(late.values())
        return sorted(late)

    def _stop(self, me: "asyncio.Task[Any] | None") -> None:
        if self.stopping.is_set() and me is not None:
            for task in (*self.driven.values(), me):
                task.cancel()
        self.stopping.set()
        self.awake.set()

    async def _look(self) -> None:
        await self.application.remind()
        now = asyncio.get_running_loop().time()
        left = [run.thread_id for run in await self.application.left()]
        due = [name for name in left if name not in self.driven and self.not_before.get(name, 0) <= now]
        if self.stopping.is_set():
            return
        free = max(0, self.concurrency - len(self.driven))
        self.more = len(due) > free
        for name in due[:free]:
            self.count += 1
            self.driven[name] = asyncio.create_task(self._drive(name))

    async def _drive(self, thread_id: str) -> None:
        self.session.say(f"thread {thread_id}")
        problem = ""
        try:
            await advanced(self.application.driver(), thread_id)
        except BusyError:
            pass
        except InterlockError as error:
            problem = error.message
        except Exception as error:  # noqa: BLE001 - whatever is wrong with this thread holds up no other
            problem = message_of(error)
        finally:
            del self.driven[thread_id]
            if self.more:
                self.awake.set()
        if not problem:
            self.failures.pop(thread_id, None)
            return
        failures = self.failures[thread_id] = self.failures.get(thread_id, 0) + 1
        pause = min(LONGEST_BACK_OFF, 2.0**failures)
        self.not_before[thread_id] = asyncio.get_running_loop().time() + pause
        self.session.say(f"thread {thread_id}: {problem} It is tried again in {pause:g} s.")


@commands.command()
def notify(
    now: Annotated[bool, typer.Option("--now", help="Also what waits for its next attempt.")] = False,
    json: Json = False,
) -> None:
    """Send the messages that are due, and list what could not be sent. Where they go, the policy file's [notify] says. Exit code 7 if an
    attempt failed.

    Example: interlock notify --now
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        tally = await application.courier.deliver(now=now)
        rows = [view.message(one) for one in await application.outbox.left()]
        columns = ("id", "event", "thread_id", "target", "attempts", "next_at", "error")
        listed = screen.table(rows, columns, f"{tally.sent} sent; nothing waits to be sent.", width=width())
        code = UnavailableError.exit_code if tally.failed else 0
        return Shown({"sent": tally.sent, "failed": tally.failed, "left": rows}, listed, code)

    run(json, work)
