"""Commands about calls that ran at once because a rule had let them: what is to be looked at, and what people say of it."""

from typing import TYPE_CHECKING, Annotated

import typer

from graph import screen, view
from graph.commands.opening import run, who
from graph.commands.options import As, Json
from graph.commands.paging import Limit, Page
from graph.console import Commands, Session, Shown, failure, present, width
from graph.reviewing import OVERDUE, allowed_to, undo_hint
from memory.errors import UsageError
from memory.reviews import ReviewStatus
from memory.text import clean

if TYPE_CHECKING:
    from graph.app import App

commands = Commands(rich_markup_mode=None, help="Look at pre-approved calls: list, accept and flag them.")
NAME = typer.Argument(metavar="ID", help="Its id, a prefix of 6 or more characters, or a thread with one open review.")
Name = Annotated[str, NAME]
ALL = typer.Option("--all", help="Also those that were reviewed already.")


@commands.callback(invoke_without_command=True)
def review(context: typer.Context, limit: Limit = 1000, json: Json = False) -> None:
    """Look at pre-approved calls: list, accept and flag them.

    Example: interlock review
    """
    if context.invoked_subcommand is None:
        listed(every=False, limit=limit, json=json)


@commands.command("list")
def review_list(every: Annotated[bool, ALL] = False, limit: Limit = 1000, json: Json = False) -> None:
    """List what is to be looked at, oldest first. The share that is drawn stands in the rule: `review = 0.2`.

    Example: interlock review list --all
    """
    listed(every=every, limit=limit, json=json)


def listed(*, every: bool, limit: int, json: bool) -> None:
    async def work(application: "App", session: Session) -> Shown:
        del session
        page = Page(await application.reviews.listed(every=every, limit=limit + 1), limit)
        rows = [view.review(one, overdue=OVERDUE) for one in page.rows]
        late = sum(row["overdue"] for row in rows)
        hint = f"{late} of them waited longer than {screen.for_so_long(OVERDUE)}." if late else ""
        hint = "\n".join(filter(None, (page.hint, hint)))
        return Shown({"reviews": rows, "more": page.more}, screen.reviews(rows, width=width()), 0, hint)

    run(json, work)


@commands.command("accept")
def review_accept(
    name: Name,
    comment: Annotated[str, typer.Option("--comment", metavar="TEXT", help="Kept on the record.")] = "",
    who_as: As = None,
    json: Json = False,
) -> None:
    """Say that it was right to let this run.

    Example: interlock review accept 3f9a2c11 --comment "as it should be"
    """
    give(name, "accepted", comment, who_as=who_as, json=json)


@commands.command("flag")
def review_flag(
    name: Name,
    comment: Annotated[str, typer.Option("--comment", metavar="TEXT", help="What was wrong; kept on the record.")] = "",
    who_as: As = None,
    json: Json = False,
) -> None:
    """Say that this should not have run without a person. It says what to type to have it undone.

    Example: interlock review flag 3f9a2c11 --comment "not during the sale"
    """
    if not clean(comment).strip():
        present(json, lambda: failure(UsageError("Say what was wrong with --comment TEXT.", code="usage")))
    give(name, "flagged", comment, who_as=who_as, json=json)


def give(name: str, status: ReviewStatus, comment: str, *, who_as: str | None, json: bool) -> None:
    async def work(application: "App", session: Session) -> Shown:
        del session
        found = await application.find_review(name)
        me, tier = await who(application, who_as)
        people = await application.electorate.people(tier)
        made = await application.reviews.give(found.permit.approval_id, status, me, clean(comment), allowed_to(me, people))
        undo = undo_hint(made, await application.approvals.of_thread(made.permit.thread_id)) if status == "flagged" else None
        document = {**view.review(made, overdue=OVERDUE), "undo": undo}
        told = f"{made.permit.tool} of thread {screen.escape(made.permit.thread_id)}: {status}"
        return Shown(document, told, 0, f"To have it undone: {undo}" if undo else "")

    run(json, work)
