"""The numbers as a person reads them in a terminal. Pure."""

from collections.abc import Sequence
from typing import Any

from graph import screen
from graph.advice import MINIMUM, Advice, percent, share
from memory.stats import Figures, Gate, Operator, Votes

COUNTS = ("asked", "approved", "modified", "rejected", "expired", "escalated", "waiting")


def told(figures: Figures, given: Sequence[Advice], *, width: int | None = None) -> str:
    if not figures.overall.asked and not figures.overall.pre_approved:
        return "Nobody was asked anything yet."
    gates = [_gate(one) for one in (*(rule for rule in figures.rules if rule.asked), figures.overall)]
    people = [_operator(one) for one in figures.operators]
    votes = ("median", "p90", "too fast", "unseen", "longest streak")
    blocks = [
        screen.table(gates, ("tool", "rule", *COUNTS, *votes[:4], "approved as proposed"), "", width=width),
        screen.table(people, ("operator", "approved", "modified", "rejected", "escalated", *votes), "Nobody has decided yet.", width=width),
    ]
    if reviewed := [_reviewed(one) for one in figures.rules if one.pre_approved]:
        columns = ("tool", "rule", "pre-approved", "accepted", "flagged", "to review", "oldest")
        blocks.append(screen.table(reviewed, columns, "", width=width))
    blocks += [_advice(one) for one in given] or [f"No advice: it takes {MINIMUM} cases, and numbers that leave little doubt."]
    return "\n\n".join(blocks)


def _gate(one: Gate) -> dict[str, Any]:
    approved = share(one.approved, one.decided)
    return {
        "tool": one.tool or "all", "rule": one.rule or "", **{name: getattr(one, name) for name in COUNTS},
        "median": _time(one.median), "p90": _time(one.p90), **_votes(one.votes),
        "approved as proposed": f"{percent(approved.low)} to {percent(approved.high)}" if approved else "too few",
    }  # fmt: skip


def _operator(one: Operator) -> dict[str, Any]:
    counts = {name: getattr(one, name) for name in ("approved", "modified", "rejected", "escalated")}
    return {"operator": f"{one.name} ({one.source})", **counts, "median": _time(one.median), "p90": _time(one.p90), **_votes(one.votes)}


def _votes(one: Votes) -> dict[str, Any]:
    return {"too fast": one.fast, "unseen": one.unseen, "longest streak": one.longest}


def _reviewed(one: Gate) -> dict[str, Any]:
    oldest = None if one.oldest_unreviewed is None else screen.for_so_long(one.oldest_unreviewed)
    return {
        "tool": one.tool, "rule": one.rule, "pre-approved": one.pre_approved, "accepted": one.accepted, "flagged": one.flagged,
        "to review": one.unreviewed, "oldest": oldest,
    }  # fmt: skip


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return f"{seconds:.1f} s" if seconds < 100 else screen.for_so_long(seconds)


def _advice(one: Advice) -> str:
    rule = f"\n{screen.escape(one.toml.rstrip(), lines=True)}" if one.toml else ""
    return "→ " + screen.escape(one.text) + rule.replace("\n", "\n    ")
