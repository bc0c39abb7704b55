"""Port: what is kept of threads that are over, and what goes. The record, the questions and the ledger's rows always stay."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memory.people import Identity
from memory.runs import Status

FINAL: tuple[Status, ...] = ("completed", "rejected", "cancelled")  # a failed or stopped thread can still go on from its checkpoint


@dataclass(frozen=True, slots=True)
class Rule:
    """Threads that ended so, and at least `seconds` ago, without the newest `keep_last` of those that ended so."""

    seconds: float
    statuses: Sequence[Status] = FINAL
    keep_last: int = 0


@dataclass(frozen=True, slots=True)
class Prunable:
    """`checkpoints` and `results` (of calls) are counts; `bytes` is what both, and what belongs to them, take as they are stored."""

    thread_id: str
    status: Status
    updated_at: datetime
    checkpoints: int
    results: int
    bytes: int


class Retention(Protocol):
    async def due(self, rule: Rule) -> Sequence[Prunable]:
        """What the rule lets go, oldest first. Never a thread that is driven, open, asked about, not reviewed, with a call of which
        nobody knows the outcome, or whose results an open copy of it inherits.
        """

    async def prune(self, thread_ids: Sequence[str], rule: Rule, by: Identity) -> Sequence[Prunable]:
        """Drops it in one transaction, with a line on each thread's record. What is not due any more, or in use right now, is left out."""
