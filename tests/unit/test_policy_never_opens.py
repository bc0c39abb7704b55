"""Whatever is wrong with a policy file: it is refused, or people are asked. It never lets a critical call run. Drawn at random, the same
ones each time, and judged against the rules of CEL and of the file written a second time.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph.facts import Facts
from graph.policy import Policy, Verdict, load_policy, stricter
from memory.errors import UsageError
from tools.spec import Registry, tool

FACTS = Facts("alice", "default", "t", datetime(2026, 1, 31, tzinfo=UTC), [])
ARGS = {"amount": 5.0, "to": "bob"}
HIGHEST = 3
TIERS = "[tiers]\n1 = ['alice']\n3 = ['carol']\n"
STRICT = f"""{TIERS}
[defaults]
sources = ["token", "os"]

[[rule]]
name = "large"
when = 'tool == "wire" && args.amount > 1000.0'
verdict = "ask"
tier = 3

[[rule]]
name = "closed"
when = 'args.to == "closed"'
verdict = "forbid"

[[final_answer]]
when = 'args.text.contains("x")'
verdict = "ask"
"""
quick = settings(derandomize=True, deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
FAILS = None  # a condition that cannot be evaluated


@tool(is_critical=True)
def wire(amount: float, to: str) -> str:
    """Send money."""
    return f"{amount} to {to}"


REGISTRY = Registry([wire])
WIRE = REGISTRY.get("wire")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("policy") / "policy.toml"


def read(file: Path, text: str) -> Policy | None:
    """None where the file is refused as it has to be."""
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        return load_policy(file, REGISTRY.names)
    except UsageError as error:
        assert error.code == "bad_policy"
        return None


def judged(policy: Policy) -> Verdict:
    assert WIRE is not None
    return policy.judge(WIRE, ARGS, FACTS)


@given(st.data())
@quick
def test_c084_a_file_that_was_damaged_anywhere_opens_nothing(file: Path, data: st.DataObject) -> None:
    """A policy file that was damaged anywhere is refused, or asks as it did."""
    text = STRICT
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.text(max_size=6)) + text[end:]
    policy = read(file, text) if "pre_approve" not in text else None
    if policy is not None:
        assert judged(policy).action in {"ask", "forbid"}


LEAVES: dict[str, bool | None] = {
    "true": True, "false": False, 'args.to == "bob"': True, "args.amount > 10.0": False, "args.nothing == 1": FAILS,
    "args.to > 5": FAILS, 'history[7].tool == "x"': FAILS, "1 / (size(history)) > 1": FAILS,
}  # fmt: skip


def both(one: Any, other: Any) -> Any:
    text = f"({one[0]}) && ({other[0]})"
    values = one[1], other[1]
    return text, False if False in values else FAILS if FAILS in values else True


def either(one: Any, other: Any) -> Any:
    text = f"({one[0]}) || ({other[0]})"
    values = one[1], other[1]
    return text, True if True in values else FAILS if FAILS in values else False


def negated(one: Any) -> Any:
    return f"!({one[0]})", FAILS if one[1] is FAILS else not one[1]


CONDITIONS = st.recursive(
    st.sampled_from(list(LEAVES.items())),
    lambda inner: st.one_of(st.builds(both, inner, inner), st.builds(either, inner, inner), st.builds(negated, inner)),
    max_leaves=6,
)
VERDICTS = st.sampled_from(["pre_approve", "ask", "forbid"])
ACTIONS = {"pre_approve": "run", "ask": "ask", "forbid": "forbid"}


@given(st.lists(st.tuples(CONDITIONS, VERDICTS), max_size=4))
@quick
def test_the_first_rule_that_is_not_false_decides_and_one_that_fails_asks_at_the_highest_tier(file: Path, rules: Any) -> None:
    text = TIERS + "".join(f"[[rule]]\nwhen = '''{when}'''\nverdict = '{verdict}'\n" for (when, _), verdict in rules)
    policy = read(file, text)
    assert policy is not None
    found = judged(policy)
    value, verdict = next(((value, verdict) for (_, value), verdict in rules if value is not False), (False, ""))
    if value is FAILS:
        assert (found.action, found.tier) == ("ask", HIGHEST)
    else:
        assert found.action == (ACTIONS[verdict] if value else "ask")


@given(CONDITIONS, VERDICTS)
@quick
def test_the_same_holds_for_final_answers(file: Path, condition: Any, verdict: str) -> None:
    when = condition[0].replace("args.to", "args.text").replace("args.amount > 10.0", "size(args.text) > 10")
    policy = read(file, f"{TIERS}[[final_answer]]\nwhen = '''{when}'''\nverdict = '{verdict}'\n")
    assert policy is not None
    found = policy.judge_answer("bob", FACTS)
    if condition[1] is FAILS:
        assert found is not None and (found.action, found.tier) == ("ask", HIGHEST)
    else:
        assert (found.action if found else "run") == (ACTIONS[verdict] if condition[1] else "run")


@given(st.text(max_size=40))
@quick
def test_any_text_as_a_condition_is_refused_or_not_true(file: Path, text: str) -> None:
    """Random text is no expression that is true; `true` and its like are left out."""
    if "'" in text or not text.strip() or any(word in text for word in ("true", "!", "=", "<", ">", "in")):
        return
    policy = read(file, f"{TIERS}[[rule]]\nwhen = '''{text}'''\nverdict = 'pre_approve'\n")
    assert policy is None or judged(policy).action == "ask"


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda one: st.lists(one, max_size=3), max_leaves=5)
NAMES = "action tier required sources four_eyes deadline on_expiry pre_approved review rule x"
KEYS = st.sampled_from(NAMES.split())


@given(st.dictionaries(KEYS, JSON | st.sampled_from(["run", "ask"])))
@quick
def test_a_forged_verdict_of_a_checkpoint_loosens_nothing(forged: dict[str, Any]) -> None:
    today = Verdict("ask", tier=2, required=2, sources=("token",), four_eyes=True, deadline=60)
    held = stricter(forged, today)
    assert (held.action, held.four_eyes) in {("ask", True), ("forbid", True)}
    assert held.tier >= 2 and held.required >= 2 and set(held.sources) <= {"token", "none"} and (held.deadline or 61) <= 60
