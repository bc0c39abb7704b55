"""A run, a question and a call to try the stores with, through their ports only."""

from dataclasses import dataclass, replace
from typing import Any

from graph.approval import judge_with
from memory.approvals import Approval, Approvals, Ballot, NewApproval, Revision
from memory.audit import Audit, faults_of
from memory.leases import Lease
from memory.ledger import Intent, Ledger
from memory.people import Identity
from memory.runs import NewRun, Runs

ALICE, BOB, CAROL = Identity("alice", "token"), Identity("bob", "token"), Identity("carol", "os")
RULES: dict[str, Any] = {
    "sources": ["token", "oidc", "os", "ui", "claimed"], "four_eyes": False, "on_expiry": "reject", "rule": "r", "policy": "p",
}  # fmt: skip


@dataclass
class Stores:
    runs: Runs
    approvals: Approvals
    ledger: Ledger
    audit: Audit
    thread: str = "t"

    async def begin_run(self) -> Lease:
        await self.runs.create(NewRun(self.thread, "pay", ALICE, ALICE, "default", "1", "1"))
        return await self.runs.acquire(self.thread, "first", 30)

    def question(self, **changes: Any) -> NewApproval:
        question = NewApproval(
            approval_id="a" * 32, thread_id=self.thread, call_key="key", tool_call_id="call_1", kind="pre_execution", tool="transfer",
            args={"to": "bob", "amount": 5}, args_sha256="hash", schema_sha256="schema", tier=1, required=1, rules=RULES, graph_version="1",
        )  # fmt: skip
        return replace(question, **changes)

    def intent(self, **changes: Any) -> Intent:
        intent = Intent(
            call_key="key", thread_id=self.thread, tool_call_id="call_1", tool="transfer", args={"to": "bob", "amount": 5},
            args_sha256="hash", critical=True, approval_id="a" * 32, idempotency_key="key",
        )  # fmt: skip
        return replace(intent, **changes)

    async def decide(
        self, kind: Any, by: Identity = ALICE, *, approval_id: str = "a" * 32, seen: int | None = None, **detail: Any
    ) -> Approval:
        def validate(question: Approval, args: dict[str, Any]) -> Revision:
            return Revision(args, f"hash of {args}", question.tier, question.required, question.rules)

        return await self.approvals.decide(approval_id, Ballot(kind, by, "", detail, seen), judge_with(validate))

    async def permitted(self) -> Lease:
        """A run with a lease and an approved question."""
        lease = await self.begin_run()
        await self.approvals.open([self.question()])
        await self.decide("approve")
        return lease

    async def kinds(self) -> list[str]:
        return [event.kind for event in await self.audit.events(self.thread)]

    async def faults(self) -> list[str]:
        return faults_of(await self.audit.events(), await self.audit.heads())
