"""The rules about people: what a vote on a question leads to. Pure, and free of LangGraph, so that deciding is quick.

`judge` gets what is stored and one ballot; the store runs it inside its transaction and writes what it says.
"""

from collections.abc import Callable, Sequence
from typing import Any

from memory.approvals import Approval, Ballot, Judge, Ruling, Vote
from memory.errors import AlreadyDecidedError, InterlockError, RefusedError, StaleError
from memory.people import Identity

SETTLEMENTS = {"done", "retry", "abandon"}
THEN = ("continue", "stop")
Validate = Callable[[Approval, dict[str, Any]], tuple[dict[str, Any], str]]


def judge_with(validate: Validate | None = None) -> Judge:
    """`validate(question, new_args)` gives validated arguments and their hash, or raises RefusedError; needed to modify."""

    def judge(question: Approval, votes: Sequence[Vote], ballot: Ballot) -> Ruling:
        _refuse_if_decided(question, ballot)
        if ballot.type == "cancel":
            return Ruling("cancelled", {"then": "cancel", "by": ballot.actor.name, "comment": ballot.comment})
        if question.overdue:
            return _expired(question)
        _refuse_if_not_permitted(question, votes, ballot)
        return _count(question, ballot, validate)

    return judge


def _refuse_if_decided(question: Approval, ballot: Ballot) -> None:
    if question.status != "pending":
        raise already_decided(question)
    if ballot.seen_version is not None and ballot.seen_version != question.version:
        raise StaleError(
            f"Approval {question.approval_id} was modified since it was shown: it is at version {question.version} now.",
            remedy=f"Look at it again: interlock show {question.thread_id}",
        )


def already_decided(question: Approval) -> InterlockError:
    by, at = (question.outcome or {}).get("by", "unknown"), question.decided_at
    when = f" at {at.astimezone().isoformat(timespec='seconds')}" if at else ""
    return AlreadyDecidedError(
        f"Approval {question.approval_id} was {question.status} by {by}{when}; nothing has changed.",
        by=by, at=at.isoformat() if at else None, status=question.status,
    )  # fmt: skip


def _refuse_if_not_permitted(question: Approval, votes: Sequence[Vote], ballot: Ballot) -> None:
    settles = ballot.type in SETTLEMENTS
    if settles != (question.kind == "unknown_outcome") and ballot.type != "escalate":
        if settles:
            raise RefusedError("Only an unknown outcome can be resolved; this question wants approve, modify or reject.", code="wrong_kind")
        raise RefusedError(
            "Nobody knows whether this call happened; approving or rejecting does not say so.",
            remedy=f"interlock resolve {question.approval_id[:12]} --done TEXT | --retry | --abandon",
            code="wrong_kind",
        )
    sources = question.rules.get("sources")
    if sources and ballot.actor.source not in sources:
        raise RefusedError(f"{ballot.actor} may not decide this: tier {question.tier} takes {', '.join(sources)}.", code="not_permitted")
    if question.rules.get("four_eyes") and _asked_for_it(question, ballot.actor):
        raise RefusedError(f"{ballot.actor.name} asked for this, so somebody else must decide (four eyes).", code="four_eyes")
    mine = [vote for vote in votes if vote.voter == ballot.actor.voter and vote.version == question.version]
    if mine and ballot.type in {"approve", "modify"}:  # who has approved may still say no
        raise RefusedError(f"{ballot.actor} has voted on this already.", code="voted_already")


def _asked_for_it(question: Approval, actor: Identity) -> bool:
    return actor.name in {question.requester.name, question.starter.name} or actor.voter == question.starter.voter


def _count(question: Approval, ballot: Ballot, validate: Validate | None) -> Ruling:
    by: dict[str, Any] = {"by": ballot.actor.name, "comment": ballot.comment, "source": ballot.actor.source}
    match ballot.type:
        case "approve":
            enough = question.have + 1 >= question.required
            return Ruling("approved", {**by, "type": "approve"}) if enough else Ruling("pending")
        case "modify":
            if validate is None:
                raise RefusedError("A modification needs the tool, so that its arguments can be checked.")
            modified = validate(question, dict(ballot.detail["args"]))
            if question.required <= 1:
                return Ruling("approved", {**by, "type": "modify"}, modified=modified)
            return Ruling("pending", modified=modified)
        case "reject":
            return Ruling("rejected", {**by, "then": ballot.detail.get("then", "continue"), "type": "reject"})
        case "done" | "retry" | "abandon":
            attempt, text = question.rules.get("attempt", 1), ballot.detail.get("text") or ballot.comment
            settled = {**by, "attempt": attempt, "settle": ballot.type, "text": text}
            return Ruling("approved" if ballot.type != "abandon" else "rejected", settled)
        case "escalate":
            raise RefusedError("There is no tier above this one.", code="no_higher_tier")
        case "cancel":
            raise AssertionError("judged before")


def _expired(question: Approval) -> Ruling:
    refusal = RefusedError(f"Approval {question.approval_id} expired at {question.expires_at}.", code="expired")
    return Ruling("expired", {"by": "deadline", "comment": "nobody decided in time", "then": "continue"}, refusal=refusal)
