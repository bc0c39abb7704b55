"""Opens the application for one command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NoReturn

from graph.commands.signals import heeded
from graph.console import Session, Shown, present
from graph.stop import Stop
from memory.people import Identity

if TYPE_CHECKING:
    from graph.app import App


def run(json_wanted: bool, work: Callable[["App", Session], Awaitable[Shown]], *, connections: int = 4) -> NoReturn:
    """Opens the application, does the work, prints what it says. What tools print goes to standard error."""

    async def at_work(session: Session) -> Shown:
        from graph.app import open_app

        on_token = session.token if session.terminal and session.watched else None
        stop = Stop()
        opened = open_app(session.settings, on_token=on_token, tell=session.tell, stop=stop, connections=connections)
        with heeded(session, stop):
            async with opened as application, session.ticking():
                return await work(application, session)

    present(json_wanted, lambda: asyncio.run(at_work(Session(json_wanted))))


async def who(application: "App", claimed: str | None) -> tuple[Identity, int | None]:
    """Who sits here, and the tier that their token gives them."""
    return await application.voter(claimed=claimed, token=application.settings.operator_token)
