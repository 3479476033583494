"""Judges: what each keyword of a condition says about one value: True, False, or None for a value of another type.

One row of `KEYWORDS` each; none of them knows paths or where it stands. Pure. Comes after dialects, formats and keywords; before conditions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from guard.core.conditions import Judge
from guard.core.values import Json, canonical, equal, is_number
from guard.policy.dialects import exact, is_finite, is_integer, is_multiple
from guard.policy.formats import FORMATS
from guard.policy.keywords import anchored


def sort(value: Json) -> str:
    """The JSON type of a value; whole numbers are numbers."""
    if isinstance(value, bool):
        return "boolean"
    if is_number(value):
        return "number" if is_finite(value) else "none"
    names = {str: "string", list: "array", tuple: "array", type(None): "null"}
    return names.get(type(value), "object")


def constant(wanted: Json) -> Judge:
    """Equality with a constant: uncertain for another type, except that nothing but null is null."""
    kind = sort(wanted)

    def judge(value: Json) -> bool | None:
        if wanted is not None and sort(value) != kind:
            return None
        return equal(value, wanted)

    return judge


def typed(kind: str, inner: Judge) -> Judge:
    """`inner` for values of one type, uncertain about all others."""
    return lambda value: inner(value) if sort(value) == kind else None


def every(judges: list[Judge]) -> Judge:
    """All of `judges` must hold."""

    def judge(value: Json) -> bool | None:
        answers = [inner(value) for inner in judges]
        return False if False in answers else None if None in answers else True

    return judge


def some(judges: list[Judge]) -> Judge:
    """One of `judges` must hold."""

    def judge(value: Json) -> bool | None:
        answers = [inner(value) for inner in judges]
        return True if True in answers else None if None in answers else False

    return judge


def none(judges: list[Judge]) -> Judge:
    """None of `judges` may hold."""
    any_ = some(judges)

    def judge(value: Json) -> bool | None:
        answer = any_(value)
        return None if answer is None else not answer

    return judge


_TYPES: Mapping[str, Callable[[Json], bool]] = {
    "string": lambda value: sort(value) == "string",
    "number": lambda value: sort(value) == "number",
    "integer": lambda value: sort(value) == "number" and is_integer(value),
    "boolean": lambda value: sort(value) == "boolean",
    "null": lambda value: value is None,
    "array": lambda value: sort(value) == "array",
    "object": lambda value: sort(value) == "object",
}


def _types(wanted: Json) -> Judge:
    names = wanted if isinstance(wanted, list) else [wanted]
    if not names or any(name not in _TYPES for name in names):
        raise ValueError("unknown type")
    return lambda value: any(_TYPES[name](value) for name in names)


def _pattern(wanted: Json) -> Judge:
    compiled = re.compile(anchored(wanted), re.DOTALL)  # a line break must not slip past what a rule refuses
    return lambda value: bool(compiled.fullmatch(value))


def _format(wanted: Json) -> Judge:
    if wanted not in FORMATS:
        raise ValueError("unknown format")
    return FORMATS[wanted]


def _enum(options: Json) -> Judge:
    kinds = frozenset(sort(option) for option in options)
    return lambda value: any(equal(value, option) for option in options) if sort(value) in kinds else None


def _count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _unique(wanted: Json) -> Judge:
    return lambda value: not wanted or len({canonical(item) for item in value}) == len(value)


Row = tuple[str | None, Callable[[Json], bool], Callable[[Json], Judge]]

KEYWORDS: Mapping[str, Row] = {
    "type": (None, lambda value: isinstance(value, str | list), _types),
    "enum": (None, lambda value: isinstance(value, list) and bool(value), _enum),
    "const": (None, lambda _: True, constant),
    "minimum": ("number", is_finite, lambda limit: lambda value: exact(value) >= limit),
    "maximum": ("number", is_finite, lambda limit: lambda value: exact(value) <= limit),
    "exclusiveMinimum": ("number", is_finite, lambda limit: lambda value: exact(value) > limit),
    "exclusiveMaximum": ("number", is_finite, lambda limit: lambda value: exact(value) < limit),
    "multipleOf": ("number", lambda step: is_finite(step) and step > 0, lambda step: lambda value: is_multiple(value, step)),
    "minLength": ("string", _count, lambda limit: lambda value: len(value) >= limit),
    "maxLength": ("string", _count, lambda limit: lambda value: len(value) <= limit),
    "pattern": ("string", lambda value: isinstance(value, str), _pattern),
    "format": ("string", lambda value: isinstance(value, str), _format),
    "minItems": ("array", _count, lambda limit: lambda value: len(value) >= limit),
    "maxItems": ("array", _count, lambda limit: lambda value: len(value) <= limit),
    "uniqueItems": ("array", lambda value: isinstance(value, bool), _unique),
    "minProperties": ("object", _count, lambda limit: lambda value: len(value) >= limit),
    "maxProperties": ("object", _count, lambda limit: lambda value: len(value) <= limit),
}
"""Keyword → the type that it speaks about (None: any), what may stand behind it, and its judge."""

CURES = {
    "type": f"write one of {', '.join(_TYPES)}",
    "enum": "write a list of constants",
    "format": f"write one of {', '.join(FORMATS)}",
    "pattern": "write a regular expression of Python's re",
}
