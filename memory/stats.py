"""Port: what became of questions and who decided them, counted. What follows from the numbers is said in graph/advice.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Votes:
    """What people voted. `fast`: sooner after they were shown the question (or after it was asked, where they were not shown it) than
    it takes to read; `unseen`: without that anything had shown it to them. `streak`: approvals in a row up to now; `longest`: at most.
    """

    votes: int = 0
    fast: int = 0
    unseen: int = 0
    streak: int = 0
    longest: int = 0


@dataclass(frozen=True, slots=True)
class Gate:
    """The questions of a tool under a rule; `rule` is None for all of a tool, `tool` for all there are.

    A question ends in one way: `approved` as it was proposed, `modified` (approved with other arguments), `rejected`, `expired`,
    `escalated` (its successor counts anew) or `cancelled`; or it is `waiting`. `median` and `p90` are seconds from the asking to the
    decision of people, the `oldest_` ones seconds until now. Pre-approved calls are counted apart from what was asked.
    """

    tool: str | None
    rule: str | None
    votes: Votes
    asked: int = 0
    approved: int = 0
    modified: int = 0
    rejected: int = 0
    expired: int = 0
    escalated: int = 0
    cancelled: int = 0
    waiting: int = 0
    median: float | None = None
    p90: float | None = None
    oldest_waiting: float | None = None
    pre_approved: int = 0
    accepted: int = 0
    flagged: int = 0
    unreviewed: int = 0
    oldest_unreviewed: float | None = None

    @property
    def decided(self) -> int:
        return self.approved + self.modified + self.rejected


@dataclass(frozen=True, slots=True)
class Operator:
    """One person under one source. `median` and `p90` are seconds from the asking to their vote."""

    name: str
    source: str
    votes: Votes
    approved: int
    modified: int
    rejected: int
    escalated: int
    median: float | None
    p90: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """`rules` and `tools` with the most questions first, `operators` with the most votes first."""

    overall: Gate
    tools: Sequence[Gate]
    rules: Sequence[Gate]
    operators: Sequence[Operator]


class Stats(Protocol):
    async def figures(self, *, seconds: float | None = None, tool: str | None = None) -> Figures:
        """Of questions asked in the last `seconds`, and of one tool; None: of all."""
