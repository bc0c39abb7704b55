"""A record that cannot be written takes with it what it was to tell of; and connections that are few are waited for, never for ever."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.in_process import ALICE, InProcess
from bench.postgres import PostgresBench
from bench.tools_for_tests import TRANSFERS
from bench.world import World
from langchain_core.messages import BaseMessage, ToolMessage

from graph.answer import Answer, ProposedCall
from graph.app import App, open_app
from graph.build import build
from graph.deciding import decide
from graph.run import Driver
from graph.settings import Settings
from memory.approvals import Ballot
from memory.errors import UnavailableError
from memory.postgres.database import Database
from memory.runs import NewRun

TOOLS = ("bench.tools_for_tests:TOOLS",)


@pytest.fixture
async def thread(database_url: str, tmp_path: Path, world: World, postgres_server: PostgresBench) -> AsyncIterator[InProcess]:
    async with open_app(Settings(home=tmp_path, database_url=database_url, tools=TOOLS)) as application:
        yield InProcess(application, postgres_server, database_url)


@contextmanager
def full(thread: InProcess, kind: str) -> Iterator[None]:
    """The disk is full, for events of this kind."""
    thread.sql("""CREATE FUNCTION public.disk_full() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$""")
    thread.sql(f"""CREATE TRIGGER disk_full BEFORE INSERT ON interlock.audit_event FOR EACH ROW WHEN (NEW.kind = '{kind}')
        EXECUTE FUNCTION public.disk_full()""")
    yield
    thread.sql("DROP FUNCTION public.disk_full CASCADE")


async def test_c116_before_a_call_nothing_runs(thread: InProcess, world: World) -> None:
    """Without a record of the intent nothing runs."""
    await thread.begin()
    await thread.vote("approve")
    with full(thread, "execution_started"), pytest.raises(UnavailableError, match="no space left"):
        await thread.driver.advance("t")
    assert world.attempts("transfer") == 0
    assert (await thread.stands())["executions"] == []
    assert (await thread.driver.advance("t")).status == "completed"
    assert world.lines("transfer") == ["5 to bob"]


async def test_c116_after_a_call_nobody_knows_and_people_are_asked(thread: InProcess, world: World) -> None:
    """An outcome that could not be recorded is unknown, and people are asked."""
    await thread.begin()
    await thread.vote("approve")
    with full(thread, "execution_succeeded"), pytest.raises(UnavailableError, match="no space left"):
        await thread.driver.advance("t")
    assert [one["status"] for one in (await thread.stands())["executions"]] == ["started"]
    assert (await thread.driver.advance("t")).status == "waiting"
    assert (await thread.question()).kind == "unknown_outcome"
    await thread.vote("done", text="seen at the bank")
    assert (await thread.driver.advance("t")).status == "completed"
    assert world.attempts("transfer") == 1


@pytest.mark.parametrize("kind", ["approve", "reject", "modify"])
async def test_c107_c116_a_decision_fails_with_its_event(thread: InProcess, world: World, kind: str) -> None:
    """A decision whose event cannot be written is none: the question is open as before."""
    await thread.begin()
    before = await thread.application.runs.get("t")
    detail = {"args": {"to": "bob", "amount": 4}} if kind == "modify" else {}
    with full(thread, "approval_decided"), pytest.raises(UnavailableError, match="no space left"):
        await thread.vote(kind, **detail)
    question = await thread.question()
    assert (question.status, question.version, question.args["amount"], question.have) == ("pending", 1, 5, 0)
    assert thread.sql("SELECT count(*) FROM interlock.decision") == [(0,)]
    assert await thread.application.runs.get("t") == before
    assert (await thread.driver.advance("t")).status == "waiting"
    assert world.attempts("transfer") == 0


async def test_a_transition_fails_with_its_event(thread: InProcess) -> None:
    version = thread.application.registry.version
    await thread.application.runs.create(NewRun("t", "pay", ALICE, ALICE, "default", "1", version))
    with full(thread, "transition"), pytest.raises(UnavailableError, match="no space left"):
        await thread.driver.advance("t")
    assert thread.sql("SELECT count(*) FROM checkpoints") == [(0,)]
    assert (await thread.driver.advance("t")).status == "waiting"


class ThreeAtOnce:
    name = "scripted"
    is_practice = False

    async def answer(self, messages: Sequence[BaseMessage], **_: Any) -> Answer:
        if any(isinstance(message, ToolMessage) for message in messages):
            return Answer("Done.")
        to = next(str(message.content) for message in messages if message.type == "human")
        notes = [ProposedCall("note_add", {"text": f"{to} {number}"}, None, "") for number in (1, 2)]
        return Answer("", (*notes, ProposedCall("transfer_tx", {"to": to, "amount": 5}, None, "")))


@pytest.mark.parametrize("connections", [1, 2])
async def test_c031_four_threads_on_few_connections(
    thread: InProcess, world: World, database_url: str, tmp_path: Path, connections: int
) -> None:
    """Each with calls side by side and one that holds a connection while it runs: whoever held one and waited for another would hang."""
    thread.sql(TRANSFERS)
    thread.sql("GRANT ALL ON public.transfers, public.transfers_id_seq TO interlock")
    names = [f"t{number}" for number in range(4)]
    async with Database(database_url, max_size=connections) as database:
        application = App(Settings(home=tmp_path, database_url=database_url, tools=TOOLS), database, embedded=False)
        ports = replace(application.ports(), model=ThreeAtOnce())  # type: ignore[arg-type]  # all that is asked of a model

        async def drive(name: str) -> str:
            graph = build(ports).compile(checkpointer=application.saver())
            return (await Driver(ports, graph, lease_seconds=30, step_limit=50).advance(name)).status

        for name in names:
            await application.runs.create(NewRun(name, name, ALICE, ALICE, "default", "1", application.registry.version))
        assert await asyncio.gather(*map(drive, names)) == ["waiting"] * 4
        for question in await application.approvals.pending():
            await decide(application, question, Ballot("approve", ALICE, "", {}, 1))
        assert await asyncio.gather(*map(drive, names)) == ["completed"] * 4
    assert sorted(world.lines("note_add")) == sorted(f"{name} {number}" for name in names for number in (1, 2))
    assert sorted(thread.sql("SELECT recipient FROM public.transfers")) == [(name,) for name in names]
