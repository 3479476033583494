"""Faithful: whether converted arguments still mean what the JSON said.

Pydantic converts generously (`"5"` to 5, 1 to True, a long decimal to the nearest float). What was approved and recorded is the JSON, so a
conversion that JSON Schema would refuse, or that moves a number, is an issue. Pure; used by `arguments` after every conversion.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple


class Unfaithful(NamedTuple):
    """Where a conversion changed the meaning, and how; the value itself is not in here."""

    path: str
    rule: str
    message: str


def unfaithful(given: Any, got: Any, path: str = "") -> Unfaithful | None:
    """The first place where `got` no longer means what `given` said; None when the conversion is faithful."""
    if given is got or given is None:
        return None
    if isinstance(given, dict | list):
        return next(
            (found for key, left, right in _pairs(given, got) if (found := unfaithful(left, right, _at(path, key)))), None
        )
    if isinstance(given, bool) or isinstance(got, bool):
        same = given is got or (isinstance(given, bool) and not isinstance(got, int | float | str | Decimal))
        return None if same else Unfaithful(path, "type", "is of another type than the tool takes")
    if isinstance(given, str):
        return Unfaithful(path, "type", "must be a number, not text") if isinstance(got, int | float | Decimal) else None
    return _number(given, got, path)


def _number(given: Any, got: Any, path: str) -> Unfaithful | None:
    if isinstance(got, int | float | Decimal):
        if _exact(got) == _exact(given):
            return None
        return Unfaithful(path, "precision", "has more digits than this tool can take without rounding")
    if isinstance(got, str | bytes | date | timedelta):
        return Unfaithful(path, "type", "must be text, not a number")
    return None


def _exact(value: Any) -> Decimal:
    return Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)


def _at(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def _pairs(given: Any, got: Any) -> Iterator[tuple[object, Any, Any]]:
    """Matching parts of a JSON container and of what it became; parts that have no counterpart are left to the schema."""
    if isinstance(given, dict):
        fields = got if isinstance(got, Mapping) else _fields(got)
        yield from ((key, value, fields[key]) for key, value in given.items() if key in fields)
    elif isinstance(got, list | tuple) and len(got) == len(given):
        yield from ((index, left, right) for index, (left, right) in enumerate(zip(given, got, strict=True)))
    elif isinstance(got, set | frozenset):
        yield from ((index, left, _member(left, got)) for index, left in enumerate(given))


def _member(given: Any, got: set[Any] | frozenset[Any]) -> Any:
    """What `given` became in a set: itself when it is there, else the float or text nearest to it."""
    if isinstance(given, bool | dict | list):
        return given
    if isinstance(given, int | float | Decimal):
        numbers = [item for item in got if isinstance(item, int | float | Decimal) and not isinstance(item, bool)]
        return min(numbers, key=lambda item: abs(_exact(item) - _exact(given)), default=given)
    return given


def _fields(got: Any) -> dict[str, Any]:
    """The fields of a model or dataclass under every name that JSON may use for them."""
    if dataclasses.is_dataclass(got):
        return {field.name: getattr(got, field.name, None) for field in dataclasses.fields(got)}
    found: dict[str, Any] = {}
    for name, info in getattr(type(got), "model_fields", {}).items():
        for key in (name, info.alias, info.validation_alias):
            if isinstance(key, str):
                found[key] = getattr(got, name, None)
    return found
