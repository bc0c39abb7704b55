"""Tools with ways back of every kind, as a user writes them: INTERLOCK_TOOLS=undo_tools:TOOLS. What they do is seen in `bench.world`."""

from typing import Any

from bench.world import World

from tools.spec import OutcomeUnknown, tool


def unbook(what: str, result: str, idempotency_key: str) -> str:
    World.here().effect("unbook", f"{what} {result} {idempotency_key}")
    return f"unbooked {what}"


@tool(is_critical=False, compensate=unbook)
def book(what: str) -> str:
    """Book something. Its way back is a function, of which nobody can find out whether it happened."""
    World.here().append("book", what)
    return f"booked-{what}"


@tool(is_critical=False, idempotent=True)
def unrent(what: str, idempotency_key: str) -> str:
    """Give back what was rented; the other side takes a key once."""
    world = World.here()
    if idempotency_key not in world.lines("unrent"):
        world.effect("unrent", idempotency_key)
    return f"given back {what}"


@tool(is_critical=False, compensate=unrent)
def rent(what: str) -> str:
    """Rent something. Its way back is a tool that may be called again."""
    World.here().append("rent", what)
    return f"rented-{what}"


@tool(is_critical=True)
def unship(what: str) -> str:
    """Call a parcel back, which needs a person of its own."""
    World.here().append("unship", what)
    return f"called back {what}"


@tool(is_critical=False, compensate=unship)
def ship(what: str) -> str:
    """Ship something."""
    World.here().append("ship", what)
    return f"shipped-{what}"


@tool(is_critical=False)
def shout(what: str) -> str:
    """Say it aloud. There is no way back."""
    World.here().append("shout", what)
    return "said"


def fail(what: str) -> str:
    World.here().append("unbreak.attempts", what)
    raise ValueError("it is in pieces")


@tool(is_critical=False, compensate=fail)
def smash(what: str) -> str:
    """Break something."""
    World.here().append("smash", what)
    return "broken"


def perhaps(what: str) -> str:
    World.here().append("perhaps", what)
    raise OutcomeUnknown("the line was cut")


@tool(is_critical=False, compensate=perhaps)
def call_up(what: str) -> str:
    """Call somebody."""
    World.here().append("call_up", what)
    return "called"


async def unkeep(what: str, connection: Any) -> str:
    await connection.execute("DELETE FROM public.kept WHERE what = %s", (what,))
    World.here().append("unkeep", what)
    return f"let go of {what}"


@tool(is_critical=False, transactional=True, compensate=unkeep)
async def keep(what: str, connection: Any) -> str:
    """Keep something in our own database."""
    await connection.execute("INSERT INTO public.kept VALUES (%s)", (what,))
    return f"kept {what}"


@tool(is_critical=True)
def pay(amount: int) -> str:
    """Pay."""
    World.here().append("pay", str(amount))
    return "paid"


TOOLS = [book, rent, unrent, ship, unship, shout, smash, call_up, keep, pay]
