"""Commands that work for everybody: a worker that does what is due, and the messages that wait to be sent."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph import screen, view
from graph.commands.opening import run
from graph.commands.options import Json
from graph.commands.running import advanced
from graph.console import Commands, Session, Shown, width
from graph.worker import Worker
from memory.errors import UnavailableError

if TYPE_CHECKING:
    from graph.app import App

commands = Commands()
Concurrency = Annotated[int, typer.Option("--concurrency", metavar="N", min=1, max=32, help="How many threads it drives at once.")]

Grace = Annotated[
    float, typer.Option("--grace", metavar="SECONDS", min=0, help="How long SIGTERM waits for its threads before it gives up their calls.")
]
Health = Annotated[
    Path | None, typer.Option("--health", metavar="FILE", dir_okay=False, help="A file it writes at each look, and removes at its end.")
]


@commands.command()
def worker(concurrency: Concurrency = 2, grace: Grace = 25.0, health: Health = None, json: Json = False) -> None:
    """Do what is due, for every thread, until SIGTERM: drive on what was decided or left behind, close or raise what is overdue, remind
    people, and send messages.

    The first SIGTERM or Ctrl-C lets it finish what it is doing within --grace, the second one does not.

    Example: interlock worker --concurrency 4
    """

    async def work(application: "App", session: Session) -> Shown:
        async def advance(thread_id: str) -> None:
            session.say(f"thread {thread_id}")
            await advanced(application.driver(), thread_id)

        made = Worker(application, advance, session.say, concurrency=concurrency, grace=grace, health=health)
        given_up = await made.work()
        document = {"stopped": True, "driven": made.count, "given_up": given_up}
        return Shown(document, f"The worker has ended; it drove threads {made.count} times.")

    run(json, work, connections=4 + 2 * concurrency)


@commands.command()
def notify(
    now: Annotated[bool, typer.Option("--now", help="Also what waits for its next attempt.")] = False,
    json: Json = False,
) -> None:
    """Send the messages that are due, and list what could not be sent. Where they go, the policy file's [notify] says. Exit code 7 if an
    attempt failed.

    Example: interlock notify --now
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        tally = await application.courier.deliver(now=now)
        rows = [view.message(one) for one in await application.outbox.left()]
        columns = ("id", "event", "thread_id", "target", "attempts", "next_at", "error")
        listed = screen.table(rows, columns, f"{tally.sent} sent; nothing waits to be sent.", width=width())
        code = UnavailableError.exit_code if tally.failed else 0
        return Shown({"sent": tally.sent, "failed": tally.failed, "left": rows}, listed, code)

    run(json, work)
