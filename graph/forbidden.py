"""What the policy forbids asks nobody and begins nothing; the step after its proposal puts it on the record."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage, AnyMessage

from memory.approvals import Proposal

if TYPE_CHECKING:
    from graph.ports import Ports

FORBIDDEN = "interlock_forbidden"


async def record_forbidden(ports: "Ports", thread_id: str, messages: Sequence[AnyMessage]) -> None:
    """Of the last message of the model: what was proposed before that is there already."""
    found: list[Proposal] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            break
        if FORBIDDEN in message.additional_kwargs:
            found.append(Proposal(**message.additional_kwargs[FORBIDDEN]))
    if found:
        await ports.approvals.forbidden(thread_id, found[::-1])
