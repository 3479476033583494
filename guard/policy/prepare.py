"""Prepare: the only two changes that arguments may undergo before they are judged.

Null on an optional field that cannot be null counts as absent (and a default of the schema fills it, at the top level). With
`coerce: lossless` a value that does not fit becomes the one value that it spells. Nothing else is ever repaired; what the schema accepts
is never touched. Comes after schemas and before tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from guard.core.rules import Prepared
from guard.core.values import Json, JsonObject, copy
from guard.policy.fields import local
from guard.policy.issues import dotted
from guard.policy.schemas import Schema

_NUMBER = re.compile(r"(?!-0\Z)-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_ABSENT = object()
_WORDS = {"true": True, "false": False}


@dataclass(slots=True)
class _Inside:
    """What may change inside an object (its fields) or a list (its items). Filled after it is made, since schemas may recur."""

    fields: dict[str, _Place] = field(default_factory=dict)
    item: _Place | None = None


@dataclass(slots=True)
class _Place:
    """What may change at one place: a field of an object or an item of a list."""

    inside: _Inside
    fits: Callable[[Json], bool]
    drops: bool = False  # null counts as absent
    default: Json = _ABSENT


@dataclass(slots=True)
class _Log:
    lossless: bool
    defaulted: list[str] = field(default_factory=list)
    converted: list[str] = field(default_factory=list)


def preparer(
    schema: Schema, *, lossless: bool, fill: Mapping[str, Json] = MappingProxyType({})
) -> Callable[[JsonObject], Prepared]:
    """A function that prepares the arguments of one tool; it gives back the same object when nothing changed.

    `fill` holds the defaults of arguments that somebody judges: where one is left out, that is what will run, so it is filled in here.
    """
    root = _plan(schema, schema.strict, {})
    deep = any(place.inside.fields or place.inside.item for place in root.fields.values())

    def prepare(arguments: JsonObject) -> Prepared:
        given = prepare_given(arguments)
        left = [name for name in fill if name not in given.arguments]
        if not left:
            return given
        filled = {**given.arguments, **{name: copy(fill[name]) for name in left}}
        return Prepared(arguments=filled, defaulted=(*given.defaulted, *left), converted=given.converted)

    def prepare_given(arguments: JsonObject) -> Prepared:
        if not lossless and not (_has_null(arguments) if deep else None in arguments.values()):
            return Prepared(arguments=arguments)
        log = _Log(lossless)
        changed = _object(root, arguments, (), log)
        return Prepared(arguments=changed, defaulted=tuple(log.defaulted), converted=tuple(log.converted))

    return prepare if fill else prepare_given


def defaults_of(schema: Schema) -> dict[str, Json]:
    """The default of each top-level argument that has one."""
    inner = _inner(schema.strict, schema.strict)
    shapes = (inner.get("properties") or {}) if isinstance(inner, Mapping) else {}
    found = {name: _default(schema.strict, shape) for name, shape in shapes.items()}
    return {name: value for name, value in found.items() if value is not _ABSENT}


def _has_null(value: Json) -> bool:
    if isinstance(value, dict):
        return any(inner is None or (isinstance(inner, dict | list) and _has_null(inner)) for inner in value.values())
    return any(inner is None or (isinstance(inner, dict | list) and _has_null(inner)) for inner in value)


def _plan(schema: Schema, part: Json, seen: dict[int, _Inside]) -> _Inside:
    inner = _inner(schema.strict, part)
    if id(inner) in seen:
        return seen[id(inner)]
    plan = seen[id(inner)] = _Inside()
    if not isinstance(inner, Mapping):
        return plan
    required = inner.get("required", ())
    for name, below in (inner.get("properties") or {}).items():
        fits = schema.fits(below)
        drops = name not in required and not fits(None)
        plan.fields[name] = _Place(_plan(schema, below, seen), fits, drops, _default(schema.strict, below))
    if isinstance(inner.get("items"), Mapping):
        plan.item = _Place(_plan(schema, inner["items"], seen), schema.fits(inner["items"]))
    return plan


def _default(root: Json, part: Json) -> Json:
    inner = _inner(root, part)
    fallback = inner.get("default", _ABSENT) if isinstance(inner, Mapping) else _ABSENT
    return part.get("default", fallback) if isinstance(part, Mapping) else _ABSENT


def _inner(root: Json, part: Json) -> Json:
    """The schema that describes the inside: behind local references, and behind the only alternative to null."""
    for _ in range(32):
        if not isinstance(part, Mapping):
            return part
        target = local(root, part.get("$ref"))
        options = [option for key in ("anyOf", "oneOf") for option in part.get(key, ()) if option != {"type": "null"}]
        if target is None and len(options) == 1 and "properties" not in part:
            target = options[0]
        if target is None:
            return part
        part = target
    return part


def _object(inside: _Inside, value: JsonObject, at: tuple[str | int, ...], log: _Log) -> JsonObject:
    out: JsonObject | None = None
    for name, child in inside.fields.items():
        if name not in value:
            continue
        before = value[name]
        after = _field(child, before, (*at, name), log)
        if after is not before:
            out = dict(value) if out is None else out
            if after is _ABSENT:
                del out[name]
            else:
                out[name] = after
    return value if out is None else out


def _field(place: _Place, value: Json, at: tuple[str | int, ...], log: _Log) -> Json:
    if value is None:
        if not place.drops:
            return value
        if len(at) == 1 and place.default is not _ABSENT:
            log.defaulted.append(str(at[0]))
            return copy(place.default)
        return _ABSENT
    if isinstance(value, dict):
        return _object(place.inside, value, at, log)
    if isinstance(value, list):
        return _list(place.inside.item, value, at, log) if place.inside.item is not None else value
    return _lossless(place, value, at, log) if log.lossless else value


def _list(place: _Place, value: list[Json], at: tuple[str | int, ...], log: _Log) -> list[Json]:
    out = [item if item is None else _field(place, item, (*at, index), log) for index, item in enumerate(value)]
    return value if all(new is old for new, old in zip(out, value, strict=True)) else out


def _lossless(place: _Place, value: Json, at: tuple[str | int, ...], log: _Log) -> Json:
    if isinstance(value, bool) or not isinstance(value, str | int) or place.fits(value):
        return value
    for other in _readings(value):
        if place.fits(other):
            log.converted.append(dotted(at))
            return other
    return value


def _readings(value: str | int) -> list[Json]:
    """The values of other types that `value` spells exactly."""
    if isinstance(value, int):
        return [str(value)]
    if value in _WORDS:
        return [_WORDS[value]]
    if not _NUMBER.fullmatch(value):
        return []
    return [Decimal(value) if "." in value else int(value)]
