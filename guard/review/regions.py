"""Regions: every combination of answers that the tests of some conditions can give, so that two policies can be compared call by call.

Tests on numbers and constants are asked about values below, at, between and above their bounds; any other test may answer anything. The
combinations are therefore all that can occur, or more, never fewer. Comes after changes; used by judgements. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from types import MappingProxyType

from guard.core.conditions import Condition, Test
from guard.core.paths import ANY, Path
from guard.core.values import Json, canonical, encode, is_number

MOST = 20_000
"""Combinations that are looked at; beyond them nothing is said for certain."""
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_EXACT = _BOUNDS | {"const", "enum", "type"}
_OTHERS: tuple[Json, ...] = ("\x00another", True, False, None, [], {})
_STEP = Decimal("0.01")

Answer = bool | None
"""What one test says of one call: it surely holds, it surely fails, or neither (a value is missing, of another type, or one of several)."""
Fits = Callable[[Path, Json], bool]
"""Whether a call may hold this value there at all."""


@dataclass(frozen=True, slots=True)
class World:
    """One combination: the answer of each test by its key, and an example of it in words."""

    answers: Mapping[str, Answer]
    example: str

    def surely(self, condition: Condition) -> bool:
        """As `Condition.surely`, by the answers of this combination."""
        return all(self.answers[key(test)] is True for test in condition.tests)

    def maybe(self, condition: Condition) -> bool:
        """As `Condition.maybe`."""
        return all(self.answers[key(test)] is not False for test in condition.tests)


def key(test: Test) -> str:
    """What makes two tests the same, however they are spelled."""
    asked = written(test)
    return f"{test.path.root}\0{test.path}\0{test.text if asked is _NOT_JSON else canonical(asked)}"


_NOT_JSON = object()


def written(test: Test) -> Json:
    """What stands behind the path in the policy; a mark of its own where that cannot be told."""
    for spelled in (str(test.path), f"{test.path.root}.{test.path}"):
        if test.text.startswith(f"{spelled}: "):
            try:
                return json.loads(test.text[len(spelled) + 2 :], parse_float=Decimal)
            except ValueError:
                return _NOT_JSON
    return _NOT_JSON


def same(condition: Condition | None) -> Json:
    """What makes two conditions the same, whatever the order of their tests."""
    return None if condition is None else sorted(map(key, condition.tests))


def worlds(conditions: Iterable[Condition], fits: Fits) -> list[World] | None:
    """Every combination of answers of these conditions; None when there are too many."""
    groups: dict[tuple[str, str], dict[str, Test]] = {}
    for condition in conditions:
        for test in condition.tests:
            groups.setdefault((test.path.root, str(test.path)), {})[key(test)] = test
    total = 1
    parts: list[list[tuple[dict[str, Answer], str]]] = []
    for tests in groups.values():
        found = _group(tests, fits, MOST // total)
        if found is None:
            return None
        parts.append(found)
        total *= len(found)
        if total > MOST:
            return None
    return [_joined(chosen) for chosen in product(*parts)]


def _joined(chosen: Sequence[tuple[dict[str, Answer], str]]) -> World:
    answers: dict[str, Answer] = {}
    for part, _ in chosen:
        answers |= part
    return World(MappingProxyType(answers), ", ".join(example for _, example in chosen))


def _group(tests: Mapping[str, Test], fits: Fits, room: int) -> list[tuple[dict[str, Answer], str]] | None:
    """What all tests about one path can answer together, each combination once with an example."""
    exact = {name: test for name, test in tests.items() if _is_exact(test)}
    free = [name for name in tests if name not in exact]
    path = next(iter(tests.values())).path
    if 3 ** len(free) > room:
        return None
    known: dict[tuple[Answer, ...], str] = {}
    for value in _values(exact.values()):
        if fits(path, value):
            known.setdefault(tuple(_asked(test, value) for test in exact.values()), f"{path} = {_shown(value)}")
    if ANY in path.steps:
        _mix(known, room)
    if len(known) * 3 ** len(free) + 1 > room:
        return None
    found = [
        (dict(zip([*exact, *free], (*sure, *guess), strict=True)), _told(example, free, guess, tests))
        for sure, example in known.items()
        for guess in product((True, False, None), repeat=len(free))
    ]
    return [*found, (dict.fromkeys(tests), f"{path} left out")]


def _told(example: str, free: Sequence[str], guess: Sequence[Answer], tests: Mapping[str, Test]) -> str:
    """The example; where tests may answer anything, what they answer in place of a value."""
    if not free:
        return example
    said = {True: "holds", False: "does not hold", None: "cannot be told"}
    return ", ".join(f"{tests[name].text} {said[answer]}" for name, answer in zip(free, guess, strict=True))


def _asked(test: Test, value: Json) -> Answer:
    return test.judge(value) if test.judge is not None else None


def _shown(value: Json) -> str:
    return "another text" if value == _OTHERS[0] else encode(value)


def _is_exact(test: Test) -> bool:
    """Whether a few values show everything that the test can tell apart."""
    asked = written(test)
    if test.judge is None or test.resolve or asked is _NOT_JSON:
        return False
    return not isinstance(asked, Mapping) or asked.keys() <= _EXACT


def _values(tests: Iterable[Test]) -> Iterator[Json]:
    """Values on all sides of what the tests name."""
    named = [value for test in tests for value in _named(written(test))]
    numbers = sorted({Decimal(str(value)) for value in named if is_number(value)})
    yield from (value for value in named if not is_number(value))
    for index, bound in enumerate(numbers):
        after = numbers[index + 1] if index + 1 < len(numbers) else bound + 2
        yield from (bound, min(bound + _STEP, (bound + after) / 2), (bound + after) / 2, bound + 1)
    yield from [numbers[0] - _STEP, numbers[0] - 1] if numbers else [Decimal(0)]
    yield from _OTHERS


def _named(asked: Json) -> Iterator[Json]:
    if not isinstance(asked, Mapping):
        yield asked
        return
    for word, value in asked.items():
        if word in _BOUNDS or word == "const":
            yield value
        elif word == "enum":
            yield from value


def _mix(known: dict[tuple[Answer, ...], str], room: int) -> None:
    """Add what several values at one path answer together: what they agree on, else neither."""
    fresh = dict(known)
    while fresh and len(known) <= room:
        found = {
            tuple(a if a == b else None for a, b in zip(one, other, strict=True)): f"{left}, {right}"
            for one, left in fresh.items()
            for other, right in list(known.items())
        }
        fresh = {answers: example for answers, example in found.items() if answers not in known}
        known |= fresh
