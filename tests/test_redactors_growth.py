"""What redacting costs: hostile texts and values of every form take linear time, whichever look is first."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hostile_kit import COUNTED, SPECIAL, TEXTS, VALUES

from guard.core.hiding import hide
from guard.core.values import encode
from guard.redactors import detect, redactor

pytestmark = pytest.mark.slow
SMALL, LARGE = 6_000, 60_000
FAST, SLOW = redactor(), redactor(fast=False)
NAMES = [name for name in TEXTS if name in SPECIAL and "inside a word" not in name] + [
    *(f"{template!r} with other words" for template in COUNTED),
    *(f"inside a word: {sign}" for sign in ("ops_eyJ", "pypi-AgE", "sk-", "SK", "sc_", "ghp_")),
    *(f"'phone', then {fill!r}, then {after!r}" for fill, after in (("'", "1"), (" ", "x"))),
]


def grows(work: Callable[[Any], object], make: Callable[[int], Any]) -> bool:
    """Whether ten times as much takes more than forty times as long, beyond a fifth of a second: processor time, the better of two."""

    def seconds(given: Any) -> float:
        gc.disable()  # what other tests left behind costs more to look through than these texts
        try:
            begin = time.thread_time()
            work(given)
            return time.thread_time() - begin
        finally:
            gc.enable()

    small, large = (min(seconds(given) for _ in range(2)) for given in (make(SMALL), make(LARGE)))
    return large > 40 * small + 0.2


def _detected(text: str) -> None:
    with suppress(TimeoutError):
        detect(None, text)


@pytest.mark.parametrize("name", NAMES)
def test_hostile_texts_cost_linear_time(name: str) -> None:
    """For the detectors, shown or withheld, and for the looks before them with google-re2 and without."""
    works: list[Callable[[Any], object]] = [_detected]
    for one in (FAST, SLOW):
        works += [one.quiet, lambda text, one=one: one.sift([text]), lambda text, one=one: one.quiet(f'["{text}"]')]
    assert not [at for at, work in enumerate(works) if grows(work, TEXTS[name])]


@pytest.mark.parametrize("name", VALUES)
def test_hostile_values_cost_linear_time(name: str) -> None:
    """Names, tables, pairs and flags: as a value, as its JSON text, and as JSON inside a text."""
    works: list[Callable[[Any], object]] = [lambda value: detect(None, encode(value))]
    for one in (FAST, SLOW):
        works += [lambda value, one=one: hide(value, one, set()), lambda value, one=one: one.quiet(encode(value))]
    assert not [at for at, work in enumerate(works) if grows(work, VALUES[name])]
