"""Opens the application for one command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NoReturn

from graph.commands.signals import heeded
from graph.commands.token import OPERATOR_TOKEN
from graph.console import Session, Shown, present
from graph.stop import Stop
from memory.people import Identity

if TYPE_CHECKING:
    from graph.app import App


def run(json_wanted: bool, work: Callable[["App", Session], Awaitable[Shown]]) -> NoReturn:
    """Opens the application, does the work, prints what it says. What tools print goes to standard error."""

    async def opened(session: Session) -> Shown:
        from graph.app import open_app

        on_token = session.token if session.terminal and session.watched else None
        stop = Stop()
        with heeded(session, stop):
            async with open_app(session.settings, on_token=on_token, tell=session.tell, stop=stop) as application, session.ticking():
                return await work(application, session)

    present(json_wanted, lambda: asyncio.run(opened(Session(json_wanted))))


async def who(application: "App", claimed: str | None) -> tuple[Identity, int | None]:
    """Who sits here, and the tier that their token gives them."""
    return await application.voter(claimed=claimed, token=OPERATOR_TOKEN or application.settings.operator_token)
