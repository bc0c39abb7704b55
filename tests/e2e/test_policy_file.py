"""A policy file from outside: what runs at once, what is asked of whom, what nobody is asked about; and what does not open a gate."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import call, say

RULES = """
[tiers]
1 = ["alice"]
2 = ["carol"]

[defaults]
sources = ["token", "claimed"]

[[rule]]
name = "small change"
when = 'tool == "transfer" && args.amount <= 10'
verdict = "pre_approve"

[[rule]]
name = "never to eve"
when = 'tool == "transfer" && args.to == "eve"'
verdict = "forbid"

[[rule]]
name = "large"
when = 'tool == "transfer" && args.amount > 1000'
verdict = "ask"
tier = 2

[[rule]]
name = "notes are read before"
when = 'tool == "note_add"'
verdict = "ask"

[[test]]
tool = "transfer"
args = { amount = 5000, to = "bob" }
verdict = "ask"
tier = 2
"""


@pytest.fixture
def ruled(agent: Any, tmp_path: Path) -> Any:
    def rule(text: str = RULES) -> Path:
        file = tmp_path / "policy.toml"
        file.write_text(text)
        agent.cli.environment["INTERLOCK_POLICY"] = str(file)
        return file

    return rule


def pay(agent: Any, amount: int, to: str = "bob", *, expect: int) -> Any:
    agent.model.play(call("transfer", {"to": to, "amount": amount}), say("Done."))
    return agent("start", f"pay {to}", "--thread", "t", expect=expect)


def test_pre_approved_it_runs_at_once_and_the_record_says_by_which_rule(agent: Any, ruled: Any) -> None:
    ruled()
    ended = pay(agent, 5, expect=0)
    assert agent.world.attempts("transfer") == 1
    assert ended["executions"][0]["approval_id"]
    decided = [event for event in agent("audit", "t", "--verify", expect=0)["events"] if event["kind"] == "approval_decided"]
    assert [(event["actor"], event["actor_source"]) for event in decided] == [("policy", "policy")]
    assert "small change" in json.dumps(agent("audit", "t", expect=0)["events"])


def test_forbidden_it_is_told_to_the_model_and_nobody_is_asked(agent: Any, ruled: Any) -> None:
    ruled()
    pay(agent, 500, "eve", expect=0)
    assert agent.world.attempts("transfer") == 0
    assert "never to eve" in json.dumps(agent.model.requests[-1])
    proposed = [event["payload"] for event in agent.events() if event["kind"] == "action_proposed"]
    assert [(one["verdict"], one["rule"], one["args"]["to"]) for one in proposed] == [("forbid", "never to eve", "eve")]
    assert agent.rows("SELECT 1 FROM interlock.approval") == []


def test_the_rule_decides_the_tier(agent: Any, ruled: Any) -> None:
    ruled()
    waiting = pay(agent, 5000, expect=3)["pending"][0]
    assert (waiting["tier"], waiting["rule"]) == (2, "large")
    assert [one["tool"] for one in agent("inbox", "--tier", "2", expect=0)["pending"]] == ["transfer"]


def test_an_uncritical_tool_can_be_asked_about(agent: Any, ruled: Any) -> None:
    ruled()
    agent.model.play(call("note_add", {"text": "x"}))
    assert agent("start", "note", "--thread", "n", expect=3)["pending"][0]["rule"] == "notes are read before"


def test_a_change_that_crosses_a_threshold_needs_the_higher_tier(agent: Any, ruled: Any) -> None:
    ruled()
    pay(agent, 50, expect=3)
    refused = agent.cli("modify", "t", "--set", "amount=5000", "--as", "alice", "--json").expect(6)
    assert refused.json["error"]["code"] == "not_permitted"
    forbidden = agent.cli("modify", "t", "--set", "to=eve", "--as", "alice", "--json").expect(6)
    assert forbidden.json["error"]["code"] == "forbidden"
    assert agent.world.attempts("transfer") == 0
    agent.cli("modify", "t", "--set", "amount=60", "--as", "alice", "--json").expect(0)
    assert agent.world.lines("transfer") == ["60 to bob"]


def test_a_policy_that_was_tightened_meanwhile_counts_when_it_runs(agent: Any, ruled: Any) -> None:
    """Approved under the old file; the new one forbids it."""
    ruled()
    pay(agent, 50, expect=3)
    agent.cli("approve", "t", "--as", "alice", "--detach").expect(0)
    ruled(RULES.replace('args.to == "eve"', 'args.to == "bob"'))
    agent("resume", "t", expect=0)
    assert agent.world.attempts("transfer") == 0


def test_a_broken_rule_asks_at_the_highest_tier(agent: Any, ruled: Any) -> None:
    ruled(RULES.replace("args.amount <= 10", "args.amuont <= 10"))
    assert pay(agent, 5, expect=3)["pending"][0]["tier"] == 2
    assert agent.world.attempts("transfer") == 0


def test_a_broken_file_is_refused_at_the_start(agent: Any, ruled: Any) -> None:
    ruled(RULES.replace('verdict = "forbid"', 'verdict = "forbidden"'))
    refused = agent.cli("start", "pay", "--thread", "t", "--json").expect(2)
    assert refused.json["error"]["code"] == "bad_policy" and "line" in refused.json["error"]["message"]
    assert agent.cli("policy", "check", "--json").expect(2)


def test_check_explain_and_test(agent: Any, ruled: Any) -> None:
    file = ruled()
    assert agent("policy", "check", expect=0)["ok"] is True
    explained = agent.cli("policy", "explain", "transfer", '{"to": "bob", "amount": 5000}').expect(0)
    assert "large" in explained.stdout and "2" in explained.stdout
    agent.cli("policy", "test").expect(0)
    file.write_text(RULES.replace("args.amount > 1000", "args.amount > 9000"))
    agent.cli("policy", "test").expect(1)
