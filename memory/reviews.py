"""Port: what is looked at after it ran, because a rule had let it run at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from memory.approvals import Approval
from memory.people import Identity

ReviewStatus = Literal["open", "accepted", "flagged"]


@dataclass(frozen=True, slots=True)
class Review:
    """`permit` is the approval that the policy gave; `ran` and `result` what came of the call, None while that is not known.

    Times are aware, UTC, and `age` are seconds, by the database's clock; of a review that was made, the time it took.
    """

    permit: Approval
    status: ReviewStatus
    opened_at: datetime
    age: float
    reviewer: Identity | None
    comment: str
    reviewed_at: datetime | None
    ran: str | None
    result: str | None


class Reviews(Protocol):
    async def find(self, name: str) -> Sequence[Review]:
        """By id, by a prefix of at least 6 characters, or the open ones of the thread with that name."""

    async def listed(self, *, every: bool = False, limit: int = 1000) -> Sequence[Review]:
        """Oldest first; without `every` only the open ones."""

    async def open(self, *, most: int) -> tuple[int, float]:
        """How many are open, counted up to `most`, and the age of the oldest in seconds."""

    async def give(self, approval_id: str, status: ReviewStatus, by: Identity, comment: str, allowed: Callable[[Review], None]) -> Review:
        """One transaction with its place on the record. What `allowed` raises is on the record as a refused attempt."""
