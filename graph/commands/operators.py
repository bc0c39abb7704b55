"""Commands about people who decide with a token."""

from typing import TYPE_CHECKING, Annotated

import typer

from graph import screen, view
from graph.commands import completing
from graph.commands.opening import run, who
from graph.commands.options import Json
from graph.console import Commands, Session, Shown, width
from graph.identity import named
from graph.settings import seconds_of
from memory.operators import new_token, token_hash

if TYPE_CHECKING:
    from graph.app import App

commands = Commands(no_args_is_help=True, rich_markup_mode=None, help="People who decide with a token: add, list and revoke them.")


@commands.command("add")
def operator_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As it shall stand on the record.")],
    tier: Annotated[int, typer.Option("--tier", metavar="N", min=1, max=99, help="The highest tier that they may decide.")] = 1,
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


@commands.command("list")
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


@commands.command("revoke")
def operator_revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `operator list` shows it.", autocompletion=completing.operators)],
    json: Json = False,
) -> None:
    """Take a token out of force, at once. What they decided stands.

    Example: interlock operator revoke ada
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        me, _ = await who(application, None)
        gone = view.operator(await application.operators.revoke(named(name), me))
        return Shown(gone, f"{gone['name']} may not decide any more.")

    run(json, work)
