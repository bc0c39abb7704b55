"""Conditions in the Common Expression Language. They have no side effects and end: docs/decisions/0010.

The library is loaded when the first condition is compiled.
"""

import functools
import json
import re
from collections.abc import Mapping
from typing import Any

LONGEST = 4000  # characters of a condition
LARGEST = {"args": 32_000, "history": 100_000}  # characters of JSON: the library bounds the steps, this bounds what each one costs

WORD = re.compile(
    r"""//[^\n]*
    | [rRbB]{0,2} (?: \"{3}.*?\"{3} | '{3}.*?'{3} | "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
    | [\w.]+ | [=!<>]= | && | \|\| | \S""",
    re.DOTALL | re.VERBOSE,
)


class ConditionError(Exception):
    """A condition cannot be read, or does not give true or false. `kind` is free of values, `str()` may name some."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split())[:300])
        self.kind = message.partition(":")[0]


class Condition:
    def __init__(self, text: str) -> None:
        self.text = text

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Raises ConditionError for everything but true and false."""
        try:
            known = {name: value for name, value in facts.items() if name not in LARGEST or _size(value) <= LARGEST[name]}
            result = self._compiled.eval(data=known)
            kind, value = result.type().name(), result.value()
        except ConditionError:
            raise
        except Exception as error:
            raise ConditionError(f"FAILED: {error}") from error
        if kind == "BOOL":
            return value is True
        if kind == "ERROR":
            left_out = " and ".join(sorted(facts.keys() - known.keys()))
            raise ConditionError(f"TOO_LARGE: {left_out} cannot be judged" if left_out else str(value))
        raise ConditionError(f"NOT_BOOLEAN: it gives {kind.lower()}, not true or false")

    def check(self) -> None:
        """Raises ConditionError for what can be told without facts."""
        if not self.text.strip():
            raise ConditionError("it is empty")
        if len(self.text) > LONGEST:
            raise ConditionError(f"it has {len(self.text)} characters, and may have {LONGEST}")
        words = _words(self.text)
        for place, word in enumerate(words):
            if word.rpartition(".")[2] == "matches" and words[place + 1 : place + 2] == ["("]:
                after = words[place + 2 : place + 4]
                if len(after) < 2 or not _is_text(after[0]) or after[1] != ")":
                    raise ConditionError("matches takes one pattern, written out: args.name.matches('^[a-z]+$')")
        kind = self._compiled.return_type().name()
        if kind not in {"BOOL", "DYN"}:
            raise ConditionError(f"it gives {kind.lower()}, not true or false")

    @functools.cached_property
    def _compiled(self) -> Any:
        try:
            return _environment().compile(self.text)
        except ImportError as error:
            raise ConditionError(f"UNAVAILABLE: conditions need cel-expr-python, which cannot be loaded here: {error}") from error
        except Exception as error:
            raise ConditionError(_first_line(str(error))) from error

    def tools(self) -> list[str]:
        """The names that `tool` is compared with, where they are written out."""
        words = _words(self.text)
        found: list[str] = []
        for place, word in enumerate(words):
            following = words[place + 1 : place + 3]
            if word == "tool" and following[:1] in (["=="], ["!="]):
                found += following[1:]
            elif following[1:] == ["tool"] and following[0] in {"==", "!="}:
                found.append(word)
            elif word == "tool" and following == ["in", "["]:
                rest = words[place + 3 :]
                found += rest[: rest.index("]")] if "]" in rest else []
        return [one.lstrip("rR").strip("\"'") for one in found if _is_text(one) and "\\" not in one]

    def parts(self) -> list[str]:
        """What is joined by && at the top; the whole where it is no such list."""
        depth, cuts = 0, [0]
        for match in WORD.finditer(self.text):
            word = match[0]
            depth += (word in {"(", "[", "{"}) - (word in {")", "]", "}"})
            if depth == 0 and word in {"||", "?"}:
                return [self.text]
            if depth == 0 and word == "&&":
                cuts += [match.start(), match.end()]
        cuts.append(len(self.text))
        return [self.text[start:end].strip() for start, end in zip(cuts[::2], cuts[1::2], strict=True)]


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(text) if not word.startswith("//")]


def _is_text(word: str) -> bool:
    return word[-1:] in {'"', "'"}


def _size(value: Any) -> int:
    return len(json.dumps(value, default=str))


def _first_line(text: str) -> str:
    """Without the library's status code and its drawing of the place."""
    line = text.removeprefix("INVALID_ARGUMENT: ").removeprefix("ERROR: ").splitlines()[0]
    return re.sub(r"^<input>:(\d+):(\d+):", r"at line \1, column \2 of it:", line)


@functools.cache
def _environment() -> Any:
    from cel_expr_python import cel

    kind = cel.Type
    record = kind.Map(kind.STRING, kind.DYN)
    texts = dict.fromkeys(("tool", "requester", "tenant", "thread"), kind.STRING)
    return cel.NewEnv(variables={**texts, "args": record, "now": kind.TIMESTAMP, "history": kind.List(record)})
