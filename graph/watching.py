"""Port: spans and numbers about the work, for whoever watches. It never changes the work, and sees no argument values.

Names of spans and numbers are those of docs/observability.md. Without a watcher, nothing is kept and nothing is imported.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from memory.approvals import Approval, Ballot, Judge, NewApproval

if TYPE_CHECKING:
    from memory.approvals import Approvals

Value = str | int | float | bool


class Span(Protocol):
    def tell(self, **attributes: Value | None) -> None: ...


class Watch(Protocol):
    def span(self, name: str, **attributes: Value | None) -> AbstractContextManager[Span]:
        """Ends with its block. An exception marks it with the name of its class, never with its text."""

    def count(self, name: str, **attributes: Value) -> None: ...

    def measure(self, name: str, value: float, **attributes: Value) -> None:
        """One value of a distribution, in seconds."""

    def level(self, name: str, value: int) -> None:
        """How much there is now."""


class _Nothing:
    def tell(self, **attributes: Value | None) -> None:
        pass


class Unwatched:
    @contextmanager
    def span(self, name: str, **attributes: Value | None) -> Iterator[Span]:  # noqa: ARG002 - the shape of the port
        yield _Nothing()

    def count(self, name: str, **attributes: Value) -> None:
        pass

    def measure(self, name: str, value: float, **attributes: Value) -> None:
        pass

    def level(self, name: str, value: int) -> None:
        pass


class WatchedApprovals:
    """Approvals as they are, with a span for each decision and numbers about asking and deciding."""

    def __init__(self, approvals: "Approvals", watch: Watch) -> None:
        self._approvals, self._watch = approvals, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._approvals, name)

    async def open(self, questions: Sequence[NewApproval]) -> Sequence[Approval]:
        known = {one.approval_id: await self._approvals.get(one.approval_id) for one in questions}
        opened = await self._approvals.open(questions)
        for one in opened:
            if known.get(one.approval_id) is None:
                self._watch.count("interlock.approvals.asked", tool=one.tool, kind=one.kind)
        return opened

    async def decide(self, approval_id: str, ballot: Ballot, judge: Judge) -> Approval:
        with self._watch.span("decision", approval_id=approval_id, answer=ballot.type, actor_source=ballot.actor.source) as span:
            decided = await self._approvals.decide(approval_id, ballot, judge)
            span.tell(thread_id=decided.thread_id, tool=decided.tool, status=decided.status, tier=decided.tier)
        if decided.status != "pending" and decided.decided_at is not None:
            seconds = (decided.decided_at - decided.requested_at).total_seconds()
            self._watch.measure("interlock.approval.seconds", seconds, tool=decided.tool, status=decided.status)
        return decided
