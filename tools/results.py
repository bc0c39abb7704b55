"""Every result of a tool has a text: one that cannot be stored must never be a reason to run something again."""

import base64
import dataclasses
import functools
import inspect
import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from enum import Enum
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from memory.text import clean

DEEPEST = 100


def as_text(value: Any) -> str:
    """Text as it is (cleaned), anything else as compact JSON; never raises.

    None is `null`; not-a-number and infinities are the texts "NaN", "Infinity", "-Infinity"; bytes are UTF-8 text,
    or "base64:…"; sets are lists in order; dates, decimals, paths and identifiers are their usual text; a message, or
    a list of text blocks, is its text; what has no such form is named by its type.
    """
    try:
        plain = _plain(value)
        return clean(plain if isinstance(plain, str) else _json(plain))
    except Exception:  # noqa: BLE001 - a result may misbehave in any way
        return _nameless(value)


def _json(plain: Any) -> str:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _nameless(value: Any) -> str:
    return f"[a result of type {type(value).__name__}, which has no text form]"


def _plain(value: Any, inside: tuple[int, ...] = ()) -> Any:
    if id(value) in inside:
        return "[circular]"
    if len(inside) > DEEPEST:
        return "[nested too deeply]"
    within = functools.partial(_plain, inside=(*inside, id(value)))
    match _opened(value):
        case Mapping() as mapping:
            return {_name(key): within(inner) for key, inner in mapping.items()}
        case list() | tuple() as items:
            return _text_of_blocks(items) or [within(inner) for inner in items]
        case set() | frozenset() as items:
            return sorted((within(inner) for inner in items), key=_json)
        case scalar:
            return _scalar(scalar)


def _opened(value: Any) -> Any:
    """What a message, a model, a dataclass or an enumeration holds."""
    match value:
        case BaseMessage():
            return value.content
        case BaseModel():
            return value.model_dump()
        case Enum():
            return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    return value


def _scalar(value: Any) -> Any:
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            shown = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
            return value if math.isfinite(value) else shown
        case bytes() | bytearray() | memoryview():
            return _text_of_bytes(bytes(value))
        case date() | time():
            return value.isoformat()
    if inspect.isroutine(value) or re.search(r" at 0x[0-9a-fA-F]+>", text := str(value)):
        return _nameless(value)  # it says where it is in memory, which nobody can use
    return text


def _text_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(value).decode()


def _name(key: Any) -> str:
    plain = _plain(key)
    return plain if isinstance(plain, str) else _json(plain)


def _text_of_blocks(blocks: Sequence[Any]) -> str | None:
    """LangChain and MCP give content as a list of blocks."""
    texts = [one.get("text") for one in blocks if isinstance(one, dict) and one.get("type") == "text"]
    known = [text for text in texts if isinstance(text, str)]
    return "\n".join(known) if len(known) == len(blocks) else None
