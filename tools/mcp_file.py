"""The file that INTERLOCK_MCP names: servers in the `mcpServers` form that other programs read too. Pure but for reading it.

    {"mcpServers": {"notes": {"command": "python", "args": ["notes.py"]},
                    "shop":  {"url": "https://shop.example/mcp", "headers": {"Authorization": "Bearer ${SHOP_TOKEN}"}}}}
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memory.errors import UsageError
from memory.json_text import read_json

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
TRANSPORTS = {
    "stdio": "stdio", "sse": "sse", "http": "http", "streamable-http": "http", "streamable_http": "http", "streamableHttp": "http",
}  # fmt: skip
SECONDS = 60.0
KEYS = {"command", "args", "env", "cwd", "url", "headers", "type", "transport", "timeout", "prefix", "disabled"}


@dataclass(frozen=True, slots=True)
class Server:
    """`timeout` is seconds for the answer to a call; `prefix` stands before the names of its tools.

    `place` says where it is, without anything secret. `unread` are keys of other programs that are not followed here.
    """

    name: str
    transport: str
    place: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = SECONDS
    prefix: str = ""
    unread: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        return f"mcp:{self.name} ({self.place})"


def read(path: Path, environment: Mapping[str, str]) -> list[Server]:
    """Raises UsageError `bad_mcp` that names the file, the server and the key."""
    try:
        document = read_json(path.read_bytes())
    except OSError as error:
        raise _wrong(path, f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise _wrong(path, f"is no JSON: {error}") from None
    servers = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise _wrong(path, "holds no servers", 'Write {"mcpServers": {"name": {"command": …} or {"url": …}}}.')
    made = [_Reader(path, name, values, environment).server() for name, values in servers.items()]
    return [one for one in made if one is not None]


class _Reader:
    def __init__(self, path: Path, name: str, values: Any, environment: Mapping[str, str]) -> None:
        self.path, self.name, self.values, self.environment = path, name, values, environment

    def server(self) -> Server | None:
        if not NAME.fullmatch(self.name):
            raise self._wrong("has a name that cannot be used", "Letters, digits, and _ . - between them.")
        if not isinstance(self.values, dict):
            raise self._wrong("is no object")
        if self.values.get("disabled") is True:
            return None
        transport, unread = self._transport(), tuple(sorted(self.values.keys() - KEYS))
        timeout = self.values.get("timeout", SECONDS)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= 86400:
            raise self._wrong(f"says timeout: {timeout!r}", "It is a number of seconds, at most a day.")
        common: dict[str, Any] = {
            "name": self.name, "transport": transport, "timeout": float(timeout), "prefix": self._text("prefix"), "unread": unread,
        }  # fmt: skip
        if transport == "stdio":
            command = self._text("command")
            return Server(**common, place=Path(command).name, command=command, args=self._args(), env=self._texts("env"),
                          cwd=self._text("cwd") or None)  # fmt: skip
        url = self._text("url")
        return Server(**common, place=self._place(url), url=url, headers=self._texts("headers"))

    def _transport(self) -> str:
        named = self.values.get("type", self.values.get("transport"))
        if named is not None and named not in TRANSPORTS:
            raise self._wrong(f"says type: {named!r}", f"There are: {', '.join(sorted(set(TRANSPORTS.values())))}.")
        has = [key for key in ("command", "url") if self.values.get(key)]
        if len(has) != 1:
            raise self._wrong("needs either a command or a url")
        transport = TRANSPORTS[named] if named else {"command": "stdio", "url": "http"}[has[0]]
        if (transport == "stdio") != (has[0] == "command"):
            raise self._wrong(f"is of type {named!r} and has a {has[0]}")
        return transport

    def _place(self, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise self._wrong("has a url that cannot be used", "Write http://host/path or https://host/path.")
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"

    def _text(self, key: str) -> str:
        value = self.values.get(key, "")
        if not isinstance(value, str):
            raise self._wrong(f"says {key}: {value!r}", f"{key} is a text.")
        return self._filled(value, key)

    def _args(self) -> tuple[str, ...]:
        value = self.values.get("args", [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._wrong("has args that are no list of texts")
        return tuple(self._filled(one, "args") for one in value)

    def _texts(self, key: str) -> dict[str, str]:
        value = self.values.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            raise self._wrong(f"has {key} that are no object of texts")
        if key == "headers" and len({name.lower() for name in value}) < len(value):
            raise self._wrong("has a header twice", "Upper and lower case are one to HTTP.")
        return {name: self._filled(one, key) for name, one in value.items()}

    def _filled(self, text: str, key: str) -> str:
        """`${NAME}` and `${NAME:-default}` come from the environment, so that no secret need stand in the file."""

        def value(found: re.Match[str]) -> str:
            given = self.environment.get(found[1]) or found[2]
            if given is None:
                raise self._wrong(f"asks in {key} for ${{{found[1]}}}, which is not set", f"Set {found[1]}.")
            return given

        return VARIABLE.sub(value, text)

    def _wrong(self, what: str, remedy: str = "") -> UsageError:
        return _wrong(self.path, f"the server {self.name!r} {what}", remedy)


def _wrong(path: Path, what: str, remedy: str = "") -> UsageError:
    return UsageError(f"INTERLOCK_MCP: {path}: {what}.", remedy=remedy or "docs/mcp.md has an example.", code="bad_mcp")
