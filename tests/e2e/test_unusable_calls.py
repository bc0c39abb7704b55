"""Calls that cannot be used ask nobody: the model is told why, a bounded number of times, and siblings go their way."""

from typing import Any

from bench.openai_server import MISSING, call, calls, raw_call, say

UNUSABLE = {
    "unknown tool": (raw_call("drop_database", "{}", "u1"), "transfer_keyed"),
    "another case": (raw_call("Transfer", '{"to": "bob", "amount": 5}', "u2"), "transfer_keyed"),
    "no name": (raw_call("", "{}", "u3"), "no tool"),
    "wrong type": (raw_call("transfer", '{"to": "bob", "amount": "much"}', "u4"), "amount"),
    "cut off": (raw_call("transfer", '{"to": "bob", "amount": 5', "u5"), '"amount": 5'),
    "two objects": (raw_call("transfer", '{"to": "bob"}{"amount": 5}', "u6"), "Extra data"),
    "a list": (raw_call("transfer", "[1]", "u7"), "object"),
    "a number": (raw_call("transfer", "123", "u8"), "object"),
    "not a text": (raw_call("transfer", {"to": "bob", "amount": 5}, "u9"), "JSON"),
    "too large": (raw_call("transfer", '{"to": "bob", "amount": 9007199254740993}', "u10"), "900719"),
    "not finite": (raw_call("transfer", '{"to": "bob", "amount": NaN}', "u11"), "NaN"),
}


def test_c021_c024_c039_nobody_is_asked_and_the_model_is_told_why(agent: Any) -> None:
    """Nobody is asked about a call that cannot be used; the model is told why, and siblings go their way."""
    broken = [reply for reply, _ in UNUSABLE.values()]
    ended = agent.start(calls(call("note_add", {"text": "beside"}), *broken), say("I give up."), expect=0)
    assert [execution["tool"] for execution in ended["executions"]] == ["note_add"]
    beside, *told = agent.told()
    assert beside == "noted: beside"
    for words, (name, (_, why)) in zip(told, UNUSABLE.items(), strict=True):
        assert why in words, name
    assert agent.world.attempts("transfer") == 0
    assert "approval_requested" not in agent.kinds()


def test_c021_c022_a_model_that_never_gets_it_right_is_not_asked_for_ever(agent: Any) -> None:
    """After three answers without a usable call the run fails, and can be resumed."""
    agent.model.always(raw_call("drop_database", "{}", "again"))
    failed = agent.start(expect=1)["error"]
    assert failed["code"] == "unusable_calls"
    asked = len(agent.model.requests)
    assert asked <= 5
    assert agent("show", "t", expect=0)["status"] == "failed"
    assert agent.world.attempts("transfer") == 0
    assert agent.unanswered() == []


def test_c023_missing_empty_and_repeated_ids(agent: Any) -> None:
    """Two calls under one id are two calls, and the same id in a later turn is a third one."""
    pay = [raw_call("transfer", f'{{"to": "{name}", "amount": 1}}', "call_0") for name in ("ann", "ben", "cem")]
    note = [raw_call("note_add", f'{{"text": "{id}"}}', id) for id in ("", None)]
    note.append(raw_call("note_add", '{"text": "missing"}', MISSING))
    started = agent.start(calls(*pay[:2], *note), calls(pay[2]), say("Done."))
    assert agent.world.count("note_add") == 3
    first, second = started["pending"]
    assert first["approval_id"] != second["approval_id"]

    agent("approve", first["approval_id"], "--detach", expect=0)
    third = agent("approve", second["approval_id"], expect=3)["pending"][0]
    assert sorted(agent.world.lines("transfer")) == ["1 to ann", "1 to ben"]
    assert len(agent.told()) == 5
    assert third["args"]["to"] == "cem"
    assert agent("approve", "t", expect=0)["status"] == "completed"
    assert sorted(agent.world.lines("transfer")) == ["1 to ann", "1 to ben", "1 to cem"]


def test_c026_results_of_any_kind_reach_the_model_as_text(agent: Any) -> None:
    """Every content is sent as a text, whatever a tool returns."""
    agent.start(calls(call("list_result"), call("none_result"), call("failing", {"text": "no such account"})), say("I see."), expect=0)
    listed, nothing, failed = agent.told()
    assert '"b"' in listed
    assert nothing
    assert "no such account" in failed


def test_c084_a_flag_that_is_no_boolean_is_refused_at_the_start(agent: Any) -> None:
    """A flag that is no boolean ends the command before anything begins."""
    agent.rewrite_tools("@tool(is_critical=True)\ndef transfer", '@tool(is_critical="maybe")\ndef transfer')
    assert "transfer" in agent("start", "x", expect=2)["error"]["message"]
    assert agent.rows("SELECT * FROM interlock.run") == []
