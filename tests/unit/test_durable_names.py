"""Names that paused threads, stored rows and records refer to. A name that changes leaves them behind.

`durable_names.json` is the golden list. A new name is added to it; a changed one needs a migration, or an alias, and a new
GRAPH_VERSION.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from graph.state import Call, CallState, State
from memory.approvals import ApprovalStatus, Kind, VoteType
from memory.ledger import ExecutionStatus, Result
from memory.outbox import Event
from memory.people import Source
from memory.reviews import ReviewStatus
from memory.runs import Status

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests/durable_names.json").read_text())
MIGRATIONS = sorted((ROOT / "memory/postgres/migrations").glob("*.sql"))
SQL_KIND = re.compile(r"interlock\.audit\(\s*of_thread, '(\w+)'")


def test_names_in_the_code_are_those_of_the_golden_list() -> None:
    assert names_in_the_code() == GOLDEN


def test_the_golden_list_is_sorted_so_that_changes_are_seen() -> None:
    assert {group: sorted(set(names)) for group, names in GOLDEN.items()} == GOLDEN


def test_statuses_and_kinds_of_the_database_are_those_of_the_ports() -> None:
    allowed = {
        (table, column): sorted(re.findall(r"'(\w+)'", values))
        for table, body in tables().items()
        for column, values in re.findall(r"CHECK \((\w+) IN \(([^)]*)\)\)", body)
    }
    groups = {
        ("run", "status"): "run_statuses",
        ("approval", "kind"): "approval_kinds",
        ("approval", "status"): "approval_statuses",
        ("decision", "type"): "vote_types",
        ("execution", "status"): "execution_statuses",
        ("review", "status"): "review_statuses",
        ("notification", "event"): "notification_events",
    }
    assert allowed == {place: GOLDEN[group] for place, group in groups.items()}


def names_in_the_code() -> dict[str, list[str]]:
    return {
        "approval_kinds": sorted(get_args(Kind)),
        "approval_statuses": sorted(get_args(ApprovalStatus)),
        "audit_kinds": sorted(audit_kinds()),
        "call_keys": sorted(Call.__annotations__),
        "call_states": sorted(get_args(CallState)),
        "execution_statuses": sorted(get_args(ExecutionStatus)),
        "identity_sources": sorted(get_args(Source)),
        "migrations": [file.stem for file in MIGRATIONS],
        "nodes": sorted(nodes()),
        "notification_events": sorted(get_args(Event)),
        "review_statuses": sorted(get_args(ReviewStatus)),
        "run_statuses": sorted(get_args(Status)),
        "state_keys": sorted(State.__annotations__),
        "tables": sorted(tables()),
        "vote_types": sorted(get_args(VoteType)),
    }


def nodes() -> set[str]:
    from graph.build import build

    unused: Any = None  # the nodes only keep it
    return set(build(unused).nodes)


def tables() -> dict[str, str]:
    sql = "\n".join(file.read_text() for file in MIGRATIONS)
    return dict(re.findall(r"CREATE TABLE interlock\.(\w+) \((.*?)\n\);", sql, re.DOTALL))


def audit_kinds() -> set[str]:
    in_sql = {kind for file in MIGRATIONS for kind in SQL_KIND.findall(file.read_text())}
    return in_sql.union(*(kinds_of(file) for file in (ROOT / "memory/postgres").glob("*.py")))


def kinds_of(file: Path) -> set[str]:
    module = ast.parse(file.read_text())
    functions = {node.name: node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return {
        kind
        for function in functions.values()
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "append"
        for kind in _texts(call.args[2], function, functions)
    }


def _texts(node: ast.expr, where: ast.AST, functions: dict[str, Any]) -> Iterator[str]:
    """Every text that an expression of the stores can have."""
    match node:
        case ast.Constant(str(text)):
            yield text
        case ast.IfExp():
            yield from _texts(node.body, where, functions)
            yield from _texts(node.orelse, where, functions)
        case ast.JoinedStr([ast.Constant(str(stem)), ast.FormattedValue(ast.Attribute(ast.Name("result"), "status"))]):
            yield from (stem + status for status in get_args(Result.__annotations__["status"]))
        case ast.JoinedStr([ast.Constant("review_"), ast.FormattedValue(ast.Name("status"))]):
            yield from (f"review_{status}" for status in get_args(ReviewStatus) if status != "open")
        case ast.Call(ast.Name(name)):
            returned = [one.value for one in ast.walk(functions[name]) if isinstance(one, ast.Return) and one.value]
            for value in returned:
                yield from _texts(value, functions[name], functions)
        case ast.Name(name):
            for one in ast.walk(where):
                if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and one.targets[0].id == name:
                    yield from _texts(one.value, where, functions)
        case _:
            raise AssertionError(f"line {node.lineno}: say here how the kind of this event is found")
