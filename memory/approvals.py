"""Port: questions to people, and their answers.

The rules are not here: `decide` gives what is stored to a pure function of `graph.approval` and writes what that says, all in
one transaction.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from memory.errors import InterlockError
from memory.people import Identity

Kind = Literal["pre_execution", "unknown_outcome", "compensation", "final_answer"]
ApprovalStatus = Literal["pending", "approved", "rejected", "expired", "escalated", "cancelled"]
VoteType = Literal["approve", "modify", "reject", "escalate", "done", "retry", "abandon", "cancel"]
BallotType = VoteType | Literal["expire", "answer"]  # neither is a vote: a deadline that has passed, and what no reader understands


@dataclass(frozen=True, slots=True)
class NewApproval:
    """`rules` is what the policy said (sources, four_eyes, deadline, rule, policy); `deadline` are seconds from the asking.

    `said` is the model's own text beside its proposal, `note` ours: why this is asked (again).
    """

    approval_id: str
    thread_id: str
    call_key: str
    tool_call_id: str
    kind: Kind
    tool: str
    args: Mapping[str, Any]
    args_sha256: str
    schema_sha256: str
    tier: int
    required: int
    rules: Mapping[str, Any]
    graph_version: str
    note: str = ""
    said: str = ""
    secret: tuple[str, ...] = ()
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a model wanted; `verdict` is what the policy said: run, pre_approve, ask or forbid. `args` as the record may show them."""

    call_key: str
    tool: str
    args: Mapping[str, Any]
    args_sha256: str
    verdict: str
    rule: str
    policy: str


@dataclass(frozen=True, slots=True)
class Vote:
    version: int
    voter: str
    actor: Identity
    type: VoteType
    comment: str
    detail: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class Approval:
    """Times are aware, UTC, by the database's clock; `overdue` is judged by it. `have` counts approvals of this version.

    `begun_at` and `idempotency_key` are of the attempt that nobody knows the outcome of, as long as it is the last one.
    """

    approval_id: str
    thread_id: str
    call_key: str
    tool_call_id: str
    kind: Kind
    status: ApprovalStatus
    tool: str
    args: dict[str, Any]
    args_sha256: str
    proposed_args: dict[str, Any]
    schema_sha256: str
    note: str
    said: str
    tier: int
    required: int
    have: int
    rules: dict[str, Any]
    version: int
    graph_version: str
    outcome: dict[str, Any] | None
    requested_at: datetime
    expires_at: datetime | None
    decided_at: datetime | None
    overdue: bool
    requester: Identity
    starter: Identity
    begun_at: datetime | None = None
    idempotency_key: str | None = None
    memory: Mapping[str, Any] | None = None  # of its thread, see memory.runs.Run


@dataclass(frozen=True, slots=True)
class Revision:
    """A new version of a question: other arguments, and the rules that hold for them, never looser than before."""

    args: Mapping[str, Any]
    args_sha256: str
    tier: int
    required: int
    rules: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a ballot leads to. `successor` is a question that takes this one's place.

    `refusal` is raised after the rest was written: a late vote is refused, and the question expires. `by` is on the record as who
    brought it about, where that is not the voter; then the ballot is no vote.
    """

    status: ApprovalStatus
    outcome: Mapping[str, Any] | None = None
    modified: Revision | None = None
    successor: NewApproval | None = None
    refusal: InterlockError | None = None
    by: Identity | None = None
    own_request: bool = False


@dataclass(frozen=True, slots=True)
class Ballot:
    """One vote as it comes in. `detail` is kept with it: the new arguments, what follows a rejection, a text."""

    type: BallotType
    actor: Identity
    comment: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    seen_version: int | None = None


Judge = Callable[[Approval, Sequence[Vote], Ballot], Ruling]


class Approvals(Protocol):
    async def open(self, questions: Sequence[NewApproval]) -> Sequence[Approval]:
        """Idempotent: one that exists is returned as it stands. Each new one is on the record in the same transaction."""

    async def get(self, approval_id: str) -> Approval | None: ...

    async def find(self, name: str) -> Sequence[Approval]:
        """By id, by a prefix of at least 6 characters, or the open ones of the thread with that name."""

    async def of_thread(self, thread_id: str) -> Sequence[Approval]: ...

    async def pending(self, *, tier: int | None = None, limit: int = 1000) -> Sequence[Approval]:
        """Oldest first."""

    async def waiting(self) -> int:
        """How many are pending."""

    async def decide(self, approval_id: str, ballot: Ballot, judge: Judge) -> Approval:
        """One transaction: compare-and-set, vote, record, wake-up. What the judge refuses is on the record as such, and raised."""

    async def overdue(self, thread_id: str | None = None) -> Sequence[Approval]:
        """Open ones whose deadline has passed by the database's clock."""

    async def remind(self, thread_id: str | None = None) -> int:
        """Reminds people of open ones, each once and before its deadline, as its rules say. Returns of how many."""

    async def refused(self, approval_id: str, ballot: Ballot, why: InterlockError) -> None:
        """Puts an attempt that changed nothing on the record."""

    async def forbidden(self, thread_id: str, proposals: Sequence[Proposal]) -> None:
        """Puts on the record what nobody is asked about, once for each call; every other proposal is there with its question or run."""

    async def shown(self, questions: Sequence[Approval], to: Identity) -> None:
        """Puts on the record that a person was shown these, once for each version and person."""

    async def pre_approve(self, question: NewApproval) -> Approval:
        """Writes a question that the policy has answered already, with its answer. Idempotent: one that exists stays as it is.

        Where its rules say `drawn`, a review is opened with it.
        """


MASK = "‹secret›"


def masked(args: Mapping[str, Any], secret: Sequence[str]) -> dict[str, Any]:
    """Arguments as they may be shown. On the record they stand as a keyed digest: memory.postgres.audit."""
    return {name: MASK if name in secret else value for name, value in args.items()}


def unmasked(args: Mapping[str, Any], before: Mapping[str, Any], secret: Sequence[str]) -> dict[str, Any]:
    """Arguments that were changed from how they are shown: what stayed masked stays as it was."""
    return {name: before[name] if name in secret and name in before and value == MASK else value for name, value in args.items()}


def redacted(text: str, args: Mapping[str, Any], secret: Sequence[str]) -> str:
    """A text without the secret arguments that it repeats, where they are long enough to be told from other words."""
    for name in secret:
        for leaf in sorted(_leaves(args.get(name)), key=len, reverse=True):
            text = text.replace(leaf, f"[{name}]")
    return text


def _leaves(value: Any) -> Iterator[str]:
    match value:
        case dict():
            yield from itertools.chain.from_iterable(map(_leaves, value.values()))
        case list():
            yield from itertools.chain.from_iterable(map(_leaves, value))
        case str() if len(value) > 3:
            yield value
