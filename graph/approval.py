"""The rules about people: what a vote on a question leads to. Pure, and free of LangGraph, so that deciding is quick.

`judge` gets what is stored and one ballot; the store runs it inside its transaction and writes what it says.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memory.approvals import Approval, Ballot, Judge, NewApproval, Revision, Ruling, Vote, unmasked
from memory.errors import AlreadyDecidedError, InterlockError, RefusedError, StaleError
from memory.moments import moment, moment_or_none
from memory.people import ANYBODY, VERIFIED, Identity

SETTLEMENTS = {"done", "retry", "abandon"}
THEN = ("continue", "compensate", "stop")
DEADLINE = Identity("deadline", "process")
Validate = Callable[[Approval, dict[str, Any]], Revision]


@dataclass(frozen=True)
class People:
    """Who may decide what, as of this decision.

    `tier` is the one that the voter was given (an operator's token has one; None: no limit of their own), `listed` tells whether a
    name stands in the policy's `[tiers]` at that tier or above, `highest` is the tier that nothing can be escalated beyond.
    """

    tier: int | None = None
    highest: int = 1
    listed: Callable[[str, int], bool] = field(default=lambda _name, _tier: True)

    def eligible(self, actor: Identity, tier: int) -> bool:
        if self.tier is not None and self.tier < tier:
            return False
        return self.listed(actor.name, tier) or (actor.source == "os" and self.listed(actor.account, tier))


def judge_with(validate: Validate | None = None, people: People | None = None) -> Judge:
    """`validate(question, new_args)` gives the new version, or raises RefusedError; needed to modify."""
    among = people or People()

    def judge(question: Approval, votes: Sequence[Vote], ballot: Ballot) -> Ruling:
        _refuse_if_decided(question, ballot)
        if ballot.type == "cancel":
            return Ruling("cancelled", {"then": "cancel", "by": ballot.actor.name, "comment": ballot.comment})
        if question.overdue or ballot.type == "expire":
            return _expired(question, ballot, among)
        _refuse_if_not_permitted(question, votes, ballot, among)
        return _count(question, ballot, validate, among)

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
    when = f" at {moment(at)}" if at else ""
    return AlreadyDecidedError(
        f"Approval {question.approval_id} was {question.status} by {by}{when}; nothing has changed.",
        by=by, at=moment_or_none(at), status=question.status,
    )  # fmt: skip


def _refuse_if_not_permitted(question: Approval, votes: Sequence[Vote], ballot: Ballot, people: People) -> None:
    _refuse_wrong_kind(question, ballot)
    refuse_person(question, ballot.actor, people)
    if ballot.type != "escalate":
        refuse_own_request(question, ballot.actor)
    mine = [vote for vote in votes if vote.version == question.version and is_same_person(vote.actor, ballot.actor)]
    if mine and ballot.type in {"approve", "modify"}:  # who has approved may still say no
        raise RefusedError(f"{ballot.actor} has voted on this already.", code="voted_already")


def _refuse_wrong_kind(question: Approval, ballot: Ballot) -> None:
    settles = ballot.type in SETTLEMENTS
    undoes = ballot.type == "modify" or ballot.detail.get("then") == "compensate"
    if question.kind == "compensation" and undoes:
        raise RefusedError("An undo is approved as it is shown, or rejected: then it is left out.", code="wrong_kind")
    if settles == (question.kind == "unknown_outcome") or ballot.type == "escalate":
        return
    if settles:
        raise RefusedError("Only an unknown outcome can be resolved; this question wants approve, modify or reject.", code="wrong_kind")
    raise RefusedError(
        "Nobody knows whether this call happened; approving or rejecting does not say so.",
        remedy=f"interlock resolve {question.approval_id[:12]} --done TEXT | --retry | --abandon",
        code="wrong_kind",
    )


def refuse_person(question: Approval, actor: Identity, people: People) -> None:
    sources = question.rules.get("sources") or ANYBODY
    if actor.source not in sources or actor.source not in ANYBODY:  # neither the agent nor a process is ever a voter
        remedy = "Use an operator token: INTERLOCK_OPERATOR_TOKEN." if "token" in sources else ""
        message = f"{actor} may not decide this: tier {question.tier} takes {', '.join(sources)}."
        raise RefusedError(message, remedy=remedy, code="not_permitted")
    if not people.eligible(actor, question.tier):
        message = f"{actor} may not decide this: it needs somebody of tier {question.tier}."
        raise RefusedError(message, remedy="Ask one of them; `interlock show` says what is asked.", code="not_permitted")


def refuse_own_request(question: Approval, actor: Identity) -> None:
    if not question.rules.get("four_eyes"):
        return
    if asked_for_it(question, actor):
        raise RefusedError(f"{actor.name} asked for this, so somebody else must decide (four eyes).", code="four_eyes")
    if actor.source not in VERIFIED:
        raise RefusedError(f"{actor}: a name that nobody has verified cannot be told from who asked (four eyes).", code="four_eyes")


def asked_for_it(question: Approval, actor: Identity) -> bool:
    """Under any source: the account ada on a machine and the operator ada are taken for one."""
    askers = {question.requester.name, question.requester.account, question.starter.name, question.starter.account}
    return bool({actor.name, actor.account} & askers) or actor.voter == question.starter.voter


def is_same_person(one: Identity, other: Identity) -> bool:
    """One name under two sources is one person, and so are all names that nobody has verified."""
    return one.voter == other.voter or bool({one.name, one.account} & {other.name, other.account})


def _count(question: Approval, ballot: Ballot, validate: Validate | None, people: People) -> Ruling:
    by: dict[str, Any] = {"by": ballot.actor.name, "comment": ballot.comment, "source": ballot.actor.source}
    own = asked_for_it(question, ballot.actor)
    match ballot.type:
        case "approve":
            enough = question.have + 1 >= question.required
            return Ruling("approved", {**by, "type": "approve"}, own_request=own) if enough else Ruling("pending", own_request=own)
        case "modify":
            return _modified(question, ballot, validate, people, {**by, "type": "modify"})
        case "reject":
            wish = {name: ballot.detail[name] for name in ("undo",) if name in ballot.detail}
            return Ruling("rejected", {**by, "then": ballot.detail.get("then", "continue"), "type": "reject", **wish}, own_request=own)
        case "done" | "retry" | "abandon":
            attempt, text = question.rules.get("attempt", 1), ballot.detail.get("text") or ballot.comment
            settled = {**by, "attempt": attempt, "settle": ballot.type, "text": text}
            return Ruling("approved" if ballot.type != "abandon" else "rejected", settled, own_request=own)
        case "escalate":
            return _raised(question, by, people)
        case "cancel" | "expire" | "answer":
            raise AssertionError("judged before")


def _modified(question: Approval, ballot: Ballot, validate: Validate | None, people: People, outcome: dict[str, Any]) -> Ruling:
    """A new version with the modifier's vote alone, under the stricter of the old rules and the new ones."""
    if validate is None:
        raise RefusedError("A modification needs the tool, so that its arguments can be checked.")
    new = validate(question, unmasked(ballot.detail["args"], question.args, question.rules.get("secret", ())))
    new = replace(new, rules={**new.rules, "modified_by": str(ballot.actor)})
    stricter = _with_rules(question, new)
    refuse_person(stricter, ballot.actor, people)
    refuse_own_request(stricter, ballot.actor)
    own = asked_for_it(question, ballot.actor)
    return Ruling("approved", outcome, new, own_request=own) if new.required <= 1 else Ruling("pending", None, new, own_request=own)


def _with_rules(question: Approval, new: Revision) -> Approval:
    return replace(question, tier=new.tier, required=new.required, rules={**question.rules, **new.rules})


def _raised(question: Approval, by: dict[str, Any], people: People) -> Ruling:
    if question.tier >= people.highest:
        raise RefusedError(f"There is no tier above {question.tier}.", code="no_higher_tier")
    successor = one_tier_up(question)
    outcome = {**by, "successor": successor.approval_id, "tier": successor.tier, "type": "escalate"}
    return Ruling("escalated", outcome, successor=successor)


def one_tier_up(question: Approval) -> NewApproval:
    """The same question to other people: with votes of its own, a deadline of its own, and an id that follows from this one's."""
    tier = question.tier + 1
    name = hashlib.sha256(f"{question.approval_id} tier {tier}".encode()).hexdigest()[:32]
    rules = {key: value for key, value in question.rules.items() if key != "secret"}
    return NewApproval(
        approval_id=name, thread_id=question.thread_id, call_key=question.call_key, tool_call_id=question.tool_call_id,
        kind=question.kind, tool=question.tool, args=question.args, args_sha256=question.args_sha256,
        schema_sha256=question.schema_sha256, tier=tier, required=question.required, rules=rules,
        graph_version=question.graph_version, note=question.note, said=question.said,
        secret=tuple(question.rules.get("secret", ())), deadline=question.rules.get("deadline"),
    )  # fmt: skip


def _expired(question: Approval, ballot: Ballot, people: People) -> Ruling:
    """By the deadline's own rule, never by what somebody votes after it."""
    refusal = None
    if ballot.type != "expire":
        refusal = RefusedError(f"Approval {question.approval_id} expired at {question.expires_at}.", code="expired")
    if question.rules.get("on_expiry") == "escalate" and question.tier < people.highest:
        by = {"by": DEADLINE.name, "source": DEADLINE.source, "comment": "nobody decided in time"}
        raised = _raised(question, by, people)
        return Ruling(raised.status, raised.outcome, successor=raised.successor, refusal=refusal, by=DEADLINE)
    outcome = {"by": DEADLINE.name, "comment": "nobody decided in time", "then": "continue"}
    return Ruling("expired", outcome, refusal=refusal, by=DEADLINE)
