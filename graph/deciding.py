"""Deciding: one way for the command line, the terminal, the gate and notebooks. It loads tools and graph only where it must."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from graph.approval import DEADLINE, People, judge_with
from graph.compensation import undoable
from graph.facts import Facts, facts_of
from graph.policy import Policy
from memory.approvals import Approval, Approvals, Ballot, Judge, Revision
from memory.errors import ConflictError, RefusedError
from memory.leases import is_alive
from memory.moments import moment
from memory.operators import Operators
from memory.people import Identity

if TYPE_CHECKING:
    from graph.app import App

OVER = {"completed", "rejected", "cancelled"}
STILL_ASKED = {"unknown_outcome"}  # after the end too: only a person can tell what became of it


@dataclass(frozen=True)
class Electorate:
    """Who may decide: what the policy file lists, and the operators that have a token."""

    policy: Policy
    operators: Operators

    async def people(self, tier: int | None = None) -> People:
        """`tier` is the voter's own, where they have one."""
        highest = max(self.policy.highest_tier, await self.operators.highest_tier())
        return People(tier, highest, self.policy.eligible)


async def decide(application: "App", question: Approval, ballot: Ballot, *, tier: int | None = None, here: bool = True) -> Approval:
    """`tier` is the voter's own; `here`: the thread is driven on by this process, which must know the tool then."""
    if question.status == "pending":
        try:
            await _refuse_what_cannot_run(application, question, ballot, here)
        except RefusedError as why:
            await application.approvals.refused(question.approval_id, ballot, why)
            raise
    if ballot.type == "reject" and ballot.detail.get("then") == "compensate":
        # What is wished is what has happened so far; whatever ends after this asks on its own.
        wished = [one.call_key for one in undoable(await application.ledger.of_thread(question.thread_id))]
        ballot = replace(ballot, detail={**ballot.detail, "undo": wished})
    people = await application.electorate.people(tier)
    facts = None
    if ballot.type == "modify":
        await application.meet([question.tool])
        facts = await facts_of(application, question.thread_id, without=question.call_key)
    return await application.approvals.decide(question.approval_id, ballot, _judge(application, people, facts))


async def _refuse_what_cannot_run(application: "App", question: Approval, ballot: Ballot, here: bool) -> None:
    """Before the decision: afterwards, the agent could only be told that it did not run."""
    is_call = question.kind != "final_answer"
    if here and is_call and ballot.type in {"approve", "modify", "retry"} and not application.registry.knows(question.tool):
        raise RefusedError(
            f"The tool {question.tool!r} is not known here, so the call could not run; nothing was decided.",
            remedy="Set INTERLOCK_TOOLS as where the thread was started, in that folder, or use --detach and resume it there.",
            code="no_such_tool",
        )
    run = await application.runs.get(question.thread_id)
    if ballot.type == "retry" and run and run.status in OVER:
        raise RefusedError(f"Thread {question.thread_id!r} is {run.status}; nothing runs on it any more.", code="ended")
    at_work = await application.ledger.at_work(question.call_key) if ballot.type == "retry" else None
    if at_work and is_alive(at_work.owner):
        raise RefusedError(
            f"The process that made this call is still there, and may still be at it: {at_work.owner}, since {moment(at_work.since)}.",
            remedy="Wait until it has ended, or end it; then look again what it did. --done and --abandon can be said at any time.",
            code="still_running",
        )


def _judge(application: "App", people: People, facts: Facts | None) -> Judge:
    """The tools are loaded only if a modification has to be checked."""

    def validate(question: Approval, args: dict[str, Any]) -> Revision:
        from graph.judging import validator

        return validator(application.registry, application.policy, facts)(question, args)

    return judge_with(validate, people)


async def close(approvals: Approvals, thread_id: str, by: Identity, comment: str, *, but: Collection[str]) -> bool:
    """Withdraws the open questions of a thread, except those of the kinds `but`. False if there were none."""
    closed = False
    for approval in await approvals.of_thread(thread_id):
        if approval.status == "pending" and approval.kind not in but:
            with suppress(ConflictError):
                await approvals.decide(approval.approval_id, Ballot("cancel", by, comment), judge_with())
                closed = True
    return closed


async def expire(approvals: Approvals, electorate: Electorate, thread_id: str | None = None) -> int:
    """Closes or escalates what nobody decided in time; of one thread, or of all. Returns how many."""
    late = await approvals.overdue(thread_id)
    people = await electorate.people() if late else None
    for question in late:
        with suppress(ConflictError):  # somebody else has done it
            await approvals.decide(question.approval_id, Ballot("expire", DEADLINE), judge_with(people=people))
    return len(late)
