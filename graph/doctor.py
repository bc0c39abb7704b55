"""Looks at everything that a run needs, and says what is wrong and how to mend it. It changes nothing.

Each check is on its own: one that fails hides none of the others.
"""

import asyncio
import importlib.metadata
import os
import platform
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graph.settings import Settings
from memory.errors import InterlockError, UnavailableError, UsageError

DISTRIBUTION = "interlock-agent"
OURS = ("graph", "tools", "memory", "cli")
MODEL_SECONDS = 60.0
LITTLE_SPACE = 500 * 2**20  # bytes; a database that cannot write any more refuses everything


@dataclass(frozen=True)
class Finding:
    """`state`: ok; warn: it works, and might not do what is expected; wrong: a run cannot go on with it."""

    name: str
    state: Literal["ok", "warn", "wrong"]
    detail: str
    remedy: str = ""
    exit_code: int = 0


Check = Callable[[], Awaitable[Finding]]
Tell = Callable[[str, dict[str, Any]], None]


async def examine(settings: Settings, tell: Tell) -> AsyncIterator[Finding]:
    """In the order in which they build on each other. `tell` hears which check began and which ended."""
    checks: dict[str, Check] = {
        "version": _version,
        "names": _names,
        "home": lambda: _home(settings),
        "policy": lambda: _policy(settings),
        "tools": lambda: _tools(settings),
        "mcp": lambda: _mcp(settings),
        "deploy": lambda: _deploy(settings),
        "database": lambda: _database(settings),
        "analytics": lambda: _analytics(settings),
        "memory": lambda: _memory(settings),
        "model": lambda: _model(settings),
    }
    for name, check in checks.items():
        tell("check_started", {"check": name})
        finding = await _guarded(name, check)
        tell("check_ended", {"check": name, "state": finding.state})
        yield finding


async def _guarded(name: str, check: Check) -> Finding:
    try:
        return await check()
    except InterlockError as error:
        return Finding(name, "wrong", error.message, error.remedy, error.exit_code)
    except Exception as error:  # noqa: BLE001 - what a check meets is what it finds
        return Finding(name, "wrong", f"{type(error).__name__}: {error}", exit_code=1)


async def _version() -> Finding:
    packages = ("langgraph", "langgraph-checkpoint-postgres", "psycopg")
    named = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    version = importlib.metadata.version(DISTRIBUTION)
    return Finding("version", "ok", f"interlock {version}, Python {platform.python_version()}, {named}")


async def _names() -> Finding:
    """Our top-level names are general; another distribution that brings the same would be imported instead, or mixed."""
    owners = importlib.metadata.packages_distributions()
    foreign = {name: sorted({owner for owner in owners.get(name, []) if owner != DISTRIBUTION}) for name in OURS}
    taken = [f"{name} (by {', '.join(others)})" for name, others in foreign.items() if others]
    if taken:
        remedy = "Uninstall the other package, or give interlock an environment of its own."
        return Finding("names", "wrong", f"Another package brings the same name: {'; '.join(taken)}.", remedy, UsageError.exit_code)
    return Finding("names", "ok", f"{', '.join(OURS)} belong to interlock alone")


async def _home(settings: Settings) -> Finding:
    home = settings.home
    nearest = next(path for path in (home, *home.parents) if path.exists())
    if not os.access(nearest, os.W_OK | os.X_OK):
        remedy = "Name a folder of your own: INTERLOCK_HOME=~/interlock"
        return Finding("home", "wrong", f"{home} cannot be written.", remedy, UsageError.exit_code)
    free = shutil.disk_usage(nearest).free
    if free < LITTLE_SPACE:
        return Finding("home", "warn", f"{home}: only {free // 2**20} MiB are free", "Make room before the database runs out of it.")
    return Finding("home", "ok", f"{home}, {free // 2**30} GiB free")


async def _policy(settings: Settings) -> Finding:
    if settings.policy:
        from graph.app import refuse_unusable_targets, registry_of_today
        from graph.policy import load_policy

        policy = load_policy(settings.policy, registry_of_today(settings).names)
        await asyncio.to_thread(refuse_unusable_targets, policy)
        return Finding("policy", "ok", f"{settings.policy}: {len(policy.rules)} rules, digest {policy.digest[:12]}")
    return Finding("policy", "ok", "none: every critical call is asked at tier 1 of anyone, and the record says by which source")


async def _tools(settings: Settings) -> Finding:
    from graph.app import registry_of_today

    registry = registry_of_today(settings)
    named = ", ".join(f"{tool.name}{'' if tool.facts.is_critical else ' (runs at once)'}" for tool in registry)
    return Finding("tools", "ok", named or "none")


async def _mcp(settings: Settings) -> Finding:
    if settings.mcp is None:
        return Finding("mcp", "ok", "no INTERLOCK_MCP: no tools of MCP servers")
    from graph.settings import read_environment
    from tools.mcp import examined

    told, unread = await examined(settings.mcp, read_environment())
    if unread:
        return Finding("mcp", "warn", f"{told}; not followed: {unread}", "What may run without a person, the policy file says.")
    return Finding("mcp", "ok", told)


async def _deploy(settings: Settings) -> Finding:
    command = settings.deploy_command
    if not command:
        return Finding("deploy", "ok", "no INTERLOCK_DEPLOY_COMMAND: deploy_code writes into the release register of the database")
    program = command.split()[0]
    if shutil.which(program) is None:
        remedy = "Give its full path, or make it executable: chmod +x"
        return Finding("deploy", "wrong", f"INTERLOCK_DEPLOY_COMMAND: {program!r} cannot be run from {Path.cwd()}.", remedy, 2)
    return Finding("deploy", "ok", command)


async def _database(settings: Settings) -> Finding:
    from graph.app import open_app

    async with open_app(settings) as application:
        facts = await application.database.facts()
        kind = "embedded" if application.embedded else "named by INTERLOCK_DATABASE_URL"
        detail = f"PostgreSQL {facts['version']}, {kind}, {application.database.where}, schema {facts['schema']}, {facts['size']}"
        if abs(facts["clock_seconds"]) > 5:
            remedy = "Deadlines follow the database's clock; set both clocks by NTP."
            return Finding("database", "warn", f"{detail}; its clock differs by {facts['clock_seconds']:.0f} s", remedy)
        return Finding("database", "ok", detail)


async def _analytics(settings: Settings) -> Finding:
    """What read_database reads. The account for the example is made at the first query, and not here."""
    from graph.app import analytics_of, open_app

    if settings.analytics_url:
        await analytics_of(settings).query("SELECT 1", most=1)
        return Finding("analytics", "ok", "INTERLOCK_ANALYTICS_URL can be read, and its account may do nothing else")
    if settings.database_url:
        async with open_app(settings) as application:
            facts = await application.database.facts()
        if not facts["makes_roles"]:
            remedy = f"GRANT what it may read to an account and set INTERLOCK_ANALYTICS_URL, or: ALTER ROLE {facts['account']} CREATEROLE"
            detail = f"read_database has no account that only reads, and {facts['account']!r} may not make one"
            return Finding("analytics", "warn", detail, remedy)
    return Finding("analytics", "ok", "read_database reads the example: a small invented shop")


async def _memory(settings: Settings) -> Finding:
    """What is wrong here stops no run, so it is a warning; only what cannot be meant is a mistake."""
    from graph.app import load_memory

    memory = load_memory(settings)
    if memory is None:
        return Finding("memory", "ok", "turned off by INTERLOCK_EMBEDDINGS=off")
    try:
        facts = await memory.ask(lambda store: store.facts())
    except InterlockError as error:
        return Finding("memory", "warn", error.message, error.remedy)
    return Finding("memory", "ok", ", ".join(f"{name} {value}" for name, value in facts.items()))


async def _model(settings: Settings) -> Finding:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import StructuredTool

    from graph.model import choose_model

    def report_ready(word: str) -> str:
        """Report that you are ready, with any word."""
        return word

    model = choose_model(settings)
    tools = [StructuredTool.from_function(report_ready)]
    if model.is_practice:
        remedy = "INTERLOCK_MODEL=openai:NAME with OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own."
        return Finding("model", "warn", "the practice model answers, which is no language model", remedy)
    question = HumanMessage("Call the tool report_ready with the word ready. Do not answer in any other way.")
    heard: list[str] = []
    try:
        answer = await asyncio.wait_for(model.answer([question], tools=tools, on_token=heard.append), MODEL_SECONDS)
    except TimeoutError:
        if heard:
            remedy = f"It is slow: a thread waits up to {model.limits.total / 60:g} minutes for one answer."
            return Finding("model", "warn", f"{model.place.at} answers, and had not finished after {MODEL_SECONDS:g} s", remedy)
        raise UnavailableError(f"{model.place.at} did not answer within {MODEL_SECONDS:g} s.", remedy="It may still be loading.") from None
    if any(call.name == "report_ready" and call.problem is None for call in answer.calls):
        return Finding("model", "ok", f"{model.place.at} answers and calls tools")
    remedy = "It can only act by calling tools: choose a model that can, or start its server with tool calls enabled."
    return Finding("model", "warn", f"{model.place.at} answers, and did not call the tool that it was asked to call", remedy)


def as_json(findings: list[Finding]) -> dict[str, Any]:
    checks = [{"name": one.name, "state": one.state, "detail": one.detail, "remedy": one.remedy or None} for one in findings]
    return {"ok": all(one.state != "wrong" for one in findings), "checks": checks}


