"""JSON text from outside, read so that it says one thing or is refused: people approve what is read, and readers differ in the rest."""

import json
from typing import Any, Never


class RepeatedNameError(ValueError):
    """A name occurs twice in one object. Python takes the last, others the first."""


def read_json(text: str | bytes) -> Any:
    """Raises ValueError, also for numbers that JSON has not, for text that is no UTF-8, and for nesting without end."""
    try:
        return json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise RepeatedNameError(f"the name {name!r} occurs twice in one object")
        found[name] = value
    return found


def _no_number(text: str) -> Never:
    raise ValueError(f"{text} is no JSON number")
