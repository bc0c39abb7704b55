"""One form of a JSON value, and its hash: what was shown to a person, stored, and what runs are compared by it.

The form is RFC 8785 (JSON Canonicalization Scheme).
"""

import hashlib
import math
from typing import Any

import rfc8785

LARGEST_INTEGER = 2**53 - 1  # beyond it, readers of JSON that use doubles see another number


def canonical(value: Any) -> str:
    return rfc8785.dumps(value).decode()


def sha256(value: Any) -> str:
    """Hex digest of the canonical form of a JSON value."""
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def problem_of(value: Any, where: str = "") -> str | None:
    """Why a value has no canonical form, or None. Such values are refused and never altered."""
    at = f" at {where}" if where else ""
    match value:
        case None | bool():
            return None
        case str():
            return _problem_of_text(value, at)
        case int():
            return None if abs(value) <= LARGEST_INTEGER else f"the integer {value}{at} is beyond ±(2^53-1)"
        case float():
            return None if math.isfinite(value) else f"the number {value}{at} is not finite"
        case list() | tuple():
            problems = (problem_of(item, f"{where}[{index}]") for index, item in enumerate(value))
        case dict():
            problems = (_problem_of_text(key, " in a name") or problem_of(item, f"{where}.{key}" if where else str(key))
                        for key, item in value.items())
        case _:
            return f"a {type(value).__name__}{at} is no JSON value"
    return next((problem for problem in problems if problem), None)


def _problem_of_text(text: Any, at: str) -> str | None:
    if not isinstance(text, str):
        return f"the name {text!r} is no text"
    if "\0" in text:
        return f"there is a NUL character{at}"
    if any("\ud800" <= char <= "\udfff" for char in text):
        return f"there is a lone surrogate{at}"
    return None
