"""Port: one row a thread. Who asked, how it stands, who drives it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from memory.leases import Lease
from memory.people import Identity

Status = Literal["running", "waiting", "completed", "rejected", "failed", "cancelled", "stopped"]
ENDED: frozenset[str] = frozenset({"completed", "rejected", "failed", "cancelled", "stopped"})


@dataclass(frozen=True, slots=True)
class NewRun:
    """`input` is None where a thread is adopted from its checkpoint. Versions are hashes of what the code was."""

    thread_id: str
    input: str | None
    requester: Identity
    starter: Identity
    tenant: str
    graph_version: str
    tools_version: str
    detached: bool = False  # nobody drives it yet: whoever looks for work may


@dataclass(frozen=True, slots=True)
class Run:
    """Times are aware and in UTC, by the database's clock; `lease_live` too is judged by that clock.

    `wake_seq` grows with each decision, wish and deadline; `settled_seq` is how far a driver has taken them up.
    `memory` is what `recalled` and `remembered` wrote, under these two names; None where memory played no part.
    """

    thread_id: str
    status: Status
    input: str | None
    requester: Identity
    starter: Identity
    tenant: str
    lineage_root: str
    graph_version: str
    tools_version: str
    final_answer: str | None
    error: Mapping[str, Any] | None
    cancel_requested: Mapping[str, Any] | None
    wake_seq: int
    settled_seq: int
    lease_owner: str | None
    lease_epoch: int
    lease_since: datetime | None
    lease_live: bool
    memory: Mapping[str, Any] | None
    created_at: datetime
    updated_at: datetime
    forked_from: str | None = None


class Runs(Protocol):
    async def create(self, new: NewRun, *, adopted: bool = False, moving: bool = False) -> Run:
        """ConflictError `thread_exists` if there is one. `moving`: checkpoints of the adopted thread are on their way, the next counts."""

    async def fork(self, source: str, thread_id: str, by: Identity) -> Run:
        """Copies a thread, where its last checkpoint left it, into a new one, and puts that on the record of both.

        Who asked for the first asked for the second. ConflictError `thread_exists` if there is one of that name.
        """

    async def get(self, thread_id: str) -> Run | None: ...

    async def left(self) -> Sequence[Run]:
        """Those that could go on, oldest first: begun and not ended, overdue, or with a decision or wish that was not taken up.

        `lease_live` tells of each whether a process may still drive it.
        """

    async def due(self, limit: int, *, besides: Sequence[str] = ()) -> Sequence[str]:
        """At most so many threads that could go on and that nobody drives, the first to be driven first: tenants take turns.

        Without those that are named in `besides`. A deadline counts once `wake_overdue` has seen it.
        """

    async def wake_overdue(self) -> int:
        """Wakes each thread that waits with a question past its deadline; whoever drives it then closes that. Returns how many."""

    async def newest(self, *, status: Status | None = None, limit: int = 100) -> Sequence[Run]: ...

    async def acquire(self, thread_id: str, owner: str, seconds: float, *, dead_owner: str | None = None) -> Lease:
        """Excludes every other driver. BusyError names the one that holds it, unless that one is `dead_owner`."""

    async def renew(self, lease: Lease, seconds: float) -> None:
        """LeaseLostError if another process took over."""

    async def settle(
        self,
        lease: Lease,
        *,
        seen_wake_seq: int,
        status: Status,
        final_answer: str | None = None,
        error: Mapping[str, Any] | None = None,
    ) -> bool:
        """Writes how the thread stands and gives the lease up, unless it was woken since: then False, and nothing is written."""

    async def caught_up(self, lease: Lease, *, seen_wake_seq: int) -> None:
        """As `settle` for a thread that had ended before: how it ended stands, and what came later was taken up."""

    async def release(self, lease: Lease) -> None:
        """Gives the lease up on an error's way out; a lease that is lost already is no error."""

    async def reopen(self, lease: Lease) -> None:
        """A stopped or failed thread that is driven on is running again."""

    async def request_cancel(self, thread_id: str, by: Identity, comment: str) -> None: ...

    async def recalled(self, thread_id: str, about: Mapping[str, Any]) -> None:
        """What memory said before the first thought: `status`, `reason`, `ids`. Nothing is written where there is no run."""

    async def remembered(self, thread_id: str, about: Mapping[str, Any]) -> None:
        """Whether the thread itself was kept: `status`, `reason`, `ids`."""
