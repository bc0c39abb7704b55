"""Memory as a run meets it: it answers within a bounded time or not at all, raises nothing, and is left alone after it failed.

    ok            there are records
    empty         it was asked, and knows nothing like this
    unavailable   it could not be asked, and why; nobody may conclude that there is nothing
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from memory.episodes import MOST_CHARACTERS, Match, MemoryRecord, VectorStoreClient
from memory.errors import InterlockError, UnavailableError
from memory.json_text import read_json
from memory.secrets import without_secrets
from memory.text import clean, shorten

T = TypeVar("T")
LOAD_SECONDS = 120.0  # code is loaded from this machine; that is work, and no waiting for somebody
FOUND_OUT_AT_ONCE = frozenset({"embedder_changed", "memory_busy", "memory_locked", "open_key"})  # no reason to leave it alone
FIRST_PAUSE, LONGEST_PAUSE = 15.0, 600.0  # seconds


@dataclass(frozen=True, slots=True)
class Recalled:
    status: Literal["ok", "empty", "unavailable"]
    reason: str = ""
    matches: Sequence[Match] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """`empty`: there was nothing to keep."""

    status: Literal["ok", "empty", "unavailable"]
    reason: str = ""


@dataclass
class Memory:
    """`store` is None where there cannot be one; `why_not` says why. `seconds` are for one question, whatever it has to wait for.

    `pauses` is a file that processes share, so that the next command does not wait for what the last one has waited for.
    """

    store: VectorStoreClient | None
    pauses: Path
    why_not: UnavailableError | None = None
    seconds: float = 10.0
    _clock: Callable[[], float] = field(default=time.time, repr=False)

    @property
    def where(self) -> str:
        return self.store.where if self.store else "nowhere"

    async def recall(self, query: str, tenant: str, *, top_k: int = 5) -> Recalled:
        if not query.strip():
            return Recalled("empty")
        found = await self._asked(lambda store: store.search(query, top_k, tenant), tenant)
        if isinstance(found, str):
            return Recalled("unavailable", found)
        own = [match for match in found if match.record.metadata.get("tenant") == tenant]  # whatever the store thinks
        return Recalled("ok" if own else "empty", matches=own)

    async def keep(self, records: Sequence[MemoryRecord]) -> Kept:
        """Without secrets; blank ones are left out. The same record again is no second one."""
        chosen = [kept for record in records if (kept := fit(record)) is not None]
        if not chosen:
            return Kept("empty")
        done = await self._asked(lambda store: store.add(chosen), None)
        return Kept("unavailable", done) if isinstance(done, str) else Kept("ok")

    async def ask(self, work: Callable[[VectorStoreClient], T]) -> T:
        """For a person who waits for it: without a deadline of ours and without a pause, and raises what went wrong."""
        if self.store is None:
            raise self._cannot()
        store = self.store
        try:
            done = await aside(lambda: _then_rest(store, work), None)
        except InterlockError as error:
            if error.code not in FOUND_OUT_AT_ONCE:
                self._failed(error.message)
            raise
        self._succeeded()
        return done

    def _cannot(self) -> UnavailableError:
        why = self.why_not or UnavailableError("there is none")
        return UnavailableError(f"Memory is unavailable: {why.message}.", remedy=why.remedy, code=why.code)

    async def _asked(self, work: Callable[[VectorStoreClient], T], tenant: str | None) -> T | str:
        """The answer, or in words why there is none."""
        if self.store is None:
            return _told(self.why_not) if self.why_not else "there is none"
        if paused := self._pause():
            return paused
        store = self.store
        try:
            await aside(lambda: store.load(tenant), LOAD_SECONDS)
            done = await aside(lambda: _then_rest(store, work), self.seconds)
        except TimeoutError:
            return self._failed(f"The memory {store.where} did not answer within {self.seconds:g} seconds.")
        except InterlockError as error:
            return _told(error) if error.code in FOUND_OUT_AT_ONCE else self._failed(error.message)
        except Exception as error:  # noqa: BLE001 - memory never ends a run
            return self._failed(f"The memory {store.where} failed with {type(error).__name__}.")
        self._succeeded()
        return done

    def _pause(self) -> str | None:
        kept = self._read().get(self.where)
        if not isinstance(kept, dict) or self._clock() >= float(kept.get("until", 0)):
            return None
        return f"{kept.get('why')} It is left alone for {kept['until'] - self._clock():.0f} more seconds"

    def _failed(self, why: str) -> str:
        kept = self._read()
        times = int(kept.get(self.where, {}).get("times", 0)) + 1
        until = self._clock() + min(FIRST_PAUSE * 2.0 ** (times - 1), LONGEST_PAUSE)
        self._write({**kept, self.where: {"until": until, "times": times, "why": why}})
        return why.rstrip(".")

    def _succeeded(self) -> None:
        kept = self._read()
        if kept.pop(self.where, None) is not None:
            self._write(kept)

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            kept = read_json(self.pauses.read_bytes())
        except (OSError, ValueError):
            return {}
        return kept if isinstance(kept, dict) else {}

    def _write(self, pauses: dict[str, dict[str, Any]]) -> None:
        with suppress(OSError):
            self.pauses.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = self.pauses.with_suffix(f".{threading.get_ident()}")
            new.write_text(json.dumps(pauses))
            new.replace(self.pauses)


def _told(error: InterlockError) -> str:
    """With what a person can do about it."""
    return f"{error.message.rstrip('.')}: {error.remedy}".rstrip(".: ")


def fit(record: MemoryRecord) -> MemoryRecord | None:
    """As it may be kept; None where there is nothing in it."""
    content = shorten(without_secrets(clean(record.content)).strip(), MOST_CHARACTERS)
    return MemoryRecord(record.id, content, record.timestamp, record.metadata) if content else None


def _then_rest(store: VectorStoreClient, work: Callable[[VectorStoreClient], T]) -> T:
    """Other processes get their turn while this one goes on with its thread."""
    try:
        return work(store)
    finally:
        store.rest()


async def aside(work: Callable[[], T], seconds: float | None) -> T:
    """In a thread that keeps neither the loop nor the process waiting. Raises TimeoutError; the work is then left to itself."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)  # type: ignore[arg-type]  # a T, where there is no error
        else:
            done.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001 - it is raised where it was asked for
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, result, error)

    threading.Thread(target=run, name="memory", daemon=True).start()
    return await asyncio.wait_for(done, seconds)
