"""An MCP server written with the official SDK, as a process: `python mcp_server.py` speaks stdio, `mcp_server.py PORT` HTTP.

What it does is seen in the world of `bench.world`. `MCP_WORDS` changes what it says of its tool `note`.
"""

import os
import signal
import sys
import time

from bench.world import World
from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

server = FastMCP("notes", host="127.0.0.1", port=int(sys.argv[1]) if len(sys.argv) > 1 else 0, log_level="ERROR")


@server.tool(description=os.environ.get("MCP_WORDS", "Write a note."))
def note(text: str, tags: list[str] | None = None) -> str:
    World.here().append("note", text)
    return f"noted: {text}"


@server.tool(annotations=ToolAnnotations(readOnlyHint=True), description=os.environ.get("MCP_READS", "Read all notes."))
def read_notes() -> str:
    World.here().append("read_notes")
    return ", ".join(World.here().lines("note")) or "none"


@server.tool(annotations=ToolAnnotations(readOnlyHint=True, destructiveHint=False))
def fail(text: str) -> str:
    """Fail with this text."""
    raise ValueError(text)


@server.tool(annotations=ToolAnnotations(idempotentHint=True))
def die(text: str) -> str:
    """Act, and die before the answer."""
    World.here().append("die", text)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never said"


@server.tool()
def sleep(seconds: float) -> str:
    """Act, and answer late."""
    World.here().append("sleep", str(seconds))
    time.sleep(seconds)
    return "awake"


if __name__ == "__main__":
    if os.environ.get("MCP_REFUSE") and World.here().lines("refuse"):
        print("the disk is full", file=sys.stderr)
        raise SystemExit(3)
    server.run("streamable-http" if len(sys.argv) > 1 else "stdio")
