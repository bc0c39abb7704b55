"""The worker: drives what is due, as much as it has room for, until it is told to stop.

What is due stands in the runs' rows, and who drives in their leases; so it looks once a second, whenever a wake-up is told, and whenever
it has room again. Any number of workers may do so beside each other, and one that dies leaves nothing that others do not find.
"""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.errors import BusyError, InterlockError, UnavailableError
from memory.text import message_of

if TYPE_CHECKING:
    from graph.app import App

SCAN_SECONDS = 1.0
LONGEST_BACK_OFF = 60.0  # seconds, for a thread that could not go on
NOTHING_HEARD = (
    "No wake-up can be heard on this connection, as behind a pooler in transaction mode: the worker looks once a second. "
    "INTERLOCK_DATABASE_DIRECT_URL names a direct one."
)


class Worker:
    def __init__(
        self,
        application: "App",
        advance: Callable[[str], Awaitable[object]],
        say: Callable[[str], None],
        *,
        concurrency: int,
        grace: float,
        health: Path | None = None,
    ) -> None:
        self.application, self.advance, self.say = application, advance, say
        self.concurrency, self.grace, self.health = concurrency, grace, health
        self.stopping = asyncio.Event()
        self.awake = asyncio.Event()
        self.driven: dict[str, asyncio.Task[None]] = {}
        self.failures: dict[str, int] = {}  # in a row, by thread
        self.not_before: dict[str, float] = {}
        self.count = 0

    async def work(self) -> list[str]:
        """Until SIGTERM. Returns the threads whose grace ran out: calls that were under way there are of unknown outcome."""
        me = asyncio.current_task()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stop, me)
        self.application.driver()  # a mistake in the settings is told at once
        self.say(f"The worker has begun; it drives {self.concurrency} threads at once. SIGTERM ends it.")
        listener = asyncio.create_task(self._listen())
        try:
            while not self.stopping.is_set():
                await self._turn()
            return await self._drain()
        finally:
            listener.cancel()
            if self.health:
                self.health.unlink(missing_ok=True)

    async def _turn(self) -> None:
        self.awake.clear()
        away = ""
        try:
            await self.application.remind()
            await self.application.runs.wake_overdue()
            await self._fill()
        except UnavailableError as error:
            away = error.message
            self.say(f"{away} The worker waits for it.")
        self._tell(away)
        if not self.stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.awake.wait(), SCAN_SECONDS)

    async def _fill(self) -> None:
        now = asyncio.get_running_loop().time()
        self.not_before = {name: at for name, at in self.not_before.items() if at > now}
        if room := self.concurrency - len(self.driven):
            for name in await self.application.runs.due(room, besides=[*self.driven, *self.not_before]):
                if not self.stopping.is_set():
                    self.count += 1
                    self.driven[name] = asyncio.create_task(self._drive(name))

    async def _drive(self, thread_id: str) -> None:
        problem = ""
        try:
            await self.advance(thread_id)
        except BusyError:
            pass
        except InterlockError as error:
            problem = error.message
        except Exception as error:  # noqa: BLE001 - whatever is wrong with this thread holds up no other
            problem = message_of(error)
        finally:
            del self.driven[thread_id]
            self.awake.set()
        if problem:
            self._back_off(thread_id, problem)
        else:
            self.failures.pop(thread_id, None)

    def _back_off(self, thread_id: str, problem: str) -> None:
        failures = self.failures[thread_id] = self.failures.get(thread_id, 0) + 1
        pause = min(LONGEST_BACK_OFF, 2.0**failures)
        self.not_before[thread_id] = asyncio.get_running_loop().time() + pause
        self.say(f"thread {thread_id}: {problem} It is tried again in {pause:g} s.")

    async def _listen(self) -> None:
        await self.application.wakeups.follow(self.awake.set)
        self.say(NOTHING_HEARD)

    def _tell(self, away: str) -> None:
        """Replaced as a whole, so that a probe never reads half of it. A service that is away is no reason to start us anew."""
        if self.health:
            fresh = self.health.with_name(f"{self.health.name}.new")
            fresh.write_text(json.dumps({"driving": len(self.driven), "driven": self.count, "unavailable": away or None}))
            fresh.replace(self.health)

    def _stop(self, me: "asyncio.Task[Any] | None") -> None:
        if self.stopping.is_set() and me is not None:
            for task in (*self.driven.values(), me):
                task.cancel()
        self.stopping.set()
        self.awake.set()

    async def _drain(self) -> list[str]:
        if not self.driven:
            return []
        self.say(f"Stopping: {len(self.driven)} threads have {self.grace:g} s to wait or end. A second signal ends it at once.")
        await asyncio.wait(self.driven.values(), timeout=self.grace)
        late = dict(self.driven)
        for task in late.values():
            task.cancel()
        if late:
            await asyncio.wait(late.values())
        return sorted(late)
