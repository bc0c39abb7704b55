"""The lease of a thread, for nodes. Our driver holds it; under the Agent Server, which drives by itself, a node takes it on entry."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from weakref import WeakKeyDictionary

from graph.ports import Ports
from graph.version import GRAPH_VERSION
from memory.errors import ConflictError, InterlockError
from memory.leases import Lease, held, is_dead, owner_name
from memory.people import NOBODY
from memory.runs import NewRun

SECONDS = 30.0
_taking: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
_inside: dict[str, int] = {}  # parallel calls of one thread share the lease that the first of them took


class CancelRequested(InterlockError):  # noqa: N818 - a wish that the driver fulfils
    """A person cancelled the thread while it was driven; nothing more may begin."""


async def stop_if_cancelled(ports: Ports, thread_id: str) -> None:
    run = await ports.runs.get(thread_id)
    if run is not None and run.cancel_requested:
        raise CancelRequested(f"Thread {thread_id!r} is to be cancelled.", code="cancelled")


@asynccontextmanager
async def driving(ports: Ports, thread_id: str) -> AsyncIterator[Lease]:
    """Raises BusyError where another process drives the thread."""
    taking = _taking.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    async with taking:
        if thread_id not in held:
            held[thread_id] = await _taken(ports, thread_id)
            _inside[thread_id] = 0
        if thread_id in _inside:
            _inside[thread_id] += 1
    try:
        yield held[thread_id]
    finally:
        await asyncio.shield(_left(taking, ports, thread_id))


async def _left(taking: asyncio.Lock, ports: Ports, thread_id: str) -> None:
    async with taking:
        if thread_id not in _inside:
            return
        _inside[thread_id] -= 1
        if _inside[thread_id]:
            return
        del _inside[thread_id]
        try:
            with suppress(InterlockError):
                await ports.runs.release(held[thread_id])
        finally:
            held.pop(thread_id, None)


async def _taken(ports: Ports, thread_id: str) -> Lease:
    run = await ports.runs.get(thread_id)
    if run is None:
        new = NewRun(thread_id, None, NOBODY, NOBODY, "default", GRAPH_VERSION, ports.registry.version)
        with suppress(ConflictError):
            await ports.runs.create(new, adopted=True)
    owner = run.lease_owner if run else None
    dead = owner if owner and is_dead(owner) else None
    return await ports.runs.acquire(thread_id, f"node@{owner_name()}", SECONDS, dead_owner=dead)
