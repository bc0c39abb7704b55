"""The rules about people, written a second time and as simply as they can be: what the real ones are compared with.

Nothing here is imported from the code that is tried, apart from the values it takes.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

NAMES_AT = {1: {"alice", "bob", "carol", "dave", "ada"}, 2: {"carol", "dave"}, 3: {"dave"}}
POLICY = """
[tiers]
1 = ["alice", "bob", "ada"]
2 = ["carol"]
3 = ["dave"]

[[rule]]
name = "never"
when = 'args.amount > 1000'
verdict = "forbid"

[[rule]]
name = "large"
when = 'args.amount > 100'
verdict = "ask"
tier = 2
required = 2
four_eyes = true
sources = ["token", "os"]

[[rule]]
name = "usual"
when = 'true'
verdict = "ask"
sources = ["token", "os", "claimed", "ui"]
"""
UNVERIFIED = {"claimed", "ui"}


@dataclass(frozen=True)
class Person:
    """`tier` is that of their token; None where they have none."""

    name: str
    source: str
    tier: int | None = None

    @property
    def voter(self) -> str:
        return "unverified" if self.source in UNVERIFIED else f"{self.source}:{self.name}"

    @property
    def names(self) -> set[str]:
        return {self.name, self.name.split("@")[0]} if self.source == "os" else {self.name}


@dataclass(frozen=True)
class Move:
    """One thing that somebody does: a vote, a look at the clock, or what a driver does: begins the call, leaves, comes back."""

    type: Literal["approve", "modify", "reject", "escalate", "cancel", "expire", "begin", "leave", "return"]
    of: int = 0  # which question of the chain of escalations
    by: Person | None = None
    seen: int | None = None  # the version that was looked at; of who leaves: the reasons to go on that they know of
    amount: int = 0  # to modify to, or to begin with


@dataclass
class Question:
    tier: int
    required: int
    four_eyes: bool
    sources: set[str]
    deadline: bool
    on_expiry: str
    amount: int = 5
    version: int = 1
    status: str = "pending"
    late: bool = False
    votes: dict[str, tuple[str, Person]] = field(default_factory=dict)  # of this version, by voter

    @property
    def have(self) -> int:
        return sum(vote in {"approve", "modify"} for vote, _ in self.votes.values())

    def has_voted(self, one: Person) -> bool:
        """Under one name or another, from one source or another."""
        return any(voter == one.voter or one.names & other.names for voter, (_, other) in self.votes.items())


@dataclass
class Thread:
    """`told` counts what has to be on the record, `wakes` the reasons to go on, `left_at` those that the last driver knew when it left."""

    requester: Person
    starter: Person
    chain: list[Question]
    began: int = 0  # in which turn of a driver
    turn: int = 1
    wakes: int = 0
    driven: bool = True
    left_at: int = 0
    told: dict[str, int] = field(default_factory=lambda: {"action_proposed": 1, "approval_requested": 1})

    def play(self, move: Move) -> str:
        """What comes of it: "ok", how the call began, or the code of a refusal."""
        if move.type == "return":
            return self._return()
        if move.type in {"begin", "leave"} and not self.driven:
            return "lease_lost"
        if move.type == "leave":
            return self._leave(move)
        question = self.chain[move.of] if move.of < len(self.chain) else None
        if move.type == "begin":
            return self._begin(question, move)
        if question is None:
            return "no_such_approval"
        if move.type == "expire":
            return self._expire(question)
        answer = self._decide(question, move)
        if answer != "ok":
            self._tell("refused_attempt")
        return answer

    def _leave(self, move: Move) -> str:
        if move.seen != self.wakes:
            return "stays"
        self.driven, self.left_at = False, self.wakes
        return "ok"

    def _return(self) -> str:
        if self.driven:
            return "busy"
        self.driven, self.turn = True, self.turn + 1
        return "ok"

    def _begin(self, question: Question | None, move: Move) -> str:
        if self.began:
            return "running" if self.began == self.turn else "unsettled"
        if question is None or question.status != "approved" or question.late or question.amount != move.amount:
            return "refused"
        self.began = self.turn
        self._tell("execution_started")
        return "go"

    def _expire(self, question: Question) -> str:
        if question.status == "pending" and question.late:
            self._lapse(question)
        return "ok"

    def _lapse(self, question: Question) -> None:
        if question.on_expiry == "escalate" and question.tier < 3:
            self._raise(question)
        else:
            self._close(question, "expired", "approval_expired")

    def _raise(self, question: Question) -> None:
        self._close(question, "escalated", "approval_escalated")
        self.chain.append(Question(
            question.tier + 1, question.required, question.four_eyes, question.sources, question.deadline, question.on_expiry,
            question.amount,
        ))  # fmt: skip
        self._tell("approval_requested")

    def _decide(self, question: Question, move: Move) -> str:
        assert move.by is not None
        if question.status != "pending":
            return "already_decided"
        if move.seen is not None and move.seen != question.version:
            return "stale"
        if move.type == "cancel":
            question.votes[move.by.voter] = "cancel", move.by
            self._close(question, "cancelled", "approval_decided")
            return "ok"
        if question.late:
            self._lapse(question)
            return "expired"
        if why := self._forbids(question, move.by, asks_only=move.type == "escalate"):
            return why
        if move.type in {"approve", "modify"} and question.has_voted(move.by):
            return "voted_already"
        if move.type == "escalate" and question.tier >= 3:
            return "no_higher_tier"
        if move.type in {"reject", "escalate"}:
            question.votes[move.by.voter] = move.type, move.by  # who had approved takes that back
        match move.type:
            case "reject":
                self._close(question, "rejected", "approval_decided")
            case "escalate":
                self._raise(question)
            case "modify":
                return self._modify(question, move)
            case "approve":
                question.votes[move.by.voter] = "approve", move.by
                self._counted(question)
        return "ok"

    def _modify(self, question: Question, move: Move) -> str:
        assert move.by is not None
        if move.amount > 1000:
            return "forbidden"
        large = move.amount > 100
        changed = Question(
            max(question.tier, 2 if large else 1), max(question.required, 2 if large else 1), question.four_eyes or large,
            question.sources & ({"token", "os"} if large else {"token", "os", "claimed", "ui"}), question.deadline, question.on_expiry,
        )  # fmt: skip
        if why := self._forbids(changed, move.by):
            return why
        question.tier, question.required, question.four_eyes = changed.tier, changed.required, changed.four_eyes
        question.sources, question.amount = changed.sources, move.amount
        question.version += 1
        question.votes = {move.by.voter: ("modify", move.by)}
        self._counted(question)
        return "ok"

    def _counted(self, question: Question) -> None:
        if question.have >= question.required:
            self._close(question, "approved", "approval_decided")
        else:
            self._tell("vote_cast")

    def _forbids(self, question: Question, by: Person, *, asks_only: bool = False) -> str | None:
        if by.source not in question.sources:
            return "not_permitted"
        if (by.tier is not None and by.tier < question.tier) or not by.names & NAMES_AT[question.tier]:
            return "not_permitted"
        if question.four_eyes and not asks_only and (by.names & self.askers or by.source in UNVERIFIED):
            return "four_eyes"
        return None

    @property
    def askers(self) -> set[str]:
        return self.requester.names | self.starter.names

    def _close(self, question: Question, status: str, kind: str) -> None:
        question.status = status
        self.wakes += 1
        self._tell(kind)

    def _tell(self, kind: str) -> None:
        self.told[kind] = self.told.get(kind, 0) + 1


def standing(thread: Thread) -> list[tuple[Any, ...]]:
    return [(one.status, one.version, one.have, one.tier, one.required, one.amount) for one in thread.chain]
