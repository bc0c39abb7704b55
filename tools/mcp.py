"""The tools of MCP servers, as ours. Annotations are hints, and hints permit nothing: what is believed of them, the policy says.

Each tool is pinned when it is first used. A server that changes one later is shown with the change, and every call of it
is asked about until a person accepts it (`interlock tools --accept NAME`).
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
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


@dataclass
class Mcp:
    """What the composition root gives. `pins` opens the store, None: nothing is compared. `say` takes what a person should know.

    `on_change` is called where a server is seen to have changed in the middle: what is known of its tools is to be read anew.
    """

    file: Path
    read_only: Collection[str] = ()
    idempotent: Collection[str] = ()
    pins: Callable[[], AbstractAsyncContextManager[ToolPins]] | None = None
    say: Callable[[str], None] = lambda _text: None
    on_change: Callable[[], None] = lambda: None


@dataclass
class _Found:
    """Of one server: what it says now, or what it said when its tools were pinned and why it does not answer."""

    server: Server
    said: "list[Said]"
    down: InterlockError | None = None
    pinned: Mapping[str, Pin] = field(default_factory=dict)


def mcp_tools(environment: Mapping[str, str], mcp: Mcp | None) -> list[BaseTool]:
    """Raises UsageError for the file, and UnavailableError where a server was never seen and does not answer."""
    if mcp is None:
        return []
    servers = read(mcp.file, environment)
    _refuse_if_not_installed(servers)
    found = _in_a_thread(lambda: _look(servers, mcp)) if servers else []
    made = [_made(mcp, one, said) for one in found for said in one.said]
    return [tool for tool in made if tool is not None]


async def examined(file: Path, environment: Mapping[str, str]) -> tuple[str, str]:
    """In words: the servers with how many tools each has, and the keys of other programs that are not followed. Raises as `mcp_tools`."""
    servers = read(file, environment)
    _refuse_if_not_installed(servers)
    found = await _look(servers, Mcp(file))
    told = ", ".join(f"{one.server.origin}: {len(one.said)} tools" for one in found)
    unread = "; ".join(f"{', '.join(one.unread)} of {one.name}" for one in servers if one.unread)
    return told or f"{file} names no server that is on", unread


def _refuse_if_not_installed(servers: list[Server]) -> None:
    if servers and not _is_installed():
        remedy = "python -m pip install 'interlock-agent[mcp]'"
        raise UsageError("INTERLOCK_MCP is set, and the packages for it are not installed.", remedy=remedy, code="missing_extra")


def _is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("mcp") is not None and find_spec("langchain_mcp_adapters") is not None


def _in_a_thread(work: Callable[[], Coroutine[Any, Any, list[_Found]]]) -> list[_Found]:
    """Tools are loaded by plain code, which a running loop may have called: so the servers are asked in a loop of their own."""
    result: list[list[_Found]] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            result.append(asyncio.run(work()))
        except BaseException as error:  # noqa: BLE001 - raised again below
            failure.append(error)

    thread = threading.Thread(target=body, daemon=True, name="mcp")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]


async def _look(servers: list[Server], mcp: Mcp) -> list[_Found]:
    from tools.mcp_session import listed

    answers = await asyncio.gather(*(listed(server) for server in servers), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, UnavailableError):
            raise answer
    said = [one if isinstance(one, list) else [] for one in answers]
    down = [one if isinstance(one, UnavailableError) else None for one in answers]
    found = [_Found(*one) for one in zip(servers, said, down, strict=True)]
    if mcp.pins is None:
        if failed := next((one.down for one in found if one.down), None):
            raise failed
        return found
    async with mcp.pins() as pins:
        return await _compared(found, mcp, pins)


async def _compared(found: list[_Found], mcp: Mcp, pins: ToolPins) -> list[_Found]:
    known = {(pin.server, pin.tool): pin for pin in await pins.all()}
    for one in found:
        one.pinned = {tool: pin for (server, tool), pin in known.items() if server == one.server.name}
        if one.down is not None:
            if not one.pinned:
                raise one.down
            one.said = [_as_pinned(pin) for pin in one.pinned.values()]
            mcp.say(f"{one.down.message} Its tools are known from before, and cannot be called now.")
    new = [_pin(one.server, said) for one in found for said in one.said if said.tool.name not in one.pinned and not said.problem]
    if new:
        await pins.pin(new)
    return found


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
        coroutine=_caller(mcp, server, said, acts=not believed),
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


def _caller(mcp: Mcp, server: Server, said: "Said", *, acts: bool) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def call_mcp_tool(**arguments: Any) -> Any:
        from langchain_core.tools import ToolException

        from tools.mcp_session import ChangedError, call
        from tools.spec import OutcomeUnknown

        try:
            return await call(server, said, arguments)
        except ChangedError:
            mcp.on_change()
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
