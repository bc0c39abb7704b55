"""docs/field-cases.md from the tests: a case is held by the tests that carry its number, and their first lines say what happens here.

    python tests/field/table.py     writes it anew
"""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[1]
DOCUMENT = TESTS.parent / "docs" / "field-cases.md"
NAME = re.compile(r"test_((?:c\d{3}_)+)")
HEAD = """# What went wrong for others

Each line is a case from public reports of people who run such agents, what happens here instead, and the test that holds it. The reports
stand in `tests/field/cases.toml`. This page is written by `tests/field/table.py` from the tests: their names carry the cases' numbers,
and their first lines say what happens.
"""


class Held(NamedTuple):
    file: Path
    test: str
    says: str


def cases() -> dict[str, dict[str, str]]:
    return tomllib.loads((TESTS / "field" / "cases.toml").read_text())


def tests() -> Iterator[tuple[str, Held]]:
    """The number of a case, and a test that holds it."""
    for file in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (named := NAME.match(node.name)):
                says = (ast.get_docstring(node) or "").partition("\n")[0]
                for number in re.findall(r"\d{3}", named[1]):
                    yield number, Held(file, node.name, says)


def held() -> dict[str, list[Held]]:
    found = defaultdict(list)
    for number, one in tests():
        found[number].append(one)
    return found


def document() -> str:
    by_case, lines = held(), [HEAD]
    for kind, of_kind in groupby(cases().items(), key=lambda item: item[1]["kind"]):
        lines += [f"## {kind}\n", "| case | what went wrong elsewhere | what happens here | test |", "|---|---|---|---|"]
        lines += [_row(number, case["what"], by_case[number]) for number, case in of_kind if by_case[number]]
        lines.append("")
    return "\n".join(lines)


def _row(number: str, what: str, by: list[Held]) -> str:
    links = [f"[{one.test.removeprefix('test_')}](../{one.file.relative_to(TESTS.parent)})" for one in by]
    cells = [f"C{number}", _cell(what), "<br>".join(_cell(one.says) for one in by), "<br>".join(links)]
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """A cell in which nothing is read as markup."""
    text = text.replace("|", "\\|").replace("<", "&lt;")
    return re.sub(r"(?<!`)\[([^\]`]*)\](?!`)", r"\\[\1\\]", text)


if __name__ == "__main__":
    DOCUMENT.write_text(document())
