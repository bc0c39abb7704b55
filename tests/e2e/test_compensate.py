"""`reject --then compensate`: what the thread did is undone, latest first, and a person sees exactly what is undone and what is not."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from bench import undo_tools
from bench.openai_server import call, calls

WHAT = {"what": "a"}


@pytest.fixture
def done(agent: Any) -> Any:
    """A thread that did these things and now asks whether it may pay."""
    shutil.copy(Path(undo_tools.__file__), agent.project)
    agent.cli.environment["INTERLOCK_TOOLS"] += ",undo_tools:TOOLS"

    def do(*tools: str, **more: Any) -> Any:
        return agent.start(*(call(name, WHAT) for name in tools), call("pay", {"amount": 5}), **more)

    return do


def undo(agent: Any, *options: str, expect: int = 0) -> Any:
    return agent("reject", "t", "--then", "compensate", "--comment", "wrong order", *options, expect=expect)


def told(document: Any) -> tuple[list[str], dict[str, str]]:
    report = document["compensation"]
    return [row["tool"] for row in report["undone"]], {row["tool"]: row["state"] for row in report["not_undone"]}


def test_everything_is_undone_latest_first_and_the_thread_ends_as_rejected(agent: Any, done: Any) -> None:
    asked = done("book", "rent")
    assert [row["tool"] for row in asked["then_compensate"]["undoes"]] == ["rent", "book"]
    ended = undo(agent, "--as", "alice")
    assert (ended["status"], ended["final_answer"], ended["pending"]) == ("rejected", None, [])
    assert told(ended) == (["rent", "book"], {})
    undos = {one["undoes"]: one for one in ended["executions"] if one["undoes"]}
    by_key = {one["call_key"]: one["tool"] for one in ended["executions"]}
    assert {by_key[key]: (one["tool"], one["status"], one["attempts"]) for key, one in undos.items()} == {
        "book": ("unbook", "succeeded", 1),
        "rent": ("unrent", "succeeded", 1),
    }
    key = next(one["call_key"] for one in undos.values() if one["tool"] == "unbook")
    assert agent.world.lines("unbook") == [f"a booked-a {key}"]
    assert (agent.world.count("unrent"), agent.world.count("pay")) == (1, 0)
    assert agent.unanswered() == []

    started = [event["payload"]["tool"] for event in agent.events() if event["kind"] == "execution_started"]
    assert started == ["book", "rent", "unrent", "unbook"]
    [end] = [event["payload"] for event in agent.events() if event["kind"] == "compensation_ended"]
    assert (end["wished_by"], [row["tool"] for row in end["undone"]], end["not_undone"]) == ("alice", ["rent", "book"], [])
    assert agent("resume", "t", expect=0) == ended
    assert agent.world.count("unbook") == 1


def test_what_fails_or_has_no_way_back_is_shown_and_holds_up_no_other(agent: Any, done: Any) -> None:
    asked = done("book", "shout", "smash")
    assert [row["tool"] for row in asked["then_compensate"]["cannot_undo"]] == ["shout"]
    ended = undo(agent)
    assert ended["status"] == "rejected"
    assert told(ended) == (["book"], {"smash": "failed", "shout": "no_way_back"})
    assert "it is in pieces" in ended["compensation"]["not_undone"][0]["why"]
    shown = agent.cli("show", "t").expect(0).stdout
    assert "NOT UNDONE   smash" in shown and "undone       book" in shown
    story = agent.cli("replay", "t").expect(0).stdout
    assert "1 undone, 2 not" in story and "it is in pieces" in story


def test_an_undo_that_is_critical_asks_first_and_may_be_refused(agent: Any, done: Any) -> None:
    done("book", "ship", "rent")
    waiting = undo(agent, expect=3)
    [asked] = waiting["pending"]
    assert (asked["kind"], asked["tool"], asked["args"]) == ("compensation", "unship", WHAT)
    assert told(waiting) == (["rent"], {"ship": "waiting", "book": "not_begun"})
    assert [one["kind"] for one in agent("inbox", expect=0)["pending"]] == ["compensation"]
    assert agent.cli("modify", "t", "--set", "what=b", "--json").expect(6).json["error"]["code"] == "wrong_kind"
    ended = agent("approve", "t", "--as", "bob", expect=0)
    assert (ended["status"], told(ended)) == ("rejected", (["rent", "ship", "book"], {}))
    assert (agent.world.count("unship"), agent.world.count("unrent"), agent.world.count("unbook")) == (1, 1, 1)


@pytest.mark.parametrize(("then", "left"), [("continue", ["book"]), ("stop", [])])
def test_a_refused_undo_is_left_out_or_ends_the_undoing(agent: Any, done: Any, then: str, left: list[str]) -> None:
    done("book", "ship")
    undo(agent, expect=3)
    ended = agent("reject", "t", "--then", then, "--as", "bob", expect=0)
    assert ended["status"] == "rejected"
    undone, not_undone = told(ended)
    assert (undone, not_undone["ship"]) == (left, "refused")
    assert agent.world.count("unship") == 0
    assert agent.world.count("unbook") == len(left)


@pytest.mark.parametrize(("settle", "state"), [("--done", "undone"), ("--abandon", "unknown")])
def test_an_undo_of_which_nobody_knows_waits_for_a_person(agent: Any, done: Any, settle: str, state: str) -> None:
    done("book", "call_up")
    [asked] = undo(agent, expect=3)["pending"]
    assert (asked["kind"], asked["tool"]) == ("unknown_outcome", "perhaps")
    assert "the line was cut" in asked["note"]
    assert agent.world.count("unbook") == 0
    ended = agent("resolve", "t", settle, *(["hung up"] if settle == "--done" else []), expect=0)
    undone, not_undone = told(ended)
    assert ended["status"] == "rejected" and "book" in undone
    assert ("call_up" in undone, not_undone.get("call_up")) == (state == "undone", None if state == "undone" else state)
    assert (agent.world.count("perhaps"), agent.world.count("unbook")) == (1, 1)


def test_a_sibling_that_waits_is_withdrawn_and_cancelling_shows_what_is_left(agent: Any, done: Any) -> None:
    both = calls(call("pay", {"amount": 5}), call("transfer", {"to": "bob", "amount": 5}))
    agent.model.play(call("book", WHAT), call("ship", WHAT), both)
    done_first = agent("start", "x", "--thread", "t", expect=3)["pending"]
    waiting = agent("reject", done_first[0]["approval_id"], "--then", "compensate", expect=3)
    assert [one["kind"] for one in waiting["pending"]] == ["compensation"]
    ended = agent("cancel", "t", "--comment", "enough", expect=0)
    assert (ended["status"], ended["pending"]) == ("cancelled", [])
    assert told(ended) == ([], {"ship": "refused", "book": "not_begun"})
    assert (agent.world.count("transfer"), agent.world.count("unship"), agent.world.count("unbook")) == (0, 0, 0)
    assert agent.unanswered() == []


def test_nothing_to_undo(agent: Any, done: Any) -> None:
    done()
    ended = undo(agent)
    assert (ended["status"], told(ended)) == ("rejected", ([], {}))


def test_only_the_decision_in_the_store_lets_an_undo_run(agent: Any, done: Any) -> None:
    """A wish that stands in the checkpoint alone, or for other effects, undoes nothing without asking."""
    done("book")
    agent("reject", "t", "--then", "compensate", "--detach", expect=0)
    with agent.superuser(triggers=False) as database:
        database.execute("UPDATE interlock.approval SET outcome = (outcome::jsonb || '{\"undo\": []}')::json")
    [asked] = agent("resume", "t", expect=3)["pending"]
    assert (asked["kind"], asked["tool"]) == ("compensation", "unbook")
    assert agent.world.count("unbook") == 0
    assert told(agent("approve", "t", expect=0)) == (["book"], {})
