"""await_human_approval: asks, waits, and takes over what was decided. It is alone in its superstep."""

from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt, interrupt

from graph.answers import UI, is_doorbell, read_answer
from graph.approval import judge_with
from graph.crash import reach
from graph.facts import facts_of
from graph.final_answer import released
from graph.forbidden import record_forbidden
from graph.holding import driving
from graph.judging import judged_anew, validator
from graph.policy_file import ANSWER
from graph.ports import Node, Ports
from graph.questions import payload, proposed_action, question_of
from graph.routing import waiting_calls
from graph.state import Call, State
from memory.approvals import Approval, Ballot
from memory.errors import ConflictError, NotFoundError, RefusedError
from memory.text import clean, shorten

LONGEST_ODD_ANSWER = 500
NOT_UNDERSTOOD = RefusedError("This is no answer to the question that was shown; nothing was decided.", code="not_understood")

ASKED_BEFORE = {"pre_execution", ANSWER}  # the kinds that ask for leave; what is asked may be modified


def make_approve(ports: Ports) -> Node:
    async def await_human_approval(state: State, config: RunnableConfig) -> dict[str, Any]:
        thread_id = str(config["configurable"]["thread_id"])
        waiting = waiting_calls(state)
        if not waiting:
            return {"proposed_action": None, "awaiting_human_approval": False}
        async with driving(ports, thread_id):
            await record_forbidden(ports, thread_id, state.get("messages", []))
            place = str(config["configurable"].get("checkpoint_ns", ""))
            return await _asked(ports, thread_id, state, waiting, Interrupt.from_ns(None, place).id)

    return await_human_approval


async def _asked(ports: Ports, thread_id: str, state: State, waiting: list[Call], interrupt_id: str) -> dict[str, Any]:
    await open_all(ports, thread_id, waiting)
    shown = (state.get("proposed_action") or {}).get("details", {})
    call = next((call for call in waiting if call["approval_id"] == shown.get("approval_id")), None)
    if call is None:
        # Which question is shown must stand in the checkpoint that this node starts from: so this is a step of its own.
        return {"proposed_action": proposed_action(waiting[0]), "awaiting_human_approval": True}
    reach("gate_before_interrupt")
    answer = interrupt(payload(await _question(ports, call)))
    reach("gate_after_answer")
    if not is_doorbell(answer):
        version = int(shown.get("version", 1))
        ballot = read_answer(answer, tool=call["name"], version=version, interrupt_id=interrupt_id, shown=call["args"])
        await _take(ports, thread_id, call, ballot, answer)
    return await _news(ports, state, waiting)


async def open_all(ports: Ports, thread_id: str, waiting: list[Call]) -> None:
    judged = [await judged_anew(ports, thread_id, call) for call in waiting]
    secrets = [() if call["kind"] == ANSWER else ports.registry.secret_of(call) for call in judged]
    questions = [question_of(call, thread_id, secret=secret) for call, secret in zip(judged, secrets, strict=True)]
    if questions:
        await ports.approvals.open(questions)


async def _question(ports: Ports, call: Call) -> Approval:
    question = await ports.approvals.get(str(call["approval_id"]))
    if question is None:
        raise NotFoundError(f"There is no approval {call['approval_id']!r}.", code="no_such_approval")
    return question


async def _take(ports: Ports, thread_id: str, call: Call, ballot: Ballot | None, answer: Any) -> None:
    """An answer of an interface counts for the question that was shown, and goes the way of every decision."""
    if ballot is None:
        words = "" if ports.registry.secret_of(call) else shorten(clean(str(answer)), LONGEST_ODD_ANSWER)
        odd = Ballot("answer", UI, words)
        await ports.approvals.refused(str(call["approval_id"]), odd, NOT_UNDERSTOOD)
        return
    if call["kind"] == "unknown_outcome" and ballot.type == "reject":
        ballot = replace(ballot, type="abandon", detail={"text": ballot.comment})
    if ballot.type == "modify":
        await ports.tools.meet([call["name"]])
    try:
        facts = await facts_of(ports, thread_id, without=call["call_key"])
        judge = judge_with(validator(ports.registry, ports.policy, facts), await ports.electorate.people())
        await ports.approvals.decide(str(call["approval_id"]), ballot, judge)
    except (ConflictError, RefusedError):
        return  # it is on the record as a refused attempt; the question stands as it does


async def _news(ports: Ports, state: State, waiting: list[Call]) -> dict[str, Any]:
    changed: list[Call] = []
    update: dict[str, Any] = {}
    for call in waiting:
        question = await _question(ports, call)
        now = taken_over(call, question)
        changed.append(now)
        if question.status in {"approved", "rejected"}:
            kind = str((question.outcome or {}).get("type", "approve" if question.status == "approved" else "reject"))
            update["human_feedback"] = kind
            if kind == "modify":
                update["modification_details"] = {"approval_id": question.approval_id, "args": question.args}
    answer = next((call for call in changed if call["kind"] == ANSWER and call["state"] == "ready"), None)
    still = next((call for call in changed if call["state"] == "waiting"), None)
    return {
        **update,
        **({"undo": changed[0]} if state.get("undo") else {"tool_calls": changed}),
        "proposed_action": await _shown(ports, still),
        "awaiting_human_approval": still is not None,
        **(released(answer) if answer else {}),
    }


async def _shown(ports: Ports, call: Call | None) -> dict[str, Any] | None:
    action = proposed_action(call)
    if action is not None and call is not None and call["approval_id"]:
        question = await ports.approvals.get(call["approval_id"])
        action["details"]["version"] = question.version if question else 1
    return action


def taken_over(call: Call, question: Approval) -> Call:
    """The call as the store has it now. The store decides; the state only follows."""
    match question.status:
        case "pending":
            return {**call, "args": question.args, "args_sha256": question.args_sha256} if call["kind"] in ASKED_BEFORE else call
        case "approved":
            return {**call, "state": "ready", "args": question.args, "args_sha256": question.args_sha256, "outcome": question.outcome}
        case "escalated":
            successor, tier = question.outcome["successor"], question.outcome["tier"]  # type: ignore[index]  # an escalated one has both
            permit = successor if call["kind"] in ASKED_BEFORE else call["permit"]
            current = {"args": question.args, "args_sha256": question.args_sha256, "verdict": {**call["verdict"], "tier": tier}}
            return {**call, **current, "approval_id": successor, "permit": permit}  # type: ignore[typeddict-item]
        case "rejected" if call["kind"] == "unknown_outcome":
            return {**call, "state": "ready", "outcome": question.outcome}  # abandoned: the ledger settles it
        case "rejected" | "expired" | "cancelled":
            return {**call, "state": "rejected", "outcome": question.outcome}
