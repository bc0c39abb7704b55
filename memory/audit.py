"""Port: the record. Events are appended by the stores, in the transaction of what they record; here they are read.

The rule of the hash is written out in docs/audit.md, for those who check an export without us.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from memory.moments import moment
from memory.people import Identity

MEMORY_RECORD = "@memory"  # what people do to episodic memory is on the record under this name, as if it were a thread's


@dataclass(frozen=True, slots=True)
class Event:
    """`payload` is JSON text, as hashed. `at` is UTC, by the database's clock."""

    thread_id: str
    seq: int
    at: datetime
    kind: str
    actor: str
    actor_source: str
    payload: str
    prev_hash: str
    hash: str

    @property
    def content(self) -> Any:
        """The payload, parsed; its text where somebody made it unreadable."""
        try:
            return json.loads(self.payload)
        except (ValueError, RecursionError):
            return self.payload


@dataclass(frozen=True, slots=True)
class Head:
    """Where a thread's chain ends, kept apart from the events, so that a missing last row is seen."""

    thread_id: str
    seq: int
    hash: str
    seal: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The record as it stood at one moment. The events, by thread and number, come from the database as they are asked for."""

    at: datetime
    heads: Sequence[Head]
    events: AsyncIterator[Event]


class Audit(Protocol):
    async def events(self, thread_id: str | None = None) -> Sequence[Event]:
        """By thread and number; those of every thread if none is named."""

    async def heads(self, thread_id: str | None = None) -> Sequence[Head]:
        """One for each thread that has a run, a chain or an event: a thread without a chain has a head of number 0."""

    def snapshot(self, thread_id: str | None = None) -> AbstractAsyncContextManager[Snapshot]:
        """Events and heads that belong together, while others go on writing."""

    async def append(self, thread_id: str, kind: str, actor: Identity, payload: dict[str, object]) -> None: ...


def event_hash(event: Event) -> str:
    """sha256 over the joined hex digests of the fields; `at` as `moment` writes it."""
    fields = (event.thread_id, str(event.seq), moment(event.at), event.kind, event.actor, event.actor_source, event.payload)
    return _sha(event.prev_hash + "".join(_sha(field) for field in fields))


def seal_of(thread_id: str, seq: int, last_hash: str) -> str:
    return _sha(f"{thread_id} {seq} {last_hash}")


def faults_of(events: Iterable[Event], heads: Iterable[Head]) -> list[str]:
    """What does not hold together, in words; empty if all chains verify. Events come by thread and number."""
    chains = Chains()
    for event in events:
        chains.add(event)
    return chains.faults(heads)


@dataclass(slots=True)
class _End:
    count: int = 0
    seq: int = 0
    hash: str = ""
    broken: bool = False


class Chains:
    """Checks events as they come, and keeps no more of them than where each chain ends."""

    def __init__(self) -> None:
        self.count = 0
        self._ends: dict[str, _End] = {}
        self._faults: dict[str, list[str]] = {}

    def add(self, event: Event) -> None:
        end = self._ends.setdefault(event.thread_id, _End())
        if not end.broken:
            self._check(event, end)
        end.seq, end.hash = event.seq, event.hash
        end.count += 1
        self.count += 1

    async def passing(self, events: AsyncIterator[Event]) -> AsyncIterator[Event]:
        """Adds what goes through."""
        async for event in events:
            self.add(event)
            yield event

    def faults(self, heads: Iterable[Head]) -> list[str]:
        """By thread. `heads` say where the chains have to end."""
        marks = {head.thread_id: head for head in heads}
        threads = sorted(self._ends.keys() | marks.keys())
        return [fault for thread in threads for fault in [*self._faults.get(thread, []), *self._at_the_end(thread, marks.get(thread))]]

    def _check(self, event: Event, end: _End) -> None:
        found = self._faults.setdefault(event.thread_id, [])
        if event.seq != end.count + 1 or event.prev_hash != end.hash:
            found.append(f"{event.thread_id}: the event before number {event.seq} is missing or was changed")
            end.broken = True
        elif event.hash != event_hash(event):
            found.append(f"{event.thread_id}: event {event.seq} ({event.kind}) was changed")

    def _at_the_end(self, thread: str, mark: Head | None) -> list[str]:
        end = self._ends.get(thread)
        if mark is None or end is None or (mark.seq, mark.hash) != (end.seq, end.hash):
            return [f"{thread}: the end of the record is missing or was changed"]
        if mark.seal != seal_of(thread, mark.seq, mark.hash):
            return [f"{thread}: the mark at the end of the record was changed"]
        return []


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
