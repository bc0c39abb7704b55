"""Whether a document that a command printed has the shape that graph/documents.py says, and so the reference."""

from pathlib import Path
from types import UnionType
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

from graph import documents

REFERENCE = (Path(__file__).parents[2] / "docs/reference.md").read_text()
WORDS_OF_GROUPS = {name.split()[0] for name in documents.PRINTED if " " in name}


def faults(arguments: tuple[str, ...], document: Any) -> list[str]:
    """Of what `interlock ARGUMENTS --json` printed; nothing where it is as it should be."""
    if isinstance(document, dict) and set(document) == {"error"}:
        code = document["error"]["code"]
        return [] if f"\n| `{code}` |" in REFERENCE else [f"there is no code {code}"]
    return differing(document, documents.PRINTED[command(arguments)], "")


def command(arguments: tuple[str, ...]) -> str:
    if arguments[0] == "review" and (len(arguments) == 1 or arguments[1].startswith("-")):
        return "review list"
    return " ".join(arguments[:2]) if arguments[0] in WORDS_OF_GROUPS else arguments[0]


def differing(value: Any, shape: Any, where: str) -> list[str]:
    origin = get_origin(shape)
    if origin in {NotRequired, Required}:
        return differing(value, get_args(shape)[0], where)
    if origin in {Union, UnionType}:
        tried = [differing(value, one, where) for one in get_args(shape)]
        return min(tried, key=len)
    if origin is Literal:
        return [] if value in get_args(shape) else [f"{where} is {value!r}"]
    if is_typeddict(shape):
        return _of_keys(value, shape, where)
    if origin is list:
        return [one for number, row in enumerate(value) for one in differing(row, get_args(shape)[0], f"{where}[{number}]")]
    return [] if _is(value, origin or shape) else [f"{where} is {value!r}, and no {shape}"]


def _of_keys(value: Any, shape: Any, where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where} is {value!r}"]
    hints = get_type_hints(shape)
    found = [f"{where} has no {name}" for name in sorted(shape.__required_keys__ - value.keys())]
    found += [f"{where} has {name}, which is described nowhere" for name in sorted(value.keys() - hints.keys())]
    return found + [one for name in value.keys() & hints.keys() for one in differing(value[name], hints[name], f"{where}.{name}")]


def _is(value: Any, kind: Any) -> bool:
    if kind is Any:
        return True
    return isinstance(value, int | float if kind is float else kind) and not (isinstance(value, bool) and kind is not bool)
