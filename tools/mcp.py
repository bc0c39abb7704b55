"""The tools of MCP servers, as ours. Annotations are hints, and hints permit nothing: what is believed of them, the policy says.

Each tool is pinned when it is first used. A server that changes one later is shown with the change, and every call of it
is asked about until a person accepts it (`interlock tools --accept NAME`).
"""

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool

from memory.errors import InterlockError, UnavailableError, UsageError
from memory.text import clean, shorten
from memory.tool_pins import Pin, ToolPins
from tools.mcp_file import Server, read
from tools.spec import Remote, Tool, remote_tool

if TYPE_CHECKING:
    from tools.mcp_session import Said

LONGEST = 300  # characters of each side of a change
DOWN_SECONDS = 60.0  # for so long a server that did not answer is not tried again


@dataclass
class _Found:
    """Of one server: what it says now, or what its pins say of it; `down` is why it did not answer, at `looked` (monotonic seconds)."""

    server: Server
    said: "list[Said]"
    pinned: Mapping[str, Pin]
    down: InterlockError | None = None
    looked: float = 0.0


@dataclass
class Mcp:
    """The servers of `file`, and what is known of their tools: what is `pinned`, until a server has been asked.

    `pins` is the store, None: nothing is compared. `say` takes what a person should know; `on_news` is called where something else is
    known than before.
    """

    file: Path
    environment: Mapping[str, str]
    read_only: Collection[str] = ()
    idempotent: Collection[str] = ()
    pins: ToolPins | None = None
    pinned: Sequence[Pin] = ()
    say: Callable[[str], None] = lambda _text: None
    on_news: Callable[[], None] = lambda: None
    _found: dict[str, _Found] = field(default_factory=dict, init=False)
    _looks: "dict[str, asyncio.Task[None]]" = field(default_factory=dict, init=False)

    @cached_property
    def servers(self) -> list[Server]:
        """Raises UsageError for the file."""
        servers = read(self.file, self.environment)
        if servers and not _is_installed():
            remedy = "python -m pip install 'interlock-agent[mcp]'"
            raise UsageError("INTERLOCK_MCP is set, and the packages for it are not installed.", remedy=remedy, code="missing_extra")
        return servers

    def known(self) -> list[_Found]:
        """Asks nobody."""
        return [self._found.get(server.name) or _by_pins(server, self.pinned) for server in self.servers]

    async def ask(self, names: Collection[str] | None = None) -> None:
        """These servers, or all, that were not asked yet: all at the same time, and each one once, whoever else waits for it.

        Raises UnavailableError where one was never seen and does not answer.
        """
        due = [one for one in self.servers if one.name not in self._found and (names is None or one.name in names)]
        looks = [self._looks.get(server.name) or self._begin(server) for server in due]
        if looks:
            await asyncio.wait(looks)
        for error in [look.exception() for look in looks]:
            if error is not None:
                raise error

    def forget(self, name: str) -> None:
        """A server was seen to have changed, or its change was accepted: it is asked anew."""
        self._found.pop(name, None)
        self.on_news()

    def _begin(self, server: Server) -> "asyncio.Task[None]":
        look = self._looks[server.name] = asyncio.create_task(self._look(server))
        look.add_done_callback(lambda _: self._looks.pop(server.name, None))
        return look

    async def _look(self, server: Server) -> None:
        from tools.mcp_session import listed

        said, down = [], None
        try:
            said = await listed(server)
        except UnavailableError as error:
            down = error
        found = _by_pins(server, await self.pins.all() if self.pins else ())
        if down is None:
            found.said = said
            new = [_pin(server, one) for one in said if one.tool.name not in found.pinned and not one.problem]
            if new and self.pins:
                await self.pins.pin(new)
        elif not found.pinned:
            raise down
        else:
            found.down, found.looked = down, time.monotonic()
            self.say(f"{down.message} Its tools are known from before, and cannot be called now.")
        self._found[server.name] = found
        self.on_news()


def mcp_tools(mcp: Mcp | None) -> list[BaseTool]:
    """Of all that is known so far. Raises UsageError for the file."""
    made = [_made(mcp, one, said) for one in mcp.known() for said in one.said] if mcp else []
    return [tool for tool in made if tool is not None]


def asked_by_plain_code(mcp: Mcp) -> Mcp:
    """All servers, in a loop of their own: a running one may have called. Raises as `ask`."""
    failure: list[BaseException] = []

    def body() -> None:
        try:
            asyncio.run(mcp.ask())
        except BaseException as error:  # noqa: BLE001 - raised again below
            failure.append(error)

    thread = threading.Thread(target=body, daemon=True, name="mcp")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return mcp


async def examined(file: Path, environment: Mapping[str, str]) -> tuple[str, str]:
    """In words: the servers with how many tools each has, and the keys of other programs that are not followed. Raises as `ask`."""
    mcp = Mcp(file, environment)
    await mcp.ask()
    told = ", ".join(f"{one.server.origin}: {len(one.said)} tools" for one in mcp.known())
    unread = "; ".join(f"{', '.join(one.unread)} of {one.name}" for one in mcp.servers if one.unread)
    return told or f"{file} names no server that is on", unread


def _is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("mcp") is not None and find_spec("langchain_mcp_adapters") is not None


def _by_pins(server: Server, pins: Sequence[Pin]) -> _Found:
    pinned = {pin.tool: pin for pin in pins if pin.server == server.name}
    return _Found(server, [_as_pinned(pin) for pin in pinned.values()], pinned)


def _as_pinned(pin: Pin) -> "Said":
    from mcp import types

    from tools.mcp_session import Said

    return Said.of(types.Tool.model_validate(dict(pin.definition)))


def _pin(server: Server, said: "Said") -> Pin:
    return Pin(server.name, said.tool.name, said.sha256, said.definition)


def _made(mcp: Mcp, found: _Found, said: "Said") -> BaseTool | None:
    """None for a tool that cannot be used here; that one is left out, and the others stay."""
    server, hints = found.server, said.tool.annotations
    if said.problem:
        mcp.say(f"The tool {said.tool.name!r} of the MCP server {server.name!r} is left out: {said.problem}")
        return None
    pin = found.pinned.get(said.tool.name)
    changed = _change(pin.definition, said.definition) if pin and pin.sha256 != said.sha256 else ""
    if changed:
        mcp.say(f"The MCP server {server.name!r} changed its tool {said.tool.name!r}: {changed}")
    believed = bool(hints and hints.readOnlyHint is True and server.name in mcp.read_only and not changed)
    base = StructuredTool(
        name=server.prefix + said.tool.name, description=_description(said), args_schema=dict(said.tool.inputSchema),
        coroutine=_caller(mcp, found, said, acts=not believed),
    )  # fmt: skip
    try:
        made = remote_tool(
            base, Remote(server.name, said.tool.name, said.sha256, said.definition, changed), origin=server.origin,
            is_critical=not believed, timeout=None,
            idempotent=believed or bool(hints and hints.idempotentHint is True and server.name in mcp.idempotent and not changed),
        )  # fmt: skip
        Tool.of(made)
    except UsageError as error:
        mcp.say(f"A tool of the MCP server {server.name!r} is left out. {error.message}")
        return None
    return made


def _description(said: "Said") -> str:
    return clean(said.tool.description or said.tool.title or f"The tool {said.tool.name} of a server that does not describe it.")


def _caller(mcp: Mcp, found: _Found, said: "Said", *, acts: bool) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def call_mcp_tool(**arguments: Any) -> Any:
        from langchain_core.tools import ToolException

        from tools.mcp_session import ChangedError, call
        from tools.spec import OutcomeUnknown

        if found.down and time.monotonic() < found.looked + DOWN_SECONDS:
            raise ToolException(f"{found.down.message} Nothing was run.")
        try:
            return await call(found.server, said, arguments)
        except ChangedError:
            mcp.forget(found.server.name)
            raise
        except OutcomeUnknown as error:
            if acts:
                raise
            raise ToolException(f"{error}. It only reads, so nothing was changed.") from error

    return call_mcp_tool


def _change(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """In words; both sides come from outside, and are shortened."""
    keys = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    return "; ".join(f"{key} was {_short(before.get(key))} and is {_short(after.get(key))}" for key in keys)


def _short(value: Any) -> str:
    return shorten(clean(repr(value)), LONGEST).replace("\n", " ")
