"""Port: messages to people that wait to be sent. The stores put them there in the transaction of what they tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Event = Literal["asked", "reminder", "escalated", "expired", "unknown_outcome", "ended"]
MOST_ATTEMPTS = 12
SEND_SECONDS = 15.0  # an attempt that takes longer has failed; the next one comes later than that


@dataclass(frozen=True, slots=True)
class Message:
    """One message to one target, by its place in the list of the policy file. `about` is the status of a thread that ended."""

    id: int
    thread_id: str
    approval_id: str | None
    event: Event
    target: int
    about: str
    created_at: datetime
    attempts: int
    next_at: datetime
    error: str | None


class Outbox(Protocol):
    async def claim(self, target: int, *, after: int = 0, now: bool = False) -> Message | None:
        """The oldest one that is due and has a number above `after`, for this attempt alone; `now`: also one that is to wait."""

    async def sent(self, message: Message) -> None: ...

    async def failed(self, message: Message, why: str) -> None:
        """It is tried again later; after the last attempt it is given up."""

    async def left(self) -> Sequence[Message]:
        """What is not sent and not given up, oldest first."""
