"""Defaults: what a function takes for an argument that is left out, as JSON.

A default is told only where JSON says it exactly and the function's own types read the same default back: the guard may then judge, show and
pass it like an argument of the model's. Everything else stays Python's business. Used by `signature`; calls no tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from math import isfinite
from os import PathLike, fspath
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import PydanticUndefined, to_jsonable_python

from guard.core.values import Json, canonical
from guard.tools.faithful import unfaithful

_DIGITS = 300  # no float has more, and what is shown to a model as a number must not become infinite
_DEPTH = 32
_NUMBERS = (int, float, Decimal)


def default_of(annotation: Any, default: Any) -> Json:
    """The default as JSON (numbers as int, float or Decimal), or PydanticUndefined where there is none or JSON cannot say it."""
    if default is PydanticUndefined:
        return PydanticUndefined
    try:
        told = _said(annotation, default)
        back = TypeAdapter(annotation).validate_python(told)
        return told if unfaithful(told, back) is None and _same(back, default) else PydanticUndefined
    except Exception:  # noqa: BLE001 - classes of the host's may raise anything; a default that cannot be said is left to Python
        return PydanticUndefined


def _said(annotation: Any, default: Any) -> Json:
    """JSON of a default. What is neither JSON nor an enum is dumped as its annotation says, field by field."""
    try:
        return _json(default, 0)
    except TypeError:
        return _json(TypeAdapter(annotation).dump_python(default, mode="python", warnings="error"), 0, _leaf)


def _json(value: Any, depth: int, other: Any = None) -> Json:
    """JSON of plain values and enums; `other` tells whatever else there is. Raises TypeError or ValueError for what JSON cannot say."""
    if depth > _DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, Enum):
        return _json(value.value, depth + 1, other)
    kind = type(value)
    if value is None or kind is bool or kind in _NUMBERS:
        return _finite(value)
    if kind is str:
        value.encode()  # half a character cannot be sent
        return value
    if isinstance(value, list | tuple):
        return [_json(item, depth + 1, other) for item in value]
    if isinstance(value, dict) and all(type(key) is str for key in value):
        return {key: _json(item, depth + 1, other) for key, item in value.items()}
    if other is None:
        raise TypeError(kind.__name__)
    return _json(other(value), depth + 1)


def _leaf(value: Any) -> Json:
    """JSON of a date, a UUID, a path, a set and the like. A set is in one order always, so that the schema is the same in each process."""
    if isinstance(value, AbstractSet):
        return sorted((_json(item, 0, _leaf) for item in value), key=canonical)
    return fspath(value) if isinstance(value, PathLike) else to_jsonable_python(value)


def _finite(value: Any) -> Json:
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("not finite")
    if isinstance(value, Decimal) and not (
        value.is_finite() and max(len(value.as_tuple().digits), abs(value.adjusted())) <= _DIGITS
    ):
        raise ValueError("too many digits")
    if type(value) is int and abs(value) >= 10**_DIGITS:
        raise ValueError("too many digits")
    return value


def _same(left: Any, right: Any) -> bool:
    """Whether two values are one default: numbers by value, lists and tuples by their items, all else by type and equality."""
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS) and not isinstance(left, bool) and not isinstance(right, bool):
        return unfaithful(left, right) is None and isinstance(left, Enum) == isinstance(right, Enum)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(item, right[key]) for key, item in left.items())
    return type(left) is type(right) and bool(left == right)
