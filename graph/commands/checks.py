"""Commands that look at the set-up."""

import asyncio

from graph import screen
from graph.commands.options import Json
from graph.console import Commands, Session, Shown, present, width
from graph.settings import load_settings

commands = Commands()


@commands.command()
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


@commands.command()
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
