"""A final answer that the policy asks about. It goes the way of a call, under a name that is no tool's, and nothing runs for it.

Where the answer leaves is the gate (`held_back`, before it is stored with the run); what the state says of it permits nothing.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from graph.calls import approval_id, call_key, forbidden_call, pre_approval_id
from graph.facts import Facts, facts_of
from graph.forbidden import FORBIDDEN
from graph.policy import Policy, Verdict
from graph.policy_file import ANSWER
from graph.questions import proposed_action, question_of
from graph.reviewing import answered_by_policy
from graph.state import Call
from memory.canonical import sha256
from memory.errors import StoppedError
from tools.spec import InvalidArguments

if TYPE_CHECKING:
    from graph.ports import Ports

SCHEMA_SHA256 = sha256({"properties": {"text": {"type": "string"}}, "required": ["text"], "type": "object"})
REFUSED = "interlock_answer_refused"
MOST_REFUSED = 3


def proposed(policy: Policy, facts: Facts, message_id: str, text: str) -> dict[str, Any]:
    """What the state becomes by an answer of the model: it is final, or asked about, or the model is told that it is forbidden."""
    verdict = policy.judge_answer(text, facts)
    nothing_open: dict[str, Any] = {"tool_calls": [], "proposed_action": None, "awaiting_human_approval": False, "status": "running"}
    if verdict is None or verdict.action == "run":
        return {**nothing_open, "final_answer": {"text": text}}
    call = _as_call(verdict, facts.thread, message_id, text)
    if verdict.action == "forbid":
        message = told(call, f"Not sent: the policy forbids it (rule: {verdict.rule}).")
        message.additional_kwargs[FORBIDDEN] = forbidden_call(verdict, call["call_key"], ANSWER, call["args"], call["args_sha256"])
        return {**nothing_open, "final_answer": None, "messages": [message]}
    waiting: Call = {**call, "approval_id": approval_id(call), "permit": approval_id(call)}
    return {
        "tool_calls": [waiting], "proposed_action": proposed_action(waiting), "awaiting_human_approval": True, "status": "running",
        "final_answer": None,
    }  # fmt: skip


def released(call: Call) -> dict[str, Any]:
    """What the state becomes once people let it go out. Where they changed it, the history says what was said."""
    text = str(call["args"]["text"])
    changed = [AIMessage(text, id=call["message_id"])] if call["args"] != call["proposed_args"] else []
    return {"final_answer": {"text": text}, "tool_calls": [], "messages": changed}


def told(call: Call, words: str) -> HumanMessage:
    """What the model is told of an answer that did not go out. Its id answers the call, as a tool message would."""
    text = f"{words} Nobody has seen this answer. Give another one."
    return HumanMessage(text, id=call["id"], additional_kwargs={REFUSED: True})


def refuse_if_refused_too_often(messages: Sequence[AnyMessage]) -> None:
    """Bounded: people are not asked again and again."""
    refused = sum(bool(message.additional_kwargs.get(REFUSED)) for message in messages)
    if refused >= MOST_REFUSED:
        raise StoppedError(
            f"{refused} final answers were refused; the thread asks for no further one.",
            remedy="`interlock replay` has the reasons; start a new thread with a task that says what the answer must be.",
            code="answers_refused",
        )


def answer_args(args: Mapping[str, Any]) -> dict[str, Any]:
    """Raises InvalidArguments for everything but {"text": …} with some text."""
    text = args.get("text")
    if set(args) != {"text"} or not isinstance(text, str) or not text.strip():
        raise InvalidArguments('an answer is {"text": "…"}, and not empty')
    return {"text": text}


def answer_hash(args: Mapping[str, Any]) -> str:
    return sha256({"args": dict(args), "schema": SCHEMA_SHA256, "tool": ANSWER})


async def held_back(ports: "Ports", thread_id: str, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the state becomes where its final answer may not go out; None: it may. The stores and today's policy decide."""
    if not ports.policy.judges_answers:
        return None
    text, facts = str(values["final_answer"]["text"]), await facts_of(ports, thread_id)
    verdict = ports.policy.judge_answer(text, facts)
    if verdict is None:
        return None
    message_id = next((str(message.id) for message in reversed(values["messages"]) if isinstance(message, AIMessage)), "")
    if verdict.action == "run":
        await _pre_approve(ports, _as_call(verdict, thread_id, message_id, text), thread_id, verdict)
        return None
    if verdict.action == "ask" and await _let_go(ports, thread_id, text):
        return None
    return proposed(ports.policy, facts, message_id, text)


async def _let_go(ports: "Ports", thread_id: str, text: str) -> bool:
    return any(
        one.kind == "final_answer" and one.status == "approved" and one.args == {"text": text} and not one.rules.get("pre_approved")
        for one in await ports.approvals.of_thread(thread_id)
    )


async def _pre_approve(ports: "Ports", call: Call, thread_id: str, verdict: Verdict) -> None:
    permit: Call = {**call, "approval_id": pre_approval_id(call["call_key"], call["args_sha256"], verdict.policy)}
    await ports.approvals.pre_approve(answered_by_policy(question_of(permit, thread_id), verdict))


def _as_call(verdict: Verdict, thread_id: str, message_id: str, text: str) -> Call:
    args = {"text": text}
    return Call(
        call_key=call_key(thread_id, message_id, 0, ANSWER, sha256(args)), id=f"answer_{sha256([message_id, text])[:24]}",
        message_id=message_id, position=0, name=ANSWER, args=args, args_sha256=answer_hash(args), proposed_args=args,
        schema_sha256=SCHEMA_SHA256, verdict=verdict.as_json(), state="waiting", approval_id=None, permit=None, kind=ANSWER, round=0,
        note=verdict.note, said="", outcome=None,
    )  # fmt: skip
