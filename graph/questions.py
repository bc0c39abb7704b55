"""From a call to the question that is put before people, and to the payload that existing interfaces show. Pure."""

from typing import Any

from graph.calls import approval_id
from graph.policy_file import ANSWER
from graph.state import Call
from graph.version import GRAPH_VERSION
from memory.approvals import Approval, NewApproval, masked, redacted
from memory.moments import moment_or_none

ALLOWED = {"unknown_outcome": ["reject"], "compensation": ["approve", "reject"]}
DECISIONS = ["approve", "edit", "reject"]


def question_of(call: Call, thread_id: str, *, secret: tuple[str, ...] = ()) -> NewApproval:
    verdict = call["verdict"]
    rules = {name: verdict[name] for name in ("sources", "four_eyes", "deadline", "on_expiry", "rule", "policy")}
    rules["reminder"] = verdict.get("reminder")  # an older checkpoint has none
    if call["kind"] not in {"pre_execution", ANSWER}:
        rules["deadline"] = None  # what nobody knows does not become known by waiting
    if call["kind"] == "unknown_outcome":
        rules["attempt"] = call["round"]
    return NewApproval(
        approval_id=call["approval_id"] or approval_id(call),
        thread_id=thread_id,
        call_key=call["call_key"],
        tool_call_id=call["id"],
        kind=call["kind"],  # type: ignore[arg-type]  # a text in the checkpoint
        tool=call["name"],
        args=call["args"],
        args_sha256=call["args_sha256"],
        schema_sha256=call["schema_sha256"],
        tier=verdict["tier"],
        required=verdict["required"],
        rules=rules,
        graph_version=GRAPH_VERSION,
        note=call["note"],
        said=redacted(call["said"], call["args"], secret),
        secret=secret,
        deadline=rules["deadline"],
    )


def unknown(call: Call, attempt: int, why: str) -> Call:
    """The call as a question about its outcome: a new one for each attempt."""
    asked: Call = {**call, "state": "waiting", "kind": "unknown_outcome", "round": attempt, "note": why, "outcome": None}
    return {**asked, "approval_id": approval_id(asked)}


def asked_anew(call: Call, thread_id: str) -> Call:
    """An open call as a copy of its thread takes it over. A decision of the other thread permits nothing here; a rejection holds."""
    if call["state"] == "rejected":
        return call
    note = "Asked anew: this thread is a copy of another one."
    own: Call = {**call, "kind": "pre_execution", "round": 0, "note": note, "outcome": None, "fork": thread_id}
    if call["kind"] != "pre_execution" or call["state"] == "ready":
        return {**own, "state": "ready"}  # the ledger knows what became of it
    name = approval_id(own)
    return {**own, "approval_id": name, "permit": name}


def proposed_action(call: Call | None) -> dict[str, Any] | None:
    """Which question the gate shows next; kept in the state, so that an answer can never reach another one."""
    if call is None:
        return None
    details = {name: call[name] for name in ("approval_id", "call_key", "args_sha256", "kind")}
    kind = ANSWER if call["kind"] == ANSWER else "tool_call"
    return {"type": kind, "details": {**details, "tool": call["name"], "args": call["args"], "version": 1}}


def payload(question: Approval) -> dict[str, Any]:
    """LangChain's HITLRequest with one action, understood by Studio, Agent Inbox, Agent Chat UI and deep-agents-ui, and our `gate`."""
    allowed = ALLOWED.get(question.kind, DECISIONS)
    args = masked(question.args, question.rules.get("secret", ()))
    action = {"name": question.tool, "args": args, "arguments": args, "description": describe(question)}
    review = {
        "action_name": question.tool, "allowed_decisions": allowed, "actionName": question.tool, "allowedDecisions": allowed,
    }  # fmt: skip
    gate = {
        "schema": 1,
        "approval_id": question.approval_id,
        "thread_id": question.thread_id,
        "tool_call_id": question.tool_call_id,
        "args_sha256": question.args_sha256,
        "tier": question.tier,
        "required": question.required,
        "have": question.have,
        "version": question.version,
        "kind": question.kind,
        "expires_at": moment_or_none(question.expires_at),
        "graph_version": question.graph_version,
    }
    return {"action_requests": [action], "review_configs": [review], "gate": gate}


def describe(question: Approval) -> str:
    """In words, for interfaces that show one text. Facts only: what the model wrote stands apart in every view of ours."""
    asks = f"{question.requester} asked. "
    if question.kind == "unknown_outcome":
        return f"{asks}{question.tool} was begun, and nobody knows whether it happened: {question.note}"
    if question.kind == "compensation":
        return f"{asks}Undo with {question.tool}? Tier {question.tier}, {question.have} of {question.required} approvals. {question.note}"
    note = f" {question.note}" if question.note else ""
    what = "Send this final answer" if question.kind == ANSWER else f"Run {question.tool}"
    recalled = (question.memory or {}).get("recalled", {})
    if recalled.get("status") == "unavailable":
        note += f" Memory could not be asked: {recalled['reason']}."
    return f"{asks}{what}? Tier {question.tier}, {question.have} of {question.required} approvals.{note}"
