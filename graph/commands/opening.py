"""Opens the application for one command."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NoReturn

from graph.console import Session, Shown, present
from memory.people import Identity

if TYPE_CHECKING:
    from graph.app import App


def run(json_wanted: bool, work: Callable[["App", Session], Awaitable[Shown]], *, connections: int = 4) -> NoReturn:
    """Opens the application, does the work, prints what it says. What tools print goes to standard error."""

    async def at_work(session: Session) -> Shown:
        from graph.app import open_app

        me = asyncio.current_task()
        if me is not None:
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, me.cancel)

        on_token = session.token if session.terminal and session.watched else None
        opened = open_app(session.settings, on_token=on_token, tell=session.tell, connections=connections)
        async with opened as application, session.ticking():
            return await work(application, session)

    present(json_wanted, lambda: asyncio.run(at_work(Session(json_wanted))))


async def who(application: "App", claimed: str | None) -> tuple[Identity, int | None]:
    """Who sits here, and the tier that their token gives them."""
    return await application.voter(claimed=claimed, token=application.settings.operator_token)
