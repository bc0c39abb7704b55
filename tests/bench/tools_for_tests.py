"""Tools as a user writes them, for INTERLOCK_TOOLS=tools_for_tests:TOOLS. What they do is seen in `bench.world`."""

import json
import os
import time
from typing import Any

from bench.world import UNREACHABLE, World

from tools.spec import tool

TRANSFERS = "CREATE TABLE public.transfers (id bigserial PRIMARY KEY, recipient text NOT NULL, amount integer NOT NULL)"


@tool(is_critical=False, idempotent=False)
def note_add(text: str) -> str:
    """Write a note."""
    World.here().effect("note_add", text)
    return f"noted: {text}"


@tool(is_critical=True)
def transfer(to: str, amount: int) -> str:
    """Transfer money. Nobody can find out afterwards whether it happened."""
    World.here().effect("transfer", f"{amount} to {to}")
    return f"transferred {amount} to {to}"


@tool(is_critical=True, idempotent=True)
def transfer_keyed(to: str, amount: int, idempotency_key: str) -> str:
    """Transfer money. The bank takes one key once, so it may be asked again."""
    world = World.here()
    done = f"{idempotency_key} {amount} to {to}"
    if done not in world.lines("transfer_keyed"):
        world.effect("transfer_keyed", done)
    world.append("transfer_keyed.keys", idempotency_key)
    return f"transferred {amount} to {to}"


def was_transferred(idempotency_key: str, to: str, amount: int) -> str | None:
    if UNREACHABLE in os.environ:
        raise ConnectionError("the bank cannot be asked")
    world = World.here()
    world.append("transfer_checked.checks", idempotency_key)
    happened = f"{idempotency_key} {amount} to {to}" in world.lines("transfer_checked")
    return f"transferred {amount} to {to}" if happened else None


@tool(is_critical=True, check=was_transferred)
def transfer_checked(to: str, amount: int, idempotency_key: str) -> str:
    """Transfer money. The bank can be asked whether it happened."""
    World.here().effect("transfer_checked", f"{idempotency_key} {amount} to {to}")
    return f"transferred {amount} to {to}"


@tool(is_critical=True, transactional=True)
async def transfer_tx(to: str, amount: int, connection: Any) -> str:
    """Transfer money inside our own database (the table TRANSFERS)."""
    world = World.here()
    world.reach("before")
    world.append("transfer_tx.attempts", f"{amount} to {to}")
    await connection.execute("INSERT INTO public.transfers (recipient, amount) VALUES (%s, %s)", (to, amount))
    world.reach("during")
    return f"transferred {amount} to {to}"


@tool(is_critical=True, timeout=1)
def slow_transfer(to: str, amount: int, seconds: float) -> str:
    """Transfer money, after so many seconds."""
    World.here().append("slow_transfer.attempts", f"{amount} to {to}")
    time.sleep(seconds)
    World.here().append("slow_transfer", f"{amount} to {to}")
    return f"transferred {amount} to {to}"


@tool(is_critical=False, idempotent=True)
def failing(text: str) -> str:
    """Fail with this text."""
    World.here().append("failing", text)
    raise ValueError(text)


@tool(is_critical=False, idempotent=True)
def list_result() -> list[Any]:
    """Return a list."""
    return ["a", {"b": 1}, None]


@tool(is_critical=False, idempotent=True)
def none_result() -> None:
    """Return nothing."""


@tool(is_critical=False, idempotent=True)
def print_environment() -> str:
    """Print the environment of this process."""
    World.here().append("environment", json.dumps(dict(os.environ)))
    print("printed by a tool:", *sorted(os.environ))
    return ", ".join(sorted(os.environ))


TOOLS = [
    note_add,
    transfer,
    transfer_keyed,
    transfer_checked,
    transfer_tx,
    slow_transfer,
    failing,
    list_result,
    none_result,
    print_environment,
]
