"""retrieve_episodes and remember_episode: what was learned before, and what is worth keeping. Memory never decides and never blocks."""

import uuid
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from graph.answer import text_of
from graph.episode import episode, in_state
from graph.holding import begin, end
from graph.ports import Node, Ports
from graph.state import State
from memory.careful import Kept, Recalled
from memory.runs import Run
from memory.text import clean

OFF: dict[str, Any] = {"status": "unavailable", "records": []}
NO_TENANT = "it is not known whose thread this is"


def make_retrieve(ports: Ports) -> Node:
    async def retrieve_episodes(state: State, config: RunnableConfig) -> dict[str, Any]:
        thread_id = str(config["configurable"]["thread_id"])
        task = state.get("input")
        found = task.get("text") if isinstance(task, dict) else task
        told = found if isinstance(found, str) else next((text_of(one) for one in reversed(state.get("messages", []))), None)
        await begin(ports, thread_id, clean(told) if told else None)
        memories = OFF if ports.memory is None else await _recalled(ports, thread_id, clean(told or ""))
        update: dict[str, Any] = {"memories": memories, "status": "running"}
        if isinstance(found, str) and found.strip() and not state.get("messages"):
            update["messages"] = [HumanMessage(clean(found), id=str(uuid.uuid4()))]
        return update

    return retrieve_episodes


def make_remember(ports: Ports) -> Node:
    async def remember_episode(state: State, config: RunnableConfig) -> dict[str, Any]:
        thread_id = str(config["configurable"]["thread_id"])
        ended = "rejected" if state.get("status") == "rejected" else "completed"
        answer = (state.get("final_answer") or {}).get("text") if ended == "completed" else None
        await remember(ports, thread_id, ended, answer)
        if ended == "completed":
            await end(ports, thread_id, "completed", answer=answer)
        return {"status": ended}

    return remember_episode


async def _recalled(ports: Ports, thread_id: str, text: str) -> dict[str, Any]:
    run = await ports.runs.get(thread_id)
    if ports.memory is None or not _has_tenant(run):
        recalled = Recalled("unavailable", NO_TENANT)
    else:
        ports.tell("recall_started", {"memory": ports.memory.where})
        recalled = await ports.memory.recall(text, run.tenant if run else "")
        ports.tell("recall_ended", {"memory": ports.memory.where, "status": recalled.status, "reason": recalled.reason})
    memories = in_state(recalled)
    ids = [one["id"] for one in memories["records"]]
    await ports.runs.recalled(thread_id, {"status": recalled.status, "reason": recalled.reason, "ids": ids})
    return memories


async def remember(ports: Ports, thread_id: str, ended: str, answer: str | None) -> None:
    """Keeps the thread as one record: a repeated write takes the place of the first."""
    if ports.memory is None:
        return
    run = await ports.runs.get(thread_id)
    if run is None or not _has_tenant(run):
        await ports.runs.remembered(thread_id, {"status": "unavailable", "reason": NO_TENANT, "ids": []})
        return
    record = episode(run, await ports.approvals.of_thread(thread_id), await ports.ledger.of_thread(thread_id), answer, ended)
    ports.tell("remember_started", {"memory": ports.memory.where})
    kept: Kept = await ports.memory.keep([record])
    ports.tell("remember_ended", {"memory": ports.memory.where, "status": kept.status, "reason": kept.reason})
    ids = [record.id] if kept.status == "ok" else []
    await ports.runs.remembered(thread_id, {"status": kept.status, "reason": kept.reason, "ids": ids})


def _has_tenant(run: Run | None) -> bool:
    """A thread that was adopted from its checkpoint has a run of ours, and nobody knows any more for which tenant it was started."""
    return run is not None and run.requester.source != "unknown"
