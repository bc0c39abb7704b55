"""What the numbers allow to be said: little below a minimum, nothing without its evidence. Pure.

Shares come with Wilson's interval at 95 % (E. B. Wilson, 1927), which stays honest for few cases and for shares near 0 and 1. A piece of
advice follows from the end of the interval that speaks against it, never from the share itself.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from graph.policy_file import ANSWER
from graph.screen import for_so_long
from memory.stats import Figures, Gate, Operator

Kind = Literal["loosen", "ask_again", "forbid", "deadline", "tier", "proposals", "broken", "hasty", "unseen", "unreviewed"]
Z = 1.959964  # of a normal distribution: 95 % lie within
UNNAMED = ("defaults", "default")  # what a question says that no rule is about, with and without a policy file
FAILED = " (failed)"
MINIMUM = 20  # cases, below which nothing is said

HARMLESS = 0.05  # a gate that stops at most so many may be in vain
FLAWED = 0.02  # a pre-approval that is found wrong at least so often is asked again
REFUSED = 0.5  # of what is refused at least so often, most should not be proposed
EXPIRED = 0.1
RAISED = 0.5
CHANGED = 0.3
HASTY = 0.5
LATE = 7 * 86400.0  # seconds that a review may wait


@dataclass(frozen=True, slots=True)
class Share:
    """`part` of `whole`, and between what (`low`, `high`) the share lies that they are a sample of."""

    part: int
    whole: int
    low: float
    high: float

    def as_json(self) -> dict[str, Any]:
        return {"of": self.whole, "count": self.part, "share": self.part / self.whole, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Advice:
    """`toml` is a rule for the policy file, where one is advised."""

    kind: Kind
    about: str
    text: str
    evidence: Mapping[str, Any]
    toml: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "about": self.about, "text": self.text, "rule": self.toml or None, "evidence": dict(self.evidence)}


Conditions = Mapping[str, str]  # of the rules of the policy as it stands, by name


def share(part: int, whole: int) -> Share | None:
    """None below the minimum: so few say nothing."""
    if whole < MINIMUM:
        return None
    low, high = wilson(part, whole)
    return Share(part, whole, low, high)


def wilson(part: int, whole: int) -> tuple[float, float]:
    if whole == 0:
        return 0.0, 1.0
    p, square = part / whole, Z * Z
    middle = (p + square / (2 * whole)) / (1 + square / whole)
    half = Z / (1 + square / whole) * ((p * (1 - p) + square / (4 * whole)) / whole) ** 0.5
    return (0.0 if part == 0 else middle - half), (1.0 if part == whole else middle + half)


def advise(figures: Figures, rules: Conditions, answer_rules: Conditions) -> list[Advice]:
    of_gates = [one for gate in figures.rules for one in _of_gate(gate, answer_rules if gate.tool == ANSWER else rules)]
    of_people = [one for operator in figures.operators for one in _of_operator(operator)]
    return of_gates + of_people


def _of_gate(gate: Gate, rules: Conditions) -> Iterator[Advice]:
    about, decided = f"{gate.tool} under the rule {gate.rule!r}", gate.decided
    if str(gate.rule).endswith(FAILED):
        said = f"asked {gate.asked} times of the highest tier, because the rule could not be evaluated: mend its condition."
        yield Advice("broken", about, f"{about}: {said}", {"of": gate.asked})
        return
    stopped = share(decided - gate.approved, decided)
    if stopped and stopped.part == 0 and gate.escalated == 0 and stopped.high <= HARMLESS:
        yield _loosen(gate, rules, about, stopped)
    refused = share(gate.rejected, decided)
    if refused and refused.low >= REFUSED:
        said = f"rejected {gate.rejected} of {decided} ({_percent(refused)}): people say no to most of these. Forbid what they refuse."
        yield Advice("forbid", about, f"{about}: {said}", refused.as_json(), _toml(gate, rules, "forbid", f"no {gate.tool} of this kind"))
    changed = share(gate.modified, decided)
    if changed and changed.low >= CHANGED:
        said = f"changed {gate.modified} of {decided} before approving ({_percent(changed)}): the agent proposes what people do not want. "
        said += "Say in the task, or in the tool's description, what they change."
        yield Advice("proposals", about, f"{about}: {said}", changed.as_json())
    expired = share(gate.expired, decided + gate.expired)
    if expired and expired.low >= EXPIRED:
        said = f"nobody decided in time {gate.expired} of {expired.whole} times ({_percent(expired)}): "
        yield Advice("deadline", about, f"{about}: {said}give it a longer deadline, a reminder, or more people.", expired.as_json())
    raised = share(gate.escalated, decided + gate.escalated)
    if raised and raised.low >= RAISED:
        said = f"escalated {gate.escalated} of {raised.whole} times ({_percent(raised)}): ask the higher tier at once."
        yield Advice("tier", about, f"{about}: {said}", raised.as_json())
    yield from _of_reviews(gate, rules, about)


def _loosen(gate: Gate, rules: Conditions, about: str, stopped: Share) -> Advice:
    read = f", {gate.votes.fast} of {gate.votes.votes} votes sooner than it takes to read" if gate.votes.fast else ""
    said = (
        f"approved {gate.approved} of {gate.decided}, median {_seconds(gate.median)}{read} "
        f"(95 %: at most {stopped.high:.1%} would be stopped): this gate adds latency and no safety; consider this rule"
    )
    evidence = {**stopped.as_json(), "median_seconds": gate.median, "fast": gate.votes.fast, "votes": gate.votes.votes}
    toml = _toml(gate, rules, "pre_approve", f"{gate.tool} needs nobody", more="review = 0.2\n")
    return Advice("loosen", about, f"{about}: {said}{':' if toml else ' in the file that the rule stands in.'}", evidence, toml)


def _of_reviews(gate: Gate, rules: Conditions, about: str) -> Iterator[Advice]:
    flagged = share(gate.flagged, gate.flagged + gate.accepted)
    if flagged and flagged.low >= FLAWED:
        said = f"pre-approved, but {gate.flagged} of {flagged.whole} reviews flagged ({_percent(flagged)}): ask again."
        yield Advice("ask_again", about, f"{about}: {said}", flagged.as_json(), _toml(gate, rules, "ask", f"{gate.tool} is asked again"))
    if gate.oldest_unreviewed is not None and gate.oldest_unreviewed >= LATE:
        waiting = f"{gate.unreviewed} reviews wait, the oldest for {for_so_long(gate.oldest_unreviewed)}"
        said = f"{waiting}: what nobody looks at is not reviewed. `interlock review list` has them."
        yield Advice("unreviewed", about, f"{about}: {said}", {"of": gate.unreviewed, "oldest_seconds": gate.oldest_unreviewed})


def _of_operator(one: Operator) -> Iterator[Advice]:
    about, votes = f"{one.name} ({one.source})", one.votes
    hasty = share(votes.fast, votes.votes)
    if hasty and hasty.low >= HASTY:
        said = f"decided {votes.fast} of {votes.votes} sooner than the text can be read ({_percent(hasty)}), and approved "
        said += f"{votes.longest} in a row: ask them less, or ask two people where it matters."
        yield Advice("hasty", about, f"{about} {said}", {**hasty.as_json(), "longest_streak": votes.longest})
    unseen = share(votes.unseen, votes.votes)
    if unseen and unseen.low >= HASTY:
        said = f"decided {votes.unseen} of {votes.votes} that neither `interlock show` nor a terminal had shown them ({_percent(unseen)})."
        yield Advice("unseen", about, f"{about} {said}", unseen.as_json())


def _toml(gate: Gate, rules: Conditions, verdict: str, name: str, *, more: str = "") -> str:
    """A rule that takes these calls and no others: before the rule that has taken them so far, or behind all where none did.

    Empty where that rule is not in the policy that is set: then nobody can tell which calls it was about.
    """
    before = rules.get(str(gate.rule))
    if before is None and gate.rule not in UNNAMED:
        return ""
    is_answer = gate.tool == ANSWER
    tool = "true" if is_answer else f"tool == {_quoted(str(gate.tool))}"
    when = tool if before is None else before if is_answer else f"{tool} && ({before})"
    place = "# behind all other rules" if before is None else f"# before the rule {_quoted(str(gate.rule))}"
    table = ANSWER if is_answer else "rule"
    return f"{place}\n[[{table}]]\nname = {_quoted(name)}\nwhen = {_quoted(when)}\nverdict = {_quoted(verdict)}\n{more}"


def _quoted(text: str) -> str:
    """As TOML and CEL both read it."""
    return json.dumps(text, ensure_ascii=False)


def _percent(of: Share) -> str:
    return f"95 %: {percent(of.low)} to {percent(of.high)}"


def percent(part: float) -> str:
    """Near the ends with a decimal, so that 99.6 % is not shown as all."""
    return f"{part:.1%}" if 0 < part < 0.02 or 0.98 < part < 1 else f"{part:.0%}"


def _seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f} s" if value < 120 else for_so_long(value)


def as_json(figures: Figures, advice: Sequence[Advice]) -> dict[str, Any]:
    return {
        "minimum": MINIMUM,
        "overall": gate_json(figures.overall),
        "tools": [gate_json(one) for one in figures.tools],
        "rules": [gate_json(one) for one in figures.rules],
        "operators": [operator_json(one) for one in figures.operators],
        "advice": [one.as_json() for one in advice],
    }


def gate_json(gate: Gate) -> dict[str, Any]:
    counts = ("asked", "approved", "modified", "rejected", "expired", "escalated", "cancelled", "waiting", "pre_approved")
    approved, flagged = share(gate.approved, gate.decided), share(gate.flagged, gate.flagged + gate.accepted)
    reviews = {"accepted": gate.accepted, "flagged": gate.flagged, "open": gate.unreviewed, "oldest_seconds": gate.oldest_unreviewed}
    return {
        "tool": gate.tool, "rule": gate.rule, **{name: getattr(gate, name) for name in counts},
        "seconds_to_decision": {"median": gate.median, "p90": gate.p90}, "oldest_waiting_seconds": gate.oldest_waiting,
        **_votes_json(gate.votes.votes, gate.votes.fast, gate.votes.unseen, gate.votes.streak, gate.votes.longest),
        "approved_share": approved.as_json() if approved else None,
        "reviews": {**reviews, "flagged_share": flagged.as_json() if flagged else None},
    }  # fmt: skip


def operator_json(one: Operator) -> dict[str, Any]:
    decided = one.approved + one.modified + one.rejected
    approved = share(one.approved, decided)
    return {
        "operator": one.name, "source": one.source, "approved": one.approved, "modified": one.modified, "rejected": one.rejected,
        "escalated": one.escalated, "seconds_to_decision": {"median": one.median, "p90": one.p90},
        **_votes_json(one.votes.votes, one.votes.fast, one.votes.unseen, one.votes.streak, one.votes.longest),
        "approved_share": approved.as_json() if approved else None,
    }  # fmt: skip


def _votes_json(votes: int, fast: int, unseen: int, streak: int, longest: int) -> dict[str, Any]:
    return {
        "decisions": votes, "faster_than_read": fast, "shown_before": votes - unseen, "not_shown_before": unseen, "streak": streak,
        "longest_streak": longest,
    }  # fmt: skip
