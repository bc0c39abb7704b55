"""Commands about the policy file."""

from pathlib import Path
from typing import Annotated

import typer

from graph import screen
from graph.commands import completing
from graph.commands.options import Json
from graph.console import Commands, Shown, present, width
from graph.identity import named
from graph.policy_file import ANSWER
from graph.settings import load_settings
from memory.errors import UsageError

commands = Commands(no_args_is_help=True, rich_markup_mode=None, help="The policy file: check it, explain a verdict, run its tests.")


@commands.command("check")
def policy_check(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Default: the file that INTERLOCK_POLICY names.")] = None,
    json: Json = False,
) -> None:
    """Look for mistakes. Exit code 2 with the line and the remedy if there is one.

    Example: INTERLOCK_POLICY=policy.toml interlock policy check
    """

    def work() -> Shown:
        from graph import policy_trial
        from graph.app import refuse_unusable_targets, registry_of_today

        settings = load_settings()
        policy = policy_trial.load(settings, registry_of_today(settings), file)
        refuse_unusable_targets(policy)
        document = policy_trial.check(policy)
        text = f"{len(document['rules'])} rules, digest {document['digest']}"
        where = file or settings.policy
        return Shown(document, text if where else "There is no policy file: every critical call is asked at tier 1 of anyone.")

    present(json, work)


@commands.command("explain")
def policy_explain(
    tool: Annotated[
        str, typer.Argument(metavar="TOOL", help='Or final_answer, with {"text": …}.', autocompletion=completing.tool_names)
    ],
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
        from graph.app import registry_of_today
        from graph.identity import account

        settings = load_settings()
        registry = registry_of_today(settings)
        known = registry.get(tool)
        if known is None and tool != ANSWER:
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


@commands.command("test")
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
        from graph.app import registry_of_today

        settings = load_settings()
        rows = policy_trial.test(settings, registry_of_today(settings), file)
        failed = sum(not row["ok"] for row in rows)
        lines = [{**row, "result": "ok" if row["ok"] else "DIFFERS", "verdict": row["got"].get("verdict", "")} for row in rows]
        table = screen.table(lines, ("line", "result", "tool", "verdict", "why"), "There are no tests.", width=width())
        return Shown({"ok": not failed, "tests": rows}, table, 1 if failed else 0, f"{len(rows) - failed} of {len(rows)} as expected.")

    present(json, work)
