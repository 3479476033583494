"""Spans: what bounds, lengths and lists of values in one fragment of JSON Schema leave over. Exact arithmetic; knows no policy."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from guard.core.values import Json, is_number
from guard.policy.judges import sort

_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
_PAIRS = (
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minContains", "maxContains"),
)
_ENDLESS = 1 << 16
_Bound: TypeAlias = tuple[Fraction | None, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Numbers from `low` to `high`; None is no bound. `whole`: the fragment says nothing besides."""

    low: Fraction | None = None
    high: Fraction | None = None
    low_open: bool = False
    high_open: bool = False
    known: bool = False
    whole: bool = False

    @property
    def empty(self) -> bool:
        """Whether no number is left."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def meet(self, other: Span) -> Span:
        """What is in both."""
        low, low_open = _tighter((self.low, self.low_open), (other.low, other.low_open), 1)
        high, high_open = _tighter((self.high, self.high_open), (other.high, other.high_open), -1)
        known = self.known or other.known
        return Span(low=low, high=high, low_open=low_open, high_open=high_open, known=known, whole=self.whole and other.whole)

    def holds(self, other: Span) -> bool:
        """Whether every number of the other is in this one."""
        met = self.meet(other)
        return (met.low, met.high, met.low_open, met.high_open) == (other.low, other.high, other.low_open, other.high_open)

    def excludes(self, value: Json) -> bool:
        """Whether a number lies outside; False for everything that is no number."""
        if not self.known or not is_number(value) or isinstance(value, bool):
            return False
        point = Fraction(Decimal(str(value)))
        return self.meet(Span(low=point, high=point, known=True)).empty


def _tighter(one: _Bound, other: _Bound, sign: int) -> _Bound:
    if one[0] is None or other[0] is None:
        return other if one[0] is None else one
    if one[0] == other[0]:
        return one[0], one[1] or other[1]
    return one if sign * one[0] > sign * other[0] else other


def span(fragment: Mapping[str, Json]) -> Span:
    """The numbers that the bounds of a fragment leave over; unknown where it has none."""
    found = Span()
    for word in _BOUNDS:
        value = fragment.get(word)
        if is_number(value) and not isinstance(value, bool):
            bound, closed = Fraction(Decimal(str(value))), not word.startswith("exclusive")
            low = word.endswith("inimum")
            one = Span(low=bound, low_open=not closed, known=True) if low else Span(high=bound, high_open=not closed, known=True)
            found = found.meet(one)
    const = fragment.get("const")
    if is_number(const) and not isinstance(const, bool):
        found = found.meet(Span(low=Fraction(Decimal(str(const))), high=Fraction(Decimal(str(const))), known=True))
    only = set(fragment) <= {*_BOUNDS, "type", "description", "title"}
    return Span(
        low=found.low,
        high=found.high,
        low_open=found.low_open,
        high_open=found.high_open,
        known=found.known,
        whole=only and found.known,
    )


def values_of(fragment: Mapping[str, Json]) -> list[Json] | None:
    """The values that a fragment lists; None where it lists none."""
    if isinstance(fragment.get("enum"), list):
        return list(fragment["enum"])
    if "const" in fragment:
        return [fragment["const"]]
    return [True, False] if fragment.get("type") == "boolean" else None


def clash(fragment: Mapping[str, Json], *, whole: bool) -> tuple[str, str] | None:
    """The keyword and the words for two keywords of one fragment that exclude each other. `whole`: patterns match whole texts."""
    return _numbers(fragment) or _sizes(fragment) or _listed(fragment) or _pattern(fragment, whole=whole)


def _numbers(fragment: Mapping[str, Json]) -> tuple[str, str] | None:
    found = span(fragment)
    words = [word for word in _BOUNDS if is_number(fragment.get(word))]
    if found.known and found.empty and words:
        return words[0], " and ".join(f"{word} {fragment[word]}" for word in words)
    step = fragment.get("multipleOf")
    if fragment.get("type") == "integer" and not is_number(step):
        step = 1
    if step is not None and step > 0 and _skips(found, Fraction(step)):
        return words[0], f"no multiple of {step} lies between {' and '.join(str(fragment[word]) for word in words)}"
    return None


def _skips(found: Span, step: Fraction) -> bool:
    if found.low is None or found.high is None:
        return False
    first = -(-found.low // step) * step
    first += step if found.low_open and first == found.low else 0
    return first > found.high or (found.high_open and first == found.high)


def _number(fragment: Mapping[str, Json], word: str) -> Decimal | None:
    value: Any = fragment.get(word)
    return Decimal(str(value)) if is_number(value) and not isinstance(value, bool) else None


def _sizes(fragment: Mapping[str, Json]) -> tuple[str, str] | None:
    for low, high in _PAIRS:
        least, most = _number(fragment, low), _number(fragment, high)
        if least is not None and most is not None and least > most:
            return low, f"{low} {least} and {high} {most}"
    return None


def _listed(fragment: Mapping[str, Json]) -> tuple[str, str] | None:
    values = (
        fragment.get("enum") if isinstance(fragment.get("enum"), list) else [fragment["const"]] if "const" in fragment else None
    )
    word = "enum" if "enum" in fragment else "const"
    types = fragment.get("type")
    if values is None:
        return None
    if values == []:
        return word, "enum lists nothing"
    names = (
        {"number" if name == "integer" else name for name in (types if isinstance(types, list) else [types])} if types else set()
    )
    if names and not any(sort(value) in names for value in values):
        return word, f"{word} lists no value of type {types}"
    bounds = span({key: value for key, value in fragment.items() if key in _BOUNDS})
    if bounds.known and all(bounds.excludes(value) for value in values):
        return word, f"{word} lists no value within the bounds"
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == len(values) and not any(_fits(text, fragment) for text in texts):
        return word, f"{word} lists no value that fits the lengths and the pattern"
    return None


def _fits(text: str, fragment: Mapping[str, Json]) -> bool:
    least, most = _number(fragment, "minLength") or 0, _number(fragment, "maxLength")
    if len(text) < least or (most is not None and len(text) > most):
        return False
    pattern = fragment.get("pattern")
    try:
        return not isinstance(pattern, str) or re.search(pattern, text) is not None
    except re.error:
        return True


def _pattern(fragment: Mapping[str, Json], *, whole: bool) -> tuple[str, str] | None:
    """A pattern whose texts are all too long or too short."""
    pattern = fragment.get("pattern")
    width = _width(pattern) if isinstance(pattern, str) else None
    if width is None:
        return None
    least, most = _number(fragment, "minLength"), _number(fragment, "maxLength")
    if most is not None and width[0] > most:
        return "pattern", f"the pattern takes at least {width[0]} characters, and maxLength is {most}"
    closed = whole or (str(pattern).startswith("^") and str(pattern).endswith("$") and "|" not in str(pattern))
    if closed and least is not None and width[1] < least and width[1] < _ENDLESS:
        return "pattern", f"the pattern takes at most {width[1]} characters, and minLength is {least}"
    return None


def _width(pattern: str) -> tuple[int, int] | None:
    try:
        parser: Any = importlib.import_module("re._parser")  # the standard library's own reading; not public, so it may go away
        low, high = parser.parse(pattern).getwidth()
    except Exception:  # noqa: BLE001 - a hint that cannot be given is not given
        return None
    return int(low), int(high)
