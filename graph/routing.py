"""What is next: one pure function of the state. It is no gate; what may run is checked where it runs."""

from typing import Literal

from langgraph.types import Send

from graph.state import Call, State
from graph.transcript import answered

Next = Literal["agent_think", "await_human_approval", "handle_rejection", "remember_episode", "__end__"]


def open_calls(state: State) -> list[Call]:
    done = answered(state.get("messages", []))
    return [call for call in state.get("tool_calls") or [] if call["id"] not in done]


def waiting_calls(state: State) -> list[Call]:
    """What people are asked about. Once a person wished that everything be undone, that is the next undo and nothing else."""
    undo = state.get("undo")
    return [call for call in ([undo] if undo else open_calls(state)) if call["state"] == "waiting"]


def route(state: State) -> Next | list[Send]:
    if state.get("status") == "rejected":
        return "remember_episode"  # what people did not want is worth more than most answers
    if state.get("status") == "cancelled":
        return "__end__"
    calls, waiting = open_calls(state), waiting_calls(state)
    if state.get("undo") and waiting:
        return "await_human_approval"
    ready = [call for call in calls if call["state"] == "ready"]
    if any(call["state"] == "rejected" for call in calls):
        return "handle_rejection"
    if ready:
        # The first one also puts the questions of its siblings before people: they may decide while it runs.
        return [Send("execute_tools", {"call": call, "ask": waiting if call is ready[0] else []}) for call in ready]
    if waiting:
        return "await_human_approval"
    return "remember_episode" if state.get("final_answer") else "agent_think"
