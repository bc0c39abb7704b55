"""deploy_code: by the user's command, judged by what real processes did, and by the register, judged by its rows."""

import asyncio
import json
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from memory.errors import UsageError
from tools import deploy, table
from tools.calling import Failed, Outcome, Returned, Unknown, call, check, compensate
from tools.deploy import deploy_tools
from tools.spec import InvalidArguments, Tool, tool

ARGS = {"project_id": "shop", "version": "1.4.2"}

# Writes down what it was given, and then does what a file tells it to do.
COMMAND = """\
import json, os, sys, time
from pathlib import Path
folder = Path(__file__).parent
given = {"arguments": sys.argv[1:], "environment": dict(os.environ), "stdin": sys.stdin.read(), "group": os.getpgrp()}
with open(folder / "calls", "a") as file:
    print(json.dumps(given), file=file)
exec((folder / "then").read_text() if (folder / "then").exists() else "")
"""


class Deploying:
    """The user's command in a folder, and the tool that runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = f"key-{uuid4()}"  # its own: a check asks whether any process on this machine is at work for it
        (folder / "deploy.py").write_text(COMMAND)

    def then(self, code: str) -> None:
        (self.folder / "then").write_text(code)

    def tool(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Tool:
        command = json.dumps([sys.executable, str(self.folder / "deploy.py"), *arguments])
        known = {**os.environ, **(environment or {}), deploy.COMMAND: command}
        [base] = deploy_tools(known)
        return Tool.of(base)

    async def ended(self, one: Tool, **args: str) -> Outcome:
        return await call(one, one.validate({**ARGS, **args}), idempotency_key=self.key)

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]


@pytest.fixture
def deploying(tmp_path: Path) -> Deploying:
    return Deploying(tmp_path)


def test_the_tool_looks_the_same_with_and_without_a_command_but_an_approval_holds_for_one_of_them() -> None:
    register, command = (table.load([], environment).get("deploy_code") for environment in ({}, {deploy.COMMAND: "true"}))
    assert register and command
    assert register.parameters == command.parameters
    assert register.schema_sha256 != command.schema_sha256
    assert list(register.parameters["properties"]) == ["project_id", "version", "environment"]
    assert register.parameters["required"] == ["project_id", "version"]
    assert register.facts.is_critical and command.facts.is_critical
    assert register.facts.transactional and register.facts.compensate
    assert not command.facts.transactional and not command.facts.check and not command.facts.compensate
    assert command.validate(ARGS) == {**ARGS, "environment": "production"}


# The user's command


async def test_the_command_is_given_the_values(deploying: Deploying) -> None:
    one = deploying.tool("{project_id}", "--version={version}@{environment}", "{idempotency_key}", "{action}{}", "{name} {")
    deploying.then("print('released\\x00', 7)")
    assert await deploying.ended(one, environment="two words") == Returned("Deployed shop 1.4.2 to two words.\nreleased\ufffd 7")
    [seen] = deploying.calls
    assert seen["arguments"] == ["shop", "--version=1.4.2@two words", deploying.key, "deploy{}", "{name} {"]
    assert seen["stdin"] == ""
    assert {name: value for name, value in seen["environment"].items() if name.startswith("DEPLOY_")} == {
        "DEPLOY_PROJECT_ID": "shop",
        "DEPLOY_VERSION": "1.4.2",
        "DEPLOY_ENVIRONMENT": "two words",
        "DEPLOY_IDEMPOTENCY_KEY": deploying.key,
        "DEPLOY_ACTION": "deploy",
    }


@pytest.mark.parametrize("value", ["$(touch x); `id`", "{version}", "a b 'c\"", "日本語 😀", "new\nline", "x" * 5000])
async def test_a_value_stays_one_argument(deploying: Deploying, value: str) -> None:
    assert isinstance(await deploying.ended(deploying.tool("{project_id}", "last"), project_id=value), Returned)
    assert deploying.calls[0]["arguments"] == [value, "last"]


@pytest.mark.parametrize("value", ["--force", "-", "", "a\0b"])
def test_a_value_cannot_become_an_option(deploying: Deploying, value: str) -> None:
    for name in ("project_id", "version", "environment"):
        with pytest.raises(InvalidArguments, match=r"project_id|version|environment"):
            deploying.tool().validate({**ARGS, name: value})


async def test_the_environment_is_an_allow_list(deploying: Deploying) -> None:
    secrets = {"OPENAI_API_KEY": "s", "INTERLOCK_OPERATOR_TOKEN": "s", "INTERLOCK_DATABASE_URL": "s", "AWS_PROFILE": "blue"}
    await deploying.ended(deploying.tool(environment=secrets))
    await deploying.ended(deploying.tool(environment={**secrets, deploy.MORE_NAMES: "AWS_PROFILE, MISSING"}))
    first, second = (seen["environment"] for seen in deploying.calls)
    assert not set(first) & set(secrets) and first["PATH"] == os.environ["PATH"]
    assert set(second) - set(first) == {"AWS_PROFILE"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print('no space left'); sys.exit(4)", Failed("The deploy command ended with exit code 4.\nno space left")),
        ("sys.exit('refused')", Failed("The deploy command ended with exit code 1.\nrefused")),
        ("os.kill(os.getpid(), 9)", Unknown("The deploy command was ended by signal 9.")),
        ("sys.exit(137)", Unknown("The deploy command was ended by signal 9.")),
        ("", Returned("Deployed shop 1.4.2 to production.")),
    ],
)
async def test_how_it_ends(deploying: Deploying, code: str, expected: Outcome) -> None:
    deploying.then(code)
    assert await deploying.ended(deploying.tool()) == expected


async def test_long_output_is_cut_visibly(deploying: Deploying) -> None:
    deploying.then("sys.stdout.buffer.write(b'\\xff' * 3_000_000 + b'the end')")
    outcome = await deploying.ended(deploying.tool())
    assert isinstance(outcome, Returned) and "earlier output left out" in outcome.text
    assert outcome.text.endswith("the end") and len(outcome.text) < 9000


async def test_a_command_that_cannot_be_started(deploying: Deploying) -> None:
    (deploying.folder / "plain").write_text("no program")
    for command, why in ((str(deploying.folder / "missing"), "No such file"), (str(deploying.folder / "plain"), "Permission denied")):
        [base] = deploy_tools({deploy.COMMAND: command})
        outcome = await deploying.ended(Tool.of(base))
        assert isinstance(outcome, Failed) and command in outcome.message and why in outcome.message


async def test_a_command_line_is_split_without_a_shell(deploying: Deploying) -> None:
    script = deploying.folder / "deploy it.sh"
    script.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    [base] = deploy_tools({**os.environ, deploy.COMMAND: f"'{script}' {{project_id}} '; echo $HOME' *"})
    assert await deploying.ended(Tool.of(base)) == Returned("Deployed shop 1.4.2 to production.\nshop|; echo $HOME|*|")


async def test_what_it_leaves_running_holds_nobody_up(deploying: Deploying) -> None:
    deploying.then("import subprocess; print('left', subprocess.Popen(['sleep', '60']).pid)")
    outcome = await asyncio.wait_for(deploying.ended(deploying.tool()), 30)
    assert isinstance(outcome, Returned)
    left = int(outcome.text.rpartition(" ")[2])
    assert alive(left)
    os.kill(left, signal.SIGKILL)


HANGING = """
import signal, subprocess
child = subprocess.Popen(["sleep", "60"])
(folder / "child").write_text(str(child.pid))
{}
time.sleep(60)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split())


async def until(condition: Callable[[], object], seconds: float = 15) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - another process makes it true
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("stubborn", ["", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"])
async def test_at_its_timeout_the_whole_group_is_ended(
    deploying: Deploying, stubborn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deploy, "GRACE", 0.3)
    deploying.then(HANGING.format(stubborn))
    shorter = Tool.of(tool(deploying.tool().base, timeout=6))
    outcome = await deploying.ended(shorter)
    assert isinstance(outcome, Unknown) and outcome.reason == "no answer within 6 s"
    pids = [int((deploying.folder / "child").read_text()), deploying.calls[0]["group"]]
    await until(lambda: not any(map(alive, pids)))


async def test_a_cancelled_deploy_is_ended(deploying: Deploying) -> None:
    deploying.then(HANGING.format(""))
    running = asyncio.create_task(deploying.ended(deploying.tool()))
    await until(lambda: (deploying.folder / "child").exists() and (deploying.folder / "child").read_text())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    child = int((deploying.folder / "child").read_text())
    await until(lambda: not alive(child))  # it was sent SIGTERM; it sleeps for 60 s


async def test_a_deploy_that_is_cancelled_while_it_starts_is_ended(deploying: Deploying) -> None:
    child = deploying.folder / "child"
    deploying.then(HANGING.format(""))
    before = children()
    running = asyncio.create_task(deploying.ended(deploying.tool()))
    while not children() - before:  # noqa: ASYNC110 - each turn of the loop is looked at
        await asyncio.sleep(0)
    while not (child.exists() and child.read_text()):  # the loop stands still meanwhile: asyncio has not seen the start
        time.sleep(0.02)  # noqa: ASYNC251
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not alive(int(child.read_text())))


async def test_check_and_rollback(deploying: Deploying) -> None:
    one = deploying.tool("{action}")
    deploying.then("print('since noon'); sys.exit({'deploy': 1, 'check': 0, 'rollback': 0}[sys.argv[1]])")
    assert await check(one, one.validate(ARGS), deploying.key) == (
        "Deployed shop 1.4.2 to production, says the check of the deploy command.\nsince noon"
    )
    undone = await compensate(one, "deployed", one.validate(ARGS), "key-2")
    assert undone == Returned("Took shop 1.4.2 back from production.\nsince noon")
    assert [seen["environment"]["DEPLOY_ACTION"] for seen in deploying.calls] == ["check", "rollback"]
    assert [seen["environment"]["DEPLOY_IDEMPOTENCY_KEY"] for seen in deploying.calls] == [deploying.key, "key-2"]


@pytest.mark.parametrize("code", ["sys.exit(1)", "sys.exit(2)", "os.kill(os.getpid(), 15)", "raise ValueError"])
async def test_a_check_that_cannot_tell(deploying: Deploying, code: str) -> None:
    one = deploying.tool("{action}")
    deploying.then(code)
    with pytest.raises(Exception, match="deploy command"):
        await check(one, one.validate(ARGS), deploying.key)
    deploying.then("sys.exit(3)")
    assert await check(one, one.validate(ARGS), deploying.key) is None


@pytest.mark.parametrize(
    "environment",
    [
        {deploy.COMMAND: "deploy 'unclosed"},
        {deploy.COMMAND: "[1]"},
        {deploy.COMMAND: "[]"},
        {deploy.COMMAND: '["a"'},
        {deploy.COMMAND: '[""]'},
        {deploy.COMMAND: "''"},
        {deploy.COMMAND: "true", deploy.MORE_NAMES: "PATH,INTERLOCK_OPERATOR_TOKEN"},
    ],
)
def test_settings_that_cannot_be_used(environment: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="INTERLOCK_DEPLOY"):
        deploy_tools(environment)


# The release register


class Register:
    """The register in a database, each call in a transaction as the ledger makes it: kept only if it returned."""

    def __init__(self, url: str) -> None:
        self.url = url
        [base] = deploy_tools({})
        self.tool = Tool.of(base)

    async def deploy(self, key: str, **args: str) -> Outcome:
        return await self._within(
            lambda db: call(self.tool, self.tool.validate({**ARGS, **args}), idempotency_key=key, connection=db)
        )

    async def undo(self, key: str, **args: str) -> Outcome:
        return await self._within(lambda db: compensate(self.tool, "", self.tool.validate({**ARGS, **args}), key, connection=db))

    async def _within(self, act: Callable[[Any], Any]) -> Outcome:
        async with await psycopg.AsyncConnection.connect(self.url, row_factory=dict_row) as db:
            outcome: Outcome = await act(db)
            await (db.commit() if isinstance(outcome, Returned) else db.rollback())
        return outcome

    def rows(self) -> list[tuple[Any, ...]]:
        query = "SELECT project_id, environment, version, replaces FROM interlock.release ORDER BY release_id"
        with psycopg.connect(self.url) as db:
            return db.execute(query).fetchall()


@pytest.fixture
def register(database_url: str) -> Register:
    return Register(database_url)


async def test_a_deploy_is_a_row(register: Register) -> None:
    assert await register.deploy("a") == Returned("Deployed shop 1.4.2 to production (release 1, the first).")
    assert await register.deploy("b", version="1.4.3") == Returned(
        "Deployed shop 1.4.3 to production (release 2; before: 1.4.2)."
    )
    assert await register.deploy("c", environment="staging") == Returned("Deployed shop 1.4.2 to staging (release 3, the first).")
    assert register.rows() == [
        ("shop", "production", "1.4.2", None),
        ("shop", "production", "1.4.3", "1.4.2"),
        ("shop", "staging", "1.4.2", None),
    ]


async def test_one_key_deploys_once(register: Register) -> None:
    assert await register.deploy("a") == await register.deploy("a")
    assert len(register.rows()) == 1


async def test_the_way_back_deploys_the_version_before(register: Register) -> None:
    await register.deploy("a", version="1.4.1")
    await register.deploy("b")
    undone = await register.undo("u")
    assert isinstance(undone, Returned) and undone.text.startswith("Deployed shop 1.4.1 to production")
    assert register.rows()[2:] == [("shop", "production", "1.4.1", "1.4.2")]


async def test_no_way_back(register: Register) -> None:
    assert isinstance(await register.undo("u"), Failed)
    await register.deploy("a")
    outcome = await register.undo("u")
    assert isinstance(outcome, Failed) and "no way back" in outcome.message
    await register.deploy("b", version="1.5.0")
    outcome = await register.undo("u")
    assert isinstance(outcome, Failed) and "is at 1.5.0, no longer at 1.4.2" in outcome.message
    assert len(register.rows()) == 2


async def test_deploys_of_one_project_at_once_follow_each_other(register: Register) -> None:
    await asyncio.gather(*(register.deploy(f"k{number}", version=f"1.{number}") for number in range(6)))
    rows = register.rows()
    assert [row[3] for row in rows] == [None, *(row[2] for row in rows[:-1])]


async def test_any_text_is_kept_as_it_is(register: Register) -> None:
    odd = "x'; DROP TABLE interlock.release; -- %s 日本語 😀"
    assert isinstance(await register.deploy("a", project_id=odd), Returned)
    assert register.rows()[0][0] == odd
