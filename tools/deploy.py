"""deploy_code: a version of a project goes to an environment.

With INTERLOCK_DEPLOY_COMMAND it is your command: a command line (`./deploy.sh {project_id} {version}`), or a JSON array
of arguments. No shell reads it, and its standard input is empty. In its arguments `{project_id}`, `{version}`,
`{environment}`, `{idempotency_key}` and `{action}` are replaced, each value inside its one argument; no value may begin
with `-`. The same values stand in DEPLOY_PROJECT_ID, DEPLOY_VERSION, DEPLOY_ENVIRONMENT, DEPLOY_IDEMPOTENCY_KEY and
DEPLOY_ACTION. Of our own environment it sees what `environment_for_processes` lets through, and the names in
INTERLOCK_DEPLOY_ENV (comma-separated).

    exit code 0               deployed; what it printed is the result
    any other                 not deployed; what it printed last tells why
    a signal (also 128 + n)   nobody knows, and so after 300 seconds, when its process group is ended

A command with `{action}` knows more than `deploy`: `check` asks whether the deploy with that key happened (0: yes,
3: no, any other: it cannot tell), `rollback` undoes it (its key is the undo's own). It is not asked while a process of
that deploy is still at work, which may outlive ours: then, as without `{action}`, a person settles what is unknown.

Without INTERLOCK_DEPLOY_COMMAND, a row in the release register `interlock.release` is the deploy: it commits together
with its outcome, and the way back deploys the version before.
"""

import asyncio
import contextlib
import os
import re
import shlex
import signal
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, Literal, Self

from langchain_core.tools import BaseTool, ToolException
from pydantic import AfterValidator, Field

from memory.errors import UsageError
from memory.json_text import read_json
from memory.text import clean
from tools.spec import Connection, OutcomeUnknown, environment_for_processes, tool

COMMAND, MORE_NAMES = "INTERLOCK_DEPLOY_COMMAND", "INTERLOCK_DEPLOY_ENV"
TIMEOUT = 300  # seconds
GRACE = 3  # seconds that an ended command has to clean up
LONGEST_OUTPUT = 8000  # characters of it that are kept
PLACEHOLDER = re.compile(r"\{(project_id|version|environment|idempotency_key|action)\}")
DID_NOT_HAPPEN = 3
SHELLS_WORD_FOR_A_SIGNAL = range(129, 129 + 64)

Action = Literal["deploy", "check", "rollback"]


def _no_option(text: str) -> str:
    if text.startswith("-"):
        raise ValueError("must not begin with '-'")
    return text


Word = Annotated[str, Field(min_length=1), AfterValidator(_no_option)]


def deploy_tools(environment: Mapping[str, str]) -> list[BaseTool]:
    command = environment.get(COMMAND, "").strip()
    return [_by_command(Command.read(command, environment)) if command else _by_register()]


# The release register


def _by_register() -> BaseTool:
    @tool(transactional=True, compensate=register_the_one_before, timeout=TIMEOUT)
    async def deploy_code(
        project_id: Word,
        version: Word,
        environment: Word = "production",
        *,
        connection: Connection,
        idempotency_key: str,
    ) -> str:
        """Deploy a version of a project to an environment."""
        return await _register(connection, project_id, version, environment, idempotency_key)

    return deploy_code


async def _register(db: Connection, project_id: str, version: str, environment: str, key: str) -> str:
    values = {"project": project_id, "version": version, "environment": environment, "key": key}
    await db.execute(ONE_AT_A_TIME, values)
    row = await (await db.execute(INSERT, values)).fetchone() or await (await db.execute(WITH_KEY, values)).fetchone()
    before = f"; before: {row['replaces']}" if row["replaces"] else ", the first"
    return f"Deployed {project_id} {row['version']} to {environment} (release {row['release_id']}{before})."


async def register_the_one_before(
    project_id: str, version: str, environment: str, connection: Connection, idempotency_key: str
) -> str:
    values = {"project": project_id, "environment": environment}
    await connection.execute(ONE_AT_A_TIME, values)
    now = await (await connection.execute(LATEST, values)).fetchone()
    if now is None or now["version"] != version:
        found = f"{now['version']}" if now else "nothing"
        raise ToolException(f"{environment} of {project_id} is at {found}, no longer at {version}: nothing was undone.")
    if now["replaces"] is None:
        raise ToolException(f"{version} is the first release of {project_id} in {environment}: there is no way back.")
    return await _register(connection, project_id, now["replaces"], environment, f"{idempotency_key}:rollback")


ONE_AT_A_TIME = """
SELECT pg_advisory_xact_lock(
    hashtextextended(concat_ws('/', 'interlock.release', %(project)s::text, %(environment)s::text), 0))
"""
LATEST = """
SELECT release_id, version, replaces FROM interlock.release
WHERE project_id = %(project)s AND environment = %(environment)s ORDER BY release_id DESC LIMIT 1
"""
INSERT = f"""
INSERT INTO interlock.release (project_id, environment, version, idempotency_key, replaces)
VALUES (%(project)s, %(environment)s, %(version)s, %(key)s, (SELECT version FROM ({LATEST}) AS latest))
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING release_id, version, replaces
"""  # noqa: S608 - constants
WITH_KEY = "SELECT release_id, version, replaces FROM interlock.release WHERE idempotency_key = %(key)s"


# The user's command


@dataclass(frozen=True, slots=True)
class Command:
    """`environment` is all that it sees, apart from the DEPLOY_ names."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    @classmethod
    def read(cls, text: str, environment: Mapping[str, str]) -> Self:
        """Raises UsageError for a command or a name that cannot be used."""
        names = [name for part in environment.get(MORE_NAMES, "").split(",") if (name := part.strip())]
        if ours := [name for name in names if name.startswith("INTERLOCK_")]:
            remedy = "The settings of interlock permit decisions, and stay with it."
            raise UsageError(f"{MORE_NAMES} cannot pass on {ours[0]!r}.", remedy=remedy, code="bad_setting")
        return cls(_arguments(text), environment_for_processes(names, environment))

    @property
    def knows_actions(self) -> bool:
        return any("{action}" in argument for argument in self.arguments)

    async def run(self, action: Action, idempotency_key: str, **words: str) -> tuple[int, str]:
        """Exit code and output. Raises OutcomeUnknown if a signal ended it, ToolException if it could not start."""
        values = {**words, "idempotency_key": idempotency_key, "action": action}
        arguments = [PLACEHOLDER.sub(lambda found: values[found[1]], argument) for argument in self.arguments]
        told = {f"DEPLOY_{name.upper()}": value for name, value in values.items()}
        code, output = await _run(arguments, {**self.environment, **told})
        by_signal = -code if code < 0 else code - 128 if code in SHELLS_WORD_FOR_A_SIGNAL else 0
        if by_signal:
            raise OutcomeUnknown(f"The deploy command was ended by signal {by_signal}.\n{output}".strip())
        return code, output

    async def act(self, action: Action, done: str, idempotency_key: str, **words: str) -> str:
        code, output = await self.run(action, idempotency_key, **words)
        if code:
            raise ToolException(f"The deploy command ended with exit code {code}.\n{output}".strip())
        return f"{done}\n{output}".strip()


def _by_command(command: Command) -> BaseTool:
    async def was_deployed(idempotency_key: str, project_id: str, version: str, environment: str) -> str | None:
        if (pid := await asyncio.to_thread(_still_at_it, idempotency_key)) is not None:
            raise ToolException(f"Process {pid} of that deploy is still at work.")
        words = {"project_id": project_id, "version": version, "environment": environment}
        code, output = await command.run("check", idempotency_key, **words)
        if code not in {0, DID_NOT_HAPPEN}:
            raise ToolException(f"The deploy command cannot tell (exit code {code}).\n{output}".strip())
        said = f"Deployed {project_id} {version} to {environment}, says the check of the deploy command.\n{output}"
        return said.strip() if code == 0 else None

    async def go_back(idempotency_key: str, project_id: str, version: str, environment: str) -> str:
        words = {"project_id": project_id, "version": version, "environment": environment}
        done = f"Took {project_id} {version} back from {environment}."
        return await command.act("rollback", done, idempotency_key, **words)

    async def deploy_code(project_id: Word, version: Word, environment: Word = "production", *, idempotency_key: str) -> str:
        """Deploy a version of a project to an environment."""
        words = {"project_id": project_id, "version": version, "environment": environment}
        done = f"Deployed {project_id} {version} to {environment}."
        return await command.act("deploy", done, idempotency_key, **words)

    knows = command.knows_actions
    return tool(deploy_code, timeout=TIMEOUT, check=was_deployed if knows else None, compensate=go_back if knows else None)


def _arguments(text: str) -> tuple[str, ...]:
    try:
        read: Any = read_json(text) if text.startswith("[") else shlex.split(text)
    except ValueError as error:
        remedy = "Write a command line, or a JSON array of texts."
        raise UsageError(f"{COMMAND} cannot be read: {error}.", remedy=remedy, code="bad_setting") from error
    if not read or not read[0] or not all(isinstance(argument, str) and "\0" not in argument for argument in read):
        wrong = f"{COMMAND} must be a command line or a JSON array of texts, not {text!r}."
        raise UsageError(wrong, code="bad_setting")
    return tuple(read)


async def _run(arguments: list[str], environment: Mapping[str, str]) -> tuple[int, str]:
    # Into a file: a pipe stays open as long as anything that the command left running holds it.
    with await asyncio.to_thread(tempfile.TemporaryFile) as output:
        # A start that is cancelled half-way would end the command alone, and not what that started.
        starting = asyncio.create_task(
            asyncio.create_subprocess_exec(
                *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=asyncio.subprocess.STDOUT,
                env=environment, start_new_session=True,
            )
        )  # fmt: skip
        try:
            code = await (await asyncio.shield(starting)).wait()
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise ToolException(f"The deploy command {arguments[0]!r} cannot be started: {why}.") from error
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                await _end(await starting)
            raise
        return code, await asyncio.to_thread(_last_of, output)


def _still_at_it(idempotency_key: str) -> int | None:
    """A process that a deploy with this key left behind: it leads a session of its own, so it outlives a driver that was killed.

    Where /proc does not tell, no driver is ever taken for certainly dead, and a check that says no is not believed (memory/leases.py).
    """
    marks = {f"DEPLOY_IDEMPOTENCY_KEY={idempotency_key}".encode(), b"DEPLOY_ACTION=deploy"}
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if marks <= set(entry.read_bytes().split(b"\0")):
                return int(entry.parent.name)
    return None


async def _end(process: asyncio.subprocess.Process) -> None:
    """The whole group, which it leads, politely first."""
    try:
        with contextlib.suppress(ProcessLookupError, TimeoutError):
            os.killpg(process.pid, signal.SIGTERM)
            await asyncio.wait_for(process.wait(), GRACE)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):  # so that nothing of it is left to whoever uses this loop next
            await asyncio.wait_for(process.wait(), GRACE)


def _last_of(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    start = output.seek(max(0, size - 4 * LONGEST_OUTPUT))
    text = clean(output.read().decode(errors="replace")).strip()
    whole = start == 0 and len(text) <= LONGEST_OUTPUT
    return text if whole else f"[… earlier output left out …]\n{text[-LONGEST_OUTPUT:]}"
