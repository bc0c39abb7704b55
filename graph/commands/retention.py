"""What is kept of threads that are over: lists what may go, and lets it go."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from graph import screen, view
from graph.commands.opening import run, who
from graph.commands.options import As, Json
from graph.console import Commands, Session, Shown, failure, present, width
from graph.crash import reach
from graph.settings import seconds_of
from memory.errors import InterlockError, UsageError
from memory.retention import FINAL, Prunable, Rule

if TYPE_CHECKING:
    from graph.app import App

commands = Commands()
BATCH = 100  # threads in one transaction
COLUMNS = ("thread_id", "status", "updated_at", "checkpoints", "results", "bytes")
Older = Annotated[str, typer.Option("--older-than", metavar="AGE", help="How long ago it ended, as 45s, 30m, 24h, 30d.")]
Statuses = Annotated[
    list[str], typer.Option("--status", help=f"How it ended; may be repeated. Default: {', '.join(FINAL)}.", show_default=False)
]
Keep = Annotated[int, typer.Option("--keep-last", metavar="N", min=0, help="The newest N of them stay, however old they are.")]


@commands.command()
def prune(
    older_than: Older = "30d",
    status: Statuses = [],  # noqa: B006 - typer's form
    keep_last: Keep = 0,
    yes: Annotated[bool, typer.Option("--yes", help="Delete it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list it, as without --yes.")] = False,
    who_as: As = None,
    json: Json = False,
) -> None:
    """List what may go of threads that ended long ago; with --yes, delete it: their checkpoints and the results of their calls. The record
    stays, and so does who decided.

    A thread that waits, failed or was stopped is kept, and so is one with a question, a review or an outcome that is open.

    Example: interlock prune --older-than 90d --keep-last 1000 --yes
    """
    try:
        rule = _rule(older_than, status, keep_last)
        if yes and dry_run:
            raise UsageError("Both --yes and --dry-run are given.", code="usage")
    except InterlockError as error:
        mistake = error
        present(json, lambda: failure(mistake))

    async def work(application: "App", session: Session) -> Shown:
        due = await application.retention.due(rule)
        gone = await _pruned(application, session, due, rule, who_as) if yes else due
        rows = [view.prunable(one) for one in gone]
        names = {one.thread_id for one in gone}
        left = [one.thread_id for one in due if one.thread_id not in names]
        size = sum(one.bytes for one in gone)
        listed = screen.table(rows, COLUMNS, "Nothing is due.", width=width())
        told = f"{len(rows)} threads, {size:,} bytes{' are gone' if yes else ''}."
        hint = "Nothing was deleted. To delete it, add --yes." if rows and not yes else ""
        document = {"dry_run": not yes, "threads": rows, "bytes": size, "left": left}
        return Shown(document, f"{listed}\n{told}" if rows else listed, 0, hint)

    run(json, work)


def _rule(older_than: str, statuses: list[str], keep_last: int) -> Rule:
    if wrong := [name for name in statuses if name not in FINAL]:
        remedy = f"There are: {', '.join(FINAL)}. What failed or was stopped can still go on; `interlock cancel` ends it."
        raise UsageError(f"No thread of status {wrong[0]!r} is pruned.", remedy=remedy, code="bad_status")
    chosen = tuple(one for one in FINAL if not statuses or one in statuses)
    return Rule(seconds_of(older_than), chosen, keep_last)


async def _pruned(application: "App", session: Session, due: Sequence[Prunable], rule: Rule, who_as: str | None) -> list[Prunable]:
    """What was in use meanwhile is left for the next time."""
    me, _ = await who(application, who_as)
    gone: list[Prunable] = []
    for first in range(0, len(due), BATCH):
        gone += await application.retention.prune([one.thread_id for one in due[first : first + BATCH]], rule, me)
        reach("after_prune_batch")
        session.say(f"{min(first + BATCH, len(due))} of {len(due)} threads")
    return gone
