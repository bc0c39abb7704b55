"""The whole application in the process of a test, with tools_for_tests and a model that pays bob. Effects are seen in `world`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bench.postgres import PostgresBench
from langchain_core.messages import BaseMessage, ToolMessage

from graph.answer import Answer, ProposedCall
from graph.app import App
from graph.build import build
from graph.deciding import decide
from graph.run import Driver
from memory.approvals import Approval, Ballot
from memory.people import Identity
from memory.runs import NewRun

ALICE = Identity("alice", "claimed")
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class PayBob:
    """Pays bob, once, and is content with whatever came out."""

    name = "scripted"
    is_practice = False

    async def answer(self, messages: Sequence[BaseMessage], **_: Any) -> Answer:
        if any(isinstance(message, ToolMessage) for message in messages):
            return Answer("Done.")
        return Answer("", (ProposedCall("transfer", {"to": "bob", "amount": 5}, None, ""),))


class InProcess:
    """The application, a thread `t` that pays bob, and what an attacker has of it: the graph, and the tables."""

    def __init__(self, application: App, bench: PostgresBench, url: str) -> None:
        ports = replace(application.ports(), model=PayBob())  # type: ignore[arg-type]  # all that is asked of a model
        self.graph: Any = build(ports).compile(checkpointer=application.saver())
        self.driver = Driver(ports, self.graph, lease_seconds=30, step_limit=50)
        self.application, self._bench, self._url = application, bench, url

    async def begin(self) -> Approval:
        version = self.application.registry.version
        await self.application.runs.create(NewRun("t", "pay", ALICE, ALICE, "default", "1", version))
        await self.driver.advance("t")
        return await self.question()

    async def question(self) -> Approval:
        [one] = [one for one in await self.application.approvals.of_thread("t") if one.status == "pending"]
        return one

    async def vote(self, kind: Any, **detail: Any) -> None:
        await decide(self.application, await self.question(), Ballot(kind, ALICE, "", detail, 1))

    async def call(self) -> Any:
        return (await self.graph.aget_state(CONFIG)).values["tool_calls"][0]

    def sql(self, query: str, *values: Any) -> Any:
        """As the owner of everything, past every trigger."""
        with self._bench.admin(self._url) as database:
            database.execute("SET session_replication_role = replica")
            done = database.execute(query, values)  # type: ignore[arg-type]
            return done.fetchall() if done.description else None

    async def whys(self) -> list[str]:
        events = await self.application.audit.events("t")
        return [event.content["why"] for event in events if event.kind == "execution_refused"]

    async def stands(self) -> Any:
        return await self.application.view("t")
