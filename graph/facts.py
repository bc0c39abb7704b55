"""What a policy may look at besides the call itself: who asked, when, and what this thread did before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from memory.approvals import Approval, Approvals
from memory.ledger import Ledger
from memory.moments import moment
from memory.runs import Run, Runs

if TYPE_CHECKING:
    from graph.policy import Policy


@dataclass(frozen=True, slots=True)
class Facts:
    """`now` is aware, UTC. `history` are the earlier calls of this thread, oldest first, as plain JSON; see `_entry`."""

    requester: str
    tenant: str
    thread: str
    now: datetime
    history: Sequence[Mapping[str, Any]] = ()


class Stores(Protocol):
    @property
    def policy(self) -> "Policy": ...
    @property
    def runs(self) -> Runs: ...
    @property
    def approvals(self) -> Approvals: ...
    @property
    def ledger(self) -> Ledger: ...


async def facts_of(stores: Stores, thread_id: str, *, without: str = "") -> Facts:
    """`without` is the key of the call that is judged: it is no part of its own history."""
    if not stores.policy.looks_at_facts:
        return Facts("unknown", "default", thread_id, datetime.now(UTC))
    run = await stores.runs.get(thread_id)
    entries: dict[str, dict[str, Any]] = {}
    for name, until in await _lineage(stores, run):
        for question in await stores.approvals.of_thread(name):  # oldest first: the last question about a call counts
            if question.kind == "pre_execution" and question.call_key != without and question.requested_at < until:
                entries[question.call_key] = _entry(question)
        for one in await stores.ledger.of_thread(name):
            if one.call_key != without and one.started_at < until:
                asked = entries.setdefault(one.call_key, {"decision": "", "by": "", "rule": ""})
                ran = {"tool": one.tool, "args": one.args, "status": one.status, "at": moment(one.started_at)}
                entries[one.call_key] = {**asked, **ran}
    return Facts(
        requester=run.requester.name if run else "unknown",
        tenant=run.tenant if run else "default",
        thread=thread_id,
        now=datetime.now(UTC),
        history=sorted(entries.values(), key=lambda entry: str(entry["at"])),
    )


async def _lineage(stores: Stores, run: Run | None) -> list[tuple[str, datetime]]:
    """A thread and those that it was copied from, the oldest first, each with the time until which it counts."""
    line: list[tuple[str, datetime]] = []
    until = datetime.max.replace(tzinfo=UTC)
    while run is not None:
        line.insert(0, (run.thread_id, until))
        until = run.created_at
        run = await stores.runs.get(run.forked_from) if run.forked_from else None
    return line


def _entry(question: Approval) -> dict[str, Any]:
    """Every entry has every key, so that a rule about one need not ask whether it is there."""
    return {
        "tool": question.tool, "args": question.args, "status": "", "decision": question.status,
        "by": str((question.outcome or {}).get("by", "")), "rule": str(question.rules.get("rule", "")),
        "at": moment(question.requested_at),
    }  # fmt: skip
