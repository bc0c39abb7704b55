"""The record as a file: one event a line, and a last line that says where each chain ends. Verified without a database.

The format is that of docs/audit.md. Neither writing nor comparing holds more than one event at a time.
"""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from memory.audit import Chains, Event, Head, Snapshot, seal_of
from memory.errors import RefusedError, UsageError
from memory.moments import moment

FORMAT = 1
FIELDS = {"thread_id", "seq", "at", "kind", "actor", "actor_source", "payload", "prev_hash", "hash"}
MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class Export:
    """`thread_id` is the one it was made of, or None for all."""

    at: str
    events: int
    threads: frozenset[str]
    thread_id: str | None

    def as_json(self) -> dict[str, Any]:
        return {"at": self.at, "events": self.events, "threads": len(self.threads), "thread_id": self.thread_id}


async def write(snapshot: Snapshot, file: TextIO, *, thread_id: str | None) -> tuple[Chains, Export]:
    """Writes whatever stands there, and checks it on the way."""
    chains = Chains()
    async for event in snapshot.events:
        chains.add(event)
        file.write(_line(_as_json(event)))
    heads = [{"hash": head.hash, "seq": head.seq, "thread_id": head.thread_id} for head in snapshot.heads]
    at = moment(snapshot.at)
    trailer = {"at": at, "events": chains.count, "format": FORMAT, "heads": heads, "thread_id": thread_id}
    file.write(_line({"export": trailer}))
    return chains, Export(at, chains.count, frozenset(head.thread_id for head in snapshot.heads), thread_id)


def check(path: Path) -> Export:
    """Raises RefusedError with code export_does_not_verify for a file that is not as it was written."""
    chains, last, before = Chains(), None, ("", 0)
    try:
        for number, record in _records(path):
            if "export" in record and last is None:
                last = record["export"]
                continue
            event = _event(record) if last is None and record.keys() == FIELDS else None
            if event is None or (event.thread_id, event.seq) <= before:
                raise ValueError(f"line {number} does not belong there")
            before = (event.thread_id, event.seq)
            chains.add(event)
        heads = _heads(last, chains.count)
        faults = chains.faults(heads)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _does_not_verify(path, [str(error)]) from error
    if faults or last is None:
        raise _does_not_verify(path, faults)
    return Export(last["at"], chains.count, frozenset(head.thread_id for head in heads), last["thread_id"])


async def compare(path: Path, events: AsyncIterator[Event], *, thread_id: str | None) -> list[str]:
    """What of a checked export is not in the record as it stands now; the first fault of each thread. Both come by thread and number."""
    faults: dict[str, str] = {}
    now = await anext(events, None)
    for _, record in _records(path):
        if "export" in record or thread_id not in {None, record["thread_id"]}:
            continue
        then = _event(record)
        while now is not None and (now.thread_id, now.seq) < (then.thread_id, then.seq):
            now = await anext(events, None)
        if now is None or (now.thread_id, now.seq) != (then.thread_id, then.seq):
            faults.setdefault(then.thread_id, f"{then.thread_id}: event {then.seq} ({then.kind}) of the export is missing")
        elif now.hash != then.hash:
            faults.setdefault(then.thread_id, f"{then.thread_id}: event {then.seq} ({now.kind}) is not the one of the export ({then.kind})")
    while now is not None:  # whoever checks the chains on the way needs the rest, too
        now = await anext(events, None)
    return list(faults.values())


def _as_json(event: Event) -> dict[str, Any]:
    return {name: moment(event.at) if name == "at" else getattr(event, name) for name in FIELDS}


def _event(record: dict[str, Any]) -> Event:
    event = Event(**{**record, "at": datetime.fromisoformat(record["at"])})
    texts = (record[name] for name in FIELDS - {"seq"})
    if type(event.seq) is not int or not all(isinstance(text, str) for text in texts) or moment(event.at) != record["at"]:
        raise ValueError(f"event {event.seq} of {event.thread_id} is not as it was written")
    return event


def _heads(trailer: Any, count: int) -> list[Head]:
    if trailer is None:
        raise ValueError("its last line is missing")
    if trailer["format"] != FORMAT or trailer["events"] != count:
        raise ValueError(f"its last line names {trailer['events']} events of format {trailer['format']}; there are {count} of {FORMAT}")
    rows = ((row["thread_id"], row["seq"], row["hash"]) for row in trailer["heads"])
    return [Head(thread, seq, last, seal_of(thread, seq, last)) for thread, seq, last in rows]


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                record = json.loads(line)
                if not isinstance(record, dict) or _line(record) != line:
                    raise ValueError(f"line {number} is not as it was written")
                yield number, record
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.", remedy="Name an export.", code="bad_file") from error


def _does_not_verify(path: Path, faults: list[str]) -> RefusedError:
    told = faults[:MOST_TOLD]
    return RefusedError(
        f"The export {str(path)!r} does not verify: {told[0] if told else 'it is empty'}.",
        remedy="It says nothing about the database. Take a copy that was kept elsewhere.",
        code="export_does_not_verify",
        faults=told,
    )
