"""`fork`: a copy of a thread, which is driven on at once and asks about what is open by itself."""

from typing import Any

from bench.openai_server import call, say

PAY = {"to": "bob", "amount": 5}


def test_a_fork_from_the_command_line(agent: Any) -> None:
    [first] = agent.start(call("transfer", PAY), say("Not done."), say("Paid."))["pending"]
    copied = agent("fork", "t", "--thread", "copy", expect=3)
    assert (copied["thread_id"], copied["forked_from"], copied["input"]) == ("copy", "t", "do what is due")
    [anew] = copied["pending"]
    assert (anew["args"], anew["requester"]) == (PAY, first["requester"]) and anew["approval_id"] != first["approval_id"]
    assert agent("reject", "copy", expect=0)["status"] == "completed"
    assert agent("approve", "t", expect=0)["status"] == "completed"
    assert agent.world.lines("transfer") == ["5 to bob"]
    assert agent.unanswered("copy") == []
    for source, name, code, exit_code in (("typo", "x", "no_such_thread", 4), ("t", "x", "ended", 5)):
        assert agent("fork", source, "--thread", name, expect=exit_code)["error"]["code"] == code
    assert "thread_forked" in agent.kinds("t") and "thread_forked" in agent.kinds("copy")
