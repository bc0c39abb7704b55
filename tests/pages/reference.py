"""docs/reference.md from the code: commands, exit codes, settings, documents, error codes, names, the policy file.

python tests/pages/reference.py     writes it anew, as `make fix` does
"""

import ast
import inspect
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

import typer

from cli import app
from graph import documents, policy_file
from graph.settings import KNOWN
from memory import errors

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "reference.md"
ROOMS = ("graph", "tools", "memory")
COMMON = {"--json", "--log"}
FIELD = re.compile(r"^    (\w+): (.+?)(?: = (.+?))?(?:  # (.*))?$", re.MULTILINE)
HEAD = """# Reference

Written by `tests/pages/reference.py` from the code, and checked by `make check`; `make fix` writes it anew.

[Commands](#commands) · [exit codes](#exit-codes) · [settings](#settings) · [documents](#documents) · [error codes](#error-codes) ·
[names](#names) · [the policy file](#the-policy-file). How things are done is told in the other pages: [README](../README.md).
"""


def document() -> str:
    parts = [HEAD, commands(), exit_codes(), settings(), printed(), codes(), names(), policy()]
    return re.sub("\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


# --- commands --------------------------------------------------------------------------------------------------------


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command that does something, under the words that call it."""
    below = getattr(command, "commands", None)
    if below is None:
        yield " ".join(path), command
        return
    for name, one in below.items():
        yield from walk(one, (*path, name))


def commands() -> str:
    intro = """## Commands

Every command takes `--json` (standard output is then exactly one JSON document) and `--log text|json` (how progress and errors are
written to standard error), and has `--help`.
"""
    return "\n".join([intro, *(_command(name, one) for name, one in walk(typer.main.get_command(app)))])


def _command(name: str, command: Any) -> str:
    help_text, _, example = inspect.cleandoc(command.help).partition("Example: ")
    usage = " ".join([f"interlock {name}", *(_usage(one) for one in command.params if one.param_type_name == "argument")])
    rows = [_parameter(one) for one in command.params if not COMMON & set(one.opts)]
    table = _table(("option", "default", "meaning"), rows) if rows else ""
    return f"### `{usage}`\n\n{help_text.strip()}\n\n{table}Example: `{example.strip()}` · prints {_prints(name)}\n"


def _usage(argument: Any) -> str:
    name = argument.metavar.strip("[]") + (" …" if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _parameter(one: Any) -> tuple[str, str, str]:
    if one.param_type_name == "argument":
        return f"`{one.metavar.strip('[]')}`", _default(one), one.help or ""
    shown = " ".join([*one.opts, *([] if one.is_flag else [one.metavar or one.name.upper()])])
    return f"`{shown}`", "" if one.is_flag else _default(one), one.help or ""


def _default(one: Any) -> str:
    return f"`{one.default}`" if one.default not in (None, "", []) and one.show_default else ""


def _prints(name: str) -> str:
    shape: Any = documents.PRINTED[name]
    return " or ".join(f"[{one.__name__}](#{one.__name__.lower()})" for one in get_args(shape) or (shape,))


# --- exit codes and settings -----------------------------------------------------------------------------------------


def exit_codes() -> str:
    return "## Exit codes\n\n" + _table(("exit code", "means"), [(str(code), meaning) for code, meaning in errors.EXIT_CODES.items()])


def settings() -> str:
    intro = "From the environment, or from a `.env` file in the current folder. A name that does not exist is an error."
    rows = [(f"`{name}`", one.default, one.meaning) for name, one in KNOWN.items()]
    return f"## Settings\n\n{intro}\n\n" + _table(("setting", "default", "meaning"), rows)


# --- documents -------------------------------------------------------------------------------------------------------


def printed() -> str:
    intro = """## Documents

What commands print with `--json`. `NotRequired` keys may be missing, others are always there. Times are text in UTC, such as
`2026-01-31T09:30:00.000000Z`. An error is `{"error": {"code", "message", "remedy"}}`, with more keys where its code has more to say.
"""
    by_shape = defaultdict(list)
    for name in documents.PRINTED:
        shape: Any = documents.PRINTED[name]
        for one in get_args(shape) or (shape,):
            by_shape[one.__name__].append(f"`{name}`")
    source = Path(documents.__file__).read_text()
    shapes = re.findall(r"^class (\w+)\(TypedDict\):\n(.*?)(?=^\S|\Z)", source, re.MULTILINE | re.DOTALL)
    return "\n".join([intro, *(_shape(name, body, by_shape[name]) for name, body in shapes)])


def _shape(name: str, body: str, by: list[str]) -> str:
    rows = [(f"`{key}`", f"`{kind.strip(chr(34))}`", meaning) for key, kind, _, meaning in FIELD.findall(body)]
    said = f"Printed by {', '.join(by)}.\n\n" if by else ""
    return f"### {name}\n\n{said}{_table(('key', 'type', 'meaning'), rows)}"


# --- error codes -----------------------------------------------------------------------------------------------------


class Raised(NamedTuple):
    code: str
    exit_code: int
    message: str


def codes() -> str:
    by_code: dict[str, set[int]] = defaultdict(set)
    said: dict[str, str] = {}
    for one in raised():
        by_code[one.code].add(one.exit_code)
        said[one.code] = said.get(one.code) or one.message
    rows = [(f"`{code}`", ", ".join(map(str, sorted(by_code[code]))), said[code]) for code in sorted(by_code)]
    intro = '`{"error": {"code": …}}` of a command, and `error.code` of a thread. The text is one of those that are shown with the code.'
    return f"## Error codes\n\n{intro}\n\n" + _table(("code", "exit code", "for example"), rows)


def raised() -> Iterator[Raised]:
    """Every error that is made anywhere in the code, with the text of its message as far as it stands there."""
    modules = [ast.parse(file.read_text()) for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
    classes = _classes(modules)
    for module in modules:
        for call, function in _calls(module):
            if isinstance(call.func, ast.Name) and call.func.id in classes and call.args:
                own, exit_code = classes[call.func.id]
                named = next((one.value for one in call.keywords if one.arg == "code"), None)
                for code in _texts(named, function) if named else [own]:
                    yield Raised(code, exit_code, next(_texts(call.args[0], function), ""))


def _classes(modules: list[ast.Module]) -> dict[str, tuple[str, int]]:
    """Code and exit code of every class of errors, also of those that stand elsewhere."""
    known = {name: (one.code, one.exit_code) for name, one in vars(errors).items() if isinstance(one, type) and hasattr(one, "exit_code")}
    for node in (node for module in modules for node in ast.walk(module) if isinstance(node, ast.ClassDef)):
        bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id in known]
        if bases and node.name not in known:
            own = [one.value.value for one in node.body if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "code"
                   and isinstance(one.value, ast.Constant)]  # fmt: skip
            known[node.name] = (own[0] if own else known[bases[0]][0], known[bases[0]][1])
    return known


def _calls(module: ast.Module) -> Iterator[tuple[ast.Call, ast.AST]]:
    """Every call, with the innermost function that it stands in."""

    def below(node: ast.AST, function: ast.AST) -> Iterator[tuple[ast.Call, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            inner = child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
            if isinstance(child, ast.Call):
                yield child, inner
            yield from below(child, inner)

    return below(module, module)


def _texts(node: ast.AST | None, where: ast.AST) -> Iterator[str]:
    """What an expression says, with … for what is filled in when it runs; nothing where it cannot be told from here."""
    match node:
        case ast.Constant(str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
        case ast.BinOp(op=ast.Add()):
            yield from (before + after for before in _texts(node.left, where) for after in _texts(node.right, where))
        case ast.IfExp():
            yield from _texts(node.body, where)
            yield from _texts(node.orelse, where)
        case ast.Name(name):
            for one in ast.walk(where):
                if isinstance(one, ast.Assign):
                    yield from _assigned(one, name, where)


def _assigned(one: ast.Assign, name: str, where: ast.AST) -> Iterator[str]:
    match one.targets[0], one.value:
        case ast.Name(target), value if target == name:
            yield from _texts(value, where)
        case ast.Tuple(elts=targets), ast.Tuple(elts=values):
            for target, value in zip(targets, values, strict=True):
                if isinstance(target, ast.Name) and target.id == name:
                    yield from _texts(value, where)


# --- names, and the policy file --------------------------------------------------------------------------------------


def names() -> str:
    intro = "Paused threads, stored rows and the record refer to these; a name that exists is neither changed nor taken away."
    golden: dict[str, list[str]] = json.loads((ROOT / "tests/durable_names.json").read_text())
    rows = [(group.replace("_", " "), ", ".join(f"`{one}`" for one in listed)) for group, listed in golden.items()]
    return f"## Names\n\n{intro}\n\n" + _table(("what", "names"), rows)


def policy() -> str:
    terms = {name: (default, meaning) for name, _, default, meaning in FIELD.findall(inspect.getsource(policy_file.Terms))}
    belongs = "; ".join(f"`{verdict}` takes {_listed(keys) or 'nothing more'}" for verdict, keys in policy_file.BELONGS.items())
    asking = {**policy_file.ASKING, "review": policy_file.RULE["review"]}
    of_a_rule = f"The first that matches counts. Beside these keys it takes those of `[defaults]`, by its verdict: {belongs}."
    expected = _listed(policy_file.EXPECTED.keys() & terms)
    of_a_test = f"What `interlock policy test` tries. Beside these keys, what else is expected: {expected}."
    tables: list[tuple[str, str, Any]] = [
        ("[tiers]", 'Who may decide: `1 = ["alice", "bob"]`. Without it, a tier is what an operator\'s token says.', {}),
        ("[defaults]", "For critical calls that no rule names, and for what a rule leaves out.", asking),
        ("[[rule]], [final_answer]", of_a_rule, _without(policy_file.RULE, terms)),
        ("[[test]]", of_a_test, _without(policy_file.TEST, terms)),
        ("[notify]", "[Messages](notifications.md).", policy_file.NOTIFY),
        ("[mcp]", "[Tools of MCP servers](mcp.md).", policy_file.BELIEVED),
    ]
    text = "## The policy file\n\nThe TOML file that `INTERLOCK_POLICY` names; by example: [README](../README.md#who-must-be-asked).\n\n"
    for title, says, keys in tables:
        rows = [(f"`{key}`", _takes(read), *_of_key(terms.get(key) or ("", policy_file.MEANINGS[key]))) for key, read in keys.items()]
        text += f"### `{title}`\n\n{says}\n\n" + (_table(("key", "takes", "default", "meaning"), rows) if rows else "")
    return text


def _listed(keys: Collection[str]) -> str:
    return ", ".join(f"`{key}`" for key in sorted(keys))


def _without(keys: Any, shown: Any) -> Any:
    return {key: read for key, read in keys.items() if key not in shown}


def _of_key(term: tuple[str, str]) -> tuple[str, str]:
    default, meaning = term
    return "" if default in {"", "None"} else f"`{_as_in_toml(default)}`", meaning


def _as_in_toml(value: str) -> str:
    read = ast.literal_eval(value)
    return json.dumps(list(read) if isinstance(read, tuple) else read)


def _takes(read: policy_file.Read) -> str:
    """What the reader of a key says when it gets something else."""
    try:
        read(object())
    except policy_file.WrongValueError as expected:
        return str(expected)
    return "a time with a zone, without quotes"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(one) for one in line)} |\n" for line in lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    DOCUMENT.write_text(document())
