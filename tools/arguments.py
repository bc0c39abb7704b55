"""Arguments of a tool: from the JSON that a model writes to the types that the function asks for, and back.

The JSON form is what is hashed, shown, stored and run, so the way is strict: nothing is converted that JSON itself does
not ask for (a date is text in JSON, a number is not), nothing is dropped, and what comes back validates to itself.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import PydanticSerializationError, to_jsonable_python

from memory.canonical import canonical, problem_of

_ABSENT = object()
_KINDS: Mapping[Any, Any] = {
    "string": str, "integer": int, "number": int | float, "boolean": bool, "array": list[Any], "object": dict[str, Any],
    "null": None,
}  # fmt: skip


class InvalidArguments(Exception):  # noqa: N818 - not an error of ours: an answer that the model reads
    """The arguments that a model proposed do not fit. The message is written for the model."""


@dataclass(frozen=True)
class Arguments:
    """`model` builds the types of the function; of a tool that only a JSON schema describes, it checks names and kinds.

    `injected` are fields of the model that we fill. `absent` are those that stay away when nobody gives them.
    `defaults` is the JSON form of the defaults, which need not fit their own types (`n: int = None`). `inner` is the name
    inside the model of a field whose name outside is another.
    """

    model: type[BaseModel]
    parameters: Mapping[str, Any]
    injected: frozenset[str]
    described: bool
    absent: frozenset[str]
    defaults: Mapping[str, Any]
    inner: Mapping[str, str]

    @classmethod
    def of(cls, schema: Any, parameters: Mapping[str, Any], injected: frozenset[str]) -> Self:
        """Raises InvalidArguments for a default that has no JSON form."""
        described = not (isinstance(schema, type) and issubclass(schema, BaseModel))
        model = model_of_schema(parameters) if described else cast("type[BaseModel]", schema)
        ours = injected & set(model.model_fields)
        # The JSON schema of LangChain shows fields by their names, ours by their aliases.
        inner = {} if described else {name: info.alias for name, info in model.model_fields.items() if info.alias}
        fields = {(info.alias or name) if described else name: info for name, info in model.model_fields.items()}
        optional = {name: info for name, info in fields.items() if not info.is_required()}
        fixed = {name: info.default for name, info in optional.items()
                 if name not in ours and info.default_factory is None and info.default is not _ABSENT}  # fmt: skip
        defaults = {name: _json_of_default(name, default) for name, default in fixed.items()}
        absent = frozenset(name for name, info in optional.items() if info.default is _ABSENT)
        return cls(model, parameters, ours, described, absent, defaults, inner)

    def validated(self, args: Any) -> dict[str, Any]:
        """With defaults, as plain JSON. Raises InvalidArguments."""
        if not isinstance(args, dict):
            raise InvalidArguments("they are no JSON object")
        try:
            if problem := problem_of(args) or self._unknown(args):
                raise InvalidArguments(problem)
            built = self._built(args)
            plain = self._plain(built, args)
            if problem := problem_of(plain) or _dropped(args, plain):
                raise InvalidArguments(problem)
            if self._built(plain) != built:
                raise InvalidArguments("they change each time that they are validated, or lose something as JSON")
        except RecursionError:
            raise InvalidArguments("they are nested too deeply") from None
        return plain

    def values(self, plain: dict[str, Any], idempotency_key: str) -> dict[str, Any]:
        """What the function is called with, by the names of its parameters."""
        if self.described:
            return plain
        built = self._built(plain, idempotency_key)
        return {**{name: getattr(built, name) for name in self.model.model_fields}, **(built.model_extra or {})}

    def _unknown(self, args: dict[str, Any]) -> str | None:
        known = self.parameters["properties"]
        unknown = [] if self.parameters.get("additionalProperties") else [name for name in args if name not in known]
        return f"{unknown[0]!r} is no argument; there are {', '.join(known) or 'none'}" if unknown else None

    def _built(self, args: dict[str, Any], idempotency_key: str = "-") -> BaseModel:
        given = {self.inner.get(name, name): value for name, value in args.items() if not self._is_default(name, value)}
        given.update(dict.fromkeys(self.injected, idempotency_key))
        try:
            return self.model.model_validate_json(json.dumps(given, ensure_ascii=False), strict=True)
        except ValidationError as error:
            raise InvalidArguments("; ".join(_problems(error))) from error

    def _is_default(self, name: str, value: Any) -> bool:
        return name in self.defaults and canonical(value) == canonical(self.defaults[name])

    def _plain(self, built: BaseModel, args: dict[str, Any]) -> dict[str, Any]:
        stays_away = self.absent - set(args)
        hidden = {name for name, info in self.model.model_fields.items()
                  if name in self.injected or info.alias in stays_away}  # fmt: skip
        try:
            plain = built.model_dump(mode="json", by_alias=True, exclude=hidden, warnings=False)
            values = built.model_dump(by_alias=True, exclude=hidden, warnings=False)
        except (PydanticSerializationError, TypeError) as error:
            raise InvalidArguments(f"they have no JSON form: {error}") from error
        outer = {inner: name for name, inner in self.inner.items()}
        return {outer.get(name, name): value for name, value in _ordered(values, plain).items()}


def model_of_schema(parameters: Mapping[str, Any]) -> type[BaseModel]:
    """Names and kinds of the outermost level; the other side, whose schema it is, checks the rest."""
    fields: dict[str, Any] = {}
    for index, (name, schema) in enumerate(parameters.get("properties", {}).items()):
        described = schema if isinstance(schema, dict) else {}
        kind, values = described.get("type"), described.get("enum") or ()
        known = _KINDS.get(kind, Any) if isinstance(kind, str) else Any
        if values and all(isinstance(value, str) for value in values):
            known = Literal[tuple(values)]
        default = ... if name in parameters.get("required", ()) else described.get("default", _ABSENT)
        fields[f"argument_{index}"] = (known, Field(default, alias=name))  # a name in JSON need not be one in Python
    extra: Literal["allow", "forbid"] = "allow" if parameters.get("additionalProperties") else "forbid"
    return cast("type[BaseModel]", create_model("Arguments", __config__=ConfigDict(extra=extra), **fields))


def _json_of_default(name: str, default: Any) -> Any:
    try:
        plain = _ordered(default, to_jsonable_python(default))
    except PydanticSerializationError as error:
        raise InvalidArguments(f"the default of {name!r}, {default!r}, has no JSON form") from error
    if problem := problem_of(plain, name):
        raise InvalidArguments(f"as a default, {problem}")
    return plain


def _problems(error: ValidationError, most: int = 5) -> Iterator[str]:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    for problem in found[:most]:
        yield f"{'.'.join(map(str, problem['loc'])) or 'together'}: {problem['msg']}"
    if len(found) > most:
        yield f"and {len(found) - most} more"


def _ordered(value: Any, plain: Any) -> Any:
    """The JSON form of a set has one order in every process, or the same arguments would have two hashes."""
    match value, plain:
        case (set() | frozenset(), list()):
            return sorted(plain, key=canonical)
        case (dict(), dict()) if len(value) == len(plain):
            pairs = zip(plain.items(), value.values(), strict=True)
            return {name: _ordered(inner, outer) for (name, outer), inner in pairs}
        case (list() | tuple(), list()) if len(value) == len(plain):
            return [_ordered(inner, outer) for inner, outer in zip(value, plain, strict=True)]
    return plain


def _dropped(given: Any, plain: Any, where: str = "") -> str | None:
    """A name that an inner model passed over in silence."""
    pairs: Iterable[tuple[str, Any, Any]] = ()
    match given, plain:
        case (dict(), dict()):
            if lost := [name for name in given if name not in plain]:
                return f"{where}{lost[0]} is no argument"
            pairs = ((f"{where}{name}.", inner, plain[name]) for name, inner in given.items())
        case (list(), list()) if len(given) == len(plain):
            both = zip(given, plain, strict=True)
            pairs = ((f"{where}{index}.", inner, outer) for index, (inner, outer) in enumerate(both))
    return next((found for at, inner, outer in pairs if (found := _dropped(inner, outer, at))), None)
