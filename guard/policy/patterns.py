"""Patterns: which regular expressions can take forever over a text, since it is a model that chooses the text.

Finds the one shape that is nearly always a mistake: a repeat directly inside a repeat, so that one text can be divided among them in
countless ways. May not change or refuse a pattern. Comes after problems; before conditions and schemas.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from guard.policy.problems import Problems, Spot

MANY = 10
"""Times; a repeat that may go on for more of them is as good as endless."""

_CURE = "repeat once only, or put a character between the repeats that the inner one cannot match"


def warn_slow(pattern: str, spot: Spot, problems: Problems, where: str) -> None:
    """Warn where `pattern` holds a repeat directly inside a repeat."""
    if is_slow(pattern):
        problems.warn(spot, f"{where}: {pattern} repeats a repeat: a text can be chosen that it never finishes with", _CURE)


def is_slow(pattern: str) -> bool:
    """Whether a long repeat stands directly inside a long repeat. False where that cannot be told."""
    try:
        parser: Any = importlib.import_module("re._parser")  # the standard library's own reading; not public, so it may go away
        return any(_divides(repeat[2]) for repeat in _repeats(parser.parse(pattern)))
    except Exception:  # noqa: BLE001 - a hint that cannot be given is not given; whether the pattern compiles is told elsewhere
        return False


def _repeats(node: Any) -> Iterator[Any]:
    """Every long repeat in a parsed pattern, wherever it stands, as (least, most, body)."""
    for name, value in node:
        if _is_long(name, value):
            yield value
        for part in _parts(value):
            yield from _repeats(part)


def _is_long(name: Any, value: Any) -> bool:
    return str(name) in {"MAX_REPEAT", "MIN_REPEAT"} and value[1] > MANY  # the others never give back what they took


def _parts(value: Any) -> Iterator[Any]:
    """The patterns inside the operand of one element."""
    if hasattr(value, "getwidth"):
        yield value
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from _parts(inner)


def _divides(body: Any) -> bool:
    """Whether the body of a repeat can be a long repeat and nothing else: `a+`, `(a+)`, `a+b?`, `a+|b`."""
    for name, value in body:
        others = body.getwidth()[0] - type(body)(body.state, [(name, value)]).getwidth()[0]
        if others == 0 and (_is_long(name, value) or any(map(_divides, _bodies(name, value)))):
            return True
    return False


def _bodies(name: Any, value: Any) -> list[Any]:
    """What may stand in the place of a group, an alternative or an optional part."""
    if str(name) == "SUBPATTERN":
        return [value[-1]]
    if str(name) == "BRANCH":
        return list(value[1])
    return [value[2]] if str(name) in {"MAX_REPEAT", "MIN_REPEAT"} else []
