"""Port: the record. Events are appended by the stores, in the transaction of what they record; here they are read."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from memory.people import Identity


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


@dataclass(frozen=True, slots=True)
class Head:
    """Where a thread's chain ends, kept apart from the events, so that a missing last row is seen."""

    thread_id: str
    seq: int
    hash: str
    seal: str


class Audit(Protocol):
    async def events(self, thread_id: str | None = None) -> Sequence[Event]:
        """By thread and number; those of every thread if none is named."""

    async def heads(self, thread_id: str | None = None) -> Sequence[Head]:
        """One for each thread that has a run, a chain or an event: a thread without a chain has a head of number 0."""

    async def append(self, thread_id: str, kind: str, actor: Identity, payload: dict[str, object]) -> None: ...


def event_hash(event: Event) -> str:
    """sha256 over the joined hex digests of the fields; `at` in microseconds, as 2026-01-31T09:30:00.000000Z."""
    at = event.at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    fields = (event.thread_id, str(event.seq), at, event.kind, event.actor, event.actor_source, event.payload)
    return _sha(event.prev_hash + "".join(_sha(field) for field in fields))


def faults_of(events: Iterable[Event], heads: Iterable[Head]) -> list[str]:
    """What does not hold together, in words; empty if all chains verify. Events come by thread and number."""
    chains: dict[str, list[Event]] = {}
    for event in events:
        chains.setdefault(event.thread_id, []).append(event)
    ends = {head.thread_id: head for head in heads}
    return [fault for thread in sorted(chains.keys() | ends.keys()) for fault in _faults(thread, chains.get(thread, []), ends.get(thread))]


def _faults(thread: str, chain: list[Event], head: Head | None) -> list[str]:
    faults, previous = [], ""
    for number, event in enumerate(chain, start=1):
        if event.seq != number or event.prev_hash != previous:
            faults.append(f"{thread}: the event before number {event.seq} is missing or was changed")
            break
        if event.hash != event_hash(event):
            faults.append(f"{thread}: event {event.seq} ({event.kind}) was changed")
        previous = event.hash
    last = chain[-1] if chain else None
    if head is None or last is None or (head.seq, head.hash) != (last.seq, last.hash):
        faults.append(f"{thread}: the end of the record is missing or was changed")
    elif head.seal != _sha(f"{thread} {head.seq} {head.hash}"):
        faults.append(f"{thread}: the mark at the end of the record was changed")
    return faults


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
