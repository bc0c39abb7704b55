"""Settings: the INTERLOCK_ names of the environment and of a `.env` file in the current folder.

The environment wins over the file. Reading settings imports nothing heavy, because every command does it.
"""

import difflib
import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import platformdirs
from dotenv import dotenv_values
from dotenv.parser import parse_stream

from graph.withheld import WITHHELD
from memory.errors import UsageError

PREFIX = "INTERLOCK_"


class Known(NamedTuple):
    """A setting in words: what holds where it is not set, and what it means. A number is what holds, not only how it is told."""

    default: str
    meaning: str


KNOWN: Mapping[str, Known] = {
    "INTERLOCK_ANALYTICS_URL": Known("a small invented shop", "what `read_database` reads; an account that may only read"),
    "INTERLOCK_DATABASE_DIRECT_URL": Known(
        "`INTERLOCK_DATABASE_URL`", "the same database past its pooler, so that workers hear of work at once"
    ),
    "INTERLOCK_DATABASE_URL": Known("an embedded PostgreSQL", "any PostgreSQL 14 or newer; several servers as `host1,host2`"),
    "INTERLOCK_DEPLOY_COMMAND": Known("the release register", "the command of `deploy_code`: an argument list"),
    "INTERLOCK_DEPLOY_ENV": Known("", "more names of the environment that the command may see"),
    "INTERLOCK_EMBEDDINGS": Known(
        "a local embedder, where it is installed", "`provider:model`, such as `openai:NAME`; or `off`: no memory"
    ),
    "INTERLOCK_GITHUB_REPO": Known(
        "a table of ours", "`owner/name`: `create_ticket` opens issues there, with `GITHUB_TOKEN` (`GITHUB_API_URL` for an own server)"
    ),
    "INTERLOCK_HOME": Known("your user data folder", "where the embedded PostgreSQL and the memory live"),
    "INTERLOCK_LEASE_SECONDS": Known("30", "how long a driver that died on another machine keeps others out"),
    "INTERLOCK_MCP": Known("", "a file of MCP servers, in the `mcpServers` form"),
    "INTERLOCK_MODEL": Known("the practice model", "`openai:NAME`"),
    "INTERLOCK_OPERATOR_TOKEN": Known("", "the token of the person who decides"),
    "INTERLOCK_POLICY": Known("ask at tier 1 of anyone", "a policy file: what runs at once, what is asked of whom, what is forbidden"),
    "INTERLOCK_QDRANT_API_KEY": Known("", "of that server"),
    "INTERLOCK_QDRANT_URL": Known("a folder under `INTERLOCK_HOME`", "a Qdrant server for the memory"),
    "INTERLOCK_REJECTION_LIMIT": Known("3", "how often people are asked about the same action, before the thread stops (exit code 8)"),
    "INTERLOCK_STEP_LIMIT": Known("50", "turns of the model, anew with each command that drives a thread"),
    "INTERLOCK_TENANT": Known("default", "kept with the thread; memories of one tenant are never shown to another"),
    "INTERLOCK_TOOLS": Known("", "more tools: `module:ATTRIBUTE`, comma-separated"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """`database_url` is None where the embedded server is meant; `lease_seconds` are seconds, `step_limit` turns of the model.

    `database_direct_url` is a way to the same database that passes no pooler. `rejection_limit` is how often people are asked about the
    same action before the thread stops.
    """

    home: Path
    database_url: str | None = None
    database_direct_url: str | None = None
    analytics_url: str | None = None
    model: str | None = None
    policy: Path | None = None
    openai_api_key: str | None = None
    openai_base_url: str | None = None
    tools: tuple[str, ...] = ()
    mcp: Path | None = None
    deploy_command: str | None = None
    embeddings: str | None = None
    qdrant_url: str | None = None
    qdrant_api_key: str | None = None
    tenant: str = KNOWN["INTERLOCK_TENANT"].default
    operator_token: str | None = None
    lease_seconds: float = float(KNOWN["INTERLOCK_LEASE_SECONDS"].default)
    step_limit: int = int(KNOWN["INTERLOCK_STEP_LIMIT"].default)
    rejection_limit: int = int(KNOWN["INTERLOCK_REJECTION_LIMIT"].default)


def read_environment(folder: Path | None = None) -> dict[str, str]:
    """The names that count here, from `.env` in `folder` (default: the current one), below those of the environment. Raises UsageError."""
    return {**_of_file((folder or Path.cwd()) / ".env"), **WITHHELD, **os.environ}


def _of_file(file: Path) -> dict[str, str]:
    """Raises UsageError where anything in it cannot be read or stands there twice: what was left out might be the policy."""
    try:
        text = file.read_text(encoding="utf-8-sig") if file.exists() else ""
    except OSError as error:
        raise _bad_file(file, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _bad_file(file, "is no UTF-8 text") from None
    if "\0" in text:
        raise _bad_file(file, "is no text")
    seen: set[str] = set()
    for line in parse_stream(io.StringIO(text)):
        written = line.original.string
        number = line.original.line + written[: len(written) - len(written.lstrip())].count("\n")
        if line.error or (line.key is not None and line.value is None):
            raise _bad_file(file, f"cannot be read from line {number} on", "Write NAME=VALUE; a value with spaces or # in quotes.")
        if line.key in seen:
            raise _bad_file(file, f"sets {line.key!r} a second time, in line {number}", "Set each name once.")
        seen |= {line.key} if line.key else set()
    return {name: value or "" for name, value in dotenv_values(stream=io.StringIO(text)).items()}


def _bad_file(file: Path, what: str, remedy: str = "") -> UsageError:
    return UsageError(f"{str(file)!r} {what}.", remedy=remedy, code="bad_env_file")


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Raises UsageError for a name that does not exist, with the nearest one, and for a value that cannot be read."""
    env = read_environment() if environment is None else environment
    _refuse_unknown(env)
    value = {name: text.strip() for name in [*KNOWN, "OPENAI_API_KEY", "OPENAI_BASE_URL"] if (text := env.get(name, "")).strip()}
    return Settings(
        home=Path(value.get("INTERLOCK_HOME") or platformdirs.user_data_dir("interlock", appauthor=False)).expanduser().absolute(),
        database_url=value.get("INTERLOCK_DATABASE_URL"),
        database_direct_url=value.get("INTERLOCK_DATABASE_DIRECT_URL"),
        analytics_url=value.get("INTERLOCK_ANALYTICS_URL"),
        model=value.get("INTERLOCK_MODEL"),
        policy=Path(value["INTERLOCK_POLICY"]).expanduser() if "INTERLOCK_POLICY" in value else None,
        openai_api_key=value.get("OPENAI_API_KEY"),
        openai_base_url=value.get("OPENAI_BASE_URL"),
        tools=tuple(name.strip() for name in value.get("INTERLOCK_TOOLS", "").split(",") if name.strip()),
        mcp=Path(value["INTERLOCK_MCP"]).expanduser() if "INTERLOCK_MCP" in value else None,
        deploy_command=value.get("INTERLOCK_DEPLOY_COMMAND"),
        embeddings=value.get("INTERLOCK_EMBEDDINGS"),
        qdrant_url=value.get("INTERLOCK_QDRANT_URL"),
        qdrant_api_key=value.get("INTERLOCK_QDRANT_API_KEY"),
        tenant=value.get("INTERLOCK_TENANT", KNOWN["INTERLOCK_TENANT"].default),
        operator_token=value.get("INTERLOCK_OPERATOR_TOKEN"),
        lease_seconds=_number(value, "INTERLOCK_LEASE_SECONDS", least=1),
        step_limit=int(_number(value, "INTERLOCK_STEP_LIMIT", least=1)),
        rejection_limit=int(_number(value, "INTERLOCK_REJECTION_LIMIT", least=1)),
    )


def _refuse_unknown(env: Mapping[str, str]) -> None:
    for name in sorted(env):
        if name.startswith(PREFIX) and name not in KNOWN:
            near = difflib.get_close_matches(name, sorted(KNOWN), n=1, cutoff=0.0)
            raise UsageError(f"There is no setting {name!r}.", remedy=f"Did you mean {near[0]}?", code="unknown_setting")


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds_of(text: str) -> float:
    """Of `45s`, `30m`, `24h`, `2d`, `1h30m`; raises UsageError."""
    pieces = re.findall(r"(\d+)([smhd])", text)
    if not pieces or "".join(number + unit for number, unit in pieces) != text or not (total := sum(int(n) * UNITS[u] for n, u in pieces)):
        raise UsageError(f"{text!r} is no duration.", remedy="Write 45s, 30m, 24h, 2d, or 1h30m.", code="usage")
    return float(total)


def _number(value: Mapping[str, str], name: str, *, least: float) -> float:
    text = value.get(name, KNOWN[name].default)
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not least <= number <= 1e9:
        raise UsageError(f"{name} must be a number of at least {least:g}, not {text!r}.", code="bad_setting")
    return number
