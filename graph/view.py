"""How a thread stands, as JSON: the one form that every command, page and notebook shows. Pure."""

from collections.abc import Sequence
from typing import Any

from graph import compensation
from memory.approvals import Approval, masked
from memory.audit import Event
from memory.episodes import MemoryRecord
from memory.ledger import Execution
from memory.moments import moment_or_none as when
from memory.operators import Operator
from memory.outbox import Message
from memory.retention import Prunable
from memory.reviews import Review
from memory.runs import Run


def thread(run: Run, approvals: Sequence[Approval], executions: Sequence[Execution]) -> dict[str, Any]:
    """`then_compensate` is what `reject --then compensate` of an open question would undo."""
    pending = [question(one) for one in approvals if one.status == "pending"]
    return {
        "thread_id": run.thread_id,
        "status": run.status,
        "final_answer": run.final_answer,
        "error": dict(run.error) if run.error else None,
        "requester": run.requester.name,
        "input": run.input,
        "forked_from": run.forked_from,
        "pending": pending,
        "then_compensate": compensation.outlook(executions) if pending else None,
        "memory": dict(run.memory) if run.memory else None,
        "executions": [execution(one) for one in executions],
        "compensation": compensation.report(executions, approvals),
    }


def question(approval: Approval) -> dict[str, Any]:
    return {
        "approval_id": approval.approval_id,
        "thread_id": approval.thread_id,
        "kind": approval.kind,
        "tool": approval.tool,
        "args": masked(approval.args, approval.rules.get("secret", [])),
        "args_sha256": approval.args_sha256,
        "proposed_args": masked(approval.proposed_args, approval.rules.get("secret", [])),
        "modified_by": approval.rules.get("modified_by"),
        "tier": approval.tier,
        "required": approval.required,
        "have": approval.have,
        "version": approval.version,
        "requester": approval.requester.name,
        "requester_source": approval.requester.source,
        "starter": approval.starter.name,
        "starter_source": approval.starter.source,
        "rule": approval.rules.get("rule"),
        "note": approval.note,
        "begun": begun(approval),
        "said": approval.said,
        "memory": dict(recalled) if (recalled := (approval.memory or {}).get("recalled")) else None,
        "requested_at": when(approval.requested_at),
        "expires_at": when(approval.expires_at),
        "on_expiry": approval.rules.get("on_expiry") if approval.expires_at else None,
    }


def begun(approval: Approval) -> dict[str, Any] | None:
    """What to look for at the other side: only of a call whose outcome nobody knows."""
    if approval.begun_at is None:
        return None
    return {"at": when(approval.begun_at), "attempt": approval.rules["attempt"], "idempotency_key": approval.idempotency_key}


def review(one: Review, *, overdue: float) -> dict[str, Any]:
    """`overdue` are the seconds after which an open one has waited too long."""
    permit = one.permit
    return {
        "review_id": permit.approval_id,
        "approval_id": permit.approval_id,
        "thread_id": permit.thread_id,
        "kind": permit.kind,
        "tool": permit.tool,
        "args": masked(permit.args, permit.rules.get("secret", [])),
        "call_key": permit.call_key,
        "rule": permit.rules.get("rule"),
        "policy": permit.rules.get("policy"),
        "share": permit.rules.get("review"),
        "requester": permit.requester.name,
        "ran": one.ran,
        "result": one.result,
        "status": one.status,
        "opened_at": when(one.opened_at),
        "age_seconds": round(one.age),
        "overdue": one.status == "open" and one.age >= overdue,
        "reviewer": one.reviewer.name if one.reviewer else None,
        "reviewer_source": one.reviewer.source if one.reviewer else None,
        "comment": one.comment,
        "reviewed_at": when(one.reviewed_at),
    }


def execution(one: Execution) -> dict[str, Any]:
    return {
        "call_key": one.call_key,
        "tool": one.tool,
        "args": masked(one.args, one.hidden),
        "status": one.status,
        "attempts": one.attempts,
        "approval_id": one.approval_id,
        "undo": one.undo,
        "undoes": one.undoes,
        "result": one.result,
        "error": one.error,
        "started_at": when(one.started_at),
        "finished_at": when(one.finished_at),
    }


def line(run: Run) -> dict[str, Any]:
    return {
        "thread_id": run.thread_id,
        "status": run.status,
        "driven": run.lease_live,
        "requester": run.requester.name,
        "input": run.input,
        "created_at": when(run.created_at),
        "updated_at": when(run.updated_at),
    }


def prunable(one: Prunable) -> dict[str, Any]:
    return {
        "thread_id": one.thread_id,
        "status": one.status,
        "updated_at": when(one.updated_at),
        "checkpoints": one.checkpoints,
        "results": one.results,
        "bytes": one.bytes,
    }


def operator(one: Operator) -> dict[str, Any]:
    return {
        "name": one.name,
        "tier": one.tier,
        "in_force": one.in_force,
        "added_by": one.added_by,
        "added_at": when(one.added_at),
        "expires_at": when(one.expires_at),
        "revoked_at": when(one.revoked_at),
    }


def message(one: Message) -> dict[str, Any]:
    """`target` is its place in the policy file's list, from 1; the URL is shown nowhere."""
    return {
        "id": one.id,
        "event": one.event,
        "thread_id": one.thread_id,
        "approval_id": one.approval_id,
        "target": one.target + 1,
        "attempts": one.attempts,
        "created_at": when(one.created_at),
        "next_at": when(one.next_at),
        "error": one.error,
    }


def memory(one: MemoryRecord, *, score: float | None = None) -> dict[str, Any]:
    """Without its vector."""
    row = {"id": one.id, "content": one.content, "timestamp": when(one.timestamp), "source": one.metadata.get("source"),
           "tenant": one.metadata.get("tenant"), "metadata": dict(one.metadata)}  # fmt: skip
    return row if score is None else {**row, "score": round(score, 4)}


def event(one: Event) -> dict[str, Any]:
    return {
        "thread_id": one.thread_id,
        "seq": one.seq,
        "at": when(one.at),
        "kind": one.kind,
        "actor": one.actor,
        "actor_source": one.actor_source,
        "payload": one.content,
        "prev_hash": one.prev_hash,
        "hash": one.hash,
    }
