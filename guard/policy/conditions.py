"""Conditions: the one form of `where`, `when`, `require` and `refuse`, compiled to tests with three answers.

A constant, a fragment of JSON Schema, `{equals: path}`, or a matcher. Each judge answers True, False, or None for a value of another
type. There is no expression language, so everything that can be wrong is found here, at load. Comes after matchers and before tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from guard.core.conditions import Condition, Judge, Test
from guard.core.paths import Path
from guard.core.values import Json, canonical, encode, equal, is_number
from guard.policy import language
from guard.policy.dialects import exact, is_finite, is_integer, is_multiple
from guard.policy.formats import FORMATS
from guard.policy.keywords import anchored
from guard.policy.matchers import MATCHERS
from guard.policy.problems import Problems, meant
from guard.policy.source import Item

Known = Callable[[Path, Item], None]
"""Told each path of a condition with its place, to report one that can find nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """What a path may start from: `plain` where no prefix is written, and the prefixes that choose another root."""

    plain: str
    prefixes: frozenset[str] = frozenset()
    equals: frozenset[str] = frozenset({"arguments", "session", "resource"})


CALL = Roots(plain="arguments", prefixes=frozenset({"arguments", "session", "resource"}))
RESULT = Roots(plain="result", equals=frozenset({"arguments", "session", "result"}))


def condition(item: Item, roots: Roots, problems: Problems, what: str, known: Known) -> Condition | None:
    """Compile a mapping from paths to tests. None when a mistake was found."""
    fields = language.entries(item, what, problems)
    tests = [_test(spelled, below, roots, problems, known) for spelled, below in fields.items()]
    good = tuple(test for test in tests if test is not None)
    if not good or len(good) < len(tests):
        return None
    return Condition(tests=good, text=", ".join(test.text for test in good))


def _test(spelled: str, item: Item, roots: Roots, problems: Problems, known: Known) -> Test | None:
    path = _path(spelled, roots.plain, roots.prefixes, item, problems)
    if path is None:
        return None
    known(path, item)
    text = f"{spelled}: {encode(item.value)}"
    if not isinstance(item.value, dict):
        return Test(path=path, text=text, judge=constant(item.value))
    if "equals" in item.fields:
        return _equals(path, text, item, roots, problems, known)
    name = next((key for key in item.fields if key in MATCHERS), None)
    if name is not None:
        return _match(path, text, name, item, problems)
    judge = fragment(item, problems)
    return None if judge is None else Test(path=path, text=text, judge=judge)


def _path(spelled: str, plain: str, prefixes: frozenset[str], item: Item, problems: Problems) -> Path | None:
    root, dot, rest = spelled.partition(".")
    if dot and root in prefixes:
        return language.path(rest, root, item, problems)
    return language.path(spelled, plain, item, problems)


def _equals(path: Path, text: str, item: Item, roots: Roots, problems: Problems, known: Known) -> Test | None:
    if len(item.fields) > 1:
        problems.error(item, "equals stands alone", "write one test for each path")
        return None
    spelled = language.text(item.fields["equals"], problems, "equals")
    other = _path(spelled, roots.plain, roots.equals, item, problems) if spelled else None
    if other is None:
        return None
    known(other, item)
    return Test(path=path, text=text, equals=other)


def _match(path: Path, text: str, name: str, item: Item, problems: Problems) -> Test | None:
    row = MATCHERS[name]
    inner = item.fields[name]
    if len(item.fields) > 1 or set(inner.fields) != {row.option}:
        unknown = next((key for key in inner.fields if key != row.option), None)
        found = f"unknown key {unknown}" if unknown else "one option is needed" if len(item.fields) == 1 else "it stands alone"
        problems.error(inner, f"{name}: {found}", f"write {row.example}")
        return None
    texts = language.texts(inner.fields[row.option], problems, f"{name}.{row.option}")
    if row.resolve and path.root != "arguments":
        problems.error(item, f"{name}: only an argument can be judged as a file path", "name an argument")
        return None
    try:
        judge = row.build(texts) if texts else None
    except ValueError as failure:
        problems.error(inner.fields[row.option], f"{name}: {failure}", f"write {row.example}")
        return None
    return None if judge is None else Test(path=path, text=text, judge=judge, resolve=row.resolve)


# -- judges ----------------------------------------------------------------------------------------------------------


def sort(value: Json) -> str:
    """The JSON type of a value; whole numbers are numbers."""
    if isinstance(value, bool):
        return "boolean"
    if is_number(value):
        return "number" if is_finite(value) else "none"
    names = {str: "string", list: "array", tuple: "array", type(None): "null"}
    return names.get(type(value), "object")


def speaks_about(test: Json) -> frozenset[str]:
    """The types that a value must have for this test to say anything certain; empty where it speaks about all."""
    if not isinstance(test, dict):
        return frozenset() if test is None else frozenset({sort(test)})
    found = {"string" if key in MATCHERS else KEYWORDS[key][0] for key in test if key in MATCHERS or key in KEYWORDS}
    return frozenset(kind for kind in found if kind is not None)


def constant(wanted: Json) -> Judge:
    """Equality with a constant: uncertain for another type, except that nothing but null is null."""
    kind = sort(wanted)

    def judge(value: Json) -> bool | None:
        if wanted is not None and sort(value) != kind:
            return None
        return equal(value, wanted)

    return judge


def fragment(item: Item, problems: Problems) -> Judge | None:
    """Every keyword of a JSON Schema fragment must hold. None when a mistake was found."""
    if not isinstance(item.value, dict) or not item.fields:
        problems.error(item, "a test is a constant, keywords, equals, or a matcher", "write for example {maximum: 50}")
        return None
    _check_range(item, problems)
    judges = [_keyword(key, below, problems) for key, below in item.fields.items()]
    good = [judge for judge in judges if judge is not None]
    return _every(good) if len(good) == len(judges) else None


def _check_range(item: Item, problems: Problems) -> None:
    for low, high in (
        ("minimum", "maximum"),
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
        ("minProperties", "maxProperties"),
    ):
        both = [item.value.get(low), item.value.get(high)]
        if all(map(is_number, both)) and both[0] > both[1]:
            problems.error(item.fields[low], f"{low} is above {high}: this can never hold", "exchange them")


def _keyword(key: str, item: Item, problems: Problems) -> Judge | None:
    if key in _GROUPS:
        parts = [fragment(below, problems) for below in language.sequence(item, problems, key)]
        good = [part for part in parts if part is not None]
        return _GROUPS[key](good) if len(good) == len(parts) else None
    if key not in KEYWORDS:
        names = [*KEYWORDS, *_GROUPS, *MATCHERS, "equals"]
        problems.error(
            item, f"{key} is not a test", meant(key, names) or "write a keyword, equals or a matcher; const for an object"
        )
        return None
    kind, needs, build = KEYWORDS[key]
    try:
        inner = build(item.value) if needs(item.value) else None
    except (ValueError, re.error, OverflowError) as failure:
        problems.error(item, f"{key}: {failure}", _CURES.get(key, ""))
        return None
    if inner is None:
        problems.error(item, f"{key}: {language.kind_of(item)} makes no sense here", _CURES.get(key, ""))
        return None
    return inner if kind is None else _typed(kind, inner)


def _typed(kind: str, inner: Judge) -> Judge:
    return lambda value: inner(value) if sort(value) == kind else None


def _every(judges: list[Judge]) -> Judge:
    def judge(value: Json) -> bool | None:
        answers = [inner(value) for inner in judges]
        return False if False in answers else None if None in answers else True

    return judge


def _some(judges: list[Judge]) -> Judge:
    def judge(value: Json) -> bool | None:
        answers = [inner(value) for inner in judges]
        return True if True in answers else None if None in answers else False

    return judge


def _none(judges: list[Judge]) -> Judge:
    some = _some(judges)

    def judge(value: Json) -> bool | None:
        answer = some(value)
        return None if answer is None else not answer

    return judge


_GROUPS: Mapping[str, Callable[[list[Judge]], Judge]] = {"allOf": _every, "anyOf": _some, "not": _none}
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
    compiled = re.compile(anchored(wanted))
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

_CURES = {
    "type": f"write one of {', '.join(_TYPES)}",
    "enum": "write a list of constants",
    "format": f"write one of {', '.join(FORMATS)}",
    "pattern": "write a regular expression of Python's re",
}
