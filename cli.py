"""The command line: parses, makes one call, prints. Standard output is the answer; everything else goes to standard error."""

import asyncio
import json
import os
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

# Before anything else runs: no tool, library or child process may find it.
OPERATOR_TOKEN = os.environ.pop("INTERLOCK_OPERATOR_TOKEN", None)

import typer  # noqa: E402

from graph import deciding, screen, view  # noqa: E402
from graph.console import Commands, InterruptedByPersonError, Session, Shown, failure, present, width  # noqa: E402
from graph.identity import named  # noqa: E402
from graph.settings import load_settings, seconds_of  # noqa: E402
from graph.version import GRAPH_VERSION  # noqa: E402
from memory.approvals import Approval, Ballot, VoteType  # noqa: E402
from memory.audit import Chains, Event, faults_of  # noqa: E402
from memory.errors import (  # noqa: E402
    BusyError,
    ConflictError,
    InterlockError,
    NotFoundError,
    RefusedError,
    RunFailedError,
    StoppedError,
    UnavailableError,
    UsageError,
)
from memory.operators import new_token, token_hash  # noqa: E402
from memory.people import NOBODY, Identity  # noqa: E402
from memory.runs import NewRun, Run, Status  # noqa: E402
from memory.text import clean  # noqa: E402

if TYPE_CHECKING:
    from graph.app import App

EXIT = {"completed": 0, "rejected": 0, "cancelled": 0, "waiting": 3, "failed": 1, "stopped": 8, "running": 0}

app = Commands(
    name="interlock", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="An agent that stops before critical operations and waits for a person.\n\n"
    'Example: interlock start "deploy shop 1.4.2", then interlock inbox, then interlock approve APPROVAL.',
)  # fmt: skip
db = Commands(no_args_is_help=True, rich_markup_mode=None, help="The database: start, stop, look at and migrate it.")
app.add_typer(db, name="db")

Detail = dict[str, Any] | Callable[[Approval], dict[str, Any]]  # what is kept with a vote, or how it is made from the question
Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document.")]
As = Annotated[str | None, typer.Option("--as", metavar="NAME", help="Act under this name; recorded as claimed.")]
Comment = Annotated[str, typer.Option("--comment", metavar="TEXT", help="Why; kept on the record and told to the agent.")]
Detach = Annotated[bool, typer.Option("--detach", help="Do not drive the thread here; whoever resumes it goes on.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
HELP_NAME = "Its id, a prefix of 6 or more characters, or a thread with one open approval."
Name = Annotated[str, typer.Argument(metavar="APPROVAL", help=HELP_NAME)]
Thread = Annotated[str, typer.Argument(metavar="THREAD")]


def run(json_wanted: bool, work: Callable[["App", Session], Awaitable[Shown]]) -> NoReturn:
    """Opens the application, does the work, prints what it says. What tools print goes to standard error."""

    async def opened(session: Session) -> Shown:
        from graph.app import open_app

        me = asyncio.current_task()
        if me is not None:
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, me.cancel)

        on_token = session.token if session.terminal and session.watched else None
        async with open_app(session.settings, on_token=on_token, tell=session.tell) as application, session.ticking():
            return await work(application, session)

    present(json_wanted, lambda: asyncio.run(opened(Session(json_wanted))))


async def standing(application: "App", thread_id: str, *, driven: bool = True) -> Shown:
    document = await application.view(thread_id)
    code = EXIT[document["status"]] if driven else 0
    hint = screen.hints(document)
    if not hint and await application.is_left(thread_id):
        hint = f"No process drives it. Go on with: interlock resume {thread_id}"
    return Shown(document, screen.thread(document, width=width()), code, hint)


async def drive(application: "App", session: Session, thread_id: str) -> Shown:
    """Until it ends or waits. Where a person sits at a terminal, the question is asked at once."""
    from graph.asking import ask

    driver = driver_of(application, session)
    session.say(f"thread {thread_id}")
    while True:
        if not await advanced(driver, thread_id) or not session.terminal:
            return await standing(application, thread_id)
        if not await ask(application, thread_id, *await who(application, None)):
            return await standing(application, thread_id)


def driver_of(application: "App", session: Session) -> Any:
    driver = application.driver()
    if driver.ports.model.is_practice:
        from graph.practice import NOTICE

        session.say(NOTICE)
    return driver


async def advanced(driver: Any, thread_id: str) -> bool:
    """False if the run failed or was stopped: then that is how the thread stands."""
    try:
        await driver.advance(thread_id)
    except (RunFailedError, StoppedError):
        return False
    except asyncio.CancelledError:
        hint = f"Go on with: interlock resume {thread_id}"
        raise InterruptedByPersonError("Interrupted; nothing more was decided.", remedy=hint, thread_id=thread_id) from None
    except InterlockError as error:
        error.data.setdefault("thread_id", thread_id)
        if error.exit_code == UnavailableError.exit_code:
            error.remedy = f"{error.remedy}\nGo on with: interlock resume {thread_id}".strip()
        raise
    return True


async def who(application: "App", claimed: str | None) -> tuple[Identity, int | None]:
    """Who sits here, and the tier that their token gives them."""
    return await application.voter(claimed=claimed, token=OPERATOR_TOKEN or application.settings.operator_token)


@app.command()
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
        new = NewRun(
            thread_id=thread_id, input=clean(text), requester=Identity(named(requester), "claimed") if requester else starter,
            starter=starter, tenant=application.settings.tenant, graph_version=GRAPH_VERSION, tools_version=application.registry.version,
        )  # fmt: skip
        if not detach:
            application.driver()  # a mistake in the settings is told before there is a thread
        await application.runs.create(new)
        return await standing(application, thread_id) if detach else await drive(application, session, thread_id)

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


@app.command()
def resume(thread: Thread, json: Json = False) -> None:
    """Go on with a thread: after a crash, after a decision, or to be asked at a terminal.

    Example: interlock resume 20260131-1a2b3c4d
    """

    async def work(application: "App", session: Session) -> Shown:
        existing = await application.runs.get(thread)
        if existing is not None and existing.status in {"completed", "rejected", "cancelled"} and await application.is_settled(thread):
            return await standing(application, thread)
        return await drive(application, session, thread)

    run(json, work)


@app.command()
def cancel(
    thread: Thread, comment: Annotated[str, typer.Option("--comment", metavar="TEXT", help="Why.")], who_as: As = None, json: Json = False
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
            return await go_on(application, session, thread)
        except InterlockError:
            session.say("The wish is recorded and stands.")
            raise

    run(json, work)


@app.command()
def recover(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list them.")] = False,
    json: Json = False,
) -> None:
    """Go on with every thread whose driver died, and with every decision that nobody took up. It answers no question.

    Example: interlock recover --dry-run
    """

    async def work(application: "App", session: Session) -> Shown:
        left = await application.left()
        driver = driver_of(application, session) if left and not dry_run else None
        rows = [await recovered(application, driver, session, run.thread_id) for run in left]
        columns = ("thread_id", "status", "error")
        listed = screen.table(rows, columns, "Nothing is left behind.", width=width())
        return Shown({"recovered": rows, "dry_run": dry_run}, listed, int(any(row["error"] for row in rows)))

    run(json, work)


async def recovered(application: "App", driver: Any, session: Session, thread_id: str) -> dict[str, Any]:
    """One that cannot go on holds up no other."""
    error = None
    if driver is not None:
        session.say(f"thread {thread_id}")
        try:
            await advanced(driver, thread_id)
        except InterruptedByPersonError:
            raise
        except InterlockError as problem:
            error = problem.message
    document = await application.view(thread_id)
    return {"thread_id": thread_id, "status": document["status"], "error": error or (document["error"] or {}).get("message")}


async def go_on(application: "App", session: Session, thread_id: str) -> Shown:
    """After a decision: drives the thread, unless another process does, which then goes on."""
    try:
        await advanced(driver_of(application, session), thread_id)
    except BusyError as busy:
        shown = await standing(application, thread_id, driven=False)
        return Shown(shown.document, shown.text, 0, f"It is recorded. {busy.message} That process takes it up at its next step.")
    return await standing(application, thread_id)


@app.command()
def inbox(tier: Annotated[int | None, typer.Option("--tier", help="Only this tier.")] = None, json: Json = False) -> None:
    """List what waits for a person, oldest first. `show` has a question in full.

    Example: interlock inbox --tier 2
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        rows = [view.question(approval) for approval in await application.approvals.pending(tier=tier)]
        return Shown({"pending": rows}, screen.inbox(rows, datetime.now(UTC), width=width()))

    run(json, work)


@app.command()
def runs(
    status: Annotated[str | None, typer.Option("--status", help="One of running, waiting, completed, rejected, failed, …")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10000)] = 100,
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
        rows = [view.line(one) for one in await application.runs.newest(status=wanted, limit=limit)]
        columns = ("thread_id", "status", "driven", "requester", "updated_at", "input")
        return Shown({"runs": rows}, screen.table(rows, columns, "There are no threads yet.", width=width()))

    run(json, work)


@app.command()
def show(thread: Thread, json: Json = False) -> None:
    """Show how a thread stands, and every open question in full. Takes a thread, or an approval.

    Example: interlock show 20260131-1a2b3c4d
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        named_by_approval = [] if await application.runs.get(thread) else await application.approvals.find(thread)
        return await standing(application, named_by_approval[0].thread_id if named_by_approval else thread, driven=False)

    run(json, work)


def decide(name: str, kind: VoteType, *, comment: str, who_as: str | None, detach: bool, json: bool, detail: Detail) -> None:
    async def work(application: "App", session: Session) -> Shown:
        question = await application.find_approval(name)
        told = detail(question) if callable(detail) else detail
        me, tier = await recognised(application, question, who_as, kind)
        ballot = Ballot(kind, me, clean(comment), told, question.version)
        decided = await deciding.decide(application, question, ballot, tier=tier, here=not detach)
        if not detach and decided.status != "pending":
            try:
                return await go_on(application, session, question.thread_id)
            except InterlockError:
                session.say("The decision is recorded and stands.")
                raise
        shown = await standing(application, question.thread_id)
        hint = shown.hint or f"It is recorded. Go on with: interlock resume {question.thread_id}"
        return Shown(shown.document, shown.text, 3 if decided.status == "pending" else 0, hint)

    run(json, work)


async def recognised(application: "App", question: Approval, who_as: str | None, kind: VoteType) -> tuple[Identity, int | None]:
    """An attempt with a token that is not known, or in force no more, is on the record of what it was meant for."""
    try:
        return await who(application, who_as)
    except RefusedError as error:
        await application.approvals.refused(question.approval_id, Ballot(kind, NOBODY), error)
        raise


@app.command()
def approve(name: Name, comment: Comment = "", who_as: As = None, detach: Detach = False, json: Json = False) -> None:
    """Let a call run, exactly as it is shown.

    Example: interlock approve 3f9a2c11 --comment "checked with the team"
    """
    decide(name, "approve", comment=comment, who_as=who_as, detach=detach, json=json, detail={})


@app.command()
def reject(
    name: Name,
    comment: Comment = "",
    then: Annotated[str, typer.Option("--then", help="continue: the agent is told and goes on; stop: the thread ends.")] = "continue",
    who_as: As = None,
    detach: Detach = False,
    json: Json = False,
) -> None:
    """Say no. The agent is told your words.

    Example: interlock reject 3f9a2c11 --comment "not on a Friday" --then stop
    """
    if then not in {"continue", "stop"}:
        present(json, lambda: failure(UsageError(f"--then must be continue or stop, not {then!r}.", code="usage")))
    decide(name, "reject", comment=comment, who_as=who_as, detach=detach, json=json, detail={"then": then})


@app.command()
def modify(
    name: Name,
    args: Annotated[str | None, typer.Option("--args", metavar="JSON", help="All arguments, as one JSON object.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="One argument; may be repeated.")] = None,
    comment: Comment = "",
    who_as: As = None,
    detach: Detach = False,
    json: Json = False,
) -> None:
    """Approve a call with other arguments. The original ones stay on the record, and the agent is told.

    Example: interlock modify 3f9a2c11 --set version=1.4.1
    """

    def new_arguments(question: Approval) -> dict[str, Any]:
        return {"args": changed(question, args, set_ or [])}

    decide(name, "modify", comment=comment, who_as=who_as, detach=detach, json=json, detail=new_arguments)


def changed(question: Approval, args: str | None, pairs: list[str]) -> dict[str, Any]:
    from graph.answer import parse_arguments

    if (args is None) == (not pairs):
        raise UsageError("Give the new arguments with --args JSON, or with --set NAME=VALUE.", code="usage")
    if args is not None:
        value, problem = parse_arguments(args)
        if value is None or not args.strip():
            raise UsageError(f"--args must be a JSON object: {problem or 'it is empty'}.", code="usage")
        return value
    new = dict(question.args)
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in question.args:
            raise UsageError(f"--set {pair!r}: there are {', '.join(question.args)}.", remedy="--set NAME=VALUE", code="usage")
        new[name] = _value(text, question.args[name])
    return new


def _value(text: str, before: Any) -> Any:
    """A text stays a text; anything else is read as JSON."""
    if isinstance(before, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@app.command()
def escalate(name: Name, comment: Comment = "", who_as: As = None, detach: Detach = False, json: Json = False) -> None:
    """Hand a question to the next tier.

    Example: interlock escalate 3f9a2c11 --comment "needs the on-call lead"
    """
    decide(name, "escalate", comment=comment, who_as=who_as, detach=detach, json=json, detail={})


@app.command()
def resolve(
    name: Name,
    done: Annotated[str | None, typer.Option("--done", metavar="TEXT", help="It happened; the text is its result.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="It did not happen: do it now.")] = False,
    abandon: Annotated[bool, typer.Option("--abandon", help="Give it up; the agent is told that nobody knows.")] = False,
    comment: Comment = "",
    who_as: As = None,
    detach: Detach = False,
    json: Json = False,
) -> None:
    """Say what became of a call whose outcome nobody knows. Look at the other side first.

    Example: interlock resolve 3f9a2c11 --done "release 7 is live"
    """
    if (done is not None) + retry + abandon != 1:
        present(json, lambda: failure(UsageError("Say one of --done TEXT, --retry and --abandon.", code="usage")))
    kind: VoteType = "done" if done is not None else "retry" if retry else "abandon"
    decide(name, kind, comment=comment, who_as=who_as, detach=detach, json=json, detail={"text": clean(done)} if done is not None else {})


@app.command()
def audit(
    thread: Annotated[str | None, typer.Argument(metavar="[THREAD]")] = None,
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


@app.command()
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


@app.command()
def tools(json: Json = False) -> None:
    """List the tools, and what is declared of each.

    Example: INTERLOCK_TOOLS=my_tools:TOOLS interlock tools
    """

    def work() -> Shown:
        from graph.app import load_registry

        registry = load_registry(load_settings())
        rows = [
            {
                "name": tool.name, "critical": tool.facts.is_critical, "idempotent": tool.facts.idempotent,
                "transactional": tool.facts.transactional, "check": tool.facts.check is not None,
                "compensate": tool.facts.compensate is not None, "timeout": tool.facts.timeout, "origin": tool.facts.origin,
                "description": tool.description, "parameters": tool.parameters,
            }
            for tool in registry
        ]  # fmt: skip
        columns = ("name", "critical", "idempotent", "transactional", "check", "compensate", "origin")
        return Shown({"tools": rows}, screen.table(rows, columns, "There are no tools.", width=width()))

    present(json, work)


@app.command()
def doctor(json: Json = False) -> None:
    """Look at everything that a run needs; say what is wrong, and how to mend it. The model is asked one small question.

    Example: interlock doctor
    """

    async def work(session: Session) -> Shown:
        from graph import doctor

        async with session.ticking():
            findings = [finding async for finding in doctor.examine(session.settings, session.tell)]
        code = next((one.exit_code for one in findings if one.state == "wrong"), 0)
        lines = [screen.finding(one.state, one.name, one.detail, one.remedy) for one in findings]
        summed = "Nothing is wrong." if code == 0 else "Mend what is marked as wrong; `interlock doctor` looks again."
        return Shown(doctor.as_json(findings), "\n".join(lines), code, summed)

    present(json, lambda: asyncio.run(work(Session(json))))


operator = Commands(no_args_is_help=True, rich_markup_mode=None, help="People who decide with a token: add, list and revoke them.")
app.add_typer(operator, name="operator")


@operator.command("add")
def operator_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As it shall stand on the record.")],
    tier: Annotated[int, typer.Option("--tier", min=1, max=99, help="The highest tier that they may decide.")] = 1,
    expires: Annotated[str | None, typer.Option("--expires", metavar="DURATION", help="For example 90d or 12h; default: never.")] = None,
    json: Json = False,
) -> None:
    """Make a token for somebody. It is shown this once; they set it as INTERLOCK_OPERATOR_TOKEN.

    Example: interlock operator add ada --tier 2 --expires 90d
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        token, seconds = new_token(), seconds_of(expires) if expires else None
        me, _ = await who(application, None)
        added = await application.operators.add(named(name), tier, token_hash(token), me, seconds=seconds)
        hint = f"It is shown only now. {added.name} sets it as INTERLOCK_OPERATOR_TOKEN; whoever has it decides as {added.name}."
        return Shown({**view.operator(added), "token": token}, token, 0, hint)

    run(json, work)


@operator.command("list")
def operator_list(json: Json = False) -> None:
    """List who has, or had, a token; newest first.

    Example: interlock operator list
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        rows = [view.operator(one) for one in await application.operators.newest()]
        columns = ("name", "tier", "in_force", "added_by", "added_at", "expires_at", "revoked_at")
        return Shown({"operators": rows}, screen.table(rows, columns, "There are no operators.", width=width()))

    run(json, work)


@operator.command("revoke")
def operator_revoke(name: Annotated[str, typer.Argument(metavar="NAME")], json: Json = False) -> None:
    """Take a token out of force, at once. What they decided stands.

    Example: interlock operator revoke ada
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        me, _ = await who(application, None)
        gone = view.operator(await application.operators.revoke(named(name), me))
        return Shown(gone, f"{gone['name']} may not decide any more.")

    run(json, work)


policy = Commands(no_args_is_help=True, rich_markup_mode=None, help="The policy file: check it, explain a verdict, run its tests.")
app.add_typer(policy, name="policy")


@policy.command("check")
def policy_check(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Default: the file that INTERLOCK_POLICY names.")] = None,
    json: Json = False,
) -> None:
    """Look for mistakes. Exit code 2 with the line and the remedy if there is one.

    Example: INTERLOCK_POLICY=policy.toml interlock policy check
    """

    def work() -> Shown:
        from graph import policy_trial
        from graph.app import load_registry

        settings = load_settings()
        document = policy_trial.check(policy_trial.load(settings, load_registry(settings), file))
        text = f"{len(document['rules'])} rules, digest {document['digest']}"
        where = file or settings.policy
        return Shown(document, text if where else "There is no policy file: every critical call is asked at tier 1 of anyone.")

    present(json, work)


@policy.command("explain")
def policy_explain(
    tool: Annotated[str, typer.Argument(metavar="TOOL")],
    args: Annotated[str, typer.Argument(metavar="ARGS", help="A JSON object.")] = "{}",
    requester: Annotated[str | None, typer.Option("--requester", metavar="NAME", help="For whom; default: you.")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", metavar="NAME", help="Default: INTERLOCK_TENANT.")] = None,
    json: Json = False,
) -> None:
    """Say which rule decides about a call, why each one before it does not, and what follows.

    Example: interlock policy explain deploy_code '{"project_id": "shop", "version": "1.4.2"}'
    """

    def work() -> Shown:
        from graph import policy_trial
        from graph.app import load_registry
        from graph.identity import account

        settings = load_settings()
        registry = load_registry(settings)
        known = registry.get(tool)
        if known is None:
            remedy = f"There are: {', '.join(registry.names)}."
            raise UsageError(f"There is no tool {tool!r}.", remedy=remedy, code="no_such_tool")
        asked_by = named(requester) if requester else account()
        document = policy_trial.explain(
            policy_trial.load(settings, registry), known, args, requester=asked_by, tenant=tenant or settings.tenant
        )
        rows, verdict = document["rules"], document["verdict"]
        words = [f"verdict: {verdict['verdict']} (rule: {verdict['rule']})"]
        if verdict["action"] == "ask":
            words.append(f"tier {verdict['tier']}, {verdict['required']} approvals, by {', '.join(verdict['sources'])}")
        return Shown(document, "\n".join([screen.table(rows, ("rule", "result", "why"), "There are no rules.", width=width()), *words]))

    present(json, work)


@policy.command("test")
def policy_test(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A policy, or a file of nothing but tests for the one that is set.")
    ] = None,
    json: Json = False,
) -> None:
    """Run the [[test]]s of the policy file. Exit code 1 if one comes out differently.

    Example: INTERLOCK_POLICY=policy.toml interlock policy test
    """

    def work() -> Shown:
        from graph import policy_trial
        from graph.app import load_registry

        settings = load_settings()
        rows = policy_trial.test(settings, load_registry(settings), file)
        failed = sum(not row["ok"] for row in rows)
        lines = [{**row, "result": "ok" if row["ok"] else "DIFFERS", "verdict": row["got"].get("verdict", "")} for row in rows]
        table = screen.table(lines, ("line", "result", "tool", "verdict", "why"), "There are no tests.", width=width())
        return Shown({"ok": not failed, "tests": rows}, table, 1 if failed else 0, f"{len(rows) - failed} of {len(rows)} as expected.")

    present(json, work)


def embedded(json_wanted: bool, work: Callable[[Any], Shown]) -> NoReturn:
    def guarded() -> Shown:
        from graph.app import embedded_server

        return work(embedded_server(load_settings()))

    present(json_wanted, guarded)


@db.command("up")
def db_up(json: Json = False) -> None:
    """Start the embedded server; every command does so when it needs it."""

    async def work(application: "App", session: Session) -> Shown:
        del session
        return Shown({"running": True, "where": application.database.where}, f"up: {application.database.where}")

    run(json, work)


@db.command("down")
def db_down(json: Json = False) -> None:
    """Stop the embedded server. Nothing is lost; threads go on when it is up again."""

    def work(server: Any) -> Shown:
        server.down()
        return Shown({"running": False}, "down")

    embedded(json, work)


@db.command("status")
def db_status(json: Json = False) -> None:
    """Tell whether the database is up, and whether its schema fits this version."""

    def work() -> Shown:
        from graph.app import database_status

        status = asyncio.run(database_status(load_settings()))
        return Shown(status, "\n".join(f"{name:<10} {value}" for name, value in status.items()))

    present(json, work)


@db.command("url")
def db_url(json: Json = False) -> None:
    """Print the address of the database, for psql and other tools.

    Example: psql "$(interlock db url)"
    """

    def work() -> Shown:
        from graph.app import embedded_server

        settings = load_settings()
        url = settings.database_url or embedded_server(settings).url()
        return Shown({"url": url}, url)

    present(json, work)


@db.command("migrate")
def db_migrate(json: Json = False) -> None:
    """Bring the schema up to this version."""

    def work() -> Shown:
        from graph.app import migrate_database

        applied = asyncio.run(migrate_database(load_settings()))
        return Shown({"applied": applied}, "\n".join(f"applied {name}" for name in applied) or "The schema is up to date.")

    present(json, work)


@db.command("grants")
def db_grants(
    role: Annotated[str, typer.Option("--role", metavar="NAME", help="The role that will run the application.")] = "interlock_app",
    json: Json = False,
) -> None:
    """Print the SQL that lets a role which owns nothing run interlock, and only add to the record. Nothing is run.

    Example: interlock db grants --role agent | psql "$(interlock db url)"
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        sql = await application.grants(role)
        return Shown({"role": role, "sql": sql}, sql)

    run(json, work)


def main() -> None:
    """The command. A mistake on the command line is told in JSON too where JSON is wanted."""
    try:
        raise SystemExit(app(standalone_mode=False) or 0)
    except (typer.Abort, KeyboardInterrupt):
        raise SystemExit(InterruptedByPersonError.exit_code) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None
    except Exception as error:
        message = getattr(error, "format_message", None)  # typer keeps the class of its own mistakes to itself
        if message is None:
            raise
        if "--json" in sys.argv:
            print(json.dumps({"error": {"code": "usage", "message": message()}}))  # noqa: T201
        else:
            error.show()  # type: ignore[attr-defined]
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
