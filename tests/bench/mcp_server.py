"""An MCP server written with the official SDK, as a process: `python mcp_server.py` speaks stdio, `mcp_server.py PORT` HTTP.

What it does is seen in the world of `bench.world` that the header X-World, or the environment, names. A line in the file
`words` of that world changes what it says of its tools `note` and `read_notes`.
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from bench.world import World
from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations


class Notes(FastMCP):
    async def list_tools(self) -> Any:
        said = list(await super().list_tools())
        for words in world().lines("words"):
            said = [tool.model_copy(update={"description": words}) if tool.name in {"note", "read_notes"} else tool for tool in said]
        return said


server = Notes("notes", host="127.0.0.1", port=int(sys.argv[1]) if len(sys.argv) > 1 else 0, log_level="ERROR")


def world() -> World:
    request: Any = server.get_context().request_context.request
    return World(Path(request.headers["x-world"])) if request is not None else World.here()


@server.tool()
def note(text: str, tags: list[str] | None = None) -> str:
    """Write a note."""
    world().append("note", text)
    return f"noted: {text}"


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def read_notes() -> str:
    """Read all notes."""
    world().append("read_notes")
    return ", ".join(world().lines("note")) or "none"


@server.tool(annotations=ToolAnnotations(readOnlyHint=True, destructiveHint=False))
def fail(text: str) -> str:
    """Fail with this text."""
    raise ValueError(text)


@server.tool(annotations=ToolAnnotations(idempotentHint=True))
def die(text: str) -> str:
    """Act, and die before the answer."""
    world().append("die", text)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never said"


@server.tool()
def sleep(seconds: float) -> str:
    """Act, and answer late."""
    world().append("sleep", str(seconds))
    time.sleep(seconds)
    return "awake"


if __name__ == "__main__":
    server.run("streamable-http" if len(sys.argv) > 1 else "stdio")
