"""Commands that read the record."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph import screen, view
from graph.commands import completing
from graph.commands.opening import run
from graph.commands.options import Force, Json, Thread
from graph.console import Commands, Session, Shown, failure, present, width
from memory.audit import Chains, Event, faults_of
from memory.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from graph.app import App

commands = Commands()


@commands.command()
def audit(
    thread: Annotated[
        str | None, typer.Argument(metavar="[THREAD]", help="Only this one; default: all.", autocompletion=completing.threads)
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check the chain; exit code 6 if it does not hold.")] = False,
    export: Annotated[Path | None, typer.Option("--export", metavar="FILE", help="Write it as JSON Lines; see docs/audit.md.")] = None,
    against: Annotated[Path | None, typer.Option("--against", metavar="FILE", help="Check it against an earlier export.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Show the record: who decided what, and what was done.

    Example: interlock audit 20260131-1a2b3c4d --verify
    """
    if export and against:
        present(json, lambda: failure(UsageError("Say one of --export and --against.", code="usage")))

    async def work(application: "App", session: Session) -> Shown:
        del session
        if export:
            return await exported(application, thread, export, force=force)
        if against:
            return await compared(application, thread, against)
        return await recorded(application, thread, verify=verify)

    run(json, work)


async def recorded(application: "App", thread: str | None, *, verify: bool) -> Shown:
    events, faults = await record_of(application, thread)
    rows = [view.event(event) for event in events]
    document = {"events": rows, "verified": not faults if verify else None, "faults": faults if verify else []}
    return Shown(document, screen.events(rows, faults if verify else None), 6 if verify and faults else 0)


async def record_of(application: "App", thread: str | None) -> tuple[list[Event], list[str]]:
    """The events, and what does not hold of them."""
    async with application.audit.snapshot(thread) as snapshot:
        events = [event async for event in snapshot.events]
    if thread is not None and not events and not snapshot.heads:
        from graph.app import no_such_thread

        raise no_such_thread(thread)
    return events, faults_of(events, snapshot.heads)


async def exported(application: "App", thread: str | None, file: Path, *, force: bool) -> Shown:
    """What does not verify is exported as well, and said so."""
    from memory import audit_export
    from memory.files import writing

    async with application.audit.snapshot(thread) as snapshot:
        if thread is not None and not snapshot.heads:
            from graph.app import no_such_thread

            raise no_such_thread(thread)
        with writing(file, force=force) as out:
            chains, made = await audit_export.write(snapshot, out, thread_id=thread)
    faults = chains.faults(snapshot.heads)
    document = {"export": {"file": str(file), **made.as_json()}, "verified": not faults, "faults": faults}
    told = f"{made.events} events of {len(made.threads)} threads, as of {made.at}, in {screen.escape(str(file))}"
    return Shown(document, "\n".join([told, screen.events([], faults)]), 6 if faults else 0)


async def compared(application: "App", thread: str | None, file: Path) -> Shown:
    """Whether the record still holds all of the export, and holds together itself. It may have grown."""
    from memory import audit_export

    made = audit_export.check(file)
    if thread is not None and thread not in made.threads:
        raise NotFoundError(f"The export {str(file)!r} holds nothing of thread {thread!r}.", code="not_in_export")
    async with application.audit.snapshot(thread or made.thread_id) as snapshot:
        chains = Chains()
        missing = await audit_export.compare(file, chains.passing(snapshot.events), thread_id=thread)
    faults = [*missing, *chains.faults(snapshot.heads)]
    document = {"against": {"file": str(file), **made.as_json()}, "verified": not faults, "faults": faults}
    told = f"compared with {made.events} events of {len(made.threads)} threads, as of {made.at}, in {screen.escape(str(file))}"
    return Shown(document, "\n".join([told, screen.events([], faults)]), 6 if faults else 0)


@commands.command()
def replay(
    thread: Thread,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write it as one page that needs nothing else.")] = None,
    force: Force = False,
    every: Annotated[bool, typer.Option("--all", help="Each step between nodes on a line of its own.")] = False,
    json: Json = False,
) -> None:
    """Tell the whole story of a thread, from the record alone. Exit code 6 if the record was changed.

    Example: interlock replay 20260131-1a2b3c4d --html story.html
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        from graph import replay as telling

        events, faults = await record_of(application, thread)
        story = telling.story(thread, events, faults)
        if html:
            from graph.replay_page import page
            from memory.files import writing

            with writing(html, force=force) as out:
                out.write(page(story))
        document = {**telling.as_json(story), **({"html": str(html)} if html else {})}
        text = f"The story is in {screen.escape(str(html))}" if html else telling.text(story, every=every, width=width())
        return Shown(document, text, 6 if faults else 0)

    run(json, work)
