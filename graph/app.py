"""The composition root: from settings to one bundle of ports. The only importer of adapters.

Opening it connects to the database and loads neither tools nor graph: deciding and listing must be quick. `driver()` loads them.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from graph import view
from graph.compensation import in_words, report
from graph.deciding import Electorate
from graph.identity import acting
from graph.notify import Courier, Letter, letter
from graph.policy import Policy, load_policy
from graph.settings import Settings, read_environment
from graph.stop import Stop
from graph.watching import Unwatched, Watch, WatchedApprovals
from memory.approvals import Approval
from memory.errors import NotFoundError, RefusedError, UsageError
from memory.leases import is_dead
from memory.operators import token_hash
from memory.outbox import Message
from memory.people import Identity
from memory.postgres.analytics import PostgresAnalytics
from memory.postgres.approvals import PostgresApprovals
from memory.postgres.audit import PostgresAudit
from memory.postgres.database import Database
from memory.postgres.embedded import SUPERUSER, EmbeddedServer
from memory.postgres.grants import grants
from memory.postgres.ledger import PostgresLedger
from memory.postgres.memories import PostgresMemories
from memory.postgres.migrate import migrate, pending, prepare
from memory.postgres.offers import offers
from memory.postgres.operators import PostgresOperators
from memory.postgres.outbox import PostgresOutbox
from memory.postgres.retention import PostgresRetention
from memory.postgres.reviews import PostgresReviews
from memory.postgres.runs import PostgresRuns
from memory.postgres.stats import PostgresStats
from memory.postgres.tool_pins import PostgresToolPins
from memory.postgres.wakeups import PostgresWakeups
from memory.reviews import Review
from memory.runs import Run
from memory.tool_pins import Pin

if TYPE_CHECKING:
    from graph.by_apprise import AppriseSender
    from graph.ports import Ports
    from graph.run import Driver
    from memory.careful import Memory
    from memory.postgres.saver import GuardedSaver
    from tools.mcp import Mcp
    from tools.spec import Registry

Tell = Callable[[str, dict[str, Any]], None]


@dataclass
class App:
    settings: Settings
    database: Database
    embedded: bool
    on_token: Callable[[str], None] | None = None
    tell: Tell = lambda _what, _details: None
    watch: Watch = field(default_factory=Unwatched)
    stop: Stop = field(default_factory=Stop)
    pinned: Sequence[Pin] = ()
    _registry: "Registry | None" = field(default=None, init=False)
    _policy: Policy | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.outbox = PostgresOutbox(self.database, self._targets)
        self.courier = Courier(self.outbox, self._targets, self._sender, self._in_words)
        self.outbox.written = self.courier.wake
        self.runs = PostgresRuns(self.database, self.outbox)
        stored = PostgresApprovals(self.database, self.outbox)
        alone = isinstance(self.watch, Unwatched)
        self.approvals = stored if alone else cast("PostgresApprovals", WatchedApprovals(stored, self.watch))
        self.ledger = PostgresLedger(self.database, self.outbox)
        self.audit = PostgresAudit(self.database)
        self.operators = PostgresOperators(self.database)
        self.memories = PostgresMemories(self.database)
        self.retention = PostgresRetention(self.database)
        self.reviews = PostgresReviews(self.database)
        self.stats = PostgresStats(self.database)
        self.wakeups = PostgresWakeups(self.database, self.settings.database_direct_url)

    @property
    def registry(self) -> "Registry":
        """What is known of the tools. No MCP server is asked for it: of one that was not asked yet, it is what was pinned."""
        if self._registry is None:
            registry = load_registry(self.settings, self._mcp)
            if self._mcp is None:
                self.policy.check(registry.names)
            self._registry = registry
        return self._registry

    @cached_property
    def _mcp(self) -> "Mcp | None":
        def say(text: str) -> None:
            self.tell("notice", {"message": text})

        pins = PostgresToolPins(self.database)
        return mcp_of(self.settings, pins=pins, pinned=self.pinned, say=say, on_news=self._forget_tools)

    def _forget_tools(self) -> None:
        self._registry = None

    async def meet(self, names: Collection[str] | None = None) -> None:
        """Asks the MCP servers that have these tools what they are now; with None, or for a tool that nobody knows, all of them.

        Each is asked once. Raises UnavailableError where one was never seen and does not answer, and UsageError for a mistake.
        """
        if self._mcp is None:
            return
        tools = [self.registry.get(name) for name in names or ()]
        everyone = names is None or None in tools
        await self._mcp.ask(None if everyone else {tool.facts.remote.server for tool in tools if tool and tool.facts.remote})
        if everyone:
            self.policy.check(self.registry.names)

    async def accept_tool(self, name: str, by: Identity) -> None:
        """What an MCP server made of this tool counts as known from now on. Raises NotFoundError."""
        await self.meet()
        tool = self.registry.get(name)
        if self._mcp is None or tool is None or tool.facts.remote is None:
            remedy = "`interlock tools` lists them."
            raise NotFoundError(f"There is no tool {name!r} of an MCP server.", remedy=remedy, code="no_such_tool")
        remote = tool.facts.remote
        await PostgresToolPins(self.database).accept(Pin(remote.server, remote.name, remote.sha256, remote.definition), by)
        self._mcp.forget(remote.server)

    @property
    def policy(self) -> Policy:
        """Read once; with the first look at the tools, its conditions and the tools that it names are checked."""
        if self._policy is None:
            self._policy = load_policy(self.settings.policy)
        return self._policy

    def _targets(self, event: str | None = None) -> int:
        notify = self.policy.notify
        return notify.targets(event) if event else len(notify.urls)

    def _sender(self) -> "AppriseSender":
        from graph.by_apprise import AppriseSender

        return AppriseSender(self.policy.notify.urls)

    async def _in_words(self, message: Message) -> Letter:
        run = await self.runs.get(message.thread_id)
        if message.approval_id:
            return letter(message, run, await self.approvals.get(message.approval_id))
        done = report(await self.ledger.of_thread(message.thread_id), await self.approvals.of_thread(message.thread_id))
        return letter(message, run, None, in_words(done) if done else "")

    @property
    def electorate(self) -> Electorate:
        return Electorate(self.policy, self.operators)

    async def voter(self, *, claimed: str | None, token: str | None) -> tuple[Identity, int | None]:
        """Who acts, and the tier that their token gives them; None where they have no token."""
        if token is None:
            return acting(claimed=claimed, embedded=self.embedded), None
        if claimed is not None:
            message = f"Both a name (--as {claimed}) and an operator's token are given."
            raise UsageError(message, remedy="Leave --as out, or unset INTERLOCK_OPERATOR_TOKEN.", code="usage")
        operator = await self.operators.of_token(token_hash(token))
        if operator is None or not operator.in_force:
            why = "not known" if operator is None else "revoked" if operator.revoked_at else "expired"
            remedy = "`interlock operator add` makes a new one."
            raise RefusedError(f"This operator token is {why}.", remedy=remedy, code="unknown_token")
        return Identity(operator.name, "token"), operator.tier

    def ports(self) -> "Ports":
        from graph.model import choose_model
        from graph.ports import Ports

        self.registry  # noqa: B018 - a mistake in what is loaded here is told at once
        model = choose_model(self.settings)
        return Ports(
            runs=self.runs, approvals=self.approvals, ledger=self.ledger, tools=self, electorate=self.electorate,
            policy=self.policy, rejection_limit=self.settings.rejection_limit, memory=load_memory(self.settings),
            on_token=self.on_token, tell=self.tell, watch=self.watch, stop=self.stop,
            model=replace(model, on_retry=lambda: self.watch.count("interlock.model.retries", model=model.name)),
        )  # fmt: skip

    def saver(self) -> "GuardedSaver":
        """Needs a running loop, and serialises its calls: one for each driver."""
        from graph.state import State
        from memory.postgres.saver import GuardedSaver

        saver = GuardedSaver(self.database.pool)
        saver.plain = frozenset(State.__annotations__)
        return saver

    def driver(self) -> "Driver":
        from graph.build import build
        from graph.run import Driver

        ports = self.ports()
        if self.policy.notify.urls:
            self.courier.warm_up()
        graph = build(ports).compile(checkpointer=self.saver())
        return Driver(ports, graph, lease_seconds=self.settings.lease_seconds, step_limit=self.settings.step_limit)

    async def view(self, thread_id: str) -> dict[str, Any]:
        run = await self.runs.get(thread_id)
        if run is None:
            raise no_such_thread(thread_id)
        return view.thread(run, await self.approvals.of_thread(thread_id), await self.ledger.of_thread(thread_id))

    async def grants(self, role: str) -> str:
        """The SQL that lets a role which owns nothing run the application."""
        return await grants(self.database, role)

    async def is_settled(self, thread_id: str) -> bool:
        """Whether it is known of every call what became of it."""
        return all(one.status != "unknown" for one in await self.ledger.of_thread(thread_id))

    async def is_left(self, thread_id: str) -> bool:
        """Whether it could go on, and nobody drives it."""
        run = await self.runs.get(thread_id)
        if run is None or run.status not in {"running", "waiting"}:
            return False
        return not run.lease_live or (run.lease_owner is not None and is_dead(run.lease_owner))

    async def left(self) -> list[Run]:
        """Threads that could go on, and that nobody drives."""
        found = await self.runs.left()
        return [run for run in found if not run.lease_live or (run.lease_owner is not None and is_dead(run.lease_owner))]

    async def remind(self) -> int:
        """Reminds people of what waits, and sends what is due: in the background, as long as this application is open."""
        reminded = await self.approvals.remind()
        if self.policy.notify.urls:
            self.courier.wake()
        return reminded

    async def find_approval(self, name: str) -> Approval:
        """By id, a prefix of at least 6 characters, or the thread with one open approval."""
        found = await self.approvals.find(name)
        if len(found) == 1:
            return found[0]
        if found:
            raise ambiguous(name, found)
        run = await self.runs.get(name)
        if run is not None:
            remedy = f"Go on with: interlock resume {name}" if await self.is_left(name) else ""
            message = f"Nothing waits for a decision on thread {name!r}: it is {run.status}."
            raise NotFoundError(message, remedy=remedy, code="nothing_pending")
        raise NotFoundError(
            f"There is no approval {name!r}.",
            remedy="`interlock inbox` lists the open ones; a prefix needs 6 characters.",
            code="no_such_approval",
        )


    async def find_review(self, name: str) -> Review:
        """By id, a prefix of at least 6 characters, or the thread with one open review."""
        found = await self.reviews.find(name)
        if len(found) == 1:
            return found[0]
        if found:
            raise ambiguous(name, [one.permit for one in found], what="reviews")
        remedy = "`interlock review list --all` lists them; a prefix needs 6 characters."
        raise NotFoundError(f"There is no review {name!r}.", remedy=remedy, code="no_such_review")


def load_registry(settings: Settings, mcp: "Mcp | None") -> "Registry":
    """Of MCP servers, what `mcp` knows of them so far."""
    from tools.table import load

    return load(settings.tools, read_environment(), analytics=analytics_of(settings), mcp=mcp)


def registry_of_today(settings: Settings) -> "Registry":
    """Needs no database; MCP servers are asked, and nothing is compared with what they said before."""
    from tools.mcp import asked_by_plain_code

    mcp = mcp_of(settings)
    return load_registry(settings, asked_by_plain_code(mcp) if mcp else None)


def mcp_of(settings: Settings, **more: Any) -> "Mcp | None":
    if settings.mcp is None:
        return None
    from tools.mcp import Mcp

    believed = load_policy(settings.policy).believed
    return Mcp(settings.mcp, read_environment(), believed.read_only, believed.idempotent, **more)


def refuse_unusable_targets(policy: Policy) -> None:
    """Raises UsageError for a URL of [notify] that cannot be used. Loads apprise if there is one."""
    if policy.notify.urls:
        from graph.by_apprise import refuse_unusable


        refuse_unusable(policy.notify.urls)


def analytics_of(settings: Settings) -> PostgresAnalytics:
    async def own() -> str:
        """Only the superuser of the embedded server makes roles there; elsewhere it is up to the account that is named."""
        address = await _address(settings)
        return address if settings.database_url else EmbeddedServer(settings.home).url(user=SUPERUSER)

    return PostgresAnalytics(settings.analytics_url, own)


def no_such_thread(thread_id: str) -> NotFoundError:
    return NotFoundError(f"There is no thread {thread_id!r}.", remedy="`interlock runs` lists them.", code="no_such_thread")


def load_memory(settings: Settings) -> "Memory | None":
    """None where it is turned off. Nobody is asked yet; raises UsageError."""
    from memory.choosing import choose_memory
    from memory.embedders import Keys

    keys = Keys(settings.openai_api_key, settings.openai_base_url)
    return choose_memory(
        settings.home, settings.embeddings, keys, qdrant_url=settings.qdrant_url, qdrant_key=settings.qdrant_api_key
    )


def ambiguous(name: str, found: Sequence[Approval], *, what: str = "approvals") -> UsageError:
    ids = [approval.approval_id for approval in found]
    return UsageError(f"{name!r} can mean {len(ids)} {what}: {', '.join(ids)}.", remedy="Name one of them.", code="ambiguous")


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    on_token: Callable[[str], None] | None = None,
    tell: Tell = lambda _what, _details: None,
    stop: Stop | None = None,
    connections: int = 4,
) -> AsyncIterator[App]:
    """Starts the embedded server where no database is named, and brings an empty database up to the code.

    What is to be told to people meanwhile is sent in the background.
    """
    embedded = settings.database_url is None
    async with Database(await _address(settings), max_size=connections) as database:
        await prepare(database, embedded=embedded)
        async with _watching() as watch:
            pinned = await PostgresToolPins(database).all() if settings.mcp else ()
            application = App(settings, database, embedded, on_token, tell, watch, stop or Stop(), pinned)
            async with application.courier:
                yield application
            if not isinstance(watch, Unwatched):
                watch.level("interlock.approvals.waiting", await application.approvals.waiting())


@asynccontextmanager
async def _watching() -> AsyncIterator[Watch]:
    """OpenTelemetry is loaded only where the environment names it."""
    if not any(name.startswith("OTEL_") for name in os.environ):
        yield Unwatched()
        return
    from graph.telemetry import Telemetry, watch_of

    watch = watch_of()
    try:
        yield watch
    finally:
        if isinstance(watch, Telemetry):
            await asyncio.to_thread(watch.close)


def embedded_server(settings: Settings) -> EmbeddedServer:
    """Raises RefusedError where the settings name a database of the user's own."""
    if settings.database_url:
        raise RefusedError(
            "INTERLOCK_DATABASE_URL names a database that interlock neither starts nor stops.",
            remedy="Unset it to use the embedded server.",
            code="not_embedded",
        )
    return EmbeddedServer(settings.home)


async def database_status(settings: Settings) -> dict[str, Any]:
    """Starts nothing. `schema` is current, behind or unknown."""
    if settings.database_url:
        behind = await pending(settings.database_url)
        return {"embedded": False, "running": True, "schema": "behind" if behind else "current", "missing": behind}
    status = EmbeddedServer(settings.home).status()
    missing = await pending(status["url"]) if status["running"] else []
    schema = "unknown" if not status["running"] else "behind" if missing else "current"
    return {"embedded": True, **status, "schema": schema, "missing": missing}


def offered(settings: Settings, what: str) -> list[tuple[str, str]]:
    """Names of threads, approvals, operators or tools, for completion. Starts nothing, and raises anything."""
    if settings.database_url:
        return offers(settings.database_url, what)
    server = EmbeddedServer(settings.home)
    return offers(server.url(), what) if server.status()["running"] else []


async def migrate_database(settings: Settings) -> list[str]:
    return await migrate(await _address(settings))


async def _address(settings: Settings) -> str:
    """Of the database that is named, or of the embedded server, which is started where it is down."""
    if settings.database_url:
        return settings.database_url
    return await asyncio.to_thread(EmbeddedServer(settings.home).up)
