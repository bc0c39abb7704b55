"""Commands about episodic memory: look into it, add to it, list, forget, and embed it anew."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from graph import screen, view
from graph.commands.opening import run, who
from graph.commands.options import Json
from graph.commands.paging import Limit, Page
from graph.console import Commands, Session, Shown, failure, present, width
from memory.errors import NotFoundError, UnavailableError, UsageError
from memory.text import clean

if TYPE_CHECKING:
    from graph.app import App
    from memory.careful import Memory

commands = Commands(no_args_is_help=True, rich_markup_mode=None, help="What is remembered: search, add, list, forget, embed anew.")
Tenant = Annotated[str | None, typer.Option("--tenant", metavar="NAME", help="Whose memory; default: INTERLOCK_TENANT.")]
COLUMNS = ("id", "date", "source", "content")


@commands.command("search")
def memory_search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="In words.")],
    limit: Limit = 5,
    tenant: Tenant = None,
    json: Json = False,
) -> None:
    """Show what is remembered that is like these words, the nearest first.

    Example: interlock memory search "deploy shop to production"
    """

    async def work(session: Session, memory: "Memory") -> Shown:
        found = await memory.ask(lambda store: store.search(clean(query), limit, _tenant(session, tenant)))
        return _records([view.memory(match.record, score=match.score) for match in found])

    _look(json, work)


@commands.command("list")
def memory_list(limit: Limit = 20, tenant: Tenant = None, json: Json = False) -> None:
    """List what was remembered last.

    Example: interlock memory list --limit 50
    """

    async def work(session: Session, memory: "Memory") -> Shown:
        page = Page(await memory.ask(lambda store: store.newest(_tenant(session, tenant), limit + 1)), limit)
        shown = _records([view.memory(record) for record in page.rows])
        return replace(shown, document={**shown.document, "more": page.more}, hint=page.hint)

    _look(json, work)


@commands.command("add")
def memory_add(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What the agent shall know.")],
    source: Annotated[str | None, typer.Option("--source", metavar="TEXT", help="Where it comes from; default: you.")] = None,
    tenant: Tenant = None,
    json: Json = False,
) -> None:
    """Remember something that no thread has taught. The agent is shown it as a quotation, with its source.

    Example: interlock memory add "shop is deployed on Tuesdays only" --source "release handbook"
    """

    async def work(application: "App", session: Session) -> Shown:
        from memory.careful import fit
        from memory.episodes import MemoryRecord, record_id

        whose, (me, _) = _tenant(session, tenant), await who(application, None)
        metadata = {"tenant": whose, "kind": "note", "source": clean(source).strip() if source else f"{me.name} ({me.source})"}
        record = fit(MemoryRecord(record_id(whose, "note", clean(text).strip()), text, datetime.now(UTC), metadata))
        if record is None:
            raise UsageError("There is nothing to remember.", remedy='interlock memory add "TEXT"', code="empty_text")
        await _memory(session).ask(lambda store: store.add([record]))
        await application.memories.added(me, record.id, whose)
        if record.content != text.strip():
            session.say("It was shortened, or something in it looked like a secret: it is not kept as you wrote it.")
        return Shown(view.memory(record), record.id)

    run(json, work)


@commands.command("forget")
def memory_forget(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="As `memory list` shows them.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that this tenant has.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be forgotten.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --all: yes, everything.")] = False,
    tenant: Tenant = None,
    json: Json = False,
) -> None:
    """Take records out of memory, for good. The record of the threads themselves stays.

    Example: interlock memory forget 5b3f0b0c-8a0f-5d3e-9b0a-0a0a0a0a0a0a --dry-run
    """

    async def work(application: "App", session: Session) -> Shown:
        if bool(ids) == everything:
            raise UsageError("Name the records to forget, or --all.", remedy="`interlock memory list` shows their ids.", code="usage")
        whose, memory = _tenant(session, tenant), _memory(session)
        chosen = [_uuid(name) for name in ids or []]
        found = await memory.ask(lambda store: store.newest(whose, store.count(whose) or 1) if everything else store.get(chosen, whose))
        missing = sorted(set(chosen) - {record.id for record in found})
        if missing:
            message = f"Tenant {whose!r} has no record {missing[0]!r}; nothing was forgotten."
            raise NotFoundError(message, remedy="`interlock memory list` shows them.", code="no_such_record")
        rows = [view.memory(record) for record in found]
        only_shown = dry_run or (everything and not yes)
        if not only_shown and rows:
            await _forgotten(application, memory, [record.id for record in found], whose)
        asked = "Nothing was forgotten yet: add --yes." if everything and not yes and not dry_run else ""
        table = screen.table(_lines(rows), COLUMNS, "There is nothing to forget.", width=width())
        return Shown({"forgotten": [] if only_shown else rows, "would_forget": rows if only_shown else []}, table, 0, asked)

    run(json, work)


async def _forgotten(application: "App", memory: "Memory", ids: list[str], tenant: str) -> None:
    await memory.ask(lambda store: store.forget(ids, tenant))
    me, _ = await who(application, None)
    await application.memories.forgotten(me, ids, tenant)


@commands.command("reembed")
def memory_reembed(tenant: Tenant = None, json: Json = False) -> None:
    """Embed everything anew with the embedder that is set now. It may be interrupted, and goes on where it was.

    Example: INTERLOCK_EMBEDDINGS=openai:text-embedding-3-small interlock memory reembed
    """

    async def work(application: "App", session: Session) -> Shown:
        def told(done: int, of: int) -> None:
            session.tell("reembedded", {"records": done, "of": of})

        count = await _memory(session).ask(lambda store: store.reembed(told, tenant))
        me, _ = await who(application, None)
        await application.memories.reembedded(me, count, tenant)
        return Shown({"records": count}, f"{count} records are embedded by the embedder of now.")

    run(json, work)


def _look(json: bool, work: Callable[[Session, "Memory"], Awaitable[Shown]]) -> NoReturn:
    """Without the database. That memory cannot be asked is an answer as well, and another one than that it is empty."""

    async def looked(session: Session) -> Shown:
        async with session.ticking():
            try:
                return await work(session, _memory(session))
            except UnavailableError as error:
                document = {"status": "unavailable", "reason": error.message, "records": [], "error": error.as_json()}
                told = failure(error)
                return Shown(document, told.text, error.exit_code, told.hint)

    present(json, lambda: asyncio.run(looked(Session(json))))


def _memory(session: Session) -> "Memory":
    from graph.app import load_memory

    memory = load_memory(session.settings)
    if memory is None:
        message, remedy = "Memory is turned off by INTERLOCK_EMBEDDINGS=off.", "Unset it, or name an embedder."
        raise UnavailableError(message, remedy=remedy, code="memory_off")
    return memory


def _tenant(session: Session, wanted: str | None) -> str:
    return wanted or session.settings.tenant


def _uuid(name: str) -> str:
    import uuid

    try:
        return str(uuid.UUID(name))
    except ValueError:
        raise UsageError(f"{name!r} is no id of a record.", remedy="`interlock memory list` shows them.", code="usage") from None


def _records(rows: list[dict[str, Any]]) -> Shown:
    document = {"status": "ok" if rows else "empty", "records": rows}
    columns = (*COLUMNS, "score") if rows and "score" in rows[0] else COLUMNS
    return Shown(document, screen.table(_lines(rows), columns, "Nothing like it is remembered.", width=width()))


def _lines(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "date": row["timestamp"][:10], "content": " / ".join(row["content"].splitlines())} for row in rows]
