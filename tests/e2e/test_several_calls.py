"""Several calls in one message: each decision reaches its call, and the model speaks when all of them are answered."""

from typing import Any

import pytest
from bench.openai_server import call, calls, say

A, B, C = ({"to": name, "amount": amount} for name, amount in (("ann", 1), ("ben", 2), ("cem", 3)))


def test_c009_c015_three_decided_in_a_mixed_order(agent: Any) -> None:
    """All calls are asked about at once; each decision reaches its call alone, and each call gets its answer."""
    started = agent.start(calls(*(call("transfer", args) for args in (A, B, C)), text="Three payments."), say("All settled."))
    ids = {asked["args"]["to"]: asked["approval_id"] for asked in started["pending"]}
    assert sorted(ids) == ["ann", "ben", "cem"]
    assert {asked["said"] for asked in started["pending"]} == {"Three payments."}

    one_left = agent("approve", ids["cem"], expect=3)
    assert agent.world.lines("transfer") == ["3 to cem"]  # it does not wait for its siblings
    assert {asked["approval_id"] for asked in one_left["pending"]} == {ids["ann"], ids["ben"]}
    agent("reject", ids["ann"], "--comment", "not her", expect=3)
    assert agent.world.lines("transfer") == ["3 to cem"]
    assert len(agent.model.requests) == 1
    ended = agent("modify", ids["ben"], "--set", "amount=20", expect=0)

    assert (ended["status"], ended["final_answer"]) == ("completed", "All settled.")
    assert agent.world.lines("transfer") == ["3 to cem", "20 to ben"]
    assert len(agent.model.requests) == 2
    ann, ben, cem = agent.told()
    assert "not her" in ann
    assert "changed" in ben
    assert "transferred 20 to ben" in ben
    assert cem == "transferred 3 to cem"


@pytest.mark.parametrize("safe_first", [True, False])
def test_c008_a_safe_call_runs_at_once_and_only_once(agent: Any, safe_first: bool) -> None:
    """The safe call runs before the question is asked, the critical one after the approval, each once."""
    both = [call("note_add", {"text": "started"}), call("transfer", A)]
    started = agent.start(calls(*(both if safe_first else reversed(both))), say("Done."))
    assert [execution["tool"] for execution in started["executions"]] == ["note_add"]
    assert (agent.world.count("note_add"), agent.world.attempts("transfer")) == (1, 0)

    assert agent("approve", "t", expect=0)["status"] == "completed"
    assert (agent.world.attempts("note_add"), agent.world.attempts("transfer")) == (1, 1)
    told = ["noted: started", "transferred 1 to ann"]
    assert agent.told() == (told if safe_first else told[::-1])


def test_c017_identical_calls_are_flagged_and_decided_one_by_one(agent: Any) -> None:
    """Identical calls are flagged as such and each is decided alone; one approval pays once."""
    started = agent.start(calls(*(call("transfer", A) for _ in range(3)), call("transfer", B)), say("Done."))
    assert [("3 identical calls" in asked["note"], asked["args"]["to"]) for asked in started["pending"]].count((True, "ann")) == 3
    ids = {name: [a["approval_id"] for a in started["pending"] if a["args"]["to"] == name] for name in ("ann", "ben")}
    first, second, third = ids["ann"]
    for verb, name in (("approve", second), ("reject", first), ("reject", third), ("approve", ids["ben"][0])):
        agent(verb, name, "--detach", expect=0)
    assert agent.world.attempts("transfer") == 0
    assert len(agent.model.requests) == 1

    ended = agent("resume", "t", expect=0)
    assert ended["status"] == "completed"
    assert sorted(agent.world.lines("transfer")) == ["1 to ann", "2 to ben"]
    told = agent.told()
    assert len(told) == 4
    assert told.count("transferred 1 to ann") == told.count("transferred 2 to ben") == 1
