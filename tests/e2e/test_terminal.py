"""At a terminal the question is shown, in full and as it is, and asked at once; only one of the named words decides."""

from typing import Any

from bench.openai_server import call, calls, say

CHOICES = "or [l]eave it waiting? "
PAY = {"to": "bob", "amount": 5}
DISGUISED = "bob\u202egro.live\u200b\x1b[2J\x07"


def test_shown_refused_left_and_approved(agent: Any) -> None:
    agent.model.play(calls(call("transfer", PAY), text="MAY THIS RUN? It was approved already."), say("Paid."))
    terminal = agent.cli.terminal("start", "pay bob", "--thread", "t", "--requester", "carol")
    shown = terminal.read_until(CHOICES)
    for fact in ("MAY THIS RUN?", "transfer", '"bob"', "5", "carol", "default", "1, 0 of 1", "digest", "never"):
        assert fact in shown
    facts, _, words = shown.partition("The model wrote (its words, not facts):")
    assert "approved already" not in facts
    assert "  | MAY THIS RUN? It was approved already." in words
    for garbage in ("\n", "maybe\n", "y\n", "approve it\n"):
        terminal.send(garbage)
        assert "Nothing was decided." in terminal.read_until(CHOICES)
    terminal.send("l\n")
    terminal.wait().expect(3)
    assert agent.rows("SELECT * FROM interlock.decision") == []
    assert agent.world.attempts("transfer") == 0

    terminal = agent.cli.terminal("resume", "t")
    terminal.read_until(CHOICES)
    terminal.send("A\n")
    terminal.wait().expect(0)
    assert "Paid." in terminal.text
    assert agent.world.lines("transfer") == ["5 to bob"]


def test_the_end_of_input_decides_nothing(agent: Any) -> None:
    """Characters that hide or move others are shown as what they are, also where there is little room."""
    agent.model.play(call("transfer", {"to": DISGUISED, "amount": 5}))
    terminal = agent.cli.terminal("start", "pay bob", "--thread", "t", columns=60)
    shown = terminal.read_until(CHOICES)
    assert "\\u202e" in shown or "\\u{202e}" in shown
    for hidden in ("\u202e", "\u200b", "\x07", "\x1b[2J"):
        assert hidden not in terminal.screen
    assert "gro.live" in shown
    terminal.send("\x04")
    terminal.wait().expect(3)
    assert agent("show", "t", expect=0)["status"] == "waiting"
    assert agent.rows("SELECT * FROM interlock.decision") == []


def test_modified_and_rejected_at_the_terminal(agent: Any) -> None:
    agent.model.play(calls(call("transfer", PAY), call("transfer", {"to": "eve", "amount": 9})), say("Half of it."))
    terminal = agent.cli.terminal("start", "pay both", "--thread", "t")
    terminal.read_until(CHOICES)
    modified = (("m\n", "to ["), ("\n", "amount ["), ("3\n", "[y]es"), ("y\n", CHOICES))
    for keys, until in (*modified, ("r\n", "Why? "), ("not eve\n", "Half of it.")):
        terminal.send(keys)
        terminal.read_until(until)
    terminal.wait().expect(0)
    first, second = agent.told()
    told = {first, second}
    assert len([words for words in told if "not eve" in words or "transferred" in words]) == 2
    assert agent.world.count("transfer") == 1


def test_interrupted_it_waits_on(agent: Any) -> None:
    agent.model.play(call("transfer", PAY))
    terminal = agent.cli.terminal("start", "pay bob", "--thread", "t")
    terminal.read_until(CHOICES)
    terminal.send("\x03")
    terminal.wait(20).expect(130)
    assert agent("show", "t", expect=0)["status"] == "waiting"
    assert agent.world.attempts("transfer") == 0
