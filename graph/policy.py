"""Who must be asked before a call runs. The verdict is taken once, when the call is proposed, and kept with it.

The file is judged by graph.policy_file and its conditions by graph.cel; here is what follows from them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from graph.cel import Condition, ConditionError
from graph.facts import Facts
from graph.policy_file import ANSWER, ANY_SOURCE, Believed, Example, Notify, PolicyFile, Rule, Terms, read
from memory.approvals import Approval

if TYPE_CHECKING:
    from tools.spec import Tool

NOBODY = ("none",)  # the sources of a question that nobody may decide
STRICTNESS = {"run": 0, "ask": 1, "forbid": 2}


@dataclass(frozen=True, slots=True)
class Verdict:
    """`deadline` and `reminder` are seconds from the asking, None for none; `rule` and `policy` say what this verdict rests on.

    `pre_approved`: it runs because a rule says so, and the share `review` of such calls is looked at afterwards. `note` is for people.
    """

    action: Literal["run", "ask", "forbid"]
    tier: int = 1
    required: int = 1
    sources: tuple[str, ...] = ANY_SOURCE
    four_eyes: bool = False
    deadline: float | None = None
    on_expiry: Literal["reject", "escalate"] = "reject"
    rule: str = "default"
    policy: str = "built-in"
    reminder: float | None = None
    pre_approved: bool = False
    review: float | None = None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "sources": list(self.sources)}

    @property
    def word(self) -> str:
        """As the policy file says it."""
        return "pre_approve" if self.action == "run" and self.pre_approved else self.action


@dataclass(frozen=True, slots=True)
class Step:
    """What became of one rule: no_match, match, failed, or not_reached; `why` in words."""

    rule: str
    result: Literal["no_match", "match", "failed", "not_reached"]
    why: str


class Policy:
    """Without a policy file: every critical call is asked at tier 1 of anyone, and the record says by which source."""

    def __init__(self, file: PolicyFile | None = None) -> None:
        self._file = file
        self.digest = file.digest if file else "built-in"
        self.highest_tier = file.highest_tier if file else 1
        self.rules: tuple[Rule, ...] = file.rules if file else ()
        self.examples: tuple[Example, ...] = file.examples if file else ()
        self.notify = file.notify if file else Notify()
        self.answer_rules: tuple[Rule, ...] = file.answer_rules if file else ()
        self.judges_answers = bool(self.answer_rules)
        self.holds_answers = any(rule.verdict != "pre_approve" for rule in self.answer_rules)
        self.believed = file.believed if file else Believed()
        self.looks_at_facts = bool(self.rules) or self.judges_answers
        self.tiers: Mapping[int, Collection[str]] = (file.tiers if file else None) or {}

    def check(self, tool_names: Collection[str]) -> None:
        """Raises UsageError for a condition or a tool's name that cannot be used."""
        if self._file:
            self._file.check(tool_names)

    def eligible(self, name: str, tier: int) -> bool:
        return self._file is None or self._file.tiers is None or name in self._file.people(tier)

    def judge(self, tool: "Tool", args: Mapping[str, Any], facts: Facts) -> Verdict:
        """Never raises: what cannot be judged is asked at the highest tier. What a server changed is asked, whatever a rule says."""
        verdict = self._judged(tool, args, facts)
        remote = tool.facts.remote
        if remote is None or not remote.changed or verdict.action == "forbid":
            return verdict
        note = f"The MCP server {remote.server!r} changed this tool since it was first used: {remote.changed}. {verdict.note}".strip()
        return replace(verdict, action="ask", pre_approved=False, review=None, note=note)

    def _judged(self, tool: "Tool", args: Mapping[str, Any], facts: Facts) -> Verdict:
        seen = _seen(tool.name, args, facts)
        for rule in self.rules:
            try:
                if rule.when.holds(seen):
                    return self._verdict(rule)
            except ConditionError as error:
                return self._broken(rule, error.kind if tool.facts.secret else str(error))
        return self._unnamed(critical=tool.facts.is_critical)

    def judge_answer(self, text: str, facts: Facts) -> Verdict | None:
        """Of a final answer, whose `args` are {"text": …}; None: no rule is about it, so it needs nobody. Never raises."""
        seen = _seen(ANSWER, {"text": text}, facts)
        for rule in self.answer_rules:
            try:
                if rule.when.holds(seen):
                    return self._verdict(rule)
            except ConditionError as error:
                return self._broken(rule, error.kind)
        return None

    def explain(self, tool: "Tool", args: Mapping[str, Any], facts: Facts) -> tuple[Verdict, list[Step]]:
        return self.judge(tool, args, facts), _steps(self.rules, _seen(tool.name, args, facts))

    def explain_answer(self, text: str, facts: Facts) -> tuple[Verdict, list[Step]]:
        unasked = Verdict("run", rule="none", policy=self.digest)
        return self.judge_answer(text, facts) or unasked, _steps(self.answer_rules, _seen(ANSWER, {"text": text}, facts))

    def _verdict(self, rule: Rule) -> Verdict:
        match rule.verdict:
            case "pre_approve":
                return self._with(rule.terms, "run", rule.name, pre_approved=True, review=rule.terms.review)
            case "ask":
                return self._with(rule.terms, "ask", rule.name)
            case "forbid":
                return self._with(rule.terms, "forbid", rule.name)

    def _broken(self, rule: Rule, why: str) -> Verdict:
        terms = self._defaults
        there = len(self._file.people(self.highest_tier)) if self.tiers and self._file else terms.required
        values = {**_asking(terms), "tier": self.highest_tier, "required": min(terms.required, there)}
        note = f"The rule {rule.name!r} could not be evaluated, so the highest tier is asked: {why}."
        return Verdict("ask", **values, rule=f"{rule.name} (failed: {why})", policy=self.digest, note=note)

    def _unnamed(self, *, critical: bool) -> Verdict:
        action: Literal["run", "ask"] = "ask" if critical else "run"
        return self._with(self._defaults, action, "defaults") if self._file else Verdict(action)

    def _with(self, terms: Terms, action: Literal["run", "ask", "forbid"], rule: str, **more: Any) -> Verdict:
        return Verdict(action, **_asking(terms), rule=rule, policy=self.digest, **more)

    @property
    def _defaults(self) -> Terms:
        return self._file.defaults if self._file else Terms(sources=ANY_SOURCE)


def load_policy(path: Path | None, tool_names: Collection[str] | None = None) -> Policy:
    """None: the built-in one. Without names of tools, conditions are not compiled. Raises UsageError `bad_policy`."""
    policy = Policy(read(path) if path else None)
    if tool_names is not None:
        policy.check(tool_names)
    return policy


def stricter(old: Verdict | Mapping[str, Any], new: Verdict) -> Verdict:
    """Never looser than either of the two. `old` may come from a checkpoint: what it says can only add strictness."""
    before = old if isinstance(old, Verdict) else _verdict_of(old)
    action = max(before.action, new.action, key=STRICTNESS.__getitem__)
    led = new if new.action == action else before
    also = before.rule if before.action == new.action and before.rule != new.rule else ""
    return Verdict(
        action=action,
        tier=max(before.tier, new.tier),
        required=max(before.required, new.required),
        sources=tuple(one for one in before.sources if one in new.sources) or NOBODY,
        four_eyes=before.four_eyes or new.four_eyes,
        deadline=_earlier(before.deadline, new.deadline),
        on_expiry="reject" if "reject" in {before.on_expiry, new.on_expiry} else "escalate",
        rule=f"{also}; {led.rule}" if also else led.rule,
        policy=led.policy,
        reminder=_earlier(before.reminder, new.reminder),
        pre_approved=action == "run" and (before.pre_approved or new.pre_approved),
        review=new.review if action == "run" else None,
        note=new.note or before.note,
    )


def of_question(question: Approval) -> Verdict:
    """The verdict that an open question rests on."""
    return _verdict_of({**question.rules, "action": "ask", "tier": question.tier, "required": question.required})


def _verdict_of(stored: Mapping[str, Any]) -> Verdict:
    """What is missing or makes no sense counts as not said, and what then remains is asked."""
    good: dict[str, Any] = {name: stored[name] for name, fits in STORED.items() if name in stored and fits(stored[name])}
    if "sources" in good:
        good["sources"] = tuple(good["sources"])
    return Verdict(**{"action": "ask", **good})


def _is_number(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and value > 0)


STORED: Mapping[str, Any] = {
    "action": lambda value: value in ("run", "ask", "forbid"),
    "tier": lambda value: type(value) is int and value > 0,
    "required": lambda value: type(value) is int and value > 0,
    "sources": lambda value: isinstance(value, list | tuple) and bool(value) and all(isinstance(one, str) for one in value),
    "four_eyes": lambda value: isinstance(value, bool),
    "deadline": _is_number,
    "on_expiry": lambda value: value in ("reject", "escalate"),
    "rule": lambda value: isinstance(value, str),
    "policy": lambda value: isinstance(value, str),
    "reminder": _is_number,
    "pre_approved": lambda value: isinstance(value, bool),
    "note": lambda value: isinstance(value, str),
}
ASKING = tuple(one.name for one in fields(Terms) if one.name != "review")


def _asking(terms: Terms) -> dict[str, Any]:
    return {name: getattr(terms, name) for name in ASKING}


def _earlier(one: float | None, other: float | None) -> float | None:
    return min((value for value in (one, other) if value is not None), default=None)


def _seen(tool: str, args: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    return {
        "tool": tool, "args": dict(args), "requester": facts.requester, "tenant": facts.tenant, "thread": facts.thread,
        "now": facts.now, "history": [dict(entry) for entry in facts.history],
    }  # fmt: skip


def _steps(rules: Sequence[Rule], seen: Mapping[str, Any]) -> list[Step]:
    steps: list[Step] = []
    for rule in rules:
        reached = not steps or steps[-1].result == "no_match"
        steps.append(_step(rule, seen) if reached else Step(rule.name, "not_reached", "a rule before it decided"))
    return steps


def _step(rule: Rule, seen: Mapping[str, Any]) -> Step:
    try:
        if rule.when.holds(seen):
            return Step(rule.name, "match", rule.when.text)
    except ConditionError as error:
        return Step(rule.name, "failed", str(error))
    return Step(rule.name, "no_match", f"{_culprit(rule.when, seen)} is false")


def _culprit(when: Condition, seen: Mapping[str, Any]) -> str:
    """The first part of a condition that is false."""
    for part in when.parts():
        try:
            if not Condition(part).holds(seen):
                return part
        except ConditionError:
            continue
    return when.text
