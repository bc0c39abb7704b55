"""retrieve_episodes and remember_episode: what was learned before, and what is worth keeping. Memory never decides and never blocks."""

import uuid
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from graph.answer import text_of
from graph.holding import begin, end
from graph.ports import Node, Ports
from graph.state import State
from memory.text import clean


def make_retrieve(ports: Ports) -> Node:
    async def retrieve_episodes(state: State, config: RunnableConfig) -> dict[str, Any]:
        task = state.get("input")
        text = task.get("text") if isinstance(task, dict) else task
        told = text if isinstance(text, str) else next((text_of(one) for one in reversed(state.get("messages", []))), None)
        await begin(ports, str(config["configurable"]["thread_id"]), clean(told) if told else None)
        update: dict[str, Any] = {"memories": {"status": "unavailable", "records": []}, "status": "running"}
        if isinstance(text, str) and text.strip() and not state.get("messages"):
            update["messages"] = [HumanMessage(clean(text), id=str(uuid.uuid4()))]
        return update

    return retrieve_episodes


def make_remember(ports: Ports) -> Node:
    async def remember_episode(state: State, config: RunnableConfig) -> dict[str, Any]:
        answer = (state.get("final_answer") or {}).get("text")
        await end(ports, str(config["configurable"]["thread_id"]), "completed", answer=answer)
        return {"status": "completed"}

    return remember_episode
