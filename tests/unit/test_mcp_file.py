"""The file that INTERLOCK_MCP names, and when its servers are asked."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from bench.silent import Silent
from langchain_core.tools import ToolException

from memory.errors import UsageError
from memory.tool_pins import Pin
from tools.mcp import Mcp, mcp_tools
from tools.mcp_file import Server, read
from tools.mcp_session import CONNECT_SECONDS


def read_one(folder: Path, entry: Any, environment: dict[str, str] | None = None) -> Server:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"notes": entry}}))
    [server] = read(file, environment or {})
    return server


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("x", "no object"),
        ({}, "either a command or a url"),
        ({"command": "x", "url": "http://x"}, "either a command or a url"),
        ({"command": "x", "args": "y"}, "args"),
        ({"url": "ftp://x"}, "url"),
        ({"command": "${NOT_SET}"}, "NOT_SET"),
        ({"command": "x", "type": "carrier-pigeon"}, "carrier-pigeon"),
        ({"command": "x", "type": "http"}, "has a command"),
        ({"command": "x", "timeout": "5"}, "timeout"),
        ({"command": "x", "env": {"A": 1}}, "env"),
    ],
)
def test_a_mistake_names_the_server_and_the_key(tmp_path: Path, entry: Any, said: str) -> None:
    with pytest.raises(UsageError, match="'notes'") as told:
        read_one(tmp_path, entry)
    assert said in told.value.message and told.value.code == "bad_mcp"


def test_values_come_from_the_environment_and_are_not_shown(tmp_path: Path) -> None:
    entry = {"url": "https://user:${KEY}@shop.example:8443/mcp?k=${KEY}", "headers": {"Authorization": "Bearer ${KEY}", "X": "${NO:-none}"}}
    server = read_one(tmp_path, entry, {"KEY": "SENTINEL"})
    assert server.headers == {"Authorization": "Bearer SENTINEL", "X": "none"}
    assert server.origin == "mcp:notes (https://shop.example:8443/mcp)" and "SENTINEL" not in repr(server)


def test_a_server_that_is_off_is_none(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"notes": {"command": "x", "disabled": true}}}')
    assert read(file, {}) == []


class Pins:
    def __init__(self, known: list[Pin]) -> None:
        self.known = known

    async def all(self) -> list[Pin]:
        return self.known

    async def pin(self, new: Any) -> None:
        raise AssertionError(new)

    async def accept(self, changed: Pin, by: Any) -> None:
        raise AssertionError(changed)


async def test_servers_are_asked_at_the_same_time_and_each_one_once(tmp_path: Path) -> None:
    """Neither gets an answer before both were asked, and whoever comes later waits for the same look."""
    with Silent(let_go_at=2) as silent:
        entries = {f"s{n}": {"url": f"http://127.0.0.1:{silent.port}/{n}"} for n in range(2)}
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
        pins = Pins([Pin(name, "note", "0", {"name": "note", "inputSchema": {}}) for name in entries])
        told: list[str] = []
        mcp = Mcp(tmp_path / "mcp.json", {}, pins=pins, say=told.append)
        async with asyncio.timeout(CONNECT_SECONDS - 5):
            await asyncio.gather(mcp.ask(), mcp.ask(["s1"]), mcp.ask())
        await mcp.ask()
        assert silent.count == 2 and len(told) == 2
        with pytest.raises(ToolException, match="Nothing was run"):  # it was just found silent: a call doesn't wait for it again
            await mcp_tools(mcp)[0].ainvoke({})
        assert silent.count == 2
