"""Port: the ledger of executions. What was begun, what came out, what nobody knows.

Intent, effect, outcome: `begin` commits before the effect, `finish` after it. A row at `started` whose process is gone is unknown.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from memory.approvals import NewApproval
from memory.leases import Lease

ExecutionStatus = Literal["started", "succeeded", "failed", "unknown", "abandoned"]


@dataclass(frozen=True, slots=True)
class Intent:
    """`approval_id` is the stored approval that permits it; it must be given where `critical` is true.

    `secret` names the arguments that must not stand on the record. `rule` and `policy` say by what it runs where nobody was asked.
    `undo` is the way back that the tool declares, by name; `undoes` is the key of the call that this one undoes: then `approval_id` is
    the rejection that wished it, or, where `critical`, its own approval.
    """

    call_key: str
    thread_id: str
    tool_call_id: str
    tool: str
    args: Mapping[str, Any]
    args_sha256: str
    critical: bool
    approval_id: str | None
    idempotency_key: str
    secret: tuple[str, ...] = ()
    rule: str = ""
    policy: str = ""
    undo: str | None = None
    undoes: str | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """`secret` names the arguments that are shown to nobody; None of an older one, where it is not known."""

    call_key: str
    thread_id: str
    tool_call_id: str
    tool: str
    args: dict[str, Any]
    args_sha256: str
    approval_id: str | None
    idempotency_key: str
    status: ExecutionStatus
    attempts: int
    result: str | None
    error: str | None
    started_at: datetime
    finished_at: datetime | None
    undo: str | None = None
    undoes: str | None = None
    secret: Sequence[str] | None = None

    @property
    def hidden(self) -> Sequence[str]:
        return tuple(self.args) if self.secret is None else self.secret


@dataclass(frozen=True, slots=True)
class Begun:
    """`go`: do it now, as attempt `execution.attempts`. `done`: it was. `unsettled`: it was begun and nobody knows.

    `refused`: `why`. `running`: this very driver is at it. `cancelled`: a person ended the thread, nothing more begins.
    """

    state: Literal["go", "done", "unsettled", "refused", "running", "cancelled"]
    execution: Execution | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class AtWork:
    """An attempt that may not be over: by which process (memory.leases), and since when."""

    owner: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Result:
    status: Literal["succeeded", "failed", "unknown"]
    text: str


Effect = Callable[[Any], Awaitable[Result]]


class Ledger(Protocol):
    async def begin(self, lease: Lease, intent: Intent) -> Begun:
        """The gate and the fence: a critical call begins only against its stored approval, and only under a current lease."""

    async def past(self, lease: Lease, call_key: str) -> Begun | None:
        """As `begin` for what was begun before, where it cannot run any more: a wish to retry it counts as giving it up."""

    async def refuse(self, lease: Lease, intent: Intent, *, why: str) -> None:
        """Puts down that it will not run, as failed; nothing happens if it was begun."""

    async def compensated(self, lease: Lease, report: Mapping[str, Any]) -> None:
        """Puts on the record what is undone and what is not, once for each thread."""

    async def again(self, lease: Lease, execution: Execution, *, why: str) -> Execution:
        """A further attempt at what was begun and may safely be repeated."""

    async def finish(self, execution: Execution, result: Result, *, how: str = "returned") -> None:
        """Of this attempt only; news of an attempt that is no longer the current one is kept as late."""

    async def transact(self, lease: Lease, execution: Execution, effect: Effect) -> Result:
        """Runs `effect(connection)`; it and its outcome commit together, or, unless it succeeded, neither does."""

    async def give_up(self, execution: Execution, *, why: str, question: NewApproval, ended: bool = False) -> bool:
        """The outcome is unknown, and people are asked, in one transaction. False, and nothing happens, if it was settled meanwhile.

        `ended`: whatever it did, the attempt is over.
        """

    async def at_work(self, call_key: str) -> AtWork | None:
        """Of a call whose outcome nobody knows: the last attempt, unless it is known to be over."""

    async def refused(self, lease: Lease, *, call_key: str | None, tool: str | None, why: str) -> None:
        """Puts on the record that a call did not begin, and why."""

    async def late(self, execution: Execution, text: str) -> None: ...

    async def of_thread(self, thread_id: str) -> Sequence[Execution]: ...
