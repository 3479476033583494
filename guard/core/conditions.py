"""Conditions: the one form in which the policy language asks about values (`where`, `when`, `require`).

A condition is a list of tests that must all hold. Each is read twice: `surely` (nothing is missing, every value passes) decides
where a match would *allow*; `maybe` (not certainly false) decides where a match would *hold or refuse*. So a missing value or
one of another type never loosens anything. The judges are compiled by `guard.policy`; this file only combines their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from guard.core.paths import Path
from guard.core.values import Json, equal

Judge = Callable[[Json], bool | None]
"""What one test says about one value: True, False, or None when the value is of a type that the test does not speak about."""

Scope = Mapping[str, Json]
"""What conditions may look at: `arguments`, `session`, `resource`, `result`, and `resolved` (file paths → their real paths)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One question about the values at one path: a judge, or equality with the value at another path."""

    path: Path
    text: str
    judge: Judge | None = None
    equals: Path | None = None
    resolve: bool = False  # the value is a file path: judge its spelling and what it really points to


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Tests that must all hold. `text` is how the policy author wrote it, for audit and explanations."""

    tests: tuple[Test, ...]
    text: str

    def surely(self, scope: Scope) -> bool:
        """True only when every test certainly holds: for rules that allow."""
        return all(_all_true(_answers(test, scope)) for test in self.tests)

    def maybe(self, scope: Scope) -> bool:
        """True unless some test certainly fails: for rules that hold or refuse."""
        return all(_any_open(_answers(test, scope)) for test in self.tests)


def _all_true(answers: list[bool | None]) -> bool:
    return bool(answers) and all(answer is True for answer in answers)


def _any_open(answers: list[bool | None]) -> bool:
    return not answers or any(answer is not False for answer in answers)


def _answers(test: Test, scope: Scope) -> list[bool | None]:
    reach = test.path.reach(scope.get(test.path.root))
    values = [value for value, _ in reach.spots]
    answers: list[bool | None] = [None] if reach.missing or reach.blocked else []  # a branch that lacks the value is unsure
    if test.equals is not None:
        others = test.equals.reach(scope.get(test.equals.root))
        answers += [None] if others.missing or others.blocked else []
        return answers + [equal(value, other) for value in values for other, _ in others.spots]
    if test.judge is None:
        return []
    answers += [test.judge(value) for value in values]
    if test.resolve:
        resolved = scope.get("resolved") or {}
        answers += [test.judge(resolved[value]) if value in resolved else None for value in values if isinstance(value, str)]
    return answers
