"""What a tool is here: a LangChain tool, and our facts about it.

    @tool(is_critical=True, check=was_paid, timeout=30, secret=("token",))
    def pay(to: str, amount: int, token: str, idempotency_key: str) -> str:
        \"\"\"Pay an amount to somebody.\"\"\"

A parameter named `idempotency_key`, or `connection` in a transactional tool, is filled by us, and no model is shown it.
"""

import difflib
import functools
import inspect
import itertools
import json
import math
import os
import re
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol, Self, TypedDict, Unpack, overload

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ConfigDict, Field, create_model

from memory.canonical import problem_of, sha256
from memory.errors import UsageError
from memory.text import clean, shorten
from tools.arguments import Arguments, InvalidArguments

__all__ = [
    "Connection", "Declared", "Facts", "InvalidArguments", "OutcomeUnknown", "Registry", "Tool", "Undo",
    "environment_for_processes", "tool",
]  # fmt: skip

INJECTED = frozenset({"idempotency_key", "connection"})
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what model servers accept
FLAGS = ("is_critical", "idempotent", "transactional")
PASSED_ON = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SYSTEMROOT", "WINDIR", "PATHEXT", "COMSPEC", "USERPROFILE",
})  # fmt: skip
_FACTS = "_interlock_facts"  # the attribute of a BaseTool that carries its Facts; copies of the tool keep it


class OutcomeUnknown(Exception):  # noqa: N818 - it reports a state, which the tool knows and we could only guess
    """A tool raises it when it cannot tell whether its effect happened: a person, or the tool's check, settles that."""


class Connection(Protocol):
    """The psycopg AsyncConnection that a transactional tool gets, inside our transaction. Its rows are dicts."""

    async def execute(self, query: str, params: Any = None) -> Any: ...


class Declared(TypedDict, total=False):
    """What an author says of a tool.

    is_critical: a person decides before it runs (default: true).
    idempotent: it may be called again; with an `idempotency_key` parameter it gets the same key again.
    transactional: all it does, it does through `connection`; its effect commits together with its outcome.
    check: `check(idempotency_key, **args) -> str | None`, the result if it happened, None if not; raises if unsure.
    compensate: `compensate(result, idempotency_key, **args)` undoes it. The key is the one of the undo. A tool may stand here too: then
        its own facts say whether a person decides first, and what follows when nobody knows whether the undo took effect.
    timeout: seconds until the outcome counts as unknown; without one it may take as long as it likes.
    secret: names of arguments that no record, message or screen may show.

    `check` and `compensate` are plain or async functions, and get those of these values that their signature names.
    """

    is_critical: bool
    idempotent: bool
    transactional: bool
    check: Callable[..., Any] | None
    compensate: Callable[..., Any] | BaseTool | None
    timeout: float | None
    secret: Iterable[str]


@dataclass(frozen=True, slots=True)
class Remote:
    """Of a tool that another server runs: what that server says of it (`definition`, and its hash).

    `changed` says how it differs from when it was first used, empty where it does not; what is changed is always asked about.
    """

    server: str
    name: str
    sha256: str
    definition: Mapping[str, Any]
    changed: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """`origin` is where it was written, `path:line` or a dotted name; `injected` are the parameters that we fill."""

    is_critical: bool = True
    idempotent: bool = False
    transactional: bool = False
    check: Callable[..., Any] | None = None
    compensate: Callable[..., Any] | BaseTool | None = None
    timeout: float | None = None
    secret: tuple[str, ...] = ()
    injected: frozenset[str] = frozenset()
    origin: str = ""
    remote: Remote | None = None


@overload
def tool(subject: Callable[..., Any] | BaseTool, /, **declared: Unpack[Declared]) -> BaseTool: ...
@overload
def tool(**declared: Unpack[Declared]) -> Callable[[Callable[..., Any] | BaseTool], BaseTool]: ...
def tool(subject: Callable[..., Any] | BaseTool | None = None, /, **declared: Unpack[Declared]) -> Any:
    """A LangChain tool of a plain or async function, or a copy of one that exists, with our facts (see `Declared`).

    Raises UsageError for what contradicts itself, or cannot be meant.
    """
    return functools.partial(_declare, declared) if subject is None else _declare(declared, subject)


def _declare(declared: Declared, subject: Callable[..., Any] | BaseTool) -> BaseTool:
    base = subject.model_copy() if isinstance(subject, BaseTool) else _from_function(subject)
    base.__dict__[_FACTS] = _facts(base, declared)
    return base


def remote_tool(base: BaseTool, remote: Remote, *, origin: str, **declared: Unpack[Declared]) -> BaseTool:
    """As `tool`, for one that another server runs."""
    made = _declare(declared, base)
    made.__dict__[_FACTS] = replace(made.__dict__[_FACTS], remote=remote, origin=origin)
    return made


def _from_function(function: Callable[..., Any]) -> BaseTool:
    if not callable(function) or not hasattr(function, "__name__"):
        raise UsageError(f"{function!r} is neither a function with a name nor a LangChain tool.", code="bad_tool")
    description = inspect.getdoc(function)
    if not description:
        remedy = "The model reads it to know what the tool does."
        raise _wrong(function.__name__, _place(function), "has no docstring", remedy)
    schema = _model_of_function(function)
    run: dict[str, Any] = {"coroutine" if is_async(function) else "func": function}
    return StructuredTool(name=function.__name__, description=description, args_schema=schema, **run)


def _model_of_function(function: Callable[..., Any]) -> type[BaseModel]:
    """The arguments that the model gives. Parameters that somebody else fills are not among them."""
    wrong = functools.partial(_wrong, function.__name__, _place(function))
    if inspect.isasyncgenfunction(function):
        raise wrong("yields", "A tool returns one result.")
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        remedy = "Types that a tool names are imported for real, not under TYPE_CHECKING."
        raise wrong(f"has an annotation that cannot be read: {_line(error)}", remedy) from error
    arguments: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise wrong(f"has the parameter {str(parameter)!r}", "Every argument of a tool has a name.")
        hint = hints.get(name, Any)
        if name not in INJECTED and hint not in (RunnableConfig, RunnableConfig | None):
            arguments[name] = (_described(hint), ... if parameter.default is parameter.empty else parameter.default)
    try:
        with _names_of_models_allowed():
            made = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **arguments)
            return typing.cast("type[BaseModel]", made)
    except Exception as error:
        raise wrong(f"has a parameter that JSON cannot carry: {_line(error)}") from error


@contextmanager
def _names_of_models_allowed() -> Iterator[None]:
    """An argument may be called `copy` or `json`, as attributes of models are."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Field name", UserWarning)
        yield


def _described(hint: Any) -> Any:
    """`Annotated[int, "text"]` describes a parameter, as it does for LangChain."""
    texts = [text for text in getattr(hint, "__metadata__", ()) if isinstance(text, str)]
    return typing.Annotated[hint, Field(description=" ".join(texts))] if texts else hint


def _facts(base: BaseTool, declared: Mapping[str, Any]) -> Facts:
    """Refuses what could be meant in two ways: a gate that a typing mistake opens is no gate."""
    function = function_of(base)
    wrong = functools.partial(_wrong, base.name, _place(function))
    for name in declared:
        if name not in Declared.__annotations__:
            near = difflib.get_close_matches(name, Declared.__annotations__, n=1, cutoff=0.0)
            raise wrong(f"says {name!r}, which is no fact about a tool", f"Did you mean {near[0]}?")
    injected = _injected(base, function)
    facts = Facts(**declared, injected=injected, origin=_place(function))
    names = set(_parameters(base).get("properties", {})) - injected
    of_functions = (_mistakes_of_function(facts, fact, names) for fact in ("check", "compensate"))
    of_facts = (_mistakes_of_values(facts, names), _mistakes_of_transactions(facts, function))
    for what, remedy in itertools.chain(*of_facts, *of_functions):
        raise wrong(what, remedy)
    return replace(facts, secret=tuple(facts.secret))


Mistakes = Iterator[tuple[str, str]]  # what is wrong, and what would be right


def _mistakes_of_values(facts: Facts, names: set[str]) -> Mistakes:
    for flag in FLAGS:
        if not isinstance(value := getattr(facts, flag), bool):
            yield f"says {flag}={value!r}", f"{flag} is True or False."
    seconds = facts.timeout
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (number and 0 < seconds < math.inf):
        yield f"says timeout={seconds!r}", "A timeout is a positive number of seconds."
    if not isinstance(facts.secret, list | tuple | set | frozenset) or not names.issuperset(facts.secret):
        known = ", ".join(sorted(names)) or "none"
        yield f"says secret={facts.secret!r}", f"secret is a tuple of names of arguments; there are {known}."


def _mistakes_of_transactions(facts: Facts, function: Any) -> Mistakes:
    through = "A transactional tool does all that it does through its parameter `connection`."
    if facts.transactional and "connection" not in facts.injected:
        yield "is transactional, and has no parameter `connection`", through
    if "connection" in facts.injected and not facts.transactional:
        yield "has a parameter `connection`, and is not transactional", through
    if facts.transactional and not is_async(function):
        yield "is transactional, and a plain function", "`connection` is asynchronous: write `async def`."
    if facts.transactional and (facts.idempotent or facts.check):
        yield "is transactional, and idempotent or with a check", "What commits with its outcome needs neither."


def _mistakes_of_function(facts: Facts, fact: str, names: set[str]) -> Mistakes:
    given = getattr(facts, fact)
    if given is None:
        return
    if isinstance(given, BaseTool) and fact == "compensate":
        yield from _mistakes_of_undo(given, names)
        return
    if not callable(given):
        yield f"says {fact}={given!r}", f"{fact} is a function."
        return
    ours = {"idempotency_key"} | ({"connection"} if facts.transactional else set())
    ours |= {"result"} if fact == "compensate" else set()
    if taken := ours & names:
        yield f"has an argument {min(taken)!r}, a name that we fill for {fact}", "Give the argument another name."
    for name, parameter in inspect.signature(given).parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            continue
        asked = parameter.default is parameter.empty and name not in ours | names
        if asked or parameter.kind is parameter.POSITIONAL_ONLY:
            yield f"has a {fact} that asks for {name!r}", f"It gets, by name, {', '.join(sorted(ours | names))}."


def _mistakes_of_undo(undo: BaseTool, names: set[str]) -> Mistakes:
    """A tool that undoes gets its arguments by name, from the result and the arguments of what it undoes."""
    injected = _facts(undo, {}).injected
    if missing := sorted(set(_parameters(undo).get("required", ())) - names - {"result"} - injected):
        yield f"has a compensate that asks for {missing[0]!r}", f"It gets, by name, {', '.join(sorted(names | {'result'}))}."


def _wrong(name: str, place: str, what: str, remedy: str = "") -> UsageError:
    return UsageError(f"The tool {name!r} ({place}) {what}.", remedy=remedy, code="bad_tool")


def _injected(base: BaseTool, function: Any) -> frozenset[str]:
    """Where a JSON schema alone describes a tool, the other side says what a `connection` is."""
    if isinstance(base.args_schema, dict):
        return frozenset({"idempotency_key"} & set(base.args_schema.get("properties", {})))
    known = set(getattr(base.args_schema, "model_fields", ())) | set(inspect.signature(function).parameters)
    return INJECTED & known


def _parameters(base: BaseTool) -> dict[str, Any]:
    """The JSON schema of the arguments, in the form in which LangChain gives it to a model."""
    try:
        with _names_of_models_allowed():
            shown = convert_to_openai_tool(base)["function"]["parameters"]
        return typing.cast("dict[str, Any]", json.loads(json.dumps({"type": "object", "properties": {}, **shown})))
    except Exception as error:
        what = f"has arguments that no JSON schema describes: {_line(error)}"
        raise _wrong(base.name, _place(function_of(base)), what) from error


def function_of(base: BaseTool) -> Callable[..., Any]:
    """What the author wrote: the function, or the method of a class of tools."""
    given = getattr(base, "coroutine", None) or getattr(base, "func", None)
    method = base._run if type(base)._arun is BaseTool._arun else base._arun
    return typing.cast("Callable[..., Any]", given or method)


def is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _place(function: Any) -> str:
    function = inspect.unwrap(function.func if isinstance(function, functools.partial) else function)
    code = getattr(function, "__code__", None)
    if code is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', type(function).__qualname__)}"


def _line(error: BaseException) -> str:
    return shorten(" ".join(str(error).split()), 300)


@dataclass(frozen=True)
class Tool:
    """A tool as the product uses it.

    `parameters` is the JSON schema that the model is shown. `schema_sha256` is taken over it and the name: what the
    approval of arguments depends on. A reworded description gives no new value, and neither does a flag, because flags
    are read from the registry when a call is executed. `langchain` is bound to models and runs prepared values; `base`
    is as its author made it.
    """

    name: str
    description: str
    facts: Facts
    parameters: dict[str, Any]
    schema_sha256: str
    langchain: BaseTool = field(repr=False)
    base: BaseTool = field(repr=False)
    arguments: Arguments = field(repr=False)

    @classmethod
    def of(cls, base: BaseTool) -> Self:
        """A tool without facts is critical. Raises UsageError."""
        facts: Facts = base.__dict__.get(_FACTS) or _facts(base, {})
        parameters = _without(_parameters(base), facts.injected)
        if problem := _unfit(base, parameters):
            raise _wrong(base.name, facts.origin, problem)
        try:
            arguments = Arguments.of(base.args_schema, parameters, facts.injected)
        except InvalidArguments as error:
            raise _wrong(base.name, facts.origin, f"has arguments that cannot be kept: {error}") from error
        # The copy takes prepared values as they are, shows no injected parameter, and raises its errors.
        prepared = {"args_schema": parameters, "handle_tool_error": False, "handle_validation_error": False}
        return cls(
            name=base.name,
            description=base.description,
            facts=facts,
            parameters=parameters,
            # How it acts counts too: an approval given for a command must not run a register of the same name.
            schema_sha256=sha256(
                {"idempotent": facts.idempotent, "name": base.name, "parameters": parameters, "transactional": facts.transactional}
                | ({"remote": [facts.remote.server, facts.remote.sha256]} if facts.remote else {})
            ),
            langchain=base.model_copy(update=prepared),
            base=base,
            arguments=arguments,
        )

    def validate(self, args: Any) -> dict[str, Any]:
        """The arguments with defaults, as plain JSON: what is hashed, shown, stored and run. Raises InvalidArguments.

        Its own result validates to itself, in every process.
        """
        try:
            return self.arguments.validated(args)
        except InvalidArguments as error:
            text = clean(shorten(str(error), 2000))
            raise InvalidArguments(f"The arguments of {self.name} are not valid: {text}.") from error.__cause__

    def values(self, args: Mapping[str, Any], idempotency_key: str = "") -> dict[str, Any]:
        """The types that the function asks for, by the names of its parameters. Raises InvalidArguments."""
        return self.arguments.values(self.validate(dict(args)), idempotency_key)


def _without(parameters: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    kept = {name: schema for name, schema in parameters["properties"].items() if name not in names}
    required = [name for name in parameters.get("required", ()) if name not in names]
    rest = {key: value for key, value in parameters.items() if key != "required"}
    return {**rest, "properties": kept, **({"required": required} if required else {})}


def _unfit(base: BaseTool, parameters: dict[str, Any]) -> str | None:
    if not NAME.fullmatch(base.name):
        return "has a name that model servers refuse: 1 to 64 letters, digits, _ or - are accepted"
    if isinstance(base.args_schema, type) and not issubclass(base.args_schema, BaseModel):
        return "describes its arguments with pydantic 1; use pydantic 2"
    if '"writeOnly": true' in json.dumps(parameters):
        return "has an argument of a secret type, which loses its value in JSON; use str, and secret=(name,)"
    if elsewhere := sorted(base._injected_args_keys - INJECTED):
        return f"has a parameter {elsewhere[0]!r} that LangGraph's own ToolNode alone fills"
    if "connection" in getattr(base.args_schema, "model_fields", ()):
        return "has `connection` in its schema; give the function itself to tool()"
    problem = problem_of(parameters)
    return problem and f"has a schema that cannot be kept: {problem}"


@dataclass(frozen=True)
class Undo:
    """The way back of the tool `of`: a function, or a tool with facts of its own."""

    name: str
    of: Tool
    tool: Tool | None = None

    @classmethod
    def of_tool(cls, tool: Tool) -> Self | None:
        given = tool.facts.compensate
        if isinstance(given, BaseTool):
            made = Tool.of(given)
            return cls(made.name, tool, made)
        name = clean(str(getattr(given, "__name__", "")))
        return cls(name if NAME.fullmatch(name) else f"undo_{tool.name}", tool) if given else None

    @property
    def is_critical(self) -> bool:
        """It asks on its own. Whoever wishes an undo wishes the function that the tool names for it."""
        return self.tool is not None and self.tool.facts.is_critical

    @property
    def is_transactional(self) -> bool:
        return (self.tool or self.of).facts.transactional

    @property
    def is_idempotent(self) -> bool:
        """Of a function nobody has said so."""
        return self.tool is not None and self.tool.facts.idempotent

    @property
    def has_check(self) -> bool:
        return self.tool is not None and self.tool.facts.check is not None

    @property
    def secret(self) -> tuple[str, ...]:
        return (*self.of.facts.secret, *(self.tool.facts.secret if self.tool else ()))

    def arguments(self, args: Mapping[str, Any], result: str) -> dict[str, Any]:
        """What it runs with. Raises InvalidArguments."""
        if self.tool is None:
            return {**args, "result": result}
        wanted = self.tool.parameters["properties"]
        return self.tool.validate({name: value for name, value in {**args, "result": result}.items() if name in wanted})


class Registry:
    """The tools that exist, in the order of their names. `version` changes when a name, a schema or a flag does."""

    def __init__(self, tools: Iterable[Any]) -> None:
        made: dict[str, Tool] = {}
        for base in tools:
            if not isinstance(base, BaseTool):
                remedy = "Decorate the function with @tool of tools.spec."
                raise UsageError(f"{base!r} is no tool.", remedy=remedy, code="bad_tool")
            one = Tool.of(base)
            if other := made.get(one.name):
                places = f"{other.facts.origin} and {one.facts.origin}"
                remedy = "Give one of them another name, or leave it out."
                raise UsageError(f"Two tools have the name {one.name!r}: {places}.", remedy=remedy, code="bad_tool")
            made[one.name] = one
        self._tools = dict(sorted(made.items()))
        self.names = tuple(self._tools)
        self._undos = {name: undo for name, one in self._tools.items() if (undo := Undo.of_tool(one))}
        self.version = sha256({name: [one.schema_sha256, _flags(one.facts)] for name, one in self._tools.items()})

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def secret_of(self, call: Mapping[str, Any]) -> tuple[str, ...]:
        """The arguments of a call (`name`, `args`) that no record may show; all of them where nobody knows its tool."""
        known = self.get(call["name"])
        return known.facts.secret if known else tuple(call["args"])

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def undo_of(self, name: str) -> Undo | None:
        """The way back of the tool with that name."""
        return self._undos.get(name)

    def knows(self, name: str) -> bool:
        """Whether it is a tool, or a way back of one."""
        return name in self._tools or any(undo.name == name for undo in self._undos.values())


def _flags(facts: Facts) -> dict[str, Any]:
    known = {one.name: getattr(facts, one.name) for one in fields(facts) if one.name not in {"injected", "origin", "remote"}}
    return {**known, "check": facts.check is not None, "compensate": facts.compensate is not None}


def environment_for_processes(names: Iterable[str] = (), environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a process that a tool starts may know: where programs, certificates and proxies are, and `names`.

    All else stays here, keys and tokens first: who decides and who acts are kept apart.
    """
    known = os.environ if environment is None else environment
    allowed = PASSED_ON | set(names)
    return {name: value for name, value in known.items() if name in allowed or name.startswith("LC_")}
