"""The policy file as it is written: read, checked, and refused with the line of the first mistake. It imports no CEL."""

import difflib
import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from graph.cel import Condition, ConditionError
from graph.settings import seconds_of
from memory.errors import UsageError

ANY_SOURCE = ("token", "oidc", "os", "ui", "claimed")
ANSWER = "final_answer"  # the name, and the kind of question, under which a final answer goes the way of a call
VERDICTS = ("pre_approve", "ask", "forbid")
EVENTS = ("asked", "reminder", "escalated", "expired", "unknown_outcome", "ended")
MOST_SECONDS = 10 * 365 * 86400
HIGHEST_TIER = 99  # as for operators


@dataclass(frozen=True, slots=True)
class Terms:
    """How people are asked; `deadline` and `reminder` in seconds."""

    tier: int = 1  # who decides: people of this tier or above it
    required: int = 1  # how many approvals of different people it takes
    sources: tuple[str, ...] = ("token", "oidc", "os")  # how a name must be known that counts
    four_eyes: bool = False  # who asked for it may not decide it
    deadline: float | None = None  # how long people have to decide, and how long an approval holds
    on_expiry: Literal["reject", "escalate"] = "reject"  # what happens then
    reminder: float | None = None  # after how long people are reminded, once
    review: float = 1.0  # the share of pre-approved calls that people look at afterwards


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    when: Condition
    verdict: Literal["pre_approve", "ask", "forbid"]
    terms: Terms
    line: int


@dataclass(frozen=True, slots=True)
class Example:
    """A `[[test]]`: `given` are facts, `expected` the parts of the verdict that must come out."""

    tool: str
    args: Mapping[str, Any]
    given: Mapping[str, Any]
    expected: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class Notify:
    urls: tuple[str, ...] = ()
    on: tuple[str, ...] = EVENTS

    def targets(self, event: str) -> int:
        """How many URLs want to hear of an event."""
        return len(self.urls) if event in self.on else 0


@dataclass(frozen=True, slots=True)
class Believed:
    """The MCP servers whose hints count: that a tool only reads, that it may be called again."""

    read_only: tuple[str, ...] = ()
    idempotent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """`tiers` is None without `[tiers]`; then a tier is what an operator's token says."""

    path: str
    digest: str
    rules: tuple[Rule, ...] = ()
    defaults: Terms = field(default_factory=Terms)
    tiers: Mapping[int, frozenset[str]] | None = None
    answer_rules: tuple[Rule, ...] = ()
    examples: tuple[Example, ...] = ()
    notify: Notify = field(default_factory=Notify)
    believed: Believed = field(default_factory=Believed)

    @property
    def highest_tier(self) -> int:
        if self.tiers is not None:
            return max(self.tiers, default=1)
        return max(terms.tier for terms in (self.defaults, *(rule.terms for rule in (*self.rules, *self.answer_rules))))

    def people(self, tier: int) -> frozenset[str]:
        """Who is listed at that tier or above it."""
        return frozenset().union(*(names for level, names in (self.tiers or {}).items() if level >= tier))

    def check(self, tool_names: Collection[str]) -> None:
        """What can be told only with the tools and the library at hand. Raises UsageError."""
        for rule in (*self.rules, *self.answer_rules):
            try:
                rule.when.check()
            except ConditionError as error:
                raise _mistake(self.path, rule.line, f"`when` of {rule.name!r} cannot be used: {error}.") from None
            for name in rule.when.tools() if rule in self.rules else ():
                self._refuse_unknown_tool(name, tool_names, rule.line)
        if self.answer_rules and ANSWER in tool_names:
            remedy = "Give the tool another name: that one is taken by what the model says last."
            raise _mistake(self.path, self.answer_rules[0].line, f"there is a tool {ANSWER!r}.", remedy)
        for example in self.examples:
            self._refuse_unknown_tool(example.tool, {*tool_names, ANSWER}, example.line)

    def _refuse_unknown_tool(self, name: str, known: Collection[str], line: int) -> None:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(sorted(known)) or 'none'}."
            raise _mistake(self.path, line, f"there is no tool {name!r}.", hint)


def read(path: Path) -> PolicyFile:
    """Raises UsageError `bad_policy` with the file, the line, and what is expected there."""
    try:
        content = path.read_bytes()
        text = content.decode()
        document = tomllib.loads(text)
    except OSError as error:
        raise _mistake(str(path), None, f"cannot be read: {error.strerror}.", "INTERLOCK_POLICY names the policy file.") from None
    except UnicodeDecodeError:
        raise _mistake(str(path), None, "is no UTF-8 text.") from None
    except (ValueError, RecursionError) as error:  # numbers without end are no TOMLDecodeError
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise _mistake(str(path), line, f"this is no TOML: {error}.") from None
    return _Reader(str(path), text, document).file(hashlib.sha256(content).hexdigest())


def _mistake(path: str, line: int | None, what: str, remedy: str = "") -> UsageError:
    place = f"{path}, line {line}: " if line else f"{path} "
    return UsageError(place + what, remedy=remedy or "`interlock policy check` looks at it again.", code="bad_policy", file=path, line=line)


class WrongValueError(Exception):
    """Says what is expected instead."""


Read = Callable[[Any], Any]


def _whole(least: int, most: int) -> Read:
    def read(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise WrongValueError(f"a whole number from {least} to {most}")
        return value

    return read


def _one_of(*names: str) -> Read:
    def read(value: Any) -> str:
        if value not in names:
            raise WrongValueError(f"one of {', '.join(names)}")
        return str(value)

    return read


def _some_of(*names: str) -> Read:
    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not value or not all(one in names for one in value):
            raise WrongValueError(f"a list of at least one of {', '.join(names)}")
        return tuple(value)

    return read


def _names(value: Any) -> tuple[str, ...]:
    good = isinstance(value, list) and all(isinstance(one, str) and one.strip() == one and one for one in value)
    if not good or not value or len(set(value)) < len(value):
        raise WrongValueError("a list of names in quotes, each of them once")
    return tuple(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise WrongValueError("a text in quotes, not empty")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise WrongValueError("true or false")
    return value


def _share(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise WrongValueError("a share from 0 to 1")
    return float(value)


def _duration(value: Any) -> float:
    try:
        seconds = seconds_of(value) if isinstance(value, str) and value.isascii() and len(value) <= 20 else 0
    except UsageError:
        seconds = 0
    if not 0 < seconds <= MOST_SECONDS:
        raise WrongValueError('a duration such as "45s", "30m", "24h", "2d" or "1h30m", of at most ten years')
    return seconds


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongValueError("a table: { name = value }")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise WrongValueError("a list of tables")
    return value


ASKING: Mapping[str, Read] = {
    "tier": _whole(1, HIGHEST_TIER), "required": _whole(1, 1000), "sources": _some_of(*ANY_SOURCE), "four_eyes": _flag,
    "deadline": _duration, "on_expiry": _one_of("reject", "escalate"), "reminder": _duration,
}  # fmt: skip
RULE: Mapping[str, Read] = {"name": _text, "when": _text, "verdict": _one_of(*VERDICTS), "review": _share, **ASKING}
GIVEN: Mapping[str, Read] = {"requester": _text, "tenant": _text, "thread": _text, "now": lambda value: value, "history": _list}
EXPECTED: Mapping[str, Read] = {
    "verdict": _one_of(*VERDICTS, "run"), "rule": _text, **{key: ASKING[key] for key in ("tier", "required", "four_eyes", "sources")},
}  # fmt: skip
TEST: Mapping[str, Read] = {"name": _text, "tool": _text, "args": _table, **GIVEN, **EXPECTED}
NOTIFY: Mapping[str, Read] = {"urls": _names, "on": _some_of(*EVENTS)}
BELIEVED: Mapping[str, Read] = {"read_only": _names, "idempotent": _names}
MEANINGS: Mapping[str, str] = {  # of the keys that are no terms; those say it themselves
    "name": "how the record, `stats` and questions call it",
    "when": "a condition in CEL over `tool`, `args`, `requester`, `tenant`, `thread`, `now`, `history`; of an answer, over `args.text`",
    "verdict": "it runs at once, people are asked, or nobody is and the model is told",
    "tool": "the call that is tried; `final_answer` for an answer",
    "args": "its arguments",
    "requester": "who asked, where a rule is about that",
    "tenant": "for whom",
    "thread": "in which thread",
    "now": "when",
    "history": "what the thread did before: `tool`, `args`, `status`, `decision`, `by`, `rule`, `at` of each call",
    "rule": "the name of the rule that shall decide",
    "urls": "where messages go, in apprise's forms",
    "on": "what is told; all of it where nothing is said",
    "read_only": "servers whose `readOnlyHint` lets a tool run without a person",
    "idempotent": "servers whose `idempotentHint` lets a tool be called again after a crash",
}
TOP = ("defaults", "tiers", "rule", "final_answer", "test", "notify", "mcp")
BELONGS = {"pre_approve": {"review"}, "ask": set(ASKING), "forbid": set()}  # what a rule of that verdict may say beside its condition


class _Reader:
    def __init__(self, path: str, text: str, document: dict[str, Any]) -> None:
        self.path, self.document, self.places = path, document, _places(text)

    def file(self, digest: str) -> PolicyFile:
        self._refuse_unknown(self.document, TOP, "", 0)
        tiers = self._tiers()
        defaults = Terms(**self._values("defaults", 0, self._one("defaults"), {**ASKING, "review": _share}))
        made = PolicyFile(path=self.path, digest=digest, defaults=defaults, tiers=tiers)
        self._refuse_terms(made, defaults, "defaults", 0)
        rules = tuple(self._rule(made, "rule", index, values) for index, values in enumerate(self._many("rule")))
        answers = tuple(self._rule(made, ANSWER, index, values) for index, values in enumerate(self._answers()))
        self._refuse_twins("rule", rules)
        self._refuse_twins(ANSWER, answers)
        examples = tuple(self._example(index, values) for index, values in enumerate(self._many("test")))
        notify = self._values("notify", 0, self._one("notify"), NOTIFY)
        believed = Believed(**self._values("mcp", 0, self._one("mcp"), BELIEVED))
        return replace(made, rules=rules, answer_rules=answers, examples=examples, notify=Notify(**notify), believed=believed)

    def _tiers(self) -> dict[int, frozenset[str]] | None:
        if "tiers" not in self.document:
            return None
        tiers: dict[int, frozenset[str]] = {}
        for key, names in self._one("tiers").items():
            if not re.fullmatch(r"[1-9]\d?", key, re.ASCII):
                raise self._wrong("tiers", 0, key, f"{key!r} is no tier.", f"A tier is a whole number from 1 to {HIGHEST_TIER}.")
            tiers[int(key)] = frozenset(self._read("tiers", 0, key, names, _names))
        if not tiers:
            raise self._wrong("tiers", 0, "", "[tiers] lists nobody.", 'Write 1 = ["alice"], or leave [tiers] out.')
        return tiers

    def _rule(self, made: PolicyFile, table: str, index: int, values: dict[str, Any]) -> Rule:
        """Of a call, or of a final answer, which is asked about where its rule gives no verdict."""
        read = self._values(table, index, values, RULE)
        if table == ANSWER:
            read.setdefault("verdict", "ask")
        self._refuse_missing(table, index, read, ("when", "verdict"))
        verdict = read["verdict"]
        for key in read.keys() - {"name", "when", "verdict"} - BELONGS[verdict]:
            named = ", ".join(sorted(BELONGS[verdict])) or "nothing more"
            raise self._wrong(table, index, key, f"{key!r} means nothing where the verdict is {verdict!r}.", f"It takes {named}.")
        terms = replace(made.defaults, **{key: read[key] for key in read if key in {*ASKING, "review"}})
        if verdict == "ask":
            self._refuse_terms(made, terms, table, index)
        name = read.get("name", f"{table} {index + 1}" if table == "rule" or index else table)
        return Rule(name, Condition(read["when"]), verdict, terms, self._line(table, index, "when"))

    def _answers(self) -> list[dict[str, Any]]:
        """One table, or several of which the first that matches counts."""
        value = self.document.get(ANSWER, [])
        return [value] if isinstance(value, dict) else self._many(ANSWER)

    def _example(self, index: int, values: dict[str, Any]) -> Example:
        read = self._values("test", index, values, TEST)
        self._refuse_missing("test", index, read, ("tool", "verdict"))
        given = {key: read[key] for key in read if key in GIVEN}
        expected = {key: read[key] for key in read if key in EXPECTED}
        line = self._line("test", index, "tool")
        if "now" in given and not getattr(given["now"], "tzinfo", None):
            raise self._wrong("test", index, "now", "now is no time with a zone.", "Write 2026-01-31T12:00:00Z, without quotes.")
        return Example(read["tool"], read.get("args", {}), given, expected, line)

    def _refuse_terms(self, made: PolicyFile, terms: Terms, table: str, index: int) -> None:
        if made.tiers is None:
            return
        if terms.tier not in made.tiers:
            listed = ", ".join(str(tier) for tier in sorted(made.tiers))
            raise self._wrong(table, index, "tier", f"tier {terms.tier} is not in [tiers].", f"There are: {listed}.")
        there = len(made.people(terms.tier))
        if terms.required > there:
            what = f"{terms.required} approvals are required, and tier {terms.tier} has {there} people."
            raise self._wrong(table, index, "required", what, f"At most {there}, or list more people in [tiers].")

    def _refuse_twins(self, table: str, rules: tuple[Rule, ...]) -> None:
        for index, rule in enumerate(rules):
            if Counter(one.name for one in rules[: index + 1])[rule.name] > 1:
                raise self._wrong(table, index, "name", f"a second rule has the name {rule.name!r}.", "Give each rule a name of its own.")

    def _refuse_missing(self, table: str, index: int, read: Mapping[str, Any], keys: tuple[str, ...]) -> None:
        for key in keys:
            if key not in read:
                raise self._wrong(table, index, "", f"{_header(table)} lacks {key!r}.", f"It needs {' and '.join(keys)}.")

    def _one(self, table: str) -> dict[str, Any]:
        value = self.document.get(table, {})
        if not isinstance(value, dict):
            raise self._wrong(table, 0, "", f"{table} is no table.", f"Write [{table}].")
        return value

    def _many(self, table: str) -> list[dict[str, Any]]:
        value = self.document.get(table, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self._wrong(table, 0, "", f"{table} is no list of tables.", f"Write [[{table}]], once for each.")
        return value

    def _values(self, table: str, index: int, values: dict[str, Any], known: Mapping[str, Read]) -> dict[str, Any]:
        self._refuse_unknown(values, known, table, index)
        return {key: self._read(table, index, key, value, known[key]) for key, value in values.items()}

    def _read(self, table: str, index: int, key: str, value: Any, read: Read) -> Any:
        try:
            return read(value)
        except WrongValueError as expected:
            shown = repr(value)[:100]
            raise self._wrong(table, index, key, f"{key} is {shown}.", f"It must be {expected}.") from None

    def _refuse_unknown(self, values: dict[str, Any], known: Collection[str], table: str, index: int) -> None:
        for key in values:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}."
                where = f" in {_header(table)}" if table else ""
                place = (table, index) if table else (key, 0)
                raise self._wrong(*place, key, f"there is no key {key!r}{where}.", hint)

    def _line(self, table: str, index: int, key: str) -> int:
        for place in ((table, index, key), (table, index, ""), ("", 0, table)):
            if place in self.places:
                return self.places[place]
        return 1

    def _wrong(self, table: str, index: int, key: str, what: str, remedy: str) -> UsageError:
        return _mistake(self.path, self._line(table, index, key), what, remedy)


def _header(table: str) -> str:
    return f"[[{table}]]" if table in {"rule", "test"} else f"[{table}]"


def _places(text: str) -> dict[tuple[str, int, str], int]:
    """The lines of tables and keys, as (table, which of that name, key); tomllib does not tell them."""
    places: dict[tuple[str, int, str], int] = {}
    seen: Counter[str] = Counter()
    table, index, inside = "", 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        if inside:
            inside = "" if inside in line else inside
            continue
        if header := re.match(r"\s*\[\[?\s*[\"']?([\w-]+)[\"']?\s*\]", line):
            table, index = header[1], seen[header[1]]
            seen[table] += 1
            places[table, index, ""] = number
        elif key := re.match(r"\s*[\"']?([\w-]+)[\"']?\s*[=.]", line):
            places.setdefault((table, index, key[1]), number)
        inside = next((quote for quote in ('"""', "'''") if line.count(quote) % 2), "")
    return places
