"""Tools change while a question waits: what was approved is what runs, or nothing runs."""

from typing import Any

from bench.openai_server import call, say

PAY = {"to": "bob", "amount": 5}


def test_c050_c080_another_schema_is_asked_again(agent: Any) -> None:
    """A tool whose schema or default changed since the question is asked about again, as it would run now."""
    first = agent.start(call("transfer", PAY), say("Paid."))["pending"][0]
    agent.rewrite_tools("def transfer(to: str, amount: int)", 'def transfer(to: str, amount: int, currency: str = "EUR")')
    again = agent("approve", first["approval_id"], expect=3)
    assert again["executions"] == []
    assert agent.world.attempts("transfer") == 0
    second = again["pending"][0]
    assert second["approval_id"] != first["approval_id"]
    assert second["args"] == PAY | {"currency": "EUR"}
    assert second["note"]
    assert agent("approve", second["approval_id"], expect=0)["status"] == "completed"
    assert agent.world.lines("transfer") == ["5 to bob"]


def test_c050_a_tool_that_vanished_is_told_to_the_model(agent: Any) -> None:
    """A tool that has gone cannot be approved, and the model is told."""
    agent.start(call("transfer", PAY), say("Then not."))
    agent.rewrite_tools("\n    transfer,\n", "\n")
    assert agent("approve", "t", expect=6)["error"]["code"] == "no_such_tool"
    assert len(agent("inbox", expect=0)["pending"]) == 1
    agent("approve", "t", "--detach", expect=0)
    ended = agent("resume", "t", expect=0)
    assert (ended["status"], ended["executions"]) == ("completed", [])
    assert "transfer" in agent.told()[0]
    assert agent.world.attempts("transfer") == 0


def test_c050_a_safe_tool_that_became_critical_is_asked(agent: Any) -> None:
    """The flag counts as it is when the call runs, not as it was when the call was proposed."""
    agent.model.play(call("note_add", {"text": "x"}), say("Noted."))
    died = agent.cli("start", "x", "--thread", "t", environment=agent.cli.crashing("before_intent"))
    died.expect(-9)
    agent.rewrite_tools("@tool(is_critical=False, idempotent=False)\ndef note_add", "@tool(is_critical=True)\ndef note_add")
    waiting = agent("resume", "t", expect=3)
    assert waiting["pending"][0]["tool"] == "note_add"
    assert agent.world.attempts("note_add") == 0
    assert agent("approve", "t", expect=0)["status"] == "completed"
    assert agent.world.count("note_add") == 1


def test_a_tool_that_acts_in_another_way_is_asked_again(agent: Any) -> None:
    """As deploy_code does, where one shell names a deploy command and the next one does not."""
    first = agent.start(call("transfer", PAY), say("Paid."))["pending"][0]
    agent.rewrite_tools("@tool(is_critical=True)\ndef transfer(", "@tool(is_critical=True, idempotent=True)\ndef transfer(")
    again = agent("approve", first["approval_id"], expect=3)
    assert again["pending"][0]["approval_id"] != first["approval_id"]
    assert agent.world.attempts("transfer") == 0
