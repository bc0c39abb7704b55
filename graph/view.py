"""How a thread stands, as JSON: the one form that every command, page and notebook shows. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from memory.approvals import Approval, masked
from memory.audit import Event
from memory.episodes import MemoryRecord
from memory.ledger import Execution
from memory.operators import Operator
from memory.runs import Run


def when(moment: datetime | None) -> str | None:
    """UTC, to the microsecond, with a Z."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z" if moment else None


def thread(run: Run, approvals: Sequence[Approval], executions: Sequence[Execution]) -> dict[str, Any]:
    return {
        "thread_id": run.thread_id,
        "status": run.status,
        "final_answer": run.final_answer,
        "error": dict(run.error) if run.error else None,
        "requester": run.requester.name,
        "input": run.input,
        "memory": dict(run.memory) if run.memory else None,
        "pending": [question(approval) for approval in approvals if approval.status == "pending"],
        "executions": [execution(one) for one in executions],
    }


def question(approval: Approval) -> dict[str, Any]:
    return {
        "approval_id": approval.approval_id,
        "thread_id": approval.thread_id,
        "kind": approval.kind,
        "tool": approval.tool,
        "args": masked(approval.args, approval.rules.get("secret", [])),
        "args_sha256": approval.args_sha256,
        "tier": approval.tier,
        "required": approval.required,
        "have": approval.have,
        "version": approval.version,
        "requester": approval.requester.name,
        "requester_source": approval.requester.source,
        "rule": approval.rules.get("rule"),
        "note": approval.note,
        "said": approval.said,
        "memory": dict(recalled) if (recalled := (approval.memory or {}).get("recalled")) else None,
        "requested_at": when(approval.requested_at),
        "expires_at": when(approval.expires_at),
    }


def execution(one: Execution) -> dict[str, Any]:
    return {
        "call_key": one.call_key,
        "tool": one.tool,
        "status": one.status,
        "attempts": one.attempts,
        "approval_id": one.approval_id,
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
