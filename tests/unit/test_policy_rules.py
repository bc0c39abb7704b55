"""The policy file: what a rule opens, and that nothing which is wrong with one ever opens a gate."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from graph.facts import Facts
from graph.policy import Policy, Verdict, load_policy, stricter
from memory.errors import UsageError
from tools.spec import Registry, tool

FACTS = Facts("alice", "default", "t", datetime(2026, 1, 31, tzinfo=UTC), [])
FILE = """
[tiers]
1 = ["alice", "bob"]
2 = ["carol", "dave"]

[[rule]]
name = "never to a closed account"
when = 'tool == "wire" && args.to == "closed"'
verdict = "forbid"

[[rule]]
name = "small"
when = 'tool == "wire" && args.amount <= 10'
verdict = "pre_approve"
review = 0.2

[[rule]]
name = "large"
when = 'tool == "wire" && args.amount > 1000'
verdict = "ask"
tier = 2
required = 2
four_eyes = true
deadline = "1h30m"
on_expiry = "escalate"
"""


@tool(is_critical=True)
def wire(amount: float, to: str) -> str:
    """Send money."""
    return f"{amount} to {to}"


@tool(is_critical=False, idempotent=True)
def look(what: str) -> str:
    """Look at something."""
    return what


REGISTRY = Registry([wire, look])


def policy(tmp_path: Path, text: str) -> Policy:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    return load_policy(file, REGISTRY.names)


def verdict(of: Policy, name: str, facts: Facts = FACTS, **args: Any) -> Verdict:
    found = REGISTRY.get(name)
    assert found is not None
    return of.judge(found, args, facts)


@pytest.mark.parametrize(
    ("args", "action", "rule"),
    [
        ({"amount": 5, "to": "bob"}, "run", "small"),
        ({"amount": 10.5, "to": "bob"}, "ask", "defaults"),
        ({"amount": 1000.5, "to": "bob"}, "ask", "large"),
        ({"amount": 1001, "to": "bob"}, "ask", "large"),
        ({"amount": 5, "to": "closed"}, "forbid", "never to a closed account"),
    ],
)
def test_the_first_rule_that_matches_counts(tmp_path: Path, args: dict[str, Any], action: str, rule: str) -> None:
    found = verdict(policy(tmp_path, FILE), "wire", **args)
    assert (found.action, found.rule) == (action, rule)


def test_what_a_rule_says_is_in_the_verdict_and_the_rest_comes_from_the_defaults(tmp_path: Path) -> None:
    read = policy(tmp_path, FILE)
    large = verdict(read, "wire", amount=5000, to="bob")
    assert (large.tier, large.required, large.four_eyes, large.deadline, large.on_expiry) == (2, 2, True, 5400, "escalate")
    assert large.sources == ("token", "oidc", "os")
    assert large.policy == read.digest != "built-in"
    small = verdict(read, "wire", amount=1, to="bob")
    assert small.pre_approved and small.review == 0.2
    assert verdict(read, "look", what="x").action == "run"


@pytest.mark.parametrize("condition", ["args.amuont > 5", "args.to > 5", "args.amount / 0 > 1", 'history[7].tool == "x"', "args.to"])
def test_a_rule_that_fails_asks_at_the_highest_tier_and_names_itself(tmp_path: Path, condition: str) -> None:
    broken = f"[tiers]\n1 = ['alice']\n3 = ['carol']\n[[rule]]\nname = 'odd'\nwhen = '''{condition}'''\nverdict = 'pre_approve'\n"
    found = verdict(policy(tmp_path, broken), "wire", amount=5, to="bob")
    assert (found.action, found.tier) == ("ask", 3)
    assert "odd" in found.rule


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("[[rule]\n", "line 1"),
        ("[defaults]\ntire = 1\n", "tire"),
        ("[[rule]]\nname='a'\nwhen='tool == \"wrie\"'\nverdict='ask'\n", "wrie"),
        ("[[rule]]\nname='a'\nwhen='true'\nverdict='aks'\n", "aks"),
        ("[[rule]]\nname='a'\nwhen='tool =='\nverdict='ask'\n", "a"),
        ("[[rule]]\nname='a'\nwhen='1 + 1'\nverdict='ask'\n", "a"),
        ("[[rule]]\nname='a'\nverdict='ask'\n", "when"),
        ("[[rule]]\nname='a'\nwhen='true'\nverdict='ask'\ndeadline='soon'\n", "soon"),
        ("[[rule]]\nname='a'\nwhen='true'\nverdict='ask'\non_expiry='approve'\n", "approve"),
        ("[[rule]]\nname='a'\nwhen='true'\nverdict='ask'\nrequired=0\n", "required"),
        ("[tiers]\n1=['a']\n[[rule]]\nname='a'\nwhen='true'\nverdict='ask'\ntier=2\n", "2"),
        ("[tiers]\n1=['a']\n[[rule]]\nname='a'\nwhen='true'\nverdict='ask'\nrequired=2\n", "2"),
        ("[[rule]]\nname='a'\nwhen='true'\nverdict='ask'\n[[rule]]\nname='a'\nwhen='true'\nverdict='ask'\n", "a"),
    ],
)
def test_c084_a_file_with_a_mistake_is_refused_with_its_place(tmp_path: Path, broken: str, said: str) -> None:
    """A policy file with a mistake is refused, with the place and what there is."""
    with pytest.raises(UsageError) as error:
        policy(tmp_path, broken)
    assert error.value.code == "bad_policy"
    assert said in error.value.message
    assert "policy.toml" in error.value.message


def test_who_is_listed(tmp_path: Path) -> None:
    read = policy(tmp_path, FILE)
    assert read.highest_tier == 2
    assert read.eligible("carol", 1) and read.eligible("carol", 2)
    assert read.eligible("alice", 1) and not read.eligible("alice", 2)
    assert not read.eligible("mallory", 1)
    assert Policy().eligible("anybody", 1)


def test_of_two_verdicts_the_stricter_holds_in_each_part() -> None:
    old = Verdict("ask", tier=1, required=2, sources=("token", "claimed"), deadline=60)
    new = Verdict("run", tier=2, required=1, sources=("token", "os"), four_eyes=True, deadline=None)
    for both in (stricter(old, new), stricter(new, old)):
        assert (both.action, both.tier, both.required, both.sources, both.four_eyes, both.deadline) == ("ask", 2, 2, ("token",), True, 60)


def test_c043_nonsense_in_a_checkpoint_is_asked() -> None:
    """A verdict that a checkpoint cannot give back is asked about, never taken for a permission."""
    for forged in ({}, {"action": "yes"}, {"action": "run"}, {"action": None, "tier": -1}):
        assert stricter(forged, Verdict("ask")).action == "ask"


def test_the_same_file_has_the_same_digest(tmp_path: Path) -> None:
    digest = policy(tmp_path, FILE).digest
    assert policy(tmp_path, FILE).digest == digest
    assert policy(tmp_path, FILE + "\n[defaults]\ntier = 2\n").digest != digest
