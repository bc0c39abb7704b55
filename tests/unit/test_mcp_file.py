"""The file that INTERLOCK_MCP names."""

import json
from pathlib import Path
from typing import Any

import pytest

from memory.errors import UsageError
from tools.mcp_file import Server, read


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
