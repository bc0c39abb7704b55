"""Commands by which a person decides: what waits, and the answers that can be given."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graph import deciding, screen, view
from graph.answers import read_value
from graph.approval import THEN
from graph.commands.opening import run, who
from graph.commands.options import As, Comment, Detach, Digest, Json, Name
from graph.commands.paging import Limit, Page
from graph.commands.running import go_on, standing
from graph.console import Commands, Session, Shown, failure, present, width
from memory.approvals import Approval, Ballot, VoteType
from memory.errors import InterlockError, NotFoundError, RefusedError, StaleError, UsageError
from memory.people import NOBODY, Identity
from memory.text import clean

if TYPE_CHECKING:
    from graph.app import App

commands = Commands()
SHORTEST_DIGEST = 8
MOST_COUNTED = 1000
HELP_THEN = "continue: the agent is told and goes on; compensate: what the thread did is undone, then it ends; stop: it ends."
Detail = dict[str, Any] | Callable[[Approval], dict[str, Any]]  # what is kept with a vote, or how it is made from the question


@commands.command()
def inbox(
    tier: Annotated[int | None, typer.Option("--tier", metavar="N", help="Only this tier.")] = None, limit: Limit = 1000, json: Json = False
) -> None:
    """List what waits for a person, oldest first. `show` has a question in full.

    Example: interlock inbox --tier 2
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        page = Page(await application.approvals.pending(tier=tier, limit=limit + 1), limit)
        rows = [view.question(approval) for approval in page.rows]
        hints = [page.hint]
        left, age = await application.reviews.open(most=MOST_COUNTED)
        if left:
            many = f"{left} or more" if left == MOST_COUNTED else left
            since = screen.for_so_long(age)
            hints.append(f"{many} calls that ran without a person are to be reviewed, the oldest since {since}: interlock review list")
        document = {"pending": rows, "more": page.more}
        return Shown(document, screen.inbox(rows, datetime.now(UTC), width=width()), 0, "\n".join(filter(None, hints)))

    run(json, work)


def decide(
    name: str, kind: VoteType, *, comment: str, who_as: str | None, detach: bool, json: bool, detail: Detail, digest: str | None = None
) -> None:
    async def work(application: "App", session: Session) -> Shown:
        try:
            question = await application.find_approval(name)
        except NotFoundError as error:
            await record_too_late(application, name, error, kind, clean(comment), who_as)
            raise
        told = detail(question) if callable(detail) else detail
        me, tier = await recognised(application, question, who_as, kind)
        await refuse_another(application, question, Ballot(kind, me, clean(comment)), digest)
        ballot = Ballot(kind, me, clean(comment), told, question.version)
        decided = await deciding.decide(application, question, ballot, tier=tier, here=not detach)
        if not detach and decided.status != "pending":
            try:
                return await go_on(application, question.thread_id)
            except InterlockError as error:
                session.say("The decision is recorded and stands.")
                error.data["recorded"] = True
                raise
        shown = await standing(application, question.thread_id)
        hint = shown.hint or f"It is recorded. Go on with: interlock resume {question.thread_id}"
        return Shown(shown.document, shown.text, 3 if decided.status == "pending" else 0, hint)

    run(json, work)


async def refuse_another(application: "App", question: Approval, ballot: Ballot, digest: str | None) -> None:
    """Between the look and the decision somebody may have changed the call, or another question may wait on the thread."""
    if digest is None or (len(digest) >= SHORTEST_DIGEST and question.args_sha256.startswith(digest.lower())):
        return
    remedy = f"Look at it again: interlock show {question.thread_id}"
    error = StaleError(f"What waits is not what you looked at: its digest is {question.args_sha256}.", remedy=remedy)
    await application.approvals.refused(question.approval_id, ballot, error)
    raise error


async def record_too_late(application: "App", thread: str, why: NotFoundError, kind: VoteType, comment: str, who_as: str | None) -> None:
    """An answer to a thread that waits for none any more."""
    if why.code == "nothing_pending":
        me, _ = await who(application, who_as)
        tried = {"code": why.code, "comment": comment, "type": kind, "why": why.message}
        await application.audit.append(thread, "refused_attempt", me, {**tried, "approval_id": None})


async def recognised(application: "App", question: Approval, who_as: str | None, kind: VoteType) -> tuple[Identity, int | None]:
    """An attempt with a token that is not known, or in force no more, is on the record of what it was meant for."""
    try:
        return await who(application, who_as)
    except RefusedError as error:
        await application.approvals.refused(question.approval_id, Ballot(kind, NOBODY), error)
        raise


@commands.command()
def approve(
    name: Name, digest: Digest = None, comment: Comment = "", who_as: As = None, detach: Detach = False, json: Json = False
) -> None:
    """Let a call run, exactly as it is shown. `show` says its digest; with that, nothing else is approved by mistake.

    Example: interlock approve 3f9a2c11 --digest 9b1de2f0 --comment "checked with the team"
    """
    decide(name, "approve", comment=comment, who_as=who_as, detach=detach, json=json, detail={}, digest=digest)


@commands.command()
def reject(
    name: Name,
    comment: Comment = "",
    then: Annotated[str, typer.Option("--then", metavar="|".join(THEN), help=HELP_THEN)] = "continue",
    who_as: As = None,
    detach: Detach = False,
    json: Json = False,
) -> None:
    """Say no to a call. The agent is told your words. `show` lists what could be undone.

    Example: interlock reject 3f9a2c11 --comment "not on a Friday" --then stop
    """
    if then not in THEN:
        present(json, lambda: failure(UsageError(f"--then must be one of {', '.join(THEN)}, not {then!r}.", code="usage")))
    decide(name, "reject", comment=comment, who_as=who_as, detach=detach, json=json, detail={"then": then})


@commands.command()
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
    set_: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in question.args:
            raise UsageError(f"--set {pair!r}: there are {', '.join(question.args)}.", remedy="--set NAME=VALUE", code="usage")
        if name in set_:
            raise UsageError(f"--set gives {name!r} twice.", remedy="Say each name once.", code="said_twice")
        set_[name] = read_value(text, question.args[name])
    return {**question.args, **set_}


@commands.command()
def escalate(name: Name, comment: Comment = "", who_as: As = None, detach: Detach = False, json: Json = False) -> None:
    """Hand a question to the next tier. The people of this one cannot decide it any more.

    Example: interlock escalate 3f9a2c11 --comment "needs the on-call lead"
    """
    decide(name, "escalate", comment=comment, who_as=who_as, detach=detach, json=json, detail={})


@commands.command()
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
