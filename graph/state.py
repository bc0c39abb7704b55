"""What a checkpoint keeps: plain JSON values and LangChain messages, nothing else. Its keys are durable names.

Text stands inside dicts and lists, never in a plain string channel: such a channel cannot hold every text.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

CallState = Literal["ready", "waiting", "rejected"]


class Call(TypedDict):
    """One tool call of the model's last message. It is open until a tool message with its `id` exists.

    `state` is where it stands on its way: ready to run, waiting for people, rejected by them. It permits nothing: what may run is
    decided by the stores when it runs. `approval_id` is the question that is open now; `permit` the one
    that asked whether it may run. `fork` is the thread that copied an open call of another one and asks about it anew.
    """

    call_key: str
    id: str
    message_id: str
    position: int
    name: str
    args: dict[str, Any]
    args_sha256: str
    proposed_args: dict[str, Any]
    schema_sha256: str
    verdict: dict[str, Any]
    state: CallState
    approval_id: str | None
    permit: str | None
    kind: str
    round: int
    note: str
    said: str
    fork: NotRequired[str]
    outcome: dict[str, Any] | None


def merge_calls(old: Sequence[Call] | None, new: Sequence[Call]) -> list[Call]:
    """Calls of another message take the place of the old ones; changed calls of the same message replace themselves."""
    if not old or not new or new[0]["message_id"] != old[0]["message_id"]:
        return list(new)
    changed = {call["call_key"]: call for call in new}
    return [changed.get(call["call_key"], call) for call in old]


class State(TypedDict):
    # {"text": …}, as the user stated the task; a bare text is accepted
    input: NotRequired[dict[str, Any] | str]
    # the scratchpad; tool messages stand in the order in which calls ended (graph.transcript puts them in order)
    messages: Annotated[list[AnyMessage], add_messages]
    # the calls of the last message of the model
    tool_calls: Annotated[list[Call], merge_calls]
    # {"text": …}, or null as long as there is none
    final_answer: NotRequired[dict[str, Any] | None]
    awaiting_human_approval: NotRequired[bool]
    # {"type": "tool_call" | "final_answer", "details": {…}}: which question the gate shows; fixed before the gate starts
    proposed_action: NotRequired[dict[str, Any] | None]
    # approve | reject | modify: the last decision that reached the graph
    human_feedback: NotRequired[str | None]
    # {"approval_id", "args"} of the last modification
    modification_details: NotRequired[dict[str, Any] | None]
    # the undo that people are asked about now, or null: a call in the same form, which stands in no message
    undo: NotRequired[Call | None]
    # running | completed | rejected | cancelled
    status: NotRequired[str]
    # {"status": ok | empty | unavailable, "reason", "records": […]}, what was recalled before the first thought; no reason: turned off
    memories: NotRequired[dict[str, Any] | None]
