"""Faithful: whether converted arguments still mean what the JSON said.

Pydantic converts generously (`"5"` to 5, 1 to True, a long decimal to the nearest float), and a tool's own validators may turn any value
into another. What was judged, approved and recorded is the JSON, so a conversion that JSON Schema would refuse, or that changes a value, is
an issue. Types richer than JSON's own (a date, a UUID, a path, a class of the host's) stand for what they were made from. Used by
`arguments` after every conversion; may raise what the host's own classes raise.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import Any, NamedTuple


class Unfaithful(NamedTuple):
    """Where a conversion changed the meaning, and how; the value itself is not in here."""

    path: str
    rule: str
    message: str


def unfaithful(given: Any, got: Any, path: str = "") -> Unfaithful | None:
    """The first place where `got` no longer means what `given` said; None when the conversion is faithful."""
    got = _unwrapped(got)
    if given is got:
        return None
    if isinstance(given, dict):
        return _object(given, got, path)
    if isinstance(given, list):
        return _list(given, got, path)
    if isinstance(given, bool) or isinstance(got, bool):
        return _other_type(path) if isinstance(got, int | float | str | Decimal) else _rich(got, path)
    if isinstance(given, str):
        return _text(given, got, path)
    return _rich(got, path) if given is None else _number(given, got, path)


def _unwrapped(got: Any) -> Any:
    """What stands in a wrapper that pydantic makes of a plain value: an enum, a secret, a model of one value."""
    kind = type(got)
    if isinstance(got, Enum):
        return got.value if got.value is None or isinstance(got.value, str | int | float | Decimal) else got
    if getattr(kind, "__pydantic_root_model__", False):
        return _unwrapped(got.root)
    return got.get_secret_value() if callable(getattr(kind, "get_secret_value", None)) else got


def _other_type(path: str) -> Unfaithful:
    return Unfaithful(path, "type", "is of another type than the tool takes")


def _changed(path: str) -> Unfaithful:
    return Unfaithful(path, "changed", "is changed by the tool's own validation; send it in the form that the tool uses")


def _rounded(path: str) -> Unfaithful:
    return Unfaithful(path, "precision", "has more digits than this tool can take without rounding")


def _rich(got: Any, path: str) -> Unfaithful | None:
    """A value of a kind that JSON has is not what was given; an object of another class stands for it."""
    plain = got is None or isinstance(got, str | bytes | int | float | Decimal | dict | list | tuple | set | frozenset)
    return _changed(path) if plain else None


# -- scalars ---------------------------------------------------------------------------------------------------------


def _text(given: str, got: Any, path: str) -> Unfaithful | None:
    if isinstance(got, int | float | Decimal):
        return Unfaithful(path, "type", "must be a number, not text")
    if isinstance(got, str):
        return None if str.__eq__(got, given) else _changed(path)
    if isinstance(got, bytes):
        return None if got in _bytes(given) else _changed(path)
    if isinstance(got, dict | list):
        return unfaithful(_decoded(given), got, path)
    return _rich(got, path)


def _bytes(text: str) -> Iterator[bytes]:
    """What a text may say as bytes: its UTF-8, or what it encodes in base64."""
    raw = text.encode("utf-8", "surrogatepass")
    yield raw
    for decode in (base64.standard_b64decode, base64.urlsafe_b64decode):
        try:
            yield decode(raw)
        except ValueError:
            continue


def _decoded(text: str) -> Any:
    """The value of a text that holds JSON; None for any other."""
    try:
        return json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None


def _number(given: Any, got: Any, path: str) -> Unfaithful | None:
    if isinstance(got, int | float | Decimal):
        return None if _exact(got) == _exact(given) else _rounded(path)
    if isinstance(got, str | bytes | date | timedelta):
        return Unfaithful(path, "type", "must be text, not a number")
    return _rich(got, path)


def _exact(value: Any) -> Decimal:
    return Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)


# -- containers ------------------------------------------------------------------------------------------------------


def _at(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def _first(path: str, triples: Iterable[tuple[object, Any, Any]]) -> Unfaithful | None:
    """The first issue among parts that belong together: key, given, got."""
    return next((found for key, left, right in triples if (found := unfaithful(left, right, _at(path, key)))), None)


def _object(given: dict[str, Any], got: Any, path: str) -> Unfaithful | None:
    if isinstance(got, Mapping):
        return _mapping(given, got, path)
    fields = _fields(got)
    if fields is None:
        return _rich(got, path)
    return _first(path, ((key, value, fields[key]) for key, value in given.items() if key in fields))


def _mapping(given: dict[str, Any], got: Mapping[Any, Any], path: str) -> Unfaithful | None:
    """Objects that stay objects keep their keys; a key may become what its text says, and what was left out may be filled in."""
    lost = [key for key in given if key not in got]
    new = [key for key in got if key not in given]
    if lost and len(lost) != len(new):
        return _changed(path)
    pairs = list(zip(lost, new, strict=False))  # pydantic keeps the order
    for left, right in pairs:
        key = _unwrapped(right)
        if isinstance(key, str | int) and str(key) != left:
            return _changed(_at(path, left))
    kept = ((key, value, got[key]) for key, value in given.items() if key in got)
    return _first(path, kept) or _first(path, ((left, given[left], got[right]) for left, right in pairs))


def _list(given: list[Any], got: Any, path: str) -> Unfaithful | None:
    if isinstance(got, AbstractSet):
        return _set(given, got, path)
    if isinstance(got, Iterator):  # validated only as it is drawn from
        got = list(islice(got, len(given) + 1))
    if not isinstance(got, Sequence) or isinstance(got, str | bytes):
        return _rich(got, path)
    if len(got) != len(given) and not (hasattr(got, "_fields") and len(got) > len(given)):
        return _changed(path)
    return _first(path, ((index, left, right) for index, (left, right) in enumerate(zip(given, got, strict=False))))


def _set(given: list[Any], got: AbstractSet[Any], path: str) -> Unfaithful | None:
    """Each item must be there by value, unless the members are of classes richer than JSON's."""
    marks = {_mark(_unwrapped(member)) for member in got}
    if len(got) > len(given):
        return _changed(path)
    for index, item in enumerate(given):
        if None not in marks and _mark(item) not in marks:
            number = isinstance(item, int | float | Decimal) and not isinstance(item, bool)
            return _rounded(_at(path, index)) if number else _changed(_at(path, index))
    return None


def _mark(value: Any) -> tuple[str, Any] | None:
    """What a scalar is equal by; None for everything else."""
    if value is None or isinstance(value, bool | str):
        return type(value).__name__ if not isinstance(value, str) else "str", value
    return ("number", _exact(value)) if isinstance(value, int | float | Decimal) else None


def _fields(got: Any) -> dict[str, Any] | None:
    """The fields of a model, dataclass or named tuple under every name that JSON may use for them; None for everything else."""
    if dataclasses.is_dataclass(got):
        return {field.name: getattr(got, field.name, None) for field in dataclasses.fields(got)}
    if isinstance(got, tuple) and hasattr(got, "_asdict"):
        return dict(got._asdict())
    known = getattr(type(got), "model_fields", None)
    if known is None:
        return None
    found: dict[str, Any] = dict(getattr(got, "model_extra", None) or {})
    for name, info in known.items():
        for key in (name, info.alias, *_aliases(info.validation_alias)):
            if isinstance(key, str):
                found[key] = getattr(got, name, None)
    return found


def _aliases(alias: Any) -> Sequence[Any]:
    return getattr(alias, "choices", None) or (alias,)
