"""A final answer under a rule: kept back until people let it go, changed, refused a bounded number of times, forbidden, pre-approved."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import call, say

ASK = """
[defaults]
sources = ["token", "claimed"]

[final_answer]
when = 'requester.startsWith("customer:")'
"""
FORBID = """
[[final_answer]]
name = "no promises"
when = 'args.text.contains("guarantee")'
verdict = "forbid"
"""
PRE_APPROVE = """
[defaults]
sources = ["token", "claimed"]

[[final_answer]]
name = "short ones"
when = 'size(args.text) < 100'
verdict = "pre_approve"
"""
SECRET = "Your refund is on its way."


@pytest.fixture
def answering(agent: Any, tmp_path: Path) -> Any:
    def answer(policy: str, *steps: Any, requester: str = "customer:7", expect: int = 3) -> Any:
        file = tmp_path / "policy.toml"
        file.write_text(policy)
        agent.cli.environment["INTERLOCK_POLICY"] = str(file)
        agent.model.play(*steps)
        return agent("start", "where is my money?", "--thread", "t", "--requester", requester, expect=expect)

    return answer


def test_it_is_kept_back_until_somebody_lets_it_go(agent: Any, answering: Any) -> None:
    waiting = answering(ASK, say(SECRET))
    asked = waiting["pending"][0]
    assert (waiting["status"], waiting["final_answer"], asked["kind"], asked["args"]) == ("waiting", None, "final_answer", {"text": SECRET})
    assert "MAY THIS ANSWER GO OUT?" in agent.cli("show", "t").expect(0).stdout
    ended = agent("approve", "t", "--as", "ada", expect=0)
    assert (ended["status"], ended["final_answer"]) == ("completed", SECRET)
    again = agent("approve", asked["approval_id"], "--as", "ada", expect=5)
    assert again["error"]["code"] == "already_decided"


def test_nobody_else_is_asked(agent: Any, answering: Any) -> None:
    assert answering(ASK, say("Done."), requester="ada", expect=0)["final_answer"] == "Done."


def test_changed_it_goes_out_as_it_was_changed(agent: Any, answering: Any) -> None:
    answering(ASK, call("note_add", {"text": "x"}), say(SECRET))
    agent("modify", "t", "--args", '{"txt": "no"}', "--as", "ada", expect=6)
    ended = agent("modify", "t", "--args", json.dumps({"text": "We look into it."}), "--as", "ada", expect=0)
    assert ended["final_answer"] == "We look into it."
    assert SECRET not in json.dumps(agent("show", "t", expect=0))
    assert agent.rows("SELECT final_answer FROM interlock.run")[0][0] == "We look into it."


def test_refused_the_model_is_told_and_not_for_ever(agent: Any, answering: Any) -> None:
    answering(ASK, *[say(f"{SECRET} {number}") for number in range(3)])
    agent("reject", "t", "--comment", "say no sum", "--as", "ada", expect=3)
    history = agent.model.requests[-1]["messages"]
    assert [message["role"] for message in history][-2:] == ["assistant", "user"]
    assert "say no sum" in history[-1]["content"] and "ada" in history[-1]["content"]
    agent("reject", "t", "--as", "ada", expect=3)
    stopped = agent("reject", "t", "--as", "ada", expect=8)
    assert (stopped["status"], stopped["error"]["code"], stopped["final_answer"]) == ("stopped", "answers_refused", None)
    assert len(agent.model.requests) == 3


def test_refused_it_can_end_the_thread(agent: Any, answering: Any) -> None:
    answering(ASK, say(SECRET))
    ended = agent("reject", "t", "--then", "stop", "--as", "ada", expect=0)
    assert (ended["status"], ended["final_answer"]) == ("rejected", None)


def test_forbidden_the_model_is_told_and_nobody_is_asked(agent: Any, answering: Any) -> None:
    ended = answering(FORBID, say("We guarantee it."), say("We try."), expect=0)
    assert ended["final_answer"] == "We try."
    assert "no promises" in agent.model.requests[-1]["messages"][-1]["content"]
    assert agent.rows("SELECT 1 FROM interlock.approval") == []


def test_pre_approved_it_goes_out_at_once_and_is_reviewed(agent: Any, answering: Any) -> None:
    assert answering(PRE_APPROVE, say("Done."), expect=0)["final_answer"] == "Done."
    reviews = agent("review", "list", expect=0)["reviews"]
    assert [(one["kind"], one["args"], one["rule"]) for one in reviews] == [("final_answer", {"text": "Done."}, "short ones")]
    assert agent("review", "accept", "t", "--as", "ada", expect=0)["status"] == "accepted"


def test_it_is_not_written_to_a_terminal_before(agent: Any, answering: Any, tmp_path: Path) -> None:
    """The rule cannot be evaluated, so people are asked."""
    (tmp_path / "policy.toml").write_text(ASK.replace('requester.startsWith("customer:")', 'args.txt == "x"'))
    agent.cli.environment["INTERLOCK_POLICY"] = str(tmp_path / "policy.toml")
    agent.model.play(say(SECRET))
    terminal = agent.cli.terminal("start", "go", "--thread", "t")
    shown = terminal.read_until("[l]eave it waiting? ")
    assert SECRET not in shown.partition("MAY THIS ANSWER GO OUT?")[0]
    terminal.send("a\n")
    terminal.wait().expect(0)
    assert agent("show", "t", expect=0)["final_answer"] == SECRET


def test_explained_checked_and_tested(agent: Any, tmp_path: Path) -> None:
    example = '\n[[test]]\ntool = "final_answer"\nargs = { text = "We guarantee it." }\nverdict = "forbid"\n'
    (tmp_path / "policy.toml").write_text(FORBID + example)
    agent.cli.environment["INTERLOCK_POLICY"] = str(tmp_path / "policy.toml")
    assert agent("policy", "check", expect=0)["answer_rules"] == ["no promises"]
    assert agent("policy", "test", expect=0)["ok"] is True
    explained = agent("policy", "explain", "final_answer", '{"text": "We try."}', expect=0)
    assert explained["verdict"]["verdict"] == "run"
    (tmp_path / "policy.toml").write_text(FORBID + "tier = 2\n")
    assert agent("policy", "check", expect=2)["error"]["code"] == "bad_policy"


def test_a_rule_that_came_before_it_was_out_counts(agent: Any, tmp_path: Path) -> None:
    """The graph had ended with the answer when the process died; it has not been given to anybody."""
    agent.model.play(say(SECRET))
    agent.cli("start", "go", "--thread", "t", "--requester", "customer:7", environment=agent.cli.crashing("before_settle")).expect(-9)
    (tmp_path / "policy.toml").write_text(ASK)
    agent.cli.environment["INTERLOCK_POLICY"] = str(tmp_path / "policy.toml")
    waiting = agent("resume", "t", expect=3)
    assert (waiting["pending"][0]["kind"], waiting["final_answer"]) == ("final_answer", None)
    assert agent("approve", "t", "--as", "ada", expect=0)["final_answer"] == SECRET
