"""Tools that last until the world says `go`. Copied into the user's folder, as tools_for_tests is."""

import asyncio
import time

from bench.world import World

from tools.spec import tool

LONGEST = 40.0  # seconds


def _wait(name: str) -> None:
    world, end = World.here(), time.monotonic() + LONGEST
    world.append(f"{name}.attempts")
    while not world.count("go") and time.monotonic() < end:
        time.sleep(0.02)
    world.append(name)


@tool(is_critical=True)
def slow_payment() -> str:
    """Pay, in a while."""
    _wait("slow_payment")
    return "paid"


@tool(is_critical=False, idempotent=True)
def slow_look() -> str:
    """Look, for a while."""
    _wait("slow_look")
    return "seen"


@tool(is_critical=True)
async def stubborn_payment() -> str:
    """Pay, in a while, and be in no hurry to stop."""
    try:
        await asyncio.to_thread(_wait, "stubborn_payment")
    except asyncio.CancelledError:
        World.here().append("stubborn_payment.cancelled")
        await asyncio.sleep(LONGEST)
    return "paid"


@tool(is_critical=True)
def talking_payment() -> str:
    """Pay, in a while, and talk about it."""
    print("about to pay", flush=True)
    _wait("talking_payment")
    print("paid", flush=True)
    return "paid"


TOOLS = [slow_payment, slow_look, stubborn_payment, talking_payment]
