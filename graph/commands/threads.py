"""Commands about threads: start, resume, cancel and recover them, list and show them."""

import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graph import screen, view
from graph.commands.opening import run, who
from graph.commands.options import As, Detach, Json, Thread, ThreadOrApproval
from graph.commands.paging import Limit, Page
from graph.commands.running import EXIT, advanced, drive, go_on, seen, standing
from graph.console import Commands, Session, Shown, width
from graph.identity import named
from graph.version import GRAPH_VERSION
from memory.errors import BusyError, ConflictError, InterlockError, InterruptedByPersonError, RunFailedError, UsageError
from memory.people import Identity
from memory.runs import NewRun, Run, Status
from memory.text import clean, message_of

if TYPE_CHECKING:
    from graph.app import App

commands = Commands()


@commands.command()
def start(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The task, in words.")],
    thread: Annotated[str | None, typer.Option("--thread", metavar="ID", help="A name for the thread; default: a new one.")] = None,
    requester: Annotated[str | None, typer.Option("--requester", metavar="NAME", help="For whom; recorded as claimed.")] = None,
    detach: Detach = False,
    json: Json = False,
) -> None:
    """State a task. The agent works until it is done or waits for a person (exit code 3).

    Example: interlock start "deploy shop 1.4.2 to production"
    """

    async def work(application: "App", session: Session) -> Shown:
        thread_id = thread_name(thread)
        if not clean(text).strip():
            raise UsageError("The task is empty.", remedy='interlock start "deploy shop 1.4.2"', code="empty_task")
        existing = await application.runs.get(thread_id)
        if existing is not None:
            return await already_there(application, existing)
        starter, _ = await who(application, None)
        if not detach:
            await application.meet()  # as below: what the first thought needs
        new = NewRun(
            thread_id=thread_id, input=clean(text), requester=Identity(named(requester), "claimed") if requester else starter,
            starter=starter, tenant=application.settings.tenant, graph_version=GRAPH_VERSION, tools_version=application.registry.version,
            detached=detach,
        )  # fmt: skip
        driver = None if detach else application.driver()  # a mistake in the settings is told before there is a thread
        await application.runs.create(new)
        return await drive(application, session, thread_id, driver) if driver else await standing(application, thread_id)

    run(json, work)


async def already_there(application: "App", existing: Run) -> Shown:
    if existing.status == "waiting":
        return await standing(application, existing.thread_id)
    raise ConflictError(
        f"Thread {existing.thread_id!r} exists already; it is {existing.status}.",
        remedy="Leave --thread out for a new one, or use `interlock resume` to go on with this one.",
        code="thread_exists",
    )


def thread_name(wanted: str | None) -> str:
    if wanted is None:
        return f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(4)}"
    if not wanted.strip() or wanted.startswith("@") or len(wanted) > 200 or not wanted.isprintable() or clean(wanted) != wanted:
        raise UsageError(f"{wanted!r} is no name for a thread: 1 to 200 printable characters, the first of them no @.", code="bad_thread")
    return wanted


@commands.command()
def resume(thread: Thread, json: Json = False) -> None:
    """Go on with a thread, after a crash or a decision. On a terminal, what waits is asked at once. One that ended is printed.

    Example: interlock resume 20260131-1a2b3c4d
    """

    async def work(application: "App", session: Session) -> Shown:
        existing = await application.runs.get(thread)
        if existing is not None and existing.status in {"completed", "rejected", "cancelled"} and await application.is_settled(thread):
            return await standing(application, thread)
        return await drive(application, session, thread)

    run(json, work)


@commands.command()
def fork(
    thread: Thread,
    name: Annotated[str | None, typer.Option("--thread", metavar="ID", help="A name for the copy; default: a new one.")] = None,
    who_as: As = None,
    detach: Detach = False,
    json: Json = False,
) -> None:
    """Copy a thread as it stands into a new one. What was done counts as done there; everything else is asked anew.

    Example: interlock fork 20260131-1a2b3c4d --thread another-way
    """

    async def work(application: "App", session: Session) -> Shown:
        copy = thread_name(name)
        source = await application.runs.get(thread)
        if source is None:
            from graph.app import no_such_thread

            raise no_such_thread(thread)
        if source.status in {"completed", "rejected", "cancelled"}:
            raise ConflictError(f"Thread {thread!r} is {source.status}; there is nothing to go on with.", code="ended")
        me, _ = await who(application, who_as)
        await application.runs.fork(thread, copy, me)
        return await standing(application, copy) if detach else await drive(application, session, copy)

    run(json, work)


@commands.command()
def cancel(
    thread: Thread,
    comment: Annotated[str, typer.Option("--comment", metavar="TEXT", help="Why; kept on the record.")],
    who_as: As = None,
    json: Json = False,
) -> None:
    """End a thread. Its open questions are closed; nothing that waits will run.

    Example: interlock cancel 20260131-1a2b3c4d --comment "wrong project"
    """

    async def work(application: "App", session: Session) -> Shown:
        existing = await application.runs.get(thread)
        if existing is None:
            from graph.app import no_such_thread

            raise no_such_thread(thread)
        if existing.status in {"completed", "rejected", "cancelled"}:
            raise ConflictError(f"Thread {thread!r} is {existing.status}; there is nothing to cancel.", code="ended")
        me, _ = await who(application, who_as)
        await application.runs.request_cancel(thread, me, clean(comment))
        try:
            return await go_on(application, thread)
        except InterlockError:
            session.say("The wish is recorded and stands.")
            raise

    run(json, work)


@commands.command()
def recover(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list them.")] = False,
    json: Json = False,
) -> None:
    """Go on with every thread that was left behind: its driver died, or nobody took up a decision or a deadline. It reminds people, too,
    and answers no question.

    The exit code is the one that each of them would have ended with; 1 where they differ.

    Example: interlock recover --dry-run
    """

    async def work(application: "App", session: Session) -> Shown:
        if not dry_run:
            await application.remind()
        left = await application.left()
        driver = application.driver() if left and not dry_run else None
        codes: set[int] = set()
        rows = [await recovered(application, driver, session, run.thread_id, codes) for run in left]
        columns = ("thread_id", "status", "error")
        listed = screen.table(rows, columns, "Nothing is left behind.", width=width())
        codes -= {0, EXIT["waiting"]}
        code = RunFailedError.exit_code if len(codes) > 1 else next(iter(codes), 0)
        return Shown({"recovered": rows, "dry_run": dry_run}, listed, code)

    run(json, work)


async def recovered(application: "App", driver: Any, session: Session, thread_id: str, codes: set[int]) -> dict[str, Any]:
    """One that cannot go on holds up no other. With what exit code it would have ended alone joins `codes`."""
    error, code = None, 0
    if driver is not None:
        session.say(f"thread {thread_id}")
        try:
            await advanced(driver, thread_id)
        except InterruptedByPersonError:
            raise
        except BusyError:
            pass  # another process goes on with it
        except InterlockError as problem:
            error, code = problem.message, problem.exit_code
        except Exception as problem:  # noqa: BLE001 - whatever is wrong with this one
            error, code = message_of(problem), RunFailedError.exit_code
    document = await application.view(thread_id)
    if driver is not None:
        codes.add(code if error else EXIT[document["status"]])
    return {"thread_id": thread_id, "status": document["status"], "error": error or (document["error"] or {}).get("message")}


@commands.command()
def runs(
    status: Annotated[
        str | None,
        typer.Option("--status", help=f"One of {', '.join(EXIT)}.", autocompletion=lambda: list(EXIT)),
    ] = None,
    limit: Limit = 100,
    json: Json = False,
) -> None:
    """List threads, newest first. `driven`: a process works on it now.

    Example: interlock runs --status waiting
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        if status is not None and status not in EXIT:
            raise UsageError(f"There is no status {status!r}.", remedy=f"There are: {', '.join(EXIT)}.", code="bad_status")
        wanted: Status | None = status  # type: ignore[assignment]  # checked above
        page = Page(await application.runs.newest(status=wanted, limit=limit + 1), limit)
        rows = [view.line(one) for one in page.rows]
        columns = ("thread_id", "status", "driven", "requester", "updated_at", "input")
        listed = screen.table(rows, columns, "There are no threads yet.", width=width())
        return Shown({"runs": rows, "more": page.more}, listed, 0, page.hint)

    run(json, work)


@commands.command()
def show(thread: ThreadOrApproval, who_as: As = None, json: Json = False) -> None:
    """Show how a thread stands, and every open question in full. Takes a thread, or an approval. Who was shown it is on the record.

    Example: interlock show 20260131-1a2b3c4d
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        named_by_approval = [] if await application.runs.get(thread) else await application.approvals.find(thread)
        thread_id = named_by_approval[0].thread_id if named_by_approval else thread
        shown = await standing(application, thread_id, driven=False)
        await seen(application, thread_id, who_as)
        return shown

    run(json, work)
