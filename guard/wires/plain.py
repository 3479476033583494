"""Plain: whatever a host holds a message in (dicts, SDK objects, objects with attributes), turned into plain JSON.

Imports no SDK: an SDK object is known by its looks. May not drop anything that came over the wire, nor invent anything that did
not: fields that an SDK object leaves unset stay away. Comes before every wire; knows no wire's format.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from functools import lru_cache
from json import JSONDecoder
from math import isfinite
from types import FunctionType, MethodType, ModuleType
from typing import Any, NoReturn, cast

from guard.core.values import Json, JsonObject, encode
from guard.errors import WireError

_SCALARS = frozenset({str, int, float, bool, type(None), Decimal})
_LONE_HALVES = re.compile("[\ud800-\udfff]")
_NOT_DATA = (type, FunctionType, MethodType, ModuleType)
UNREADABLE = "(arguments that cannot be read)"
"""Stands for arguments that no JSON text can say or that are nested beyond reading: no JSON either, so the core refuses the call."""
MOST_DEPTH = 200
"""How deep a message may be nested: far beyond what the core takes, and far within what Python can copy and write."""
MOST_DIGITS = 4_000
"""How many digits a number may have: Python refuses to write or read an integer of more than 4,300."""
_LARGE = 10**MOST_DIGITS
_PAYLOADS = frozenset({"arguments", "input", "args"})


def plain(value: object, *, blobs: bool = False) -> Json:
    """Plain JSON of `value`, a deep copy; with `blobs`, bytes as base64 text.

    Raises WireError for what JSON cannot hold, and for nesting beyond `MOST_DEPTH`.
    """
    try:
        return _plain(value, MOST_DEPTH, blobs)
    except RecursionError:
        raise WireError(_TOO_DEEP) from None


_TOO_DEEP = "the message is nested too deeply, or contains itself"


def _plain(value: object, left: int, blobs: bool = False) -> Json:  # noqa: FBT001, FBT002 - handed on at each level
    if type(value) in _SCALARS:
        return value
    if left <= 0:
        raise WireError(_TOO_DEEP)
    if isinstance(value, dict | Mapping):  # dict first: an abstract class is slow to ask
        return {_key(key): item if type(item) in _SCALARS else _plain(item, left - 1, blobs) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, left - 1, blobs) for item in value]
    if isinstance(value, str):
        return str.__str__(value)  # an enum of texts is its text
    if isinstance(value, int | float | Decimal):
        return int(value) if isinstance(value, int) else float(value) if isinstance(value, float) else Decimal(value)
    if blobs and isinstance(value, bytes | bytearray):
        return b64encode(value).decode("ascii")
    return {name: _plain(item, left - 1, blobs) for name, item in attributes(value).items()}


def arguments_of(value: object) -> Json:
    """Decoded arguments as plain JSON; `UNREADABLE` where that is impossible, or where no text could say them again."""
    try:
        found = plain(value)
        return found if _sayable(found) else UNREADABLE
    except (WireError, RecursionError):
        return UNREADABLE


def _sayable(value: Json) -> bool:
    """Whether JSON text can say every number in `value` and be read back everywhere."""
    if isinstance(value, dict):
        return all(type(item) is str or _sayable(item) for item in value.values())
    if isinstance(value, list):
        return all(type(item) is str or _sayable(item) for item in value)
    return _writable(value)


def _writable(value: Json) -> bool:
    """Whether a leaf is no number, or a finite one of at most `MOST_DIGITS` digits."""
    if isinstance(value, int):
        return bool(abs(value) < _LARGE)
    if isinstance(value, float):
        return isfinite(value)
    if not isinstance(value, Decimal):
        return True
    return value.is_finite() and len(value.as_tuple().digits) <= MOST_DIGITS and abs(value.adjusted()) <= MOST_DIGITS


def apart(value: object, levels: int) -> Json:
    """Plain JSON of a proposed call: what cannot be read `levels` down is `UNREADABLE`, so that nothing around it is lost.

    Arguments are read whole wherever they stand: half of them would be other arguments.
    """
    if type(value) is str:
        return value
    if not levels or isinstance(value, str | int | float | Decimal | list | tuple) or value is None:
        return arguments_of(value)
    try:
        fields = shallow(value)
    except WireError:
        return UNREADABLE
    return {
        name: item if type(item) is str else apart(item, 0 if name in _PAYLOADS else levels - 1) for name, item in fields.items()
    }


def shallow(value: object) -> dict[str, object]:
    """The fields of a dict or object, their values as they are. Raises WireError for what is neither."""
    if not isinstance(value, dict | Mapping):
        return attributes(value)
    return {key if type(key) is str else _key(key): item for key, item in value.items()}


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
    if value is None or type(value) is dict:
        return None if value is None else value.get(name)
    return value.get(name) if isinstance(value, dict | Mapping) else getattr(value, name, None)


def whole(message: object, *, blobs: bool = False) -> JsonObject:
    """A message as a plain JSON object; `blobs` as for `plain`. Raises WireError for None, texts, lists and the like."""
    if message is None or isinstance(message, str | bytes | int | float | list | tuple):
        raise WireError(f"expected a message (a dict or an SDK's message object), got {type(message).__name__}")
    result: JsonObject = plain(message, blobs=blobs)
    return result


def sendable(value: Json) -> Json:
    """`value` as an HTTP client can send it: lone halves of a surrogate pair become U+FFFD, numbers that no text can say null."""
    if type(value) is str and value.isascii():
        return value
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
    return value if _writable(value) else None


NOT_JSON = object()
"""What `read_json` gives for a text that is none."""


def _not_json(text: str) -> NoReturn:
    raise ValueError(text)


_JSON = JSONDecoder(parse_constant=_not_json)
_SCAN: Any = _JSON.scan_once  # type: ignore[attr-defined]  # in every CPython, not in its stubs


def is_json(text: str) -> bool:
    """Whether a text is JSON (NaN, Infinity and numbers of thousands of digits are not), so that a strict host can read it back."""
    try:
        if _SCAN(text, 0)[1] == len(text):  # the scanner alone, where no blanks stand around
            return True
    except (StopIteration, ValueError, RecursionError):
        pass
    return read_json(text) is not NOT_JSON


def read_json(text: str) -> Any:
    """The value that a text says; `NOT_JSON` where `is_json` says no. Never raises."""
    try:
        return _JSON.decode(text)
    except (ValueError, RecursionError):  # of digits beyond Python's limit, too
        return NOT_JSON
