"""Talks to MCP servers, a session at a time: lists what one has, and makes one call. Loaded only where INTERLOCK_MCP is set.

How far a call came decides how it ended: before it was sent nothing happened; afterwards only the server's answer says what did.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO, Any, cast

from langchain_core.tools import ToolException
from langchain_mcp_adapters.sessions import create_session
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from memory.canonical import problem_of, sha256
from memory.errors import UnavailableError
from memory.text import clean, shorten
from tools.mcp_file import Server
from tools.spec import OutcomeUnknown, environment_for_processes

CONNECT_SECONDS = 30.0
NOT_BEGUN = {types.PARSE_ERROR, types.INVALID_REQUEST, types.METHOD_NOT_FOUND, types.INVALID_PARAMS, types.URL_ELICITATION_REQUIRED}
MOST_PAGES = 100
SAID = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


class ChangedError(ToolException):
    """What the server says of the tool is not what is known here; nothing was run."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a server says of one of its tools; `sha256` is taken over it. `problem`: why that cannot be kept, and the tool not used."""

    tool: types.Tool
    definition: Mapping[str, Any]
    sha256: str
    problem: str = ""

    @classmethod
    def of(cls, tool: types.Tool) -> "Said":
        dumped = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        definition = {key: dumped[key] for key in SAID if key in dumped}
        problem = problem_of(definition)
        return cls(tool, definition, "" if problem else sha256(definition), problem or "")


async def listed(server: Server) -> list[Said]:
    """Raises UnavailableError where the server does not answer."""
    with tempfile.TemporaryFile() as printed:
        try:
            async with _session(server, printed) as (_, tools):
                pass
        except Exception as error:
            raise UnavailableError(
                f"The MCP server {server.name!r} ({server.place}) does not answer: {_line(error)}{_last_words(printed)}.",
                remedy='Start it, mend its entry in the file of INTERLOCK_MCP, or say "disabled": true there.',
                code="mcp_unavailable",
            ) from error
        return [Said.of(tool) for tool in tools]


async def call(server: Server, known: Said, arguments: Mapping[str, Any]) -> Any:
    """The answer's content. ToolException: it did not happen, or the server says that it failed. OutcomeUnknown: nobody knows."""
    sent, answer = False, None
    with tempfile.TemporaryFile() as printed:
        try:
            async with _session(server, printed) as (session, tools):
                _refuse_if_changed(known, tools)
                sent = True
                async with asyncio.timeout(server.timeout):
                    answer = await session.call_tool(known.tool.name, dict(arguments))
        except ToolException:
            raise
        except Exception as error:
            if answer is None:
                raise _ended(server, error, sent, _last_words(printed)) from error
    if answer is None:
        raise OutcomeUnknown(f"The MCP server {server.name!r} ended the session without an answer")
    if answer.isError:
        raise ToolException(_text(answer) or "The server says that it failed, and not why.")
    return _text(answer)


@asynccontextmanager
async def _session(server: Server, printed: IO[bytes]) -> AsyncIterator[tuple[ClientSession, list[types.Tool]]]:
    """A session that has begun, and the tools of the server. What a process of its own prints goes to `printed`, not to a terminal."""
    async with asyncio.timeout(CONNECT_SECONDS) as limit, _connected(server, printed) as session:
        await session.initialize()
        tools: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await session.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.nextCursor
            if not cursor:
                break
        limit.reschedule(None)
        yield session, tools


@asynccontextmanager
async def _connected(server: Server, printed: IO[bytes]) -> AsyncIterator[ClientSession]:
    if server.transport == "stdio":
        environment = {**environment_for_processes(), **server.env}
        parameters = StdioServerParameters(command=server.command, args=list(server.args), env=environment, cwd=server.cwd)
        async with stdio_client(parameters, errlog=cast("Any", printed)) as streams, ClientSession(*streams) as session:
            yield session
    else:
        where: Any = {"transport": server.transport, "url": server.url, "headers": dict(server.headers)}
        async with create_session(where) as session:
            yield session


def _refuse_if_changed(known: Said, tools: list[types.Tool]) -> None:
    """Between the look at its tools and this call, or while a process lived long."""
    now = next((Said.of(tool) for tool in tools if tool.name == known.tool.name), None)
    if now is None:
        raise ChangedError(f"The server has no tool {known.tool.name!r} any more. Nothing was run.")
    if now.sha256 != known.sha256:
        raise ChangedError(f"The server changed its tool {known.tool.name!r} since it was looked at. Nothing was run.")


def _ended(server: Server, error: Exception, sent: bool, words: str) -> Exception:
    cause = _innermost(error)
    if not sent:
        return ToolException(f"The MCP server {server.name!r} does not answer: {_line(cause)}{words}. Nothing was run.")
    if isinstance(cause, McpError) and cause.error.code in NOT_BEGUN:
        return ToolException(f"The MCP server {server.name!r} refused the call: {_line(cause)}")
    if isinstance(cause, TimeoutError):
        return OutcomeUnknown(f"the MCP server {server.name!r} gave no answer within {server.timeout:g} s")
    return OutcomeUnknown(f"the MCP server {server.name!r} gave no answer: {_line(cause)}{words}")


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _line(error: BaseException) -> str:
    inner = _innermost(error)
    return shorten(clean(" ".join(str(inner).split()) or type(inner).__name__), 300).rstrip(".")


def _last_words(printed: IO[bytes]) -> str:
    """The last line that the server's process printed: why it ended, most often."""
    printed.seek(max(0, printed.seek(0, 2) - 2000))
    lines = [line for line in printed.read().decode(errors="replace").splitlines() if line.strip()]
    return f"; it printed {shorten(clean(lines[-1].strip()), 200)!r}" if lines else ""


def _text(answer: types.CallToolResult) -> str | list[Any]:
    """Texts as they are; pictures and other parts by their JSON."""
    parts: list[Any] = [
        part.text if isinstance(part, types.TextContent) else part.model_dump(mode="json", exclude_none=True) for part in answer.content
    ]
    if not parts and answer.structuredContent is not None:
        return [answer.structuredContent]
    return "\n".join(parts) if all(isinstance(part, str) for part in parts) else parts
