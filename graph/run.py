"""Drives threads. The one place that invokes the graph; the command line, a worker, notebooks and tests all come through here.

Exclude before invoking (the lease), fence for a driver that lost it (the saver and the ledger), and look again after every step:
LangGraph itself accepts a resume of an unknown or finished thread, or with a stale id, and says nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from langgraph.errors import GraphDrained
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import RunControl
from langgraph.types import Command, StateSnapshot

from graph.compensation import wish
from graph.crash import reach
from graph.deciding import OVER, STILL_ASKED, close, expire
from graph.final_answer import held_back
from graph.holding import CancelRequested
from graph.nodes.episodes import remember
from graph.nodes.reject import ending
from graph.policy import Verdict
from graph.ports import Ports
from graph.questions import asked_anew, proposed_action, question_of, unknown
from graph.routing import open_calls, waiting_calls
from graph.state import Call
from graph.undoing import call_of_undo, inherited
from graph.version import GRAPH_VERSION
from memory.errors import (
    ConflictError,
    InterlockError,
    InterruptedByPersonError,
    NotFoundError,
    RefusedError,
    RunFailedError,
    StoppedError,
    UnavailableError,
    UsageError,
)  # fmt: skip
from memory.leases import Lease, LeaseLostError, held, is_dead, owner_name
from memory.ledger import Execution
from memory.people import NOBODY, Identity
from memory.runs import ENDED, NewRun, Run
from memory.text import message_of

Graph = CompiledStateGraph[Any, Any, Any, Any]
RECURSION_LIMIT = 1_000_000  # the limit that means something to a user is the model's turns
DURABILITY = "sync"  # the default keeps running critical calls while the database is down
MOST_STANDSTILLS = 3


class Driver:
    """Advances one thread at a time; cheap to make. `lease_seconds` is how long a dead driver keeps others out."""

    def __init__(self, ports: Ports, graph: Graph, *, lease_seconds: float, step_limit: int) -> None:
        self.ports, self.graph = ports, graph
        self.lease_seconds, self.step_limit = lease_seconds, step_limit

    async def advance(self, thread_id: str) -> Run:
        """Until the thread ends or waits for a person. Raises NotFoundError, BusyError, or how the run failed."""
        self.ports.stop.thread_id = thread_id
        run = await self.ports.runs.get(thread_id) or await self._adopt(thread_id)
        if run.status in OVER and run.wake_seq == run.settled_seq:
            return run
        reach("before_claim")
        owner = run.lease_owner
        dead = owner if owner and is_dead(owner) else None
        lease = await self.ports.runs.acquire(thread_id, owner_name(), self.lease_seconds, dead_owner=dead)
        reach("after_claim")
        with self.ports.watch.span("thread", thread_id=thread_id, epoch=lease.epoch):
            return await self._advanced(lease, run)

    async def _advanced(self, lease: Lease, run: Run) -> Run:
        thread_id = lease.thread_id
        async with self._held(lease):
            self.ports.left[thread_id] = self.step_limit
            if run.status in OVER:
                for call_key in await self._unsettled(run):
                    await self.ports.ledger.past(lease, call_key)
                await self.ports.runs.caught_up(lease, seen_wake_seq=run.wake_seq)
            else:
                await self.ports.approvals.remind(thread_id)
                await expire(self.ports.approvals, self.ports.electorate, thread_id)
                await self._drive(lease)
        return await self._run(thread_id)

    async def _drive(self, lease: Lease) -> None:
        if (await self._run(lease.thread_id)).status in {"failed", "stopped"}:
            await self.ports.runs.reopen(lease)
        standstills = 0
        while True:
            run = await self._run(lease.thread_id)
            before = await self._state(run.thread_id)
            if run.status in ENDED or (run.cancel_requested and await self._cancel(lease, run, before)):
                return
            if _is_fresh_copy(run, before):
                await self._make_it_its_own(run, before)
                continue
            step = await self._next(run, before)
            if step is not None and self.ports.stop.requested:
                raise InterruptedByPersonError(
                    "Stopped; what was under way has ended and is recorded.",
                    remedy=f"Go on with: interlock resume {run.thread_id}", thread_id=run.thread_id,
                )  # fmt: skip
            if step is None:
                if await self._settle(lease, run, before):
                    return
                continue
            await self._invoke(lease, run, step)
            after = await self._state(run.thread_id)
            standstills = standstills + 1 if _place(before) == _place(after) else 0
            if standstills >= MOST_STANDSTILLS:
                await self._fail(lease, run, RunFailedError("The graph did not move.", code="standstill"), "failed")

    async def _next(self, run: Run, at: StateSnapshot) -> Any:
        """What to invoke the graph with; None where there is nothing to do but to say how the thread stands."""
        if at.created_at is None:
            return {"input": {"text": run.input}}
        _refuse_if_changed(run, at)
        if not at.tasks:  # not `next`, which leaves out tasks whose writes are stored while the checkpoint after them is not
            return None
        interrupts = [interrupt for task in at.tasks for interrupt in task.interrupts]
        if not interrupts:
            return Nothing
        news = await self._decided(at)
        return Command(resume={interrupts[0].id: {"gate_ref": {"approval_id": news}}}) if news else None

    async def _decided(self, at: StateSnapshot) -> str | None:
        """An approval that the paused gate does not know of yet: decided, or missing from an emptied store."""
        for call in waiting_calls(at.values):  # type: ignore[arg-type]  # the values of our own state
            if call["approval_id"]:
                approval = await self.ports.approvals.get(call["approval_id"])
                if approval is None or approval.status != "pending":
                    return call["approval_id"]
        return None

    async def _invoke(self, lease: Lease, run: Run, step: Any) -> None:
        value, control = None if step is Nothing else step, RunControl()
        self.ports.stop.drain = control.request_drain
        steps: Any = self.graph.astream(  # type: ignore[call-overload]
            value, _config(run.thread_id), stream_mode=["tasks"], durability=DURABILITY, control=control
        )
        try:
            async for kind, event in steps:
                if kind == "tasks":
                    failed = {"failed": True} if event.get("error") else {}
                    self.ports.tell("node_started" if "input" in event else "node_ended", {"node": event["name"], **failed})
        except (CancelRequested, GraphDrained):
            return
        except StoppedError as error:
            await self._fail(lease, run, error, "stopped")
        except (LeaseLostError, ConflictError, UnavailableError, RefusedError, UsageError):
            raise
        except InterlockError as error:
            await self._fail(lease, run, error, "failed")
        except Exception as error:  # noqa: BLE001 - a mistake, which is raised with its cause
            await self._fail(lease, run, _bug(error), "failed", cause=error)

    async def _fail(self, lease: Lease, run: Run, error: InterlockError, status: Any, *, cause: Exception | None = None) -> None:
        written = False
        while not written:
            now = await self._run(run.thread_id)
            if now.cancel_requested:
                return  # the thread ends as a person wished, however it failed
            seen = now.wake_seq
            written = await self.ports.runs.settle(lease, seen_wake_seq=seen, status=status, error=error.as_json())
        raise error from cause

    async def _settle(self, lease: Lease, run: Run, at: StateSnapshot) -> bool:
        """False if there was news meanwhile, or still something to close."""
        reach("before_settle")
        if at.tasks:
            return await self.ports.runs.settle(lease, seen_wake_seq=run.wake_seq, status="waiting")
        status = at.values["status"]
        if status == "completed" and at.values.get("final_answer") and (held := await held_back(self.ports, run.thread_id, at.values)):
            await self.graph.aupdate_state(_config(run.thread_id), held, as_node="agent_think")
            return False
        me = Identity(lease.owner, "process")
        if await close(self.ports.approvals, run.thread_id, me, "the thread has ended", but=STILL_ASKED):
            return False
        answer = (at.values.get("final_answer") or {}).get("text") if status == "completed" else None
        return await self.ports.runs.settle(lease, seen_wake_seq=run.wake_seq, status=status, final_answer=answer)

    async def _cancel(self, lease: Lease, run: Run, at: StateSnapshot) -> bool:
        """Ends the thread where it stands. Nothing that waits will run; what was begun is told as what it is.

        False if the thread had come to its end before the wish was seen.
        """
        if at.created_at is not None and not at.tasks and at.values.get("status") in {"completed", "rejected"}:
            return False
        wish: Mapping[str, Any] = run.cancel_requested or {}
        by, comment = Identity(wish["by"], wish["source"]), str(wish["comment"])
        await close(self.ports.approvals, run.thread_id, by, comment, but=STILL_ASKED)
        calls = open_calls(at.values)  # type: ignore[arg-type]  # the values of our own state
        words = {call["call_key"]: f"Not run: {by.name} cancelled the thread. Their words: {comment}" for call in calls}
        by_key = {call["call_key"]: call for call in calls}
        executions = await self.ports.ledger.of_thread(run.thread_id)
        for execution in executions:
            if execution.status == "started":
                await self._ask_after_the_end(run.thread_id, execution, by_key, executions)
            ends = {"succeeded": execution.result, "failed": f"it failed: {execution.error}"}
            known = ends.get(execution.status) or "nobody knows whether it took effect"
            words[execution.call_key] = f"{by.name} cancelled the thread. Before that, this call was begun: {known}"
        if at.tasks and run.graph_version == GRAPH_VERSION:
            update = ending(calls, "cancelled", words)
            await self.graph.aupdate_state(_config(run.thread_id), update, as_node="handle_rejection")
        await remember(self.ports, run.thread_id, "cancelled", None)
        seen = (await self._run(run.thread_id)).wake_seq
        return await self.ports.runs.settle(lease, seen_wake_seq=seen, status="cancelled")

    async def _ask_after_the_end(
        self, thread_id: str, execution: Execution, calls: Mapping[str, Call], executions: Sequence[Execution]
    ) -> None:
        why = "the thread was cancelled while nobody knew its outcome"
        call, secret = calls.get(execution.call_key), self.ports.registry.secret_of
        hidden = secret(call) if call else tuple(execution.args)
        effect = next((one for one in executions if one.call_key == execution.undoes), None)
        if effect is not None:
            approvals = await self.ports.approvals.of_thread(thread_id)
            otherwise = wish(approvals)
            verdict = inherited(list(approvals), effect, otherwise) if otherwise else Verdict("ask")
            call = call_of_undo(effect, None, verdict)
        if call is not None:
            asked = question_of(unknown(call, execution.attempts, why), thread_id, secret=hidden)
            await self.ports.ledger.give_up(execution, why=why, question=asked)

    async def _make_it_its_own(self, run: Run, at: StateSnapshot) -> None:
        """What a fork took over unanswered is looked up in the ledger, and asked anew before it runs here."""
        calls = [asked_anew(call, run.thread_id) for call in open_calls(at.values)]  # type: ignore[arg-type]  # the values of our own state
        waiting = next((call for call in calls if call["state"] == "waiting"), None)
        update = {"tool_calls": calls, "proposed_action": proposed_action(waiting), "awaiting_human_approval": waiting is not None}
        await self.graph.aupdate_state(_config(run.thread_id), update, as_node="after_tools")

    async def _adopt(self, thread_id: str) -> Run:
        """A thread that only its checkpoint knows of: with every other table lost, it asks the same question again."""
        at = await self._state(thread_id)
        if at.created_at is None:
            raise NotFoundError(f"There is no thread {thread_id!r}.", remedy="`interlock runs` lists them.", code="no_such_thread")
        task = at.values.get("input")
        text = task.get("text") if isinstance(task, dict) else task
        new = NewRun(
            thread_id=thread_id, input=text, requester=NOBODY, starter=NOBODY, tenant="default", graph_version=GRAPH_VERSION,
            tools_version=self.ports.registry.version,
        )  # fmt: skip
        return await self.ports.runs.create(new, adopted=True)

    async def _unsettled(self, run: Run) -> list[str]:
        """Calls of an ended thread whose outcome nobody knew, and of which a person has said by now what became of them."""
        executions = await self.ports.ledger.of_thread(run.thread_id)
        unknown_still = {(one.call_key, one.attempts) for one in executions if one.status == "unknown"}
        asked = [one for one in await self.ports.approvals.of_thread(run.thread_id) if one.kind == "unknown_outcome"]
        told = [one for one in asked if one.status in {"approved", "rejected"}]
        return [one.call_key for one in told if (one.call_key, one.rules["attempt"]) in unknown_still]

    async def _state(self, thread_id: str) -> StateSnapshot:
        return await self.graph.aget_state(_config(thread_id))

    async def _run(self, thread_id: str) -> Run:
        run = await self.ports.runs.get(thread_id)
        if run is None:
            raise NotFoundError(f"There is no thread {thread_id!r}.", code="no_such_thread")
        return run

    @asynccontextmanager
    async def _held(self, lease: Lease) -> AsyncIterator[None]:
        held[lease.thread_id] = lease
        driver = asyncio.current_task()
        beat = asyncio.create_task(self._beat(lease, driver))
        try:
            yield
        except asyncio.CancelledError:
            if beat.done() and not beat.cancelled() and beat.exception() is not None:
                if driver is not None:
                    driver.uncancel()
                raise LeaseLostError(f"Another process drives thread {lease.thread_id!r} now.") from beat.exception()
            raise
        finally:
            beat.cancel()
            if held.get(lease.thread_id) is lease:
                del held[lease.thread_id]
            with suppress(InterlockError):
                await asyncio.shield(self.ports.runs.release(lease))

    async def _beat(self, lease: Lease, driver: "asyncio.Task[Any] | None") -> None:
        """Renews the lease. A database that is away for a while is no reason to stop; a lease that is lost is."""
        while True:
            await asyncio.sleep(self.lease_seconds / 3)
            try:
                await self.ports.runs.renew(lease, self.lease_seconds)
            except LeaseLostError:
                if driver is not None:
                    driver.cancel()
                raise
            except Exception:  # noqa: BLE001, S112 - whatever it is, the next beat may succeed; if none does, the lease runs out
                continue


class Nothing:
    """Go on from the checkpoint, with nothing new."""


def _config(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}, "recursion_limit": RECURSION_LIMIT}


def _place(at: StateSnapshot) -> Any:
    return at.config["configurable"].get("checkpoint_id"), [len(task.interrupts) for task in at.tasks]


def _is_fresh_copy(run: Run, at: StateSnapshot) -> bool:
    if run.forked_from is None or run.graph_version != GRAPH_VERSION or (at.metadata or {}).get("source") != "fork":
        return False
    return bool(at.tasks and open_calls(at.values))  # type: ignore[arg-type]  # the values of our own state


def _refuse_if_changed(run: Run, at: StateSnapshot) -> None:
    ended = at.values.get("status") in OVER
    if run.graph_version == GRAPH_VERSION and (at.tasks or ended):
        return
    raise RefusedError(
        f"Thread {run.thread_id!r} was left by version {run.graph_version} of the graph, and version {GRAPH_VERSION} cannot go on with it.",
        remedy="Resume it with the version that it was left by; nothing was changed.",
        code="graph_changed",
    )


def _bug(error: Exception) -> RunFailedError:
    return RunFailedError(
        f"The run failed: {message_of(error)}",
        remedy="What was done is kept; resume the thread to go on from there.",
        code="run_failed",
    )
