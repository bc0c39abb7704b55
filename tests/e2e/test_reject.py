"""A no, in a person's words: the model hears them and goes on, or the thread ends; either way every call has its answer."""

from typing import Any

from bench.openai_server import call, calls, say

PAY, LESS = {"to": "bob", "amount": 500}, {"to": "bob", "amount": 5}
WORDS = "too much; ask for five"


def test_c018_the_model_hears_the_words_and_goes_on(agent: Any) -> None:
    """The rejected call is answered with the person's words, and a strict server takes the history."""
    agent.start(call("transfer", PAY), call("transfer", LESS), say("Paid five."))
    again = agent("reject", "t", "--comment", WORDS, "--as", "alice", expect=3)
    assert again["pending"][0]["args"] == LESS
    assert again["executions"] == []
    [told] = agent.told()
    assert WORDS in told
    assert "alice" in told
    assert agent.world.attempts("transfer") == 0

    ended = agent("approve", "t", expect=0)
    assert (ended["status"], ended["final_answer"]) == ("completed", "Paid five.")
    assert agent.world.lines("transfer") == ["5 to bob"]
    assert agent("resume", "t", expect=0) == ended
    [rejected] = [e for e in agent.events() if e["kind"] == "approval_decided" and e["payload"]["status"] == "rejected"]
    assert (rejected["actor"], rejected["payload"]["comment"]) == ("alice", WORDS)


def test_c018_stop_ends_the_thread_with_a_complete_history(agent: Any) -> None:
    """A thread that a person stops ends with an answer to every call."""
    agent.start(calls(call("transfer", PAY), call("note_add", {"text": "first"}), call("transfer_keyed", LESS)))
    first = agent("show", "t", expect=0)["pending"][0]["approval_id"]
    ended = agent("reject", first, "--then", "stop", "--comment", WORDS, expect=0)
    assert (ended["status"], ended["pending"], ended["final_answer"]) == ("rejected", [], None)
    assert (agent.world.count("note_add"), agent.world.attempts("transfer"), agent.world.attempts("transfer_keyed")) == (1, 0, 0)
    assert len(agent.model.requests) == 1
    assert agent.unanswered() == []
    assert agent("resume", "t", expect=0) == ended
    assert agent("inbox", expect=0) == {"pending": [], "more": False}


def test_an_unknown_wish_is_refused(agent: Any) -> None:
    assert agent("reject", "t", "--then", "perhaps", expect=2)["error"]["code"] == "usage"


def test_c083_the_same_action_is_not_put_before_people_again_and_again(agent: Any) -> None:
    """Two times here; then the thread stops with that reason, and a resume lets the model think of something else."""
    agent.model.always(call("transfer", PAY))
    two = {"INTERLOCK_REJECTION_LIMIT": "2"}
    agent("start", "pay", "--thread", "t", expect=3, environment=two)
    again = agent("reject", "t", expect=3, environment=two)
    assert again["pending"][0]["args"] == PAY
    [told] = agent.told()
    assert "Do not propose it again" in told
    stopped = agent("reject", "t", expect=8, environment=two)
    assert (stopped["status"], stopped["pending"], stopped["error"]["code"]) == ("stopped", [], "repeated_rejected_action")
    assert "people rejected 2 times" in stopped["error"]["message"]
    assert agent("show", "t", expect=0)["error"] == stopped["error"]
    assert agent.kinds().count("approval_requested") == 2
    agent.model.always(call("transfer", LESS))
    assert agent("resume", "t", expect=3, environment=two)["pending"][0]["args"] == LESS
    assert agent.world.attempts("transfer") == 0
