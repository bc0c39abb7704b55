"""The command that counts: what people decided, how, and what follows from it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graph import advice, stats_text
from graph.commands.opening import run
from graph.commands.options import Force, Json
from graph.console import Commands, Session, Shown, width
from graph.settings import seconds_of
from graph.stats_plot import check, draw

if TYPE_CHECKING:
    from graph.app import App

commands = Commands()


@commands.command()
def stats(
    since: Annotated[str | None, typer.Option("--since", metavar="DURATION", help="Only what was asked since, such as 30d.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="Only this tool.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw it, as PNG, SVG or PDF by the name's end.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Count what people decided, by tool, rule and person. It says what follows where the numbers allow it.

    Example: interlock stats --since 30d --plot decisions.png
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        if plot:
            check(plot)
        figures = await application.stats.figures(seconds=seconds_of(since) if since else None, tool=tool)
        policy = application.policy
        of_calls, of_answers = ({rule.name: rule.when.text for rule in rules} for rules in (policy.rules, policy.answer_rules))
        given = advice.advise(figures, of_calls, of_answers)
        document = {**advice.as_json(figures, given), "since": since, "plot": str(plot) if plot else None}
        if plot:
            draw(figures, plot, force=force)
        text = stats_text.told(figures, given, width=width())
        return Shown(document, text, 0, f"The picture is in {plot}" if plot else "")

    run(json, work)
