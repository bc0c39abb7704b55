"""Drives a thread for a command, and tells how it stands."""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from graph import screen
from graph.commands.opening import who
from graph.commands.signals import interrupted
from graph.console import Session, Shown, width
from memory.errors import BusyError, InterlockError, RefusedError, RunFailedError, StoppedError, UnavailableError

if TYPE_CHECKING:
    from graph.app import App

EXIT = {"completed": 0, "rejected": 0, "cancelled": 0, "waiting": 3, "failed": 1, "stopped": 8, "running": 0}


async def standing(application: "App", thread_id: str, *, driven: bool = True) -> Shown:
    document = await application.view(thread_id)
    code = EXIT[document["status"]] if driven else 0
    hint = screen.hints(document)
    if document["status"] in {"failed", "stopped"}:
        hint = f"Go on with: interlock resume {thread_id}"
    elif (not hint or document["status"] == "running") and await application.is_left(thread_id):
        hint = f"No process drives it. Go on with: interlock resume {thread_id}\n{hint}".strip()
    return Shown(document, screen.thread(document, width=width()), code, hint)


async def seen(application: "App", thread_id: str, who_as: str | None) -> None:
    """That its open questions were shown, and to whom, is on the record; a token that is not in force is nobody's."""
    with contextlib.suppress(RefusedError):
        me, _ = await who(application, who_as)
        pending = [one for one in await application.approvals.of_thread(thread_id) if one.status == "pending"]
        await application.approvals.shown(pending, me)


async def drive(application: "App", session: Session, thread_id: str, driver: Any = None) -> Shown:
    """Until it ends or waits. Where a person sits at a terminal, the question is asked at once."""
    from graph.asking import ask

    driver = driver or application.driver()
    session.say(f"thread {thread_id}")
    while True:
        if not await advanced(driver, thread_id) or not session.terminal:
            return await standing(application, thread_id)
        if not await ask(application, thread_id, *await who(application, None)):
            return await standing(application, thread_id)


async def advanced(driver: Any, thread_id: str) -> bool:
    """False if the run failed or was stopped: then that is how the thread stands."""
    try:
        await driver.advance(thread_id)
    except (RunFailedError, StoppedError):
        return False
    except asyncio.CancelledError:
        raise interrupted(thread_id) from None
    except InterlockError as error:
        error.data.setdefault("thread_id", thread_id)
        if error.exit_code == UnavailableError.exit_code:
            error.remedy = f"{error.remedy}\nGo on with: interlock resume {thread_id}".strip()
        raise
    return True


async def go_on(application: "App", thread_id: str) -> Shown:
    """After a decision: drives the thread, unless another process does, which then goes on."""
    try:
        await advanced(application.driver(), thread_id)
    except BusyError as busy:
        shown = await standing(application, thread_id, driven=False)
        return Shown(shown.document, shown.text, 0, f"It is recorded. {busy.message} That process takes it up at its next step.")
    return await standing(application, thread_id)
