"""Commands that look at the set-up."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from graph import screen
from graph.commands.opening import run, who
from graph.commands.options import As, Json
from graph.console import Commands, Session, Shown, present, width
from graph.settings import load_settings
from memory.errors import InterlockError

if TYPE_CHECKING:
    from graph.app import App
    from tools.spec import Registry

commands = Commands()


@commands.command()
def tools(
    accept: Annotated[
        str | None, typer.Option("--accept", metavar="NAME", help="Take what an MCP server made of this tool as known.")
    ] = None,
    who_as: As = None,
    json: Json = False,
) -> None:
    """List the tools, and what is declared of each. One that an MCP server changed is asked about until it is accepted.

    Example: INTERLOCK_TOOLS=my_tools:TOOLS interlock tools
    """

    async def compared(application: "App", session: Session) -> Shown:
        del session
        if accept is not None:
            me, _ = await who(application, who_as)
            await application.accept_tool(accept, me)
        await application.meet()
        return listed(application.registry)

    def work() -> Shown:
        from graph.app import registry_of_today

        return listed(registry_of_today(load_settings()))

    if accept is not None or is_mcp_set():
        run(json, compared)
    present(json, work)


def is_mcp_set() -> bool:
    try:
        return load_settings().mcp is not None
    except InterlockError:
        return False  # the mistake is told where the settings are used


def listed(registry: "Registry") -> Shown:
    rows = [
        {
            "name": tool.name, "critical": tool.facts.is_critical, "idempotent": tool.facts.idempotent,
            "transactional": tool.facts.transactional, "check": tool.facts.check is not None,
            "compensate": tool.facts.compensate is not None, "timeout": tool.facts.timeout, "origin": tool.facts.origin,
            "changed": tool.facts.remote.changed if tool.facts.remote else "", "description": tool.description,
            "parameters": tool.parameters,
        }
        for tool in registry
    ]  # fmt: skip
    columns = ("name", "critical", "idempotent", "transactional", "check", "compensate", "origin")
    changed = [str(row["name"]) for row in rows if row["changed"]]
    hint = f"Changed by their servers since they were first used: {', '.join(changed)}. To accept: interlock tools --accept NAME"
    table = screen.table(rows, columns, "There are no tools.", width=width())
    said = [f"{row['name']}: {screen.escape(str(row['changed']))}" for row in rows if row["changed"]]
    return Shown({"tools": rows}, "\n".join([table, *said]), hint=hint if changed else "")


@commands.command()
def doctor(json: Json = False) -> None:
    """Look at everything that a run needs. It says what is wrong, and how to mend it; the model is asked one small question. The exit
    code is that of the first thing that is wrong.

    Example: interlock doctor
    """

    async def work(session: Session) -> Shown:
        from graph import doctor

        async with session.ticking():
            findings = [finding async for finding in doctor.examine(session.settings, session.tell)]
        code = next((one.exit_code for one in findings if one.state == "wrong"), 0)
        lines = [screen.finding(one.state, one.name, one.detail, one.remedy) for one in findings]
        warned = any(one.state == "warn" for one in findings)
        fine = "Nothing is wrong; read what is marked with warn." if warned else "Nothing is wrong."
        summed = fine if code == 0 else "Mend what is marked as wrong; `interlock doctor` looks again."
        return Shown(doctor.as_json(findings), "\n".join(lines), code, summed)

    present(json, lambda: asyncio.run(work(Session(json))))
