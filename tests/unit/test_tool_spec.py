"""What may be declared as a tool, what its arguments become, and which tools exist."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from langchain_core.tools import tool as langchain_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field, SecretStr, field_validator

from memory.canonical import canonical
from memory.errors import UsageError
from tools import table
from tools.spec import Connection, InvalidArguments, Registry, Tool, environment_for_processes, tool


class Currency(Enum):
    EUR = "eur"
    USD = "usd"


class Account(BaseModel):
    owner: str
    bank: str = "first"


def pay(to: Account, amount: int, *, on: date = date(2024, 1, 2), currency: Currency = Currency.EUR) -> str:
    """Pay somebody."""
    return f"{to.owner} {amount} {on:%Y} {currency.name}"


async def deploy(project: str, token: str, connection: Connection, idempotency_key: str) -> str:
    """Deploy."""
    return f"{project} {token} {connection} {idempotency_key}"


def made(subject: Any, **facts: Any) -> Tool:
    return Tool.of(tool(subject, **facts))


def with_arguments(**types: Any) -> Tool:
    """A tool whose arguments have these types, and these defaults where a pair is given."""

    class Arguments(BaseModel):
        __annotations__ = {name: one[0] if isinstance(one, tuple) else one for name, one in types.items()}
        vars().update({name: one[1] for name, one in types.items() if isinstance(one, tuple)})

    return Tool.of(StructuredTool(name="t", description="d", args_schema=Arguments, func=lambda **values: values))


# What is declared


def test_a_function_and_its_facts() -> None:
    one = made(deploy, transactional=True, timeout=5, secret=("token",))
    assert (one.name, one.description) == ("deploy", "Deploy.")
    assert one.facts.is_critical and one.facts.transactional and one.facts.timeout == 5
    assert one.facts.injected == {"connection", "idempotency_key"}
    assert one.facts.origin.endswith(f"{Path(__file__).name}:{deploy.__code__.co_firstlineno}")
    assert list(one.parameters["properties"]) == one.parameters["required"] == ["project", "token"]
    assert convert_to_openai_tool(one.langchain)["function"]["parameters"] == one.parameters


def test_the_three_ways_to_declare() -> None:
    @tool
    def plain(a: int) -> int:
        """Plain."""
        return a

    @tool(is_critical=False)
    def flagged(a: int) -> int:
        """Flagged."""
        return a

    @langchain_tool
    def existing(a: int, idempotency_key: str) -> int:
        """Existing."""
        return a

    wrapped = tool(existing, is_critical=False, idempotent=True)
    registry = Registry([plain, flagged, wrapped])
    assert registry.names == ("existing", "flagged", "plain") == tuple(one.name for one in registry)
    assert [one.facts.is_critical for one in registry] == [False, False, True]
    assert registry.get("existing").parameters["properties"].keys() == {"a"}  # type: ignore[union-attr]
    assert registry.get("Plain") is None
    assert Tool.of(existing).facts.is_critical, "the author's own object stays as it was"
    assert all(isinstance(one, BaseTool) for one in (plain, flagged, wrapped))


def test_c084_a_tool_without_facts_is_critical() -> None:
    """A tool without a flag is critical."""
    @langchain_tool
    def bare(a: int) -> int:
        """Bare."""
        return a

    assert Tool.of(bare).facts.is_critical


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (pay, {"is_critical": "false"}, "is_critical='false'"),
    (pay, {"is_critical": None}, "is_critical=None"),
    (pay, {"idempotent": 1}, "idempotent=1"),
    (pay, {"is_critcal": False}, "'is_critcal'"),
    (pay, {"check": "was_paid"}, "check='was_paid'"),
    (pay, {"check": lambda key: None}, "'key'"),
    (pay, {"compensate": 3}, "compensate=3"),
    (pay, {"compensate": lambda outcome: None}, "'outcome'"),
    (pay, {"timeout": 0}, "timeout=0"),
    (pay, {"timeout": True}, "timeout=True"),
    (pay, {"timeout": float("inf")}, "timeout=inf"),
    (pay, {"timeout": "5"}, "timeout='5'"),
    (pay, {"secret": "to"}, "secret='to'"),
    (pay, {"secret": ("pin",)}, "secret=('pin',)"),
    (pay, {"transactional": True}, "no parameter `connection`"),
    (deploy, {}, "not transactional"),
    (deploy, {"transactional": True, "idempotent": True}, "idempotent"),
    (deploy, {"transactional": True, "check": lambda idempotency_key: None}, "check"),
    (deploy, {"transactional": True, "secret": ("connection",)}, "connection"),
]


@pytest.mark.parametrize(("subject", "facts", "named"), WRONG)
def test_c084_what_cannot_be_meant_is_refused(subject: Any, facts: dict[str, Any], named: str) -> None:
    """A flag that is no boolean, or another fact that cannot be meant, is refused at the start."""
    with pytest.raises(UsageError) as refused:
        tool(subject, **facts)
    assert named in refused.value.message
    assert repr(subject.__name__) in refused.value.message and Path(__file__).name in refused.value.message


def plain_with_connection(connection: Connection) -> None:
    """A plain function."""


def without_docstring(a: int) -> None: ...


def variadic(*args: int) -> None:
    """Anything."""


def unnamed(a: int, /) -> None:
    """Anything."""


async def yields(a: int) -> Any:
    """Anything."""
    yield a


def strange(a: Callable[[], int], b: object) -> None:
    """A function as an argument."""


def unresolved(a: "Missing") -> None:  # type: ignore[name-defined]  # noqa: F821
    """An annotation that does not exist."""


def takes_result(result: str) -> None:
    """Has an argument that an undo would take for ours."""


@pytest.mark.parametrize(
    ("subject", "facts"),
    [
        (plain_with_connection, {"transactional": True}),
        (without_docstring, {}),
        (variadic, {}),
        (unnamed, {}),
        (yields, {}),
        (strange, {}),
        (unresolved, {}),
        (takes_result, {"compensate": lambda result: None}),
        (7, {}),
    ],
)
def test_functions_that_are_no_tools(subject: Any, facts: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Tool.of(tool(subject, **facts))


def test_tools_that_cannot_be_kept() -> None:
    @langchain_tool
    def of_toolnode(a: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> int:
        """Wants ToolNode."""
        return a

    def hidden(pin: SecretStr) -> None:
        """A secret type."""

    def endless(a: float = float("nan")) -> None:
        """A default that is no JSON."""

    def with_bad_name(a: int) -> None:
        """A name."""

    with_bad_name.__name__ = "löschen"
    for subject, named in ((of_toolnode, "ToolNode"), (hidden, "secret"), (endless, "nan"), (with_bad_name, "löschen")):
        with pytest.raises(UsageError, match=named):
            Tool.of(tool(subject))


def test_c025_two_tools_of_one_name() -> None:
    """Two tools of one name are refused at the start, both places named."""
    def one() -> BaseTool:
        @tool(is_critical=False)
        def account_action(a: int) -> None:
            """Safe."""

        return account_action

    def other() -> BaseTool:
        @tool
        def account_action(a: int) -> None:
            """Dangerous."""

        return account_action

    for tools in ([one(), other()], [other(), one()]):
        with pytest.raises(UsageError) as refused:
            Registry(tools)
        assert refused.value.message.count(Path(__file__).name) == 2 and "'account_action'" in refused.value.message


def test_what_the_versions_depend_on() -> None:
    def reworded(to: Account, amount: int, *, on: date = date(2024, 1, 2), currency: Currency = Currency.EUR) -> str:
        """Pay somebody something."""
        return ""

    reworded.__name__ = "pay"
    first, second, third = made(pay), made(reworded), made(pay, is_critical=False)
    assert first.schema_sha256 == second.schema_sha256 == third.schema_sha256
    assert first.schema_sha256 != made(deploy, transactional=True).schema_sha256
    assert Registry([first.base]).version == Registry([second.base]).version != Registry([third.base]).version


def test_arguments_are_described_to_the_model() -> None:
    def described(a: Annotated[int, "how many"], copy: bool = False) -> None:
        """Named like an attribute of models."""

    assert made(described).parameters["properties"] == {
        "a": {"description": "how many", "type": "integer"},
        "copy": {"default": False, "type": "boolean"},
    }


# Arguments


def test_validated_arguments_are_json_with_defaults_and_build_types_again() -> None:
    one = made(pay)
    plain = one.validate({"to": {"owner": "bob"}, "amount": 5})
    assert plain == {"to": {"owner": "bob", "bank": "first"}, "amount": 5, "on": "2024-01-02", "currency": "eur"}
    assert one.validate(json.loads(canonical(plain))) == plain
    assert one.values(plain) == {
        "to": Account(owner="bob"), "amount": 5, "on": date(2024, 1, 2), "currency": Currency.EUR,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"amount": "5"}, "amount"),
        ({"amount": 5.7}, "amount"),
        ({"amount": True}, "amount"),
        ({"amount": 2**53}, "2^53"),
        ({"amount": None}, "amount"),
        ({"to": {"owner": "bob", "pin": 1}}, "to.pin"),
        ({"to": {}}, "to.owner"),
        ({"to": "bob"}, "to"),
        ({"on": "soon"}, "on"),
        ({"on": 5}, "on"),
        ({"currency": "EUR"}, "currency"),
        ({"extra": 1}, "extra"),
        ({"idempotency_key": "mine"}, "idempotency_key"),
        ({"to": {"owner": "a\0b"}}, "NUL"),
        ({"to": {"owner": "\ud800"}}, "surrogate"),
    ],
)
def test_c080_nothing_is_converted_or_dropped(args: dict[str, Any], named: str) -> None:
    """Arguments of another type are refused, not converted."""
    with pytest.raises(InvalidArguments, match="The arguments of pay are not valid") as refused:
        made(pay).validate({"to": {"owner": "bob"}, "amount": 5, **args})
    assert named in str(refused.value)


@pytest.mark.parametrize("args", [None, [1], "x", 5])
def test_c022_arguments_that_are_no_object(args: Any) -> None:
    """A tool is called with an object, and with nothing else."""
    with pytest.raises(InvalidArguments, match="no JSON object"):
        made(pay).validate(args)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_c039_numbers_that_are_not_finite(number: float) -> None:
    """Arguments that JSON cannot hold are refused."""
    with pytest.raises(InvalidArguments, match="not finite"):
        with_arguments(a=float).validate({"a": number})


def test_missing_arguments_are_named_and_secrets_not_repeated() -> None:
    with pytest.raises(InvalidArguments, match=r"to: Field required; amount: Input should be a valid integer") as refused:
        made(pay).validate({"amount": "sentinel"})
    assert "sentinel" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "value", "built"),
    [
        (set[str], ["b", "a", "b"], {"a", "b"}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Path, "a/b", Path("a/b")),
        (Decimal, "1.10", Decimal("1.10")),
        (datetime, "2024-01-02T03:04:05Z", datetime.fromisoformat("2024-01-02T03:04:05+00:00")),
        (float, 3, 3.0),
        (dict[date, int], {"2024-01-02": 1}, {date(2024, 1, 2): 1}),
        (int | str, "5", "5"),
        (Literal["a", 1], 1, 1),
        (str | None, None, None),
        (Any, {"a": [1, None]}, {"a": [1, None]}),
        (list[Account], [{"owner": "a"}], [Account(owner="a")]),
    ],
)
def test_types(kind: Any, value: Any, built: Any) -> None:
    one = with_arguments(a=kind)
    plain = one.validate({"a": value})
    assert one.validate(json.loads(canonical(plain))) == plain
    assert one.values(plain) == {"a": built}


def test_a_default_need_not_fit_its_type() -> None:
    one = with_arguments(n=(int, None), text="str")
    assert one.validate({"text": ""}) == {"n": None, "text": ""} == one.validate({"n": None, "text": ""})
    assert one.values({"text": ""}) == {"n": None, "text": ""}


def test_c080_what_a_validator_changes_is_shown_as_changed() -> None:
    """What is shown, hashed and run are the arguments after defaults and validators."""
    class Stripped(BaseModel):
        text: str

        @field_validator("text")
        @classmethod
        def strip(cls, value: str) -> str:
            return value.strip()

    class Growing(Stripped):
        @field_validator("text")
        @classmethod
        def grow(cls, value: str) -> str:
            return value + "!"

    one = Tool.of(StructuredTool(name="t", description="d", args_schema=Stripped, func=lambda **given: given))
    assert one.validate({"text": " a "}) == {"text": "a"}
    with pytest.raises(InvalidArguments, match="change each time"):
        Tool.of(StructuredTool(name="t", description="d", args_schema=Growing, func=lambda **given: given)).validate(
            {"text": "a"}
        )


def test_a_field_is_known_by_the_name_that_the_model_was_shown() -> None:
    class Arguments(BaseModel):
        source: str = Field(alias="from")
        n: int = Field(1, alias="number")

    one = Tool.of(StructuredTool(name="t", description="d", args_schema=Arguments, func=lambda **given: given))
    assert one.parameters["properties"].keys() == {"source", "n"}
    assert one.validate({"source": "a"}) == {"source": "a", "n": 1} == one.values({"source": "a", "n": 1})
    with pytest.raises(InvalidArguments, match="from"):
        one.validate({"from": "a"})


def test_sets_have_one_order_in_every_process() -> None:
    code = """
from tools.spec import Tool, tool
def label(names: set[str]) -> None:
    "Label."
print(Tool.of(tool(label)).validate({"names": list("hgfedcba")}))
"""
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]


def test_deep_arguments_are_refused() -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InvalidArguments, match="deep"):
        with_arguments(a=Any).validate({"a": deep})


FROM_ELSEWHERE = {
    "type": "object",
    "properties": {
        "table": {"type": "string"},
        "limit": {"type": "integer", "default": 10},
        "from": {"type": "number"},
        "order": {"type": "string", "enum": ["up", "down"]},
        "where": {"type": ["string", "null"]},
        "idempotency_key": {"type": "string"},
    },
    "required": ["table", "idempotency_key"],
}


def test_a_tool_that_a_json_schema_describes() -> None:
    async def query(**arguments: Any) -> str:
        return json.dumps(arguments)

    given = StructuredTool(name="query", description="d", args_schema=FROM_ELSEWHERE, coroutine=query)
    one = Tool.of(given)
    assert "idempotency_key" not in one.parameters["properties"] and one.parameters["required"] == ["table"]
    plain = one.validate({"table": "t", "from": 3})
    assert plain == {"table": "t", "limit": 10, "from": 3} == one.validate(plain)
    assert one.values(plain) == plain and one.facts.injected == {"idempotency_key"}
    for wrong in (
        {},
        {"table": 1},
        {"table": "t", "limit": "5"},
        {"table": "t", "order": "left"},
        {"table": "t", "x": 1},
    ):
        with pytest.raises(InvalidArguments):
            one.validate(wrong)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4),
    max_leaves=15,
)  # fmt: skip
ANYTHING = with_arguments(value=Any)


@given(json_values)
def test_json_goes_through_unchanged(value: Any) -> None:
    plain = ANYTHING.validate({"value": value})
    assert canonical(plain) == canonical({"value": value})
    assert canonical(ANYTHING.validate(json.loads(json.dumps(plain)))) == canonical(plain)


def test_processes_get_an_environment_of_their_own() -> None:
    known = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "OPENAI_API_KEY": "s",
        "INTERLOCK_OPERATOR_TOKEN": "s",
        "MINE": "m",
        "https_proxy": "p",
    }
    assert environment_for_processes((), known) == {"PATH": "/bin", "LC_ALL": "C", "https_proxy": "p"}
    assert environment_for_processes(["MINE"], known)["MINE"] == "m"
    assert set(environment_for_processes()) <= set(os.environ)


# The table


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder, which is the current one; what is imported from it is forgotten again."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", None) or getattr(sys.modules[name], "__path__", "")):
            del sys.modules[name]


MINE = """
from tools.spec import Registry, tool

@tool(is_critical=False)
def one(a: int) -> int:
    "One."
    return a

@tool
def two(a: int) -> int:
    "Two."
    return a

def undecorated(to: str) -> str:
    "Acts, if it is called."
    raise SystemExit("it acted")

def by_environment(environment):
    return [two] if "TWO" in environment else ()

def failing(environment):
    raise KeyError("PASSWORD")

BOTH, NOTHING, MIXED, REGISTRY = [one, two], 5, [one, undecorated], Registry([two])
"""


@pytest.mark.parametrize(
    ("attribute", "environment", "names"),
    [
        ("one", {}, {"one"}),
        ("BOTH", {}, {"one", "two"}),
        ("REGISTRY", {}, {"two"}),
        ("by_environment", {}, set()),
        ("by_environment", {"TWO": "1"}, {"two"}),
    ],
)
def test_tools_of_the_user(folder: Path, attribute: str, environment: dict[str, str], names: set[str]) -> None:
    (folder / "my_tools.py").write_text(MINE)
    registry = table.load([f"my_tools:{attribute}"], environment)
    assert set(registry.names) == {"create_ticket", "deploy_code", "read_database"} | names


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("my_tools", "module:ATTRIBUTE"),
        ("my_tools:", "module:ATTRIBUTE"),
        ("missing:TOOLS", "no module 'missing'"),
        ("my_tools:BOTHH", "Did you mean BOTH"),
        ("my_tools:NOTHING", "of type int"),
        ("my_tools:MIXED", "undecorated"),
        ("my_tools:undecorated", "of type function"),
        ("my_tools:failing", "KeyError: 'PASSWORD'"),
        ("broken:TOOLS", "ZeroDivisionError"),
        ("unparsed:TOOLS", "SyntaxError"),
        ("needing:TOOLS", "No module named 'surely_not_installed'"),
        ("leaving:TOOLS", "SystemExit"),
        ("contradicting:TOOLS", "is_critical='no'"),
        ("tools.mine:TOOLS", "name 'tools' is taken"),
        ("json:TOOLS", "name 'json' is taken"),
    ],
)
def test_entries_that_cannot_be_used(folder: Path, entry: str, said: str) -> None:
    (folder / "my_tools.py").write_text(MINE)
    (folder / "broken.py").write_text("x = 1\ny = 1 / 0\n")
    (folder / "unparsed.py").write_text("def f(:\n")
    (folder / "needing.py").write_text("import surely_not_installed\n")
    (folder / "leaving.py").write_text("raise SystemExit(0)\n")
    (folder / "contradicting.py").write_text(MINE.replace("is_critical=False", "is_critical='no'"))
    (folder / "json.py").write_text(MINE)
    (folder / "tools").mkdir()
    (folder / "tools" / "mine.py").write_text(MINE)
    with pytest.raises(UsageError) as refused:
        table.load([entry], {})
    text = f"{refused.value.message} {refused.value.remedy}"
    assert said in text and "\n" not in text
    if said.startswith("no module"):
        assert str(folder) in text
    if entry.startswith("broken"):
        assert "broken.py:2" in text


def test_c025_a_tool_of_the_user_cannot_take_the_name_of_a_shipped_one(folder: Path) -> None:
    """Not even the user's own tool takes the name of a shipped one."""
    (folder / "my_tools.py").write_text(MINE.replace("def two", "def deploy_code").replace("two", "deploy_code"))
    with pytest.raises(UsageError, match="Two tools have the name 'deploy_code'"):
        table.load(["my_tools:deploy_code"], {})


def test_facts_survive_copies() -> None:
    copied = tool(pay, is_critical=False).model_copy(update={"tags": ["x"]})
    assert replace(Tool.of(copied).facts, origin="").is_critical is False
