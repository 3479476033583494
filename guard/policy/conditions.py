"""Conditions: the one form of `where`, `when`, `require` and `refuse`, compiled to tests with three answers.

A constant, a fragment of JSON Schema, `{equals: path}`, or a matcher. Each judge answers True, False, or None for a value of another
type. There is no expression language, so everything that can be wrong is found here, at load. Comes after judges and matchers, before tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from guard.core.conditions import Condition, Judge, Test
from guard.core.paths import Path
from guard.core.values import Json, encode, is_number
from guard.policy import language
from guard.policy.judges import CURES, KEYWORDS, constant, every, none, some, sort, typed
from guard.policy.matchers import MATCHERS
from guard.policy.patterns import warn_slow
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
    judge = None if _lacks_matcher(spelled, item, problems) else fragment(item, problems)
    return None if judge is None else Test(path=path, text=text, judge=judge)


def _lacks_matcher(spelled: str, item: Item, problems: Problems) -> bool:
    """Report an option of a matcher that stands where the matcher itself belongs."""
    found = [(name, row.option) for name, row in MATCHERS.items() if row.option in item.fields]
    for name, option in found:
        cure = f"write {{{spelled}: {{{name}: {{{option}: …}}}}}}"
        problems.error(item.fields[option], f"{option} belongs to the matcher {name}", cure)
    return bool(found)


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


# -- fragments -------------------------------------------------------------------------------------------------------


def speaks_about(test: Json) -> frozenset[str]:
    """The types that a value must have for this test to say anything certain; empty where it speaks about all."""
    if not isinstance(test, dict):
        return frozenset() if test is None else frozenset({sort(test)})
    found = {"string" if key in MATCHERS else KEYWORDS[key][0] for key in test if key in MATCHERS or key in KEYWORDS}
    return frozenset(kind for kind in found if kind is not None)


def fragment(item: Item, problems: Problems) -> Judge | None:
    """Every keyword of a JSON Schema fragment must hold. None when a mistake was found."""
    if not isinstance(item.value, dict) or not item.fields:
        problems.error(item, "a test is a constant, keywords, equals, or a matcher", "write for example {maximum: 50}")
        return None
    _check_range(item, problems)
    judges = [_keyword(key, below, problems) for key, below in item.fields.items()]
    good = [judge for judge in judges if judge is not None]
    return every(good) if len(good) == len(judges) else None


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
        problems.error(item, f"{key} is not a test", _instead(key))
        return None
    kind, needs, build = KEYWORDS[key]
    try:
        inner = build(item.value) if needs(item.value) else None
    except (ValueError, re.error, OverflowError) as failure:
        problems.error(item, f"{key}: {failure}", CURES.get(key, ""))
        return None
    if inner is None:
        problems.error(item, f"{key}: {language.kind_of(item)} makes no sense here", CURES.get(key, ""))
        return None
    if key == "pattern":
        warn_slow(item.value, item, problems, "pattern")
    return inner if kind is None else typed(kind, inner)


def _instead(key: str) -> str:
    """What to write in the place of `key`."""
    if key in {*MATCHERS, *(row.option for row in MATCHERS.values())}:
        return "a matcher stands alone behind its argument, outside of allOf, anyOf and not"
    return meant(key, [*KEYWORDS, *_GROUPS, *MATCHERS, "equals"]) or "write a keyword, equals or a matcher; const for an object"


_GROUPS: Mapping[str, Callable[[list[Judge]], Judge]] = {"allOf": every, "anyOf": some, "not": none}
