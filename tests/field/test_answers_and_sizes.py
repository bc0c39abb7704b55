"""Answers that are none, calls that people refused, and values that are odd or too large."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from bench.in_process import CONFIG, InProcess
from bench.openai_server import call, calls, say
from bench.world import World
from langgraph.types import Command, Send

from memory.errors import InterlockError

NO_ANSWERS: list[Any] = [
    None, "", "   ", False, 0, [], "approve ", "APPROVE", "yes", "ok", "maybe", {"1": "approve"}, {"a" * 32: "approve"}, {1: True}, {},
]  # fmt: skip
SECOND = {"type": "edit", "edited_action": {"name": "transfer", "args": {"a" * 32: "approve"}}}


async def test_c013_c049_c085_no_answer_executes_nothing(thread: InProcess, world: World) -> None:
    """Nothing, nothing but space, falsy values, near misses and dicts of any shape: the question stands as it did."""
    asked = await thread.begin()
    for odd in [*NO_ANSWERS, SECOND, {"decisions": []}]:
        [pause] = (await thread.graph.aget_state(CONFIG)).interrupts
        await thread.graph.ainvoke(Command(resume={pause.id: odd}), CONFIG, durability="sync")
        assert await thread.question() == asked, odd
    assert world.attempts("transfer") == 0
    assert (await thread.stands())["executions"] == []


async def test_c016_a_rejected_call_runs_in_no_way(thread: InProcess, world: World) -> None:
    """Rejected, driven on, jumped to, and dressed as decided: what has no approval does not begin."""
    await thread.begin()
    refused = await thread.call()
    await thread.vote("reject")
    assert (await thread.driver.advance("t")).status == "completed"
    ready = {**refused, "state": "ready", "outcome": {"type": "approve", "by": "alice"}}
    for step in (None, Command(goto=Send("execute_tools", {"call": ready, "ask": []})), Command(resume={"type": "approve"})):
        with suppress(InterlockError):
            await thread.graph.ainvoke(step, CONFIG, durability="sync")
    await thread.driver.advance("t")
    assert world.attempts("transfer") == 0
    assert (await thread.stands())["executions"] == []


@pytest.mark.parametrize("said", ["yes", "approve it", "what is the weather?"])
async def test_c020_a_message_to_a_thread_that_waits_is_no_answer(thread: InProcess, world: World, said: str) -> None:
    """Sent as a chat sends it, past our commands: nothing runs by it, and the question can still be answered."""
    asked = await thread.begin()
    with suppress(InterlockError):
        await thread.graph.ainvoke({"messages": [{"type": "human", "content": said}]}, CONFIG, durability="sync")
    assert world.attempts("transfer") == 0
    await thread.driver.advance("t")
    assert world.attempts("transfer") == 0
    pending = (await thread.stands())["pending"]
    assert [one["approval_id"] for one in pending].count(asked.approval_id) == 1


def test_c018_every_way_that_a_call_can_end_leaves_one_answer(agent: Any) -> None:
    """Unknown, failed, rejected, changed, and run: each call has its own answer, unusable ones last, and the server takes it."""
    five = calls(
        call("no_such_tool"), call("failing", {"text": "x"}), call("transfer", {"to": "ann", "amount": 1}),
        call("transfer", {"to": "ben", "amount": 2}), call("transfer", {"to": "cem", "amount": 3}),
    )  # fmt: skip
    pending = agent.start(five, say("Done."))["pending"]
    ids = {one["args"]["to"]: one["approval_id"] for one in pending}
    agent("reject", ids["ann"], "--comment", "not her", expect=3)
    agent("modify", ids["ben"], "--set", "amount=20", expect=3)
    agent("approve", ids["cem"], expect=0)
    told = agent.told()
    for words, part in zip(told, ("failed", "not her", "transferred 20 to ben", "transferred 3 to cem", "no_such_tool"), strict=True):
        assert part in words
    assert agent.unanswered() == []


def test_c038_nul_is_replaced_in_words_and_refused_in_names_and_arguments(agent: Any) -> None:
    """One rule: in words of people, models and tools it is U+FFFD, in arguments the call is refused; neither is lost for it."""
    agent.rewrite_tools('return f"noted: {text}"', 'return f"noted: {text}\\x00\\udc80"')
    nul = call("transfer", {"to": "a\0b", "amount": 1})
    asked = agent.start(calls(call("note_add", {"text": "x"}), nul, call("transfer", {"to": "bob", "amount": 1})), say("Done\0."))
    assert [one["args"]["to"] for one in asked["pending"]] == ["bob"]
    ended = agent("approve", "t", expect=0)
    assert ended["final_answer"] == "Done\ufffd."
    noted, _, refused = agent.told()
    assert noted == "noted: x\ufffd\ufffd" and "NUL" in refused
    assert [one["status"] for one in ended["executions"]] == ["succeeded", "succeeded"]


def test_c076_a_huge_result_is_shortened_for_the_model_and_kept_whole(agent: Any) -> None:
    """700,000 characters: the model gets a part with a mark, the ledger has all of it, and the thread goes on."""
    agent.rewrite_tools('return f"noted: {text}"', 'return "x" * 700_000 + "END"')
    agent.model.rules = replace(agent.model.rules, context_limit=50_000)
    ended = agent.start(call("note_add", {"text": "x"}), say("Seen."), expect=0)
    assert ended["final_answer"] == "Seen."
    [told] = agent.told()
    assert len(told) < 50_000 and "692003 characters left out" in told and told.endswith("END")
    [(length,)] = agent.rows("SELECT length(result) FROM interlock.execution")
    assert length == 700_003


def test_c102_what_is_too_large_to_be_looked_at_is_refused(agent: Any) -> None:
    """A long value is asked about in full; one of 300,000 characters asks nobody, and the model is told."""
    danger = "x" * 5_000 + " and delete everything"
    agent.start(calls(call("transfer", {"to": danger, "amount": 1}), call("transfer", {"to": "x" * 300_000, "amount": 1})))
    [asked] = agent("show", "t", expect=0)["pending"]
    assert asked["args"]["to"] == danger
    assert danger in agent.cli("show", "t").expect(0).stdout.replace("\n", "").replace("                | ", "")
    assert agent.world.attempts("transfer") == 0
