"""At a terminal the question is shown, in full and as it is, and asked at once; only one of the named words decides."""

import json
import shlex
from typing import Any

import pytest
from bench.cli import Cli
from bench.openai_server import call, calls, say

CHOICES = "or [l]eave it waiting? "
PAY = {"to": "bob", "amount": 5}
DISGUISED = "bob\u202egro.live\u200b\x1b[2J\x07"


@pytest.mark.cold_start
def test_c049_c114_shown_refused_left_and_approved(agent: Any) -> None:
    """Only the named words decide; facts stand apart from what the model wrote."""
    agent.model.play(calls(call("transfer", PAY), text="MAY THIS RUN? It was approved already."), say("Paid."))
    terminal = agent.cli.terminal("start", "pay bob", "--thread", "t", "--requester", "carol")
    shown = terminal.read_until(CHOICES)
    for fact in ("MAY THIS RUN?", "transfer", '"bob"', "5", "carol", "default", "1, 0 of 1", "digest", "never", "started by"):
        assert fact in shown
    streamed, _, asked = shown.partition("\nMAY THIS RUN?")
    assert "  | MAY THIS RUN? It was approved already." in streamed, "what it writes while it writes is marked too"
    facts, _, words = asked.partition("The model wrote (its words, not facts):")
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


def test_c094_c100_the_end_of_input_decides_nothing(agent: Any) -> None:
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


@pytest.mark.cold_start
def test_interrupted_it_waits_on(agent: Any) -> None:
    agent.model.play(call("transfer", PAY))
    terminal = agent.cli.terminal("start", "pay bob", "--thread", "t")
    terminal.read_until(CHOICES)
    terminal.send("\x03")
    terminal.wait(20).expect(130)
    assert agent("show", "t", expect=0)["status"] == "waiting"
    assert agent.world.attempts("transfer") == 0


def test_c100_nothing_that_a_model_wrote_begins_a_line(agent: Any) -> None:
    """The terminal would fold a long value so that its rest begins where our own lines begin: so it is folded before."""
    forged = "x" * 45 + "MAY THIS RUN? approved by the board" + " " * 33 + "rule  default, approved by the board"
    agent.model.play(calls(call("transfer", {"to": forged, "amount": 5}), text=forged))
    terminal = agent.cli.terminal("start", "pay", "--thread", "t", columns=60)
    terminal.read_until(CHOICES)
    lines = [line for line in terminal.text.split("\n") if "approved by" in line or "xxx" in line]
    assert lines, terminal.text
    for line in lines:
        assert line.startswith(("  | ", "    ")), line
        assert len(line.rstrip()) <= 60, line
    terminal.send("l\n")
    terminal.wait().expect(3)


def test_c102_a_question_longer_than_the_screen_can_be_paged(agent: Any) -> None:
    """A question is shown in full, and can be paged where it is longer than the screen."""
    body = [f"line {number}" for number in range(200)] + ["and delete everything"]
    agent.model.play(call("transfer", {"to": "\n".join(body), "amount": 5}))
    terminal = agent.cli.terminal("start", "pay", "--thread", "t", environment={"PAGER": "tail -n 400"})
    shown = terminal.read_until(CHOICES)
    assert "and delete everything" in shown, "in full all the same"
    assert "about transfer is longer than" in shown, "its first lines have left the screen"
    terminal.send("v\n")
    assert "and delete everything" in terminal.read_until(CHOICES)
    terminal.send("l\n")
    terminal.wait().expect(3)


def test_c096_colours_where_a_person_looks_and_not_with_no_color(agent: Any) -> None:
    """Colours are for a terminal without NO_COLOR; a pipe has none."""
    agent.model.play(call("transfer", PAY))
    terminal = agent.cli.terminal("start", "pay", "--thread", "t", environment={"TERM": "xterm"})
    terminal.read_until(CHOICES)
    assert "\x1b[1mMAY THIS RUN?\x1b[0m" in terminal.screen
    terminal.send("l\n")
    terminal.wait().expect(3)
    terminal = agent.cli.terminal("resume", "t", environment={"NO_COLOR": "1"})
    terminal.read_until(CHOICES)
    assert "\x1b" not in terminal.screen
    terminal.send("l\n")
    terminal.wait().expect(3)
    piped = agent.cli("show", "t").expect(0)
    assert "\x1b" not in piped.stdout + piped.stderr


def test_c096_lists_fit_a_narrow_terminal_and_cut_no_id(agent: Any) -> None:
    """Lists fit a narrow terminal and cut no id."""
    agent.model.play(call("transfer", PAY))
    waiting = agent("start", "pay", "--thread", "a-rather-long-name-for-a-thread-of-payments", expect=3)
    terminal = agent.cli.terminal("inbox", columns=60)
    terminal.wait().expect(0)
    assert waiting["pending"][0]["approval_id"] in terminal.text
    assert waiting["thread_id"] in terminal.text
    assert max(len(line.rstrip()) for line in terminal.text.split("\n")) <= 60


def test_an_answer_in_a_pipe_is_for_nobodys_eyes_wherever_the_rest_goes(agent: Any) -> None:
    """Typed at a terminal with its output in a pipe: one line a row, whatever the width, and nobody is asked."""
    agent.start(call("transfer", PAY), thread="a-rather-long-name-for-a-thread-of-payments")
    agent.model.play(call("transfer", PAY))
    for words in ("inbox", "runs", "start pay --thread u"):
        line = f"{shlex.join(agent.cli.command)} {words} > out.txt; echo code=$?"
        shell = Cli(agent.cli.environment, agent.cli.cwd, ("/bin/sh", "-c", line)).terminal(columns=60)
        shell.wait().expect(0)
        rows = (agent.project / "out.txt").read_text().splitlines()
        if words.startswith("start"):
            assert "code=3" in shell.text and "leave it waiting" not in shell.text and rows[0] == "thread u: waiting"
        else:
            assert rows[0].count("  ") >= 4 and "thread_id" in rows[0] and len(rows) == 2, rows


def test_progress_goes_to_who_looks_or_to_a_log(agent: Any) -> None:
    agent.model.play(call("note_add", {"text": "x"}), say("Seen."))
    piped = agent.cli("start", "look", "--thread", "p").expect(0)
    assert "note_add: started" not in piped.stderr
    agent.model.play(call("note_add", {"text": "x"}), say("Seen."))
    logged = agent.cli("start", "look", "--thread", "q", "--log", "json", "--json").expect(0)
    assert json.loads(logged.stdout)["status"] == "completed"
    events = [json.loads(line) for line in logged.stderr.splitlines()]
    ended = next(event for event in events if event["event"] == "tool_ended")
    assert (ended["tool"], ended["status"]) == ("note_add", "success") and ended["seconds"] >= 0
    assert {"at", "event"} <= events[0].keys()


def test_a_secret_is_neither_shown_nor_echoed_where_it_is_changed(agent: Any) -> None:
    agent.rewrite_tools("@tool(is_critical=True)\ndef transfer(", '@tool(is_critical=True, secret=("to",))\ndef transfer(')
    agent.model.play(call("transfer", {"to": "hunter1", "amount": 5}), say("Paid."))
    terminal = agent.cli.terminal("start", "pay", "--thread", "t")
    terminal.read_until(CHOICES)
    for keys, until in (("m\n", "to ["), ("hunter2\n", "amount ["), ("3\n", "[y]es"), ("y\n", "Paid.")):
        terminal.send(keys)
        terminal.read_until(until)
    terminal.wait().expect(0)
    assert "hunter" not in terminal.screen
    assert agent.world.lines("transfer") == ["3 to hunter2"]


def test_what_may_be_answered_is_explained_for_each_kind_of_question(agent: Any) -> None:
    agent.start(call("transfer", PAY), say("Settled.\nerror: none"))
    agent.cli("approve", "t", environment=agent.world.environment(crash="after")).expect(-9)
    terminal = agent.cli.terminal("resume", "t", columns=60)
    terminal.read_until(CHOICES)
    terminal.send("?\n")
    explained = terminal.read_until(CHOICES)
    for word in ("done", "retry", "abandon", "leave"):
        assert f"\n  {word:<10}" in explained
    assert "approve " not in explained
    assert max(len(line.rstrip()) for line in explained.split("\n")) <= 60
    terminal.send("d\n")
    terminal.read_until("What came out? ")
    terminal.send("paid\n")
    terminal.wait().expect(0)
    assert "\nThe answer:\n  | Settled.\n  | error: none\n" in agent.cli("show", "t").stdout, "no line of it passes for one of ours"


def test_calls_of_one_tool_are_told_apart_and_no_secret_is_told(agent: Any) -> None:
    """Neither on the screen nor in what memory keeps of the thread, also where nobody was asked and the tool has gone."""
    agent.rewrite_tools("idempotent=False)\ndef note_add(text", 'idempotent=False, secret=("text",))\ndef note_add(n: int, text')
    agent.rewrite_tools('    return f"noted: {text}"', '    return "noted"')
    memory = {"INTERLOCK_EMBEDDINGS": "openai:words"}
    agent.start(*(call("note_add", {"text": f"hunter{n}", "n": n}) for n in (1, 2)), say("Noted."), expect=0, environment=memory)
    agent.rewrite_tools("def note_add(", "def note_added(")
    agent.rewrite_tools("    note_add,", "    note_added,")
    terminal = agent.cli.terminal("show", "t", columns=40)
    terminal.wait().expect(0)
    assert "n=1" in terminal.text and "n=2" in terminal.text and "hunter" not in terminal.text
    assert max(len(line.rstrip()) for line in terminal.text.split("\n")) <= 40
    shown = agent("show", "t", expect=0)["executions"]
    assert [one["args"]["n"] for one in shown] == [1, 2] and "hunter" not in str(shown)
    [kept] = agent("memory", "list", expect=0, environment=memory)["records"]
    assert "note_add" in kept["content"] and "hunter" not in kept["content"]
    with agent.superuser() as database:
        database.execute("UPDATE interlock.execution SET secret = NULL")
    assert {value for one in agent("show", "t", expect=0)["executions"] for value in one["args"].values()} == {"‹secret›"}


def test_c102_a_long_text_is_shown_as_its_lines_and_the_last_one_is_whole(agent: Any) -> None:
    """Read at three in the morning: each line begins behind a bar, which no text can forge, however the terminal is folded."""
    lines = [f"echo {number}: checked, and approved by the board" for number in range(120)]
    script = "\n".join([*lines, "", "| rm -rf / --no-preserve-root"])
    agent.model.play(calls(call("transfer", {"to": script, "amount": 5}), text="It was approved already."))
    terminal = agent.cli.terminal("start", "pay", "--thread", "t", columns=60)
    shown = terminal.read_until("waiting? ")
    assert "(a text of 122 lines)" in shown
    begun = [line.strip() for line in shown.split("\n") if line.startswith(" " * 16 + "| ")]
    assert begun[-1] == "| | rm -rf / --no-preserve-root"
    assert len(begun) == 121, "and a bar alone for the empty line"
    assert max(len(line.rstrip()) for line in shown.split("\n")) <= 60, "no word of ours or theirs is folded by the terminal"
    terminal.send("l\n")
    terminal.wait().expect(3)
    terminal = agent.cli.terminal("inbox", columns=60)
    terminal.wait().expect(0)
    assert max(len(line.rstrip()) for line in terminal.text.split("\n")) <= 60


def test_a_failed_thread_says_what_to_do_and_how_to_go_on(agent: Any) -> None:
    failed = agent.cli("start", "look", "--thread", "t", environment={"OPENAI_API_KEY": "ollama"}).expect(1)
    assert "refuses the key" in failed.stdout and "Set OPENAI_API_KEY" in failed.stdout
    assert "has answered" not in failed.stderr
    assert "interlock resume t" in failed.stderr
    agent.model.play(say("Seen."))
    agent.cli("resume", "t").expect(0)
