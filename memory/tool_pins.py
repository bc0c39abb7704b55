"""Port: what a tool of another server was when it was first used, so that a change is seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from memory.people import Identity

RECORD = "@tools"  # what is pinned and accepted is on the record under this name, as if it were a thread's


@dataclass(frozen=True, slots=True)
class Pin:
    """`definition` is what the server said of its tool (JSON); `sha256` is taken over it."""

    server: str
    tool: str
    sha256: str
    definition: Mapping[str, Any]


class ToolPins(Protocol):
    async def all(self) -> Sequence[Pin]: ...

    async def pin(self, new: Sequence[Pin]) -> None:
        """Of tools that are used for the first time; one that is pinned already keeps its pin."""

    async def accept(self, changed: Pin, by: Identity) -> None:
        """A person has looked at the change: from now on this definition is the known one."""
