"""Commands about the database."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from graph.commands.opening import run
from graph.commands.options import Json
from graph.console import Commands, Session, Shown, present
from graph.settings import load_settings

if TYPE_CHECKING:
    from graph.app import App

commands = Commands(no_args_is_help=True, rich_markup_mode=None, help="The database: start, stop, look at and migrate it.")


def embedded(json_wanted: bool, work: Callable[[Any], Shown]) -> NoReturn:
    def guarded() -> Shown:
        from graph.app import embedded_server

        return work(embedded_server(load_settings()))

    present(json_wanted, guarded)


@commands.command("up")
def db_up(json: Json = False) -> None:
    """Start the embedded server; every command does so when it needs it.

    Example: interlock db up
    """

    async def work(application: "App", session: Session) -> Shown:
        del session
        return Shown({"running": True, "where": application.database.where}, f"up: {application.database.where}")

    run(json, work)


@commands.command("down")
def db_down(json: Json = False) -> None:
    """Stop the embedded server. Nothing is lost; threads go on when it is up again.

    Example: interlock db down
    """

    def work(server: Any) -> Shown:
        server.down()
        return Shown({"running": False}, "down")

    embedded(json, work)


@commands.command("status")
def db_status(json: Json = False) -> None:
    """Tell whether the database is up, and whether its schema fits this version.

    Example: interlock db status --json
    """

    def work() -> Shown:
        from graph.app import database_status

        status = asyncio.run(database_status(load_settings()))
        return Shown(status, "\n".join(f"{name:<10} {value}" for name, value in status.items()))

    present(json, work)


@commands.command("url")
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


@commands.command("migrate")
def db_migrate(json: Json = False) -> None:
    """Bring the schema up to this version; with the rights of its owner. Threads that wait go on waiting.

    Example: interlock db migrate
    """

    def work() -> Shown:
        from graph.app import migrate_database

        applied = asyncio.run(migrate_database(load_settings()))
        return Shown({"applied": applied}, "\n".join(f"applied {name}" for name in applied) or "The schema is up to date.")

    present(json, work)


@commands.command("grants")
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
