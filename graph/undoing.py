"""Undoes what a thread did, latest effect first, as the ledger allows. Where it stands is read from the stores alone, so that it can
be begun again at any point: what was undone is not undone again, and what nobody knows is asked of people before the next one begins.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

from graph.calls import approval_id
from graph.compensation import effects, in_words, report, stopped, undo_key, wish
from graph.crash import reach
from graph.facts import facts_of
from graph.holding import stop_if_cancelled
from graph.outcomes import as_result, record_when_it_comes
from graph.policy import Verdict, of_question, stricter
from graph.ports import Ports
from graph.questions import question_of, unknown
from graph.state import Call
from memory.approvals import Approval
from memory.canonical import sha256
from memory.errors import InterlockError
from memory.leases import Lease
from memory.ledger import Begun, Execution, Intent, Result
from memory.text import message_of
from tools.calling import Unknown, check, undo
from tools.spec import InvalidArguments, Undo

GONE = "the tool, or its way back, is not there any more"


async def undo_all(ports: Ports, lease: Lease) -> Call | None:
    """The undo that people must be asked about before it goes on; None when nothing is left to try."""
    approvals = await ports.approvals.of_thread(lease.thread_id)
    executions = await ports.ledger.of_thread(lease.thread_id)
    begun = {one.undoes: one for one in executions if one.undoes}
    for effect in effects(executions):
        wished = wish(approvals, effect.call_key)
        await stop_if_cancelled(ports, lease.thread_id)
        there = begun.get(effect.call_key)
        ended = there is not None and there.status in {"succeeded", "failed", "abandoned"}
        has_way_back = effect.status == "succeeded" and effect.undo
        if wished is None or ended or not (there or (has_way_back and not stopped(approvals))):
            continue
        asked = await Undoing(ports, lease, wished, approvals, effect).done(there)
        if asked is not None:
            return asked
    return None


async def told(ports: Ports, thread_id: str) -> dict[str, Any] | None:
    return report(await ports.ledger.of_thread(thread_id), await ports.approvals.of_thread(thread_id))


def call_of_undo(effect: Execution, way: Undo | None, verdict: Verdict, *, note: str = "") -> Call:
    """As a question about it is put; it stands in no message of the model. Raises InvalidArguments where the way cannot take them."""
    args = way.arguments(effect.args, effect.result or "") if way else {**effect.args, "result": effect.result or ""}
    name = way.name if way else str(effect.undo)
    schema = way.tool.schema_sha256 if way and way.tool else ""
    key = undo_key(effect.call_key)
    return Call(
        call_key=key, id=f"undo_{key[:24]}", message_id="", position=0, name=name, args=args,
        args_sha256=sha256({"args": args, "name": name, "schema": schema, "undoes": effect.call_key}), proposed_args=args,
        schema_sha256=schema, verdict=verdict.as_json(), state="waiting", approval_id=None, permit=None, kind="compensation", round=0,
        note=note, said="", outcome=None,
    )  # fmt: skip


def inherited(approvals: list[Approval], effect: Execution, otherwise: Approval) -> Verdict:
    """Tier, quorum, sources and four eyes of the call that is undone; of the rejection where nobody was asked about that call."""
    own = next((one for one in approvals if one.approval_id == effect.approval_id and not one.rules.get("pre_approved")), None)
    return of_question(own or otherwise)


class Undoing:
    """The undo of one effect on its way through the ledger."""

    def __init__(self, ports: Ports, lease: Lease, wished: Approval, approvals: Any, effect: Execution) -> None:
        self.ports, self.lease, self.wished, self.approvals, self.effect = ports, lease, wished, list(approvals), effect
        self.way: Undo | None = ports.registry.undo_of(effect.tool)
        self.inherited = inherited(self.approvals, effect, wished)
        self.call: Call  # once it is known with what it would run

    async def done(self, there: Execution | None) -> Call | None:
        """The question that stands in its way; None if it is done, failed, or not to be done."""
        why = GONE
        try:
            self.call = call_of_undo(self.effect, self.way, self.inherited, note=self._note())
        except InvalidArguments as error:
            self.way, why = None, str(error)
            self.call = call_of_undo(self.effect, None, self.inherited, note=self._note())
        if there is None and self.way is None:
            await self._refused(why)
            return None
        permit = there.approval_id if there else await self._permit()
        if permit is None:
            return None
        if not isinstance(permit, str):
            return permit
        return await self._begin(permit)

    async def _permit(self) -> "str | Call | None":
        """The id of the stored decision that allows it, or the question that is open, or None: somebody said no."""
        verdict = await self._verdict()
        if verdict.action == "forbid":
            await self._refused(f"the policy forbids it (rule: {verdict.rule})")
            return None
        wished = self.effect.call_key in (self.wished.outcome or {}).get("undo", [])
        if verdict.action == "run" and wished:
            return self.wished.approval_id
        question = self._known() or await self._opened(verdict)
        match question.status:
            case "approved":
                return question.approval_id
            case "pending":
                return {**self.call, "approval_id": question.approval_id, "permit": question.approval_id}
            case _:
                return None

    async def _verdict(self) -> Verdict:
        asked = replace(self.inherited, action="ask" if self.way and self.way.is_critical else "run")
        if self.way is None or self.way.tool is None:
            return asked
        today = self.ports.policy.judge(self.way.tool, self.call["args"], await facts_of(self.ports, self.lease.thread_id))
        return asked if today.action == "run" else stricter(asked, today)

    def _known(self) -> Approval | None:
        """The last question about exactly this undo, wherever escalation brought it."""
        same = (self.call["call_key"], self.call["args_sha256"])
        asked = [one for one in self.approvals if one.kind == "compensation" and (one.call_key, one.args_sha256) == same]
        return next((one for one in reversed(asked) if one.status != "escalated"), None)

    async def _opened(self, verdict: Verdict) -> Approval:
        self.call = {**self.call, "verdict": verdict.as_json()}
        self.call["approval_id"] = approval_id(self.call)
        return (await self.ports.approvals.open([question_of(self.call, self.lease.thread_id, secret=self._secret)]))[0]

    async def _begin(self, permit: str) -> Call | None:
        reach("undo_before_intent")
        begun = await self.ports.ledger.begin(self.lease, self._intent(permit)) if self.way else await self._past()
        reach("undo_after_intent")
        if begun.state == "go" and begun.execution:
            return await self._run(begun.execution)
        if begun.state in {"unsettled", "running"} and begun.execution:
            return await self._unsettled(begun.execution)
        if begun.state == "refused":
            await self._refused(begun.why)
        await stop_if_cancelled(self.ports, self.lease.thread_id)
        return None

    async def _past(self) -> Begun:
        return await self.ports.ledger.past(self.lease, self.call["call_key"]) or Begun("refused", why=GONE)

    def _intent(self, permit: str | None) -> Intent:
        return Intent(
            call_key=undo_key(self.effect.call_key), thread_id=self.lease.thread_id, tool_call_id=self.call["id"], tool=self.call["name"],
            args=self.call["args"], args_sha256=self.call["args_sha256"], critical=bool(self.way and self.way.is_critical),
            approval_id=permit, idempotency_key=undo_key(self.effect.call_key), secret=self._secret, undoes=self.effect.call_key,
        )  # fmt: skip

    async def _refused(self, why: str) -> None:
        """It is put down as failed before it began, so that the report knows why."""
        await self.ports.ledger.refuse(self.lease, self._intent(None), why=why)

    async def _run(self, execution: Execution) -> Call | None:
        assert self.way is not None  # noqa: S101 - what begins has a way
        way, key = self.way, execution.idempotency_key
        self.ports.tell("tool_started", {"tool": execution.tool, "attempt": execution.attempts})
        if way.is_transactional:
            result = await self.ports.ledger.transact(self.lease, execution, lambda connection: self._effect(execution, connection))
            self._ended(execution, result)
            return None
        try:
            outcome = await undo(way, execution.args, idempotency_key=key)
        except asyncio.CancelledError:
            with suppress(InterlockError):
                await asyncio.shield(self._ask_people(execution, "the work was interrupted while it ran"))
            raise
        reach("undo_after_effect")
        if isinstance(outcome, Unknown):
            return await self._lost(execution, outcome)
        result = as_result(outcome)
        await self.ports.ledger.finish(execution, result)
        self._ended(execution, result)
        return None

    async def _effect(self, execution: Execution, connection: Any) -> Result:
        assert self.way is not None  # noqa: S101 - as above
        outcome = await undo(self.way, execution.args, idempotency_key=execution.idempotency_key, connection=connection)
        reach("undo_after_effect")
        return as_result(outcome)

    def _ended(self, execution: Execution, result: Result) -> None:
        reach("undo_after_outcome")
        self.ports.tell("tool_ended", {"tool": execution.tool, "status": "success" if result.status == "succeeded" else "error"})

    async def _unsettled(self, execution: Execution) -> Call | None:
        """As for every call: what follows is declared, never guessed. A function as a way back has declared nothing."""
        way = self.way
        if execution.status == "unknown" or way is None:
            return await self._ask_people(execution, execution.error or GONE)
        if self.call["args_sha256"] != execution.args_sha256:
            return await self._ask_people(execution, "it was begun, and the tool has changed since")
        if way.is_idempotent or way.is_transactional:
            why = "safe to repeat" if way.is_idempotent else "its transaction did not commit"
            return await self._run(await self.ports.ledger.again(self.lease, execution, why=why))
        if not way.has_check:
            return await self._ask_people(execution, "the process ended after the undo was begun and before its outcome was stored")
        try:
            found = await self._found(execution)
        except Exception as error:  # noqa: BLE001 - whatever a tool's own check raises means that it cannot tell
            return await self._ask_people(execution, f"its check cannot tell: {message_of(error)}")
        if found:
            return None
        if not self.lease.sure:
            return await self._ask_people(execution, "it has not happened so far, but the process that began it may still be at it")
        return await self._run(await self.ports.ledger.again(self.lease, execution, why="its check says that it did not happen"))

    async def _lost(self, execution: Execution, outcome: Unknown) -> Call | None:
        if self.way is not None and self.way.has_check:
            with suppress(Exception):
                if await self._found(execution):
                    return None
        asked = await self._ask_people(execution, outcome.reason, ended=outcome.late is None)
        if outcome.late is not None:
            record_when_it_comes(self.ports, execution, outcome.late)
        return asked

    async def _found(self, execution: Execution) -> bool:
        """Asks the check of a tool that undoes, and keeps what it found. Raises what the check raises."""
        if self.way is None or self.way.tool is None:
            return False
        found = await check(self.way.tool, execution.args, execution.idempotency_key)
        if found is not None:
            await self.ports.ledger.finish(execution, Result("succeeded", found), how="found by its check")
        return found is not None

    async def _ask_people(self, execution: Execution, why: str, *, ended: bool = False) -> Call | None:
        asked = unknown(self.call, execution.attempts, f"{self._note()} {why}")
        question = question_of(asked, self.lease.thread_id, secret=self._secret)
        if not await self.ports.ledger.give_up(execution, why=why, question=question, ended=ended):
            return None  # its outcome came meanwhile
        self.ports.tell("outcome_unknown", {"tool": execution.tool, "why": why})
        return asked

    @property
    def _secret(self) -> tuple[str, ...]:
        return self.way.secret if self.way else tuple(self.call["args"])

    def _note(self) -> str:
        by = (self.wished.outcome or {}).get("by", "a person")
        return f"This undoes {self.effect.tool} (call {self.effect.call_key[:12]}), as {by} wished."


async def ended_in_words(ports: Ports, lease: Lease) -> str:
    """Puts the end of the undoing on the record, and says what came of it."""
    done = await told(ports, lease.thread_id)
    if done is None:
        return ""
    await ports.ledger.compensated(lease, done)
    return in_words(done)
