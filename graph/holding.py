"""The lease of a thread, for nodes. Our driver holds it; under the Agent Server, which drives by itself, a node takes it on entry."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from weakref import WeakKeyDictionary

from graph.deciding import STILL_ASKED, close
from graph.ports import Ports
from graph.version import GRAPH_VERSION
from memory.errors import ConflictError, InterlockError, RunFailedError, StoppedError
from memory.leases import NODE, Lease, LeaseLostError, held, is_dead, owner_name
from memory.people import NOBODY, Identity
from memory.runs import ENDED, NewRun, Run, Status

SECONDS = 30.0
_beats: dict[str, "asyncio.Task[None]"] = {}
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
            lease = held[thread_id] = await _taken(ports, thread_id)
            _inside[thread_id] = 0
            _beats[thread_id] = asyncio.create_task(_beat(ports, lease))
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
        _beats.pop(thread_id).cancel()
        try:
            with suppress(InterlockError):
                await ports.runs.release(held[thread_id])
        finally:
            held.pop(thread_id, None)


async def _beat(ports: Ports, lease: Lease) -> None:
    """A call may last longer than a lease: it is renewed as long as a node is at work."""
    while True:
        await asyncio.sleep(SECONDS / 3)
        try:
            await ports.runs.renew(lease, SECONDS)
        except LeaseLostError:
            return  # saver and ledger refuse what comes from here
        except Exception:  # noqa: BLE001, S112 - whatever it is, the next beat may succeed; if none does, the lease runs out
            continue


async def _taken(ports: Ports, thread_id: str) -> Lease:
    run = await _known(ports, thread_id, None)
    dead = run.lease_owner if run.lease_owner and is_dead(run.lease_owner) else None
    lease = await ports.runs.acquire(thread_id, NODE + owner_name(), SECONDS, dead_owner=dead)
    if run.status in ENDED:
        await ports.runs.reopen(lease)  # the server goes on with a thread that had ended, or failed
    return lease


async def _known(ports: Ports, thread_id: str, text: str | None) -> Run:
    run = await ports.runs.get(thread_id)
    if run is None:
        new = NewRun(thread_id, text, NOBODY, NOBODY, "default", GRAPH_VERSION, ports.registry.version)
        with suppress(ConflictError):
            await ports.runs.create(new, adopted=True, moving=True)
        run = await ports.runs.get(thread_id)
    if run is None:
        raise AssertionError("a run that was created, or that was there, is there")
    return run


def is_driven_by_us(thread_id: str) -> bool:
    """By graph.run, in this process; otherwise the Agent Server invokes the graph."""
    return thread_id in held and thread_id not in _inside


async def begin(ports: Ports, thread_id: str, text: str | None) -> None:
    """Under the Agent Server, the first node makes the thread known, so that every command sees it."""
    if not is_driven_by_us(thread_id):
        await _known(ports, thread_id, text)
        async with driving(ports, thread_id):
            pass


async def end(ports: Ports, thread_id: str, status: Status, *, answer: str | None = None, error: InterlockError | None = None) -> None:
    """Under the Agent Server, the last node says how the thread ended; where graph.run drives, that does."""
    if is_driven_by_us(thread_id):
        return
    async with driving(ports, thread_id) as lease:
        if error is None:
            await close(ports.approvals, thread_id, Identity(lease.owner, "process"), "the thread has ended", but=STILL_ASKED)
        written = False
        while not written:
            run = await _known(ports, thread_id, None)
            written = await ports.runs.settle(
                lease, seen_wake_seq=run.wake_seq, status=status, final_answer=answer, error=error.as_json() if error else None
            )


@asynccontextmanager
async def telling_failure(ports: Ports, thread_id: str) -> AsyncIterator[None]:
    """Under the Agent Server, a model that fails leaves a thread that says so; what another try may mend fails no thread."""
    try:
        yield
    except (StoppedError, RunFailedError) as error:
        with suppress(InterlockError):
            await end(ports, thread_id, "stopped" if isinstance(error, StoppedError) else "failed", error=error)
        raise
