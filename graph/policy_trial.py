"""Trying a policy without running anything: `interlock policy check | explain | test`."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graph.answer import parse_arguments
from graph.facts import Facts
from graph.final_answer import answer_args
from graph.policy import Policy, Verdict, load_policy
from graph.policy_file import ANSWER, Example, read
from graph.settings import Settings
from memory.errors import UsageError
from tools.spec import InvalidArguments, Registry, Tool

THREAD = "trial"


def load(settings: Settings, registry: Registry, file: Path | None = None) -> Policy:
    return load_policy(file or settings.policy, registry.names)


def check(policy: Policy) -> dict[str, Any]:
    tiers = {str(tier): sorted(names) for tier, names in sorted(policy.tiers.items())}
    rules, answers = [rule.name for rule in policy.rules], [rule.name for rule in policy.answer_rules]
    return {"ok": True, "digest": policy.digest, "rules": rules, "answer_rules": answers, "tiers": tiers}


def explain(policy: Policy, tool: Tool | None, args: str, *, requester: str, tenant: str) -> dict[str, Any]:
    """`args` is a JSON object; without a tool, of a final answer. Raises UsageError for arguments that the tool does not take."""
    given, problem = parse_arguments(args)
    if given is None:
        raise UsageError(f"ARGS must be a JSON object: {problem or 'it is empty'}.", code="usage")
    try:
        valid = tool.validate(given) if tool else answer_args(given)
    except InvalidArguments as error:
        raise UsageError(str(error), remedy="interlock tools --json says what it takes.", code="invalid_arguments") from None
    facts = Facts(requester, tenant, THREAD, datetime.now(UTC))
    verdict, steps = policy.explain(tool, valid, facts) if tool else policy.explain_answer(valid["text"], facts)
    rules = [{"rule": step.rule, "result": step.result, "why": step.why} for step in steps]
    told = {**verdict.as_json(), "verdict": verdict.word}
    critical = tool.facts.is_critical if tool else None
    return {"tool": tool.name if tool else ANSWER, "args": valid, "critical": critical, "rules": rules, "verdict": told}


def test(settings: Settings, registry: Registry, file: Path | None = None) -> list[dict[str, Any]]:
    """The examples of the policy; of `file`, which is a policy of its own unless it holds nothing but examples."""
    policy = load(settings, registry, file)
    examples: Sequence[Example] = policy.examples
    if file and settings.policy and _holds_only_examples(file):
        policy = load(settings, registry)
    return [_outcome(policy, registry, example) for example in examples]


def _holds_only_examples(file: Path) -> bool:
    made = read(file)
    return bool(made.examples) and not made.rules and made.tiers is None and not made.answer_rules


def _outcome(policy: Policy, registry: Registry, example: Example) -> dict[str, Any]:
    tool = registry.get(example.tool)  # none: it is about a final answer, because the file was checked against the tools
    named = {"line": example.line, "tool": example.tool, "args": dict(example.args), "expected": dict(example.expected)}
    try:
        args = tool.validate(dict(example.args)) if tool else answer_args(example.args)
    except InvalidArguments as error:
        return {**named, "got": {}, "ok": False, "why": str(error)}
    facts = _facts(example.given)
    verdict = policy.judge(tool, args, facts) if tool else policy.explain_answer(args["text"], facts)[0]
    got = _compared(verdict, example.expected)
    wrong = [f"{key}: {got[key]} instead of {value}" for key, value in example.expected.items() if got[key] != value]
    got["rule"] = verdict.rule
    return {**named, "got": got, "ok": not wrong, "why": "; ".join(wrong)}


def _facts(given: Mapping[str, Any]) -> Facts:
    entry = {"tool": "", "args": {}, "status": "", "decision": "", "by": "", "rule": "", "at": ""}
    return Facts(
        requester=given.get("requester", "somebody"),
        tenant=given.get("tenant", "default"),
        thread=given.get("thread", THREAD),
        now=given.get("now") or datetime.now(UTC),
        history=[{**entry, **one} for one in given.get("history", [])],
    )


def _compared(verdict: Verdict, expected: Mapping[str, Any]) -> dict[str, Any]:
    return {key: verdict.word if key == "verdict" else getattr(verdict, key) for key in expected}
