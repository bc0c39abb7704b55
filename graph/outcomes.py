"""From how a tool ended to what the ledger keeps, and what is done with an answer that comes too late."""

import asyncio
from contextlib import suppress

from graph.ports import Ports
from memory.errors import InterlockError
from memory.ledger import Execution, Result
from tools.calling import Failed, Outcome, Returned, Unknown


def as_result(outcome: Outcome) -> Result:
    match outcome:
        case Returned(text):
            return Result("succeeded", text)
        case Failed(message):
            return Result("failed", message)
        case Unknown(reason):
            return Result("unknown", reason)


def record_when_it_comes(ports: Ports, execution: Execution, late: "asyncio.Future[Outcome]") -> None:
    async def record() -> None:
        outcome = await asyncio.shield(late)
        with suppress(InterlockError):
            await ports.ledger.late(execution, as_result(outcome).text)

    task = asyncio.get_running_loop().create_task(record())
    _late_news.add(task)
    task.add_done_callback(_late_news.discard)


_late_news: set["asyncio.Task[None]"] = set()
