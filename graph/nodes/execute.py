"""execute_tools: acts, one call at a time, and only as the ledger allows. It never raises for what a tool does."""

import asyncio
from contextlib import suppress
from typing import Any, NotRequired, TypedDict

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig

from graph.calls import approval_id, args_hash, pre_approval_id
from graph.crash import reach
from graph.holding import driving, stop_if_cancelled
from graph.judging import Judgement, judge_anew
from graph.nodes.approve import open_all, taken_over
from graph.outcomes import as_result, record_when_it_comes
from graph.ports import Node, Ports
from graph.questions import question_of, unknown
from graph.reviewing import answered_by_policy
from graph.state import Call, State
from memory.approvals import Approval, masked
from memory.canonical import canonical
from memory.errors import InterlockError
from memory.leases import Lease
from memory.ledger import Begun, Execution, Intent, Result
from memory.text import message_of, shorten
from tools.calling import Outcome, Unknown, call, check
from tools.spec import InvalidArguments, Tool

CHECK_FAILED = "its check cannot tell"
COPY = "This thread is a copy, and this call belongs to the other one. Nothing was run."


class Work(TypedDict):
    """What `Send` carries: one call, and the siblings that people are to be asked about meanwhile. A jump from outside carries neither."""

    call: NotRequired[Call]
    ask: NotRequired[list[Call]]


def make_execute(ports: Ports) -> Node:
    async def execute_tools(work: Work, config: RunnableConfig) -> dict[str, Any]:
        thread_id = str(config["configurable"]["thread_id"])
        async with driving(ports, thread_id) as lease:
            if "call" not in work:
                await ports.ledger.refused(lease, call_key=None, tool=None, why="execute_tools was entered without a call")
                return {}  # the route goes on from what the state says
            if ports.stop.requested:
                return {}  # it has not begun, and does not: it stays open
            with ports.stop.calling():
                await open_all(ports, thread_id, work["ask"])
                await ports.tools.meet([work["call"]["name"]])
                return await _Performance(ports, lease, work["call"]).result()

    return execute_tools


def make_after(ports: Ports) -> Node:
    async def after_tools(state: State, config: RunnableConfig) -> dict[str, Any]:  # noqa: ARG001 - the shape of a node
        await stop_if_cancelled(ports, str(config["configurable"]["thread_id"]))
        return {}

    return after_tools


class _Performance:
    """One call on its way through the ledger."""

    def __init__(self, ports: Ports, lease: Lease, one: Call) -> None:
        self.ports, self.lease, self.call = ports, lease, one
        self.tool = ports.registry.get(one["name"])
        self.judged: Judgement  # once it is on its way

    async def result(self) -> dict[str, Any]:
        self.judged = await judge_anew(self.ports, self.lease.thread_id, self.call)
        intent = self._intent()
        reach("before_intent")
        if self.ports.stop.requested:
            return {}
        begun = await self.ports.ledger.begin(self.lease, intent) if intent else await self._past()
        if begun.state == "refused" and not begun.execution and intent and await self._is_pre_approved(intent):
            begun = await self.ports.ledger.begin(self.lease, intent)
        reach("after_intent")
        match begun.state:
            case "refused" if begun.execution:
                return await self._not_run(COPY)
            case "refused":
                return await self._ask_again(begun.why)
            case "running" | "cancelled":
                return {}
            case "done":
                return self._message(_told(begun.execution))
            case "go" if begun.execution:
                return await self._run(begun.execution)
            case _ if begun.execution:
                return await self._unsettled(begun.execution, intent.args_sha256 if intent else "")
            case _:
                raise AssertionError(begun)

    def _intent(self) -> Intent | None:
        """None where the tool is gone, the arguments do not fit it any more, or the policy forbids it: then nothing can be begun."""
        verdict = self.judged.verdict
        if self.tool is None or verdict.action == "forbid":
            return None
        try:
            valid = self.tool.validate(self.call["args"])
        except InvalidArguments:
            return None
        critical = self.tool.facts.is_critical or verdict.action != "run" or verdict.pre_approved
        digest = args_hash(self.tool, valid)
        permit = pre_approval_id(self.call["call_key"], digest, verdict.policy) if verdict.action == "run" else self.call["permit"]
        return Intent(
            call_key=self.call["call_key"],
            thread_id=self.lease.thread_id,
            tool_call_id=self.call["id"],
            tool=self.tool.name,
            args=valid,
            args_sha256=digest,
            critical=critical,
            approval_id=permit if critical else None,
            idempotency_key=self.call["call_key"],
            secret=self.ports.registry.secret_of(self.call),
            rule=verdict.rule,
            policy=verdict.policy,
            undo=way.name if (way := self.ports.registry.undo_of(self.tool.name)) else None,
        )

    async def _is_pre_approved(self, intent: Intent) -> bool:
        """By what the policy says now; the row that says so is ours. Not a call that people were asked about already."""
        today = self.judged.today
        if self.tool is None or intent.approval_id is None or self.judged.verdict.action != "run" or not today.pre_approved:
            return False
        known = await self.ports.approvals.of_thread(self.lease.thread_id)
        if any(one.call_key == intent.call_key and not one.rules.get("pre_approved") for one in known):
            return False
        call: Call = {
            **self.call, "approval_id": intent.approval_id, "args": dict(intent.args), "args_sha256": intent.args_sha256,
            "schema_sha256": self.tool.schema_sha256, "kind": "pre_execution", "verdict": today.as_json(),
        }  # fmt: skip
        question = question_of(call, self.lease.thread_id, secret=self.tool.facts.secret)
        permit = await self.ports.approvals.pre_approve(answered_by_policy(question, today))
        return permit.thread_id == self.lease.thread_id

    async def _past(self) -> Begun:
        """A call that cannot run any more: what was begun before is still told; otherwise the model is told why."""
        return await self.ports.ledger.past(self.lease, self.call["call_key"]) or Begun("refused")

    async def _run(self, execution: Execution) -> dict[str, Any]:
        tool = self._existing()
        self.ports.tell("tool_started", {"tool": tool.name, "attempt": execution.attempts})
        if tool.facts.transactional:
            result = await self.ports.ledger.transact(self.lease, execution, lambda connection: self._effect(execution, connection))
            reach("after_outcome")
            return self._message(_told_result(tool.name, result))
        try:
            outcome = await self._called(execution)
        except asyncio.CancelledError:
            # Its effect may still be on the way, whatever the tool declares: people must look.
            with suppress(InterlockError):
                await asyncio.shield(self._ask_people(execution, "the work was interrupted while it ran"))
            raise
        reach("after_effect")
        if isinstance(outcome, Unknown):
            return await self._lost(execution, outcome)
        result = as_result(outcome)
        await self.ports.ledger.finish(execution, result)
        reach("after_outcome")
        return self._message(_told_result(tool.name, result))

    async def _effect(self, execution: Execution, connection: Any) -> Result:
        result = as_result(await self._called(execution, connection))
        reach("after_effect")
        return result

    async def _called(self, execution: Execution, connection: Any = None) -> Outcome:
        watch, names = self.ports.watch, {"thread_id": execution.thread_id, "tool": execution.tool}
        if execution.attempts > 1:
            watch.count("interlock.tool.retries", tool=execution.tool)
        more = {"call_key": execution.call_key, "approval_id": execution.approval_id, "attempt": execution.attempts}
        with watch.span("tool call", **names, **more) as span:
            outcome = await call(self._existing(), execution.args, idempotency_key=execution.idempotency_key, connection=connection)
            span.tell(outcome=as_result(outcome).status)
        return outcome

    async def _unsettled(self, execution: Execution, intent_args: str) -> dict[str, Any]:
        """It was begun, and the process that began it is gone. What follows is declared by the tool, never guessed."""
        tool = self.tool
        if intent_args != execution.args_sha256 and execution.status == "started":
            return await self._ask_people(execution, "it was begun, and the tool, its schema or the policy has changed since")
        if execution.status == "unknown" or tool is None:
            return await self._ask_people(execution, execution.error or "it was begun, and the tool is not there any more")
        if tool.facts.idempotent or tool.facts.transactional:
            why = "safe to repeat" if tool.facts.idempotent else "its transaction did not commit"
            return await self._run(await self.ports.ledger.again(self.lease, execution, why=why))
        if tool.facts.check is None:
            return await self._ask_people(execution, "the process ended after the call was begun and before its outcome was stored")
        return await self._check(tool, execution)

    async def _check(self, tool: Tool, execution: Execution) -> dict[str, Any]:
        try:
            found = await check(tool, execution.args, execution.idempotency_key)
        except Exception as error:  # noqa: BLE001 - whatever a tool's own check raises means that it cannot tell
            return await self._ask_people(execution, f"{CHECK_FAILED}: {message_of(error)}")
        if found is None and not self.lease.sure:
            return await self._ask_people(execution, "it has not happened so far, but the process that began it may still be at it")
        if found is None:
            return await self._run(await self.ports.ledger.again(self.lease, execution, why="its check says that it did not happen"))
        result = Result("succeeded", found)
        await self.ports.ledger.finish(execution, result, how="found by its check")
        return self._message(_told_result(tool.name, result))

    async def _lost(self, execution: Execution, outcome: Unknown) -> dict[str, Any]:
        """No answer came. Its check may find that it happened; that it did not is no proof while it may still be on its way."""
        tool = self._existing()
        if tool.facts.check:
            try:
                found = await check(tool, execution.args, execution.idempotency_key)
            except Exception:  # noqa: BLE001 - as above
                found = None
            if found is not None:
                result = Result("succeeded", found)
                await self.ports.ledger.finish(execution, result, how="found by its check")
                return self._message(_told_result(tool.name, result))
        told = await self._ask_people(execution, outcome.reason, ended=outcome.late is None)
        if outcome.late is not None:
            record_when_it_comes(self.ports, execution, outcome.late)
        return told

    async def _ask_people(self, execution: Execution, why: str, *, ended: bool = False) -> dict[str, Any]:
        asked = unknown(self.call, execution.attempts, why)
        question = question_of(asked, self.lease.thread_id, secret=self.ports.registry.secret_of(self.call))
        if not await self.ports.ledger.give_up(execution, why=why, question=question, ended=ended):
            return {}  # its outcome came meanwhile; the route sends the call again, and the ledger tells it
        self.ports.watch.count("interlock.unknown_outcomes", tool=execution.tool)
        self.ports.tell("outcome_unknown", {"tool": execution.tool, "why": why})
        return {"tool_calls": [asked]}

    async def _ask_again(self, why: str) -> dict[str, Any]:
        """The gate is shut. People see the call as it would run now; if they decided on exactly that already, it counts."""
        if self.tool is None:
            return await self._not_run(f"There is no tool {self.call['name']!r} any more. Nothing was run.")
        try:
            valid = self.tool.validate(self.call["args"])
        except InvalidArguments as error:
            return await self._not_run(f"The tool changed, and this call does not fit it any more: {error}")
        verdict = self.judged.verdict
        if verdict.action == "forbid":
            return await self._not_run(f"The policy forbids this (rule: {verdict.rule}). Nothing was run.")
        asked: Call = {
            **self.call, "args": valid, "args_sha256": args_hash(self.tool, valid), "schema_sha256": self.tool.schema_sha256,
            "state": "waiting", "kind": "pre_execution", "round": 0, "note": f"Asked again: {why}. {verdict.note}".strip(), "outcome": None,
        }  # fmt: skip
        asked["verdict"] = {**verdict.as_json(), "action": "ask"}
        await self._refused(why)
        tried = self.call["permit"]
        question = await self._opened(asked)
        # It has had its time, or it is the very one that the gate has just refused: a new round.
        while question.status == "approved" and (question.overdue or question.approval_id == tried):
            asked["round"] += 1
            question = await self._opened(asked)
        if question.thread_id != self.lease.thread_id:
            return await self._not_run(COPY)
        return {"tool_calls": [taken_over(asked, question)]}

    async def _opened(self, asked: Call) -> Approval:
        asked["approval_id"] = asked["permit"] = approval_id(asked)
        secret = self.ports.registry.secret_of(asked)
        return (await self.ports.approvals.open([question_of(asked, self.lease.thread_id, secret=secret)]))[0]

    def _existing(self) -> Tool:
        if self.tool is None:
            raise AssertionError("a call that runs has its tool")
        return self.tool

    async def _not_run(self, text: str) -> dict[str, Any]:
        await self._refused(text)
        return self._answered(_error(self.call, text))

    async def _refused(self, why: str) -> None:
        await self.ports.ledger.refused(self.lease, call_key=self.call["call_key"], tool=self.call["name"], why=why)

    def _message(self, told: ToolMessage) -> dict[str, Any]:
        """Of what was begun. What people changed is seen in the arguments: a later question has another outcome."""
        now, first = self.call["args"], self.call["proposed_args"]
        if any(name not in now or now[name] != value for name, value in first.items()):
            shown = canonical(masked(now, self.ports.registry.secret_of(self.call)))
            told.content = f"A person changed the arguments before it ran; it ran with {shown}.\n{told.content}"
        return self._answered(told)

    def _answered(self, told: ToolMessage) -> dict[str, Any]:
        told.tool_call_id, told.name = self.call["id"], self.call["name"]
        self.ports.tell("tool_ended", {"tool": self.call["name"], "status": told.status})
        return {"messages": [told]}


def _told_result(tool: str, result: Result) -> ToolMessage:
    text = shorten(result.text)
    ok = result.status == "succeeded"
    return ToolMessage(text if ok else f"{tool} failed: {text}", tool_call_id="", status="success" if ok else "error")


def _told(execution: Execution | None) -> ToolMessage:
    if execution is None:
        raise AssertionError("what is done has an execution")
    if execution.status == "abandoned":
        text = "Nobody knows whether this call happened, and a person gave it up. " + (execution.error or "")
        return ToolMessage(text, tool_call_id="", status="error")
    ok = execution.status == "succeeded"
    return _told_result(execution.tool, Result("succeeded" if ok else "failed", (execution.result if ok else execution.error) or ""))


def _error(one: Call, text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=one["id"], name=one["name"], status="error")
