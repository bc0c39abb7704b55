"""The graph itself, as an interface drives it: what it shows, what it takes for an answer, and that nothing else opens the gate."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import OpenAIServer, call, say
from bench.world import World
from langgraph.types import Command, Send

from graph.app import App, open_app
from graph.build import build
from graph.settings import load_settings
from memory.people import Identity
from memory.runs import NewRun

CONFIG: Any = {"configurable": {"thread_id": "t"}}
ALICE = Identity("alice", "os")
APPROVE = {"type": "approve"}
EDIT = {"type": "edit", "edited_action": {"name": "transfer", "args": {"to": "bob", "amount": 6}}}
ODD = [
    None, False, "approve", "yes, do it", [], {"type": "APPROVE"}, {"decisions": [APPROVE, APPROVE]}, {"f" * 31: APPROVE},
    {**EDIT, "edited_action": {"name": "note_add", "args": {"text": "x"}}}, {**EDIT, "edited_action": {"name": "transfer", "args": {}}},
]  # fmt: skip


class Paused:
    def __init__(self, application: App, graph: Any, world: World) -> None:
        self.app, self.graph, self.world = application, graph, world

    async def say(self, value: Any) -> dict[str, Any]:
        """As a UI does it, or by the id of the pause where a value can be sent in no other way."""
        [pause] = (await self.graph.aget_state(CONFIG)).interrupts
        resume = {pause.id: value} if value is None or value == [] else value
        return await self.graph.ainvoke(Command(resume=resume), CONFIG, durability="sync")  # type: ignore[no-any-return]

    async def refused(self) -> list[str]:
        return [event.content["code"] for event in await self.app.audit.events("t") if event.kind == "refused_attempt"]


@pytest.fixture
async def paused(
    database_url: str, tmp_path: Path, world: World, model_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Paused]:
    names = {"INTERLOCK_HOME": str(tmp_path), "INTERLOCK_DATABASE_URL": database_url, "INTERLOCK_TOOLS": "bench.tools_for_tests:TOOLS"}
    settings = load_settings(names | dict(model_server.environment()))
    model_server.play(call("transfer", {"to": "bob", "amount": 5}), say("Paid."))
    async with open_app(settings) as application:
        graph = build(application.ports()).compile(checkpointer=application.saver())
        await application.runs.create(NewRun("t", "pay", ALICE, ALICE, "default", "1", "1"))
        await graph.ainvoke({"input": {"text": "pay bob"}}, CONFIG, durability="sync")
        yield Paused(application, graph, world)


async def test_c090_the_payload_is_what_interfaces_show(paused: Paused) -> None:
    """The question is plain JSON with a version, and in the form that chat interfaces show."""
    [pause] = (await paused.graph.aget_state(CONFIG)).interrupts
    [question] = await paused.app.approvals.pending()
    [action], [review] = pause.value["action_requests"], pause.value["review_configs"]
    assert (action["name"], action["args"], action["arguments"]) == ("transfer", question.args, question.args)
    assert review["action_name"] == review["actionName"] == "transfer"
    assert review["allowed_decisions"] == review["allowedDecisions"] == ["approve", "edit", "reject"]
    gate = pause.value["gate"]
    assert (gate["approval_id"], gate["args_sha256"], gate["version"], gate["kind"]) == (
        question.approval_id, question.args_sha256, 1, "pre_execution",
    )  # fmt: skip
    assert set(pause.value) == {"action_requests", "review_configs", "gate"}


async def test_c010_c085_what_is_odd_approves_nothing_asks_again_and_is_on_the_record(paused: Paused) -> None:
    """What is no answer to the one question approves nothing, is asked again and is on the record."""
    for odd in ODD:
        again = await paused.say(odd)
        assert again["__interrupt__"][0].value["action_requests"][0]["args"] == {"to": "bob", "amount": 5}, odd
    assert await paused.refused() == ["not_understood"] * (len(ODD) - 1) + ["invalid_arguments"]
    assert paused.world.attempts("transfer") == 0
    assert (await paused.say(APPROVE))["final_answer"] == {"text": "Paid."}
    assert paused.world.lines("transfer") == ["5 to bob"]


async def test_an_edit_runs_what_was_edited(paused: Paused) -> None:
    assert (await paused.say({"decisions": [EDIT]}))["final_answer"] == {"text": "Paid."}
    assert paused.world.lines("transfer") == ["6 to bob"]


async def test_an_answer_to_a_version_that_was_changed_meanwhile_is_refused(paused: Paused) -> None:
    from graph.deciding import decide
    from memory.approvals import Ballot

    [question] = await paused.app.approvals.pending()
    ballot = Ballot("modify", ALICE, "", {"args": {"to": "bob", "amount": 7}})
    async with paused.app.database.transaction() as db:
        await db.execute("UPDATE interlock.approval SET required = 2")
    await decide(paused.app, question, ballot)
    again = await paused.say(APPROVE)
    gate = again["__interrupt__"][0].value
    assert (gate["action_requests"][0]["args"]["amount"], gate["gate"]["version"], gate["gate"]["have"]) == (7, 2, 1)
    assert await paused.refused() == ["stale"]
    assert paused.world.attempts("transfer") == 0
    assert (await paused.say(APPROVE))["final_answer"] == {"text": "Paid."}
    assert paused.world.lines("transfer") == ["7 to bob"]


@pytest.mark.parametrize("how", ["a leap", "a leap with a call", "a state"])
async def test_neither_a_leap_nor_a_fabricated_state_reaches_the_effect(paused: Paused, how: str) -> None:
    values = (await paused.graph.aget_state(CONFIG)).values
    [ready] = [{**one, "state": "ready", "outcome": {"type": "approve", "by": "mallory"}} for one in values["tool_calls"]]
    if how == "a state":
        await paused.graph.aupdate_state(CONFIG, {"tool_calls": [ready]}, as_node="await_human_approval")
        again = await paused.graph.ainvoke(None, CONFIG, durability="sync")
    else:
        place = Send("execute_tools", {"call": ready, "ask": []}) if "with" in how else "execute_tools"
        again = await paused.graph.ainvoke(Command(goto=place, update={"tool_calls": [ready]}), CONFIG, durability="sync")
    assert paused.world.attempts("transfer") == 0
    assert [one.status for one in await paused.app.approvals.pending()] == ["pending"]
    assert again["__interrupt__"]
