"""The bundle that nodes and the driver work with. graph.app fills it; a test may replace any part."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Protocol

from graph.deciding import Electorate
from graph.model import Model
from graph.policy import Policy
from graph.stop import Stop
from graph.watching import Unwatched, Watch
from memory.approvals import Approvals
from memory.careful import Memory
from memory.ledger import Ledger
from memory.runs import Runs
from tools.spec import Registry

Node = Callable[..., Awaitable[dict[str, Any]]]  # (state, config) -> update


class Tools(Protocol):
    @property
    def registry(self) -> Registry:
        """What is known; nobody is asked for it."""

    async def meet(self, names: Collection[str] | None = None) -> None:
        """Asks the servers that have these tools what they are now, None: all servers. Each is asked once."""


@dataclass(frozen=True, slots=True)
class Ports:
    """`left` counts the model's turns that a thread may still take in this process; `tell` gets progress as (what, details).

    `rejection_limit`: how often people are asked about the same action.
    `memory` is None where it is turned off.
    """

    runs: Runs
    approvals: Approvals
    ledger: Ledger
    model: Model
    tools: Tools
    electorate: Electorate
    policy: Policy = field(default_factory=Policy)
    rejection_limit: int = 3
    memory: Memory | None = None
    left: dict[str, int] = field(default_factory=dict)
    on_token: Callable[[str], None] | None = None
    tell: Callable[[str, dict[str, Any]], None] = lambda _what, _details: None
    watch: Watch = field(default_factory=Unwatched)
    stop: Stop = field(default_factory=Stop)

    @property
    def registry(self) -> Registry:
        return self.tools.registry
