"""The history as every strict server accepts it: each call answered once, directly after its message, in the order of the calls.

Stored messages are never rewritten; this is the view that a model gets.
"""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

NO_RESULT = "There is no result: the work was interrupted before this call ended."


def transcript(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    answers = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    view: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            continue
        view.append(message)
        if isinstance(message, AIMessage):
            view += [answers.get(call["id"] or "") or _missing(call["id"] or "", call["name"]) for call in message.tool_calls]
    return view


def answered(messages: Sequence[AnyMessage]) -> set[str]:
    """Ids of calls. A final answer that did not go out is no call to the model: what it is told of that is a user's message."""
    told = {message.id for message in messages if isinstance(message, HumanMessage) and message.id}
    return told | {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}


def _missing(call_id: str, name: str) -> ToolMessage:
    return ToolMessage(NO_RESULT, tool_call_id=call_id, name=name, status="error")
