"""A process that decides questions as it is told, one after the other, and drives each thread on, as the commands do.

    python -m faults.decider

It reads `{"thread", "verb"}` a line, and answers with `{"code", "by"}`: 0 if it has decided. The verb `start` starts the thread.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from graph.answer import Answer, ProposedCall
from graph.app import App, open_app
from graph.build import build
from graph.deciding import decide
from graph.run import Driver
from graph.settings import load_settings
from graph.version import GRAPH_VERSION
from memory.approvals import Ballot, VoteType
from memory.errors import BusyError, InterlockError
from memory.people import Identity
from memory.runs import NewRun


class PayOnce:
    """A model that pays 5 to whom the task names, and is content with whatever came out."""

    name = "scripted"
    is_practice = False

    async def answer(self, messages: Sequence[BaseMessage], **_: Any) -> Answer:
        if any(isinstance(message, ToolMessage) for message in messages):
            return Answer("Done.")
        to = next(str(message.content) for message in messages if message.type == "human")
        return Answer("", (ProposedCall("transfer", {"to": to, "amount": 5}, None, ""),))


async def start(application: App, driver: Driver, thread: str, me: Identity) -> None:
    await application.runs.create(NewRun(thread, thread, me, me, "default", GRAPH_VERSION, application.registry.version))
    await driver.advance(thread)


async def decided(application: App, driver: Driver, thread: str, verb: VoteType, me: Identity) -> dict[str, Any]:
    [question] = await application.approvals.of_thread(thread)
    detail = {"modify": {"args": {"to": thread, "amount": 4}}, "reject": {"then": "continue"}}.get(verb, {})
    try:
        await decide(application, question, Ballot(verb, me, "", detail, 1))
    except InterlockError as error:
        return {"code": error.exit_code, "by": error.data.get("by")}
    with suppress(BusyError):
        await driver.advance(thread)
    return {"code": 0, "by": me.name}


async def serve(name: str) -> None:
    me = Identity(name, "claimed")
    async with open_app(load_settings()) as application:
        ports = replace(application.ports(), model=PayOnce())  # type: ignore[arg-type]  # all that is asked of a model
        driver = Driver(ports, build(ports).compile(checkpointer=application.saver()), lease_seconds=30, step_limit=50)
        tell({"ready": name})
        while line := await asyncio.to_thread(sys.stdin.readline):
            told = json.loads(line)
            if told["verb"] == "start":
                await start(application, driver, told["thread"], me)
                tell({"code": 0, "by": name})
            else:
                tell(await decided(application, driver, told["thread"], told["verb"], me))


def tell(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
