"""The command line: parses, makes one call, prints. Standard output is the answer; everything else goes to standard error."""

import asyncio
import json
import os
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

# Before anything else runs: no tool, library or child process may find it.
OPERATOR_TOKEN = os.environ.pop("INTERLOCK_OPERATOR_TOKEN", None)

import typer  # noqa: E402

from graph import screen, view  # noqa: E402
from graph.approval import judge_with  # noqa: E402
from graph.console import Commands, InterruptedByPersonError, Session, Shown, failure, present, width  # noqa: E402
from graph.identity import acting, named  # noqa: E402
from graph.settings import load_settings  # noqa: E402
from graph.version import GRAPH_VERSION  # noqa: E402
from memory.approvals import Approval, Ballot, VoteType  # noqa: E402
from memory.audit import faults_of  # noqa: E402
from memory.errors import (  # noqa: E402
    BusyError,
    ConflictError,
    InterlockError,
    RefusedError,
    RunFailedError,
    StoppedError,
    UnavailableError,
    UsageError,
)
from memory.people import Identity  # noqa: E402
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
        me = who(application, None)
        if not await ask(application.approvals, thread_id, me, judge(application)):
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


def who(application: "App", claimed: str | None) -> Identity:
    token = OPERATOR_TOKEN or application.settings.operator_token
    return acting(claimed=claimed, embedded=application.embedded, token=token)


def judge(application: "App") -> Any:
    """The tools are loaded only if a modification has to be checked."""

    def validate(question: Approval, args: dict[str, Any]) -> tuple[dict[str, Any], str]:
        from graph.judging import validator

        return validator(application.registry)(question, args)

    return judge_with(validate)


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
        starter = who(application, None)
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
    if not wanted.strip() or len(wanted) > 200 or not wanted.isprintable() or clean(wanted) != wanted:
        raise UsageError(f"{wanted!r} is no name for a thread: 1 to 200 printable characters.", code="bad_thread")
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
        await application.runs.request_cancel(thread, who(application, who_as), clean(comment))
        try:
            return await go_on(application, session, thread)
        except InterlockError:
            session.say("The wish is recorded and stands.")
            raise

    run(json, work)


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
        if question.status == "pending" and kind in {"approve", "modify", "retry"} and not detach:
            refuse_without_tool(application, question)
        ended = await application.runs.get(question.thread_id)
        if kind == "retry" and question.status == "pending" and ended and ended.status in {"completed", "rejected", "cancelled"}:
            raise RefusedError(f"Thread {question.thread_id!r} is {ended.status}; nothing runs on it any more.", code="ended")
        told = detail(question) if callable(detail) else detail
        ballot = Ballot(kind, who(application, who_as), clean(comment), told, question.version)
        decided = await application.approvals.decide(question.approval_id, ballot, judge(application))
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


def refuse_without_tool(application: "App", question: Approval) -> None:
    """Before the decision: afterwards, the agent could only be told that the tool is not there."""
    if application.registry.get(question.tool) is None:
        raise RefusedError(
            f"The tool {question.tool!r} is not known here, so the call could not run; nothing was decided.",
            remedy="Set INTERLOCK_TOOLS as where the thread was started, in that folder, or use --detach and resume it there.",
            code="no_such_tool",
        )


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
    json: Json = False,
) -> None:
    """Show the record: who decided what, and what was done.

    Example: interlock audit 20260131-1a2b3c4d --verify
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        events = await application.audit.events(thread)
        heads = await application.audit.heads(thread)
        if thread is not None and not events and not heads:
            from graph.app import no_such_thread

            raise no_such_thread(thread)
        faults = faults_of(events, heads) if verify else None
        rows = [view.event(event) for event in events]
        document = {"events": rows, "verified": None if faults is None else not faults, "faults": faults or []}
        return Shown(document, screen.events(rows, faults), 6 if faults else 0)

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
