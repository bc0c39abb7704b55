"""The tools that exist: the shipped ones, and those that INTERLOCK_TOOLS names. A new shipped tool is one line here."""

import difflib
import importlib
import importlib.util
import inspect
import itertools
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from langchain_core.tools import BaseTool

from memory.errors import InterlockError, UsageError
from tools.spec import Registry

SHIPPED = ("tools.database:database_tools", "tools.deploy:deploy_tools", "tools.tickets:ticket_tools", "tools.mcp:mcp_tools")
GIVEN = ("environment", "analytics", "mcp")  # what a function that returns tools may ask for, by the names of its parameters


def load(extra: Sequence[str], environment: Mapping[str, str], **services: Any) -> Registry:
    """Entries are `module:ATTRIBUTE`, importable from the current folder or installed.

    ATTRIBUTE is a tool, a list of tools, a Registry, or a function that returns a list of tools and asks for what is GIVEN by
    name, `(environment)` for example. A service that nobody gives is None.
    Raises UsageError, in one line, for what cannot be found, imported or used.
    """
    given = {**dict.fromkeys(GIVEN), **services, "environment": environment}
    shipped = [_bases(importlib.import_module(entry.partition(":")[0]), entry, given) for entry in SHIPPED]
    named = [_bases(_module(entry), entry, given) for entry in extra]
    return Registry(itertools.chain(*shipped, *named))


def _bases(module: ModuleType, entry: str, given: Mapping[str, Any]) -> list[BaseTool]:
    found = _attribute(module, entry)
    if asked := _asked(found, entry):
        found = _guarded(lambda: found(**{name: given[name] for name in asked}), f"{entry!r} failed when it was called")
    return _as_list(found, entry)


def _as_list(found: Any, entry: str) -> list[BaseTool]:
    if isinstance(found, BaseTool):
        return [found]
    if isinstance(found, Registry):
        return [one.base for one in found]
    if not isinstance(found, list | tuple):
        raise _wrong(f"{entry!r} is of type {type(found).__name__}, which is no tool", USABLE)
    for one in found:
        if not isinstance(one, BaseTool):
            raise _wrong(f"{entry!r} holds {one!r}, which is no tool", USABLE)
    return list(found)


USABLE = "Name what @tool of tools.spec made of a function, a list of that, or a function (environment) that returns it."


def _asked(found: Any, entry: str) -> list[str]:
    """What a function that returns tools asks for. Nothing else is called: a tool without its decorator would act."""
    names = list(inspect.signature(found).parameters) if inspect.isfunction(found) else []
    if not set(names) & set(GIVEN):
        return []
    if unknown := [name for name in names if name not in GIVEN]:
        raise _wrong(f"{entry!r} asks for {unknown[0]!r}", f"A function that returns tools can ask for {' and '.join(GIVEN)}.")
    return names


def _module(entry: str) -> ModuleType:
    name, _, attribute = entry.partition(":")
    if not (name and attribute) or name.startswith("."):
        raise _wrong(f"{entry!r} names no tools", "Write module:ATTRIBUTE, for example my_tools:TOOLS.")
    folder = Path.cwd()
    if str(folder) not in sys.path:  # last, so that no file in it replaces what is installed
        sys.path.append(str(folder))
    importlib.invalidate_caches()
    _refuse_taken(name.partition(".")[0], folder, entry)
    failed = f"{entry!r}: importing {name!r} failed"
    if missing := _guarded(lambda: _missing(name), failed):
        raise _wrong(f"{entry!r}: there is no module {missing!r}", f"Looked in {folder} and among what is installed.")
    module: ModuleType = _guarded(lambda: importlib.import_module(name), failed)
    return module


def _missing(name: str) -> str | None:
    try:
        return None if importlib.util.find_spec(name) else name
    except ModuleNotFoundError as error:
        return error.name or name


def _refuse_taken(top: str, folder: Path, entry: str) -> None:
    """A folder of the user's that is called like something installed (`tools`, first of all) would never be read."""
    own = [path for path in (folder / top, folder / f"{top}.py") if path.exists()]
    spec = sys.modules[top].__spec__ if top in sys.modules else importlib.util.find_spec(top)
    places = [*(spec.submodule_search_locations or ()), spec.origin or ""] if spec else []
    if own and places and not any(Path(place).resolve() == own[0].resolve() for place in places):
        taken = next((place for place in places if place), "interlock")
        what = f"{entry!r}: {own[0]} cannot be used, the name {top!r} is taken by {taken}"
        raise _wrong(what, "Give it another name.")


def _attribute(module: ModuleType, entry: str) -> Any:
    attribute = entry.partition(":")[2]
    try:
        return getattr(module, attribute)
    except AttributeError:
        public = [name for name in vars(module) if not name.startswith("_")]
        near = difflib.get_close_matches(attribute, public, n=3, cutoff=0.4)
        what = f"{entry!r}: {getattr(module, '__file__', module.__name__)} has no {attribute!r}"
        raise _wrong(what, f"Did you mean {', '.join(near)}?" if near else "") from None


def _guarded(step: Callable[[], Any], what: str) -> Any:
    """A module of the user's may fail in any way; what is said of a tool in it is said already."""
    try:
        return step()
    except InterlockError:
        raise
    except (Exception, SystemExit) as error:
        raise _wrong(f"{what}: {_line(error)}") from error


def _line(error: BaseException) -> str:
    """The error and the last line of the user's that led to it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error}"
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if len(frames) > 1 else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def _wrong(what: str, remedy: str = "") -> UsageError:
    return UsageError(f"INTERLOCK_TOOLS: {what}.", remedy=remedy, code="bad_tools")
