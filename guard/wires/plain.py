"""Plain: whatever a host holds a message in (dicts, SDK objects, objects with attributes), turned into plain JSON.

Imports no SDK: an SDK object is known by its looks. May not drop anything that came over the wire, nor invent anything that did
not: fields that an SDK object leaves unset stay away. Comes before every wire; knows no wire's format.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from functools import lru_cache
from json import JSONDecoder
from types import FunctionType, MethodType, ModuleType
from typing import Any, NoReturn, cast

from guard.core.values import Json, JsonObject, encode
from guard.errors import WireError

_SCALARS = frozenset({str, int, float, bool, type(None), Decimal})
_LONE_HALVES = re.compile("[\ud800-\udfff]")
_NOT_DATA = (type, FunctionType, MethodType, ModuleType)
UNREADABLE = "(arguments that cannot be read)"
"""Stands for arguments that are no JSON or nested beyond reading: no JSON either, so the core refuses the call."""


def plain(value: object) -> Json:
    """Plain JSON of `value`, a deep copy. Raises WireError for what JSON cannot hold, and for nesting beyond Python's stack."""
    try:
        return _plain(value)
    except RecursionError:
        raise WireError("the message is nested too deeply, or contains itself") from None


def _plain(value: object) -> Json:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, dict | Mapping):  # dict first: an abstract class is slow to ask
        return {_key(key): item if type(item) in _SCALARS else _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return str.__str__(value)  # an enum of texts is its text
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    return {name: _plain(item) for name, item in attributes(value).items()}


def arguments_of(value: object) -> Json:
    """Decoded arguments as plain JSON; `UNREADABLE` where that is impossible."""
    try:
        return plain(value)
    except WireError:
        return UNREADABLE


def shallow(value: object) -> dict[str, object]:
    """The fields of a dict or object, their values as they are. Raises WireError for what is neither."""
    return {_key(key): item for key, item in value.items()} if isinstance(value, Mapping) else attributes(value)


def _key(key: object) -> str:
    if type(key) is str:
        return key
    if not isinstance(key, str):
        raise WireError(f"a message is plain JSON: its keys are texts, not {type(key).__name__}")
    return str.__str__(key)


def attributes(value: object) -> dict[str, object]:
    """The fields that an object carries. Raises WireError for an object that is not data (a stream, a function, bytes)."""
    names = _wire_names(cast("Hashable", type(value)))  # a class is hashable, which its type does not say
    if names is not None:
        return _model_fields(value, names)
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, _NOT_DATA) or not hasattr(value, "__dict__"):
        raise WireError(f"a message is plain JSON or an SDK's message object; {type(value).__name__} is neither")
    return {name: item for name, item in vars(value).items() if not name.startswith("_") and item is not None}


@lru_cache(maxsize=256)
def _wire_names(kind: Hashable) -> Mapping[str, str] | None:
    """The names on the wire of a pydantic class's fields; None for other classes."""
    known = getattr(kind, "model_fields", None)
    if not isinstance(known, Mapping):
        return None
    aliases = {
        name: (getattr(field, "serialization_alias", None), getattr(field, "alias", None)) for name, field in known.items()
    }
    return {name: first or second or name for name, (first, second) in aliases.items()}


def _model_fields(value: object, names: Mapping[str, str]) -> dict[str, object]:
    """Fields of a pydantic object under their names on the wire, with unknown ones; an unset None never came, so it is left out."""
    came: frozenset[str] = getattr(value, "model_fields_set", frozenset())
    found = {names[name]: item for name, item in vars(value).items() if name in names and (item is not None or name in came)}
    more = getattr(value, "model_extra", None)
    return {**found, **more} if more else found


def look(value: object, name: str) -> object:
    """The field `name` of a dict or object; None when it has none."""
    return value.get(name) if isinstance(value, dict | Mapping) else getattr(value, name, None)


def whole(message: object) -> JsonObject:
    """A message as a plain JSON object. Raises WireError for None, texts, lists and the like."""
    if message is None or isinstance(message, str | bytes | int | float | list | tuple):
        raise WireError(f"expected a message (a dict or an SDK's message object), got {type(message).__name__}")
    result: JsonObject = plain(message)
    return result


def sendable(value: Json) -> Json:
    """`value` as an HTTP client can send it: lone halves of a surrogate pair become U+FFFD, numbers that are not finite null."""
    try:
        encode(value).encode()
    except ValueError:
        return _mended(value)
    return value


def _mended(value: Json) -> Json:
    if isinstance(value, str):
        return _LONE_HALVES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, float | Decimal):
        return value if Decimal(value).is_finite() else None
    return value


def _not_json(text: str) -> NoReturn:
    raise ValueError(text)


_JSON = JSONDecoder(parse_constant=_not_json)
_SCAN: Any = _JSON.scan_once  # type: ignore[attr-defined]  # in every CPython, not in its stubs


def is_json(text: str) -> bool:
    """Whether a text is JSON (NaN and Infinity are not), so that a strict host can read it back."""
    try:
        if _SCAN(text, 0)[1] == len(text):  # the scanner alone, where no blanks stand around
            return True
    except (StopIteration, ValueError, RecursionError):
        pass
    try:
        _JSON.decode(text)
    except (ValueError, RecursionError):
        return False
    return True
