"""Reads checkpoints as data: who can write into the database must not make this process build, or call, what they name."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from memory.errors import RefusedError

_blocked: ContextVar[list[str] | None] = ContextVar("blocked", default=None)


class PlainSerializer(JsonPlusSerializer):
    """LangGraph's serializer, strict by itself and not by an environment variable: its own safe types, and nothing else.

    LangGraph gives back the bare arguments of what it blocks; here such a checkpoint is refused as a whole.
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        with _none_blocked():
            return super().loads_typed(data)


@contextmanager
def _none_blocked() -> Iterator[None]:
    """Raises RefusedError if something was blocked meanwhile."""
    found: list[str] = []
    token = _blocked.set(found)
    try:
        yield
    finally:
        _blocked.reset(token)
    if found:
        raise RefusedError(
            f"The checkpoint names what interlock never stores, so it is not trusted and nothing of it was built: {', '.join(found)}.",
            remedy="Find out who wrote into the database; `interlock audit --verify` checks the record.",
            code="untrusted_checkpoint",
        )


def _note(event: SerdeEvent) -> None:
    found = _blocked.get()
    if found is not None and event["kind"].endswith("blocked"):
        found.append(f"{event['module']}.{event['name']}")


register_serde_event_listener(_note)
