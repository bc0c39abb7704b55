"""handle_rejection: answers the calls that people said no to. The thread goes on, or ends as rejected or cancelled; before it ends, what
it did is undone where a person wished so.
"""

from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from graph.crash import reach
from graph.deciding import close
from graph.final_answer import told
from graph.holding import driving, end
from graph.policy_file import ANSWER
from graph.ports import Node, Ports
from graph.questions import proposed_action
from graph.routing import open_calls
from graph.state import Call, State
from graph.undoing import ended_in_words, undo_all
from memory.people import Identity
from memory.runs import Status

DRIVER = Identity("agent", "process")
ENDS: dict[str, Status] = {"stop": "rejected", "cancel": "cancelled"}


def make_reject(ports: Ports) -> Node:
    async def handle_rejection(state: State, config: RunnableConfig) -> dict[str, Any]:
        calls = open_calls(state)
        rejected = [call for call in calls if call["state"] == "rejected"]
        thread_id = str(config["configurable"]["thread_id"])
        if any(_then(call) == "compensate" for call in rejected):
            return await _compensated(ports, thread_id, calls)
        status = next((ENDS[then] for call in rejected if (then := _then(call)) in ENDS), None)
        if status:
            await end(ports, thread_id, status)
            return ending(calls, status, {call["call_key"]: _words(call) for call in rejected})
        still = next((call for call in calls if call["state"] == "waiting"), None)
        return {
            "messages": [_told(call, _words(call)) for call in rejected],
            "proposed_action": proposed_action(still),
            "awaiting_human_approval": still is not None,
        }

    return handle_rejection


async def _compensated(ports: Ports, thread_id: str, calls: list[Call]) -> dict[str, Any]:
    """One superstep as long as nobody has to be asked; the ledger knows what is done if this is begun again."""
    async with driving(ports, thread_id) as lease:
        reach("undo_before_first")
        await close(ports.approvals, thread_id, DRIVER, "the thread is being undone", but={"unknown_outcome", "compensation"})
        asked = await undo_all(ports, lease)
        if asked is not None:
            return {"undo": asked, "proposed_action": proposed_action(asked), "awaiting_human_approval": True}
        came_of_it = await ended_in_words(ports, lease)
        reach("undo_before_end")
    await end(ports, thread_id, "rejected")
    return ending(calls, "rejected", {call["call_key"]: f"{_words(call)} {came_of_it}" for call in calls if call["state"] == "rejected"})


def ending(calls: list[Call], status: str, words: dict[str, str]) -> dict[str, Any]:
    """The last update of a thread that people ended: every open call is answered. `words` by call key, where there are some."""
    return {
        "messages": [_told(call, words.get(call["call_key"]) or _left(call)) for call in calls],
        "status": status,
        "proposed_action": None,
        "awaiting_human_approval": False,
        "undo": None,
    }


def _left(call: Call) -> str:
    if call["kind"] == "unknown_outcome":
        return "The thread was ended by a person; nobody knows whether this call took effect."
    return "Not run: the thread was ended by a person."


def _then(call: Call) -> str:
    return str((call["outcome"] or {}).get("then", "continue"))


def _words(call: Call) -> str:
    outcome = call["outcome"] or {}
    by, comment = outcome.get("by", "a person"), outcome.get("comment")
    if by == "deadline":
        return f"Not run: {call['name']} was asked of people, and nobody decided in time."
    verb = "cancelled" if _then(call) == "cancel" else "rejected"
    return f"Not run: {by} {verb} this call. " + (f"Their words: {comment}" if comment else "They gave no reason.") + AGAIN


AGAIN = " Do not propose it again with the same arguments."


def _told(call: Call, text: str) -> AnyMessage:
    if call["kind"] == ANSWER:
        return told(call, text.replace("Not run", "Not sent", 1).replace("this call", "it", 1))
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
