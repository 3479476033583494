"""How the time of redaction grows with adversarial text, up to 10 MB: of each detector, and of each look at a text or value.

    GUARD_CASES=DIR python tests/bench/redaction.py --hostile                # all: hours of processor time
    GUARD_CASES=DIR python tests/bench/redaction.py --hostile --quick        # to 10 MB only the worst texts of each; --to 1000000 is much shorter
    GUARD_CASES=DIR python tests/bench/redaction.py --hostile --to 1000000   # up to so many characters
    GUARD_CASES=DIR python tests/bench/redaction.py --hostile --only 'key '  # texts with this in their name
    GUARD_CASES=DIR python tests/bench/redaction.py --hostile --part looks-without   # or rules, looks-with, values-with, values-without

The quick form gives every text to every detector and look at 2 and 20 kB, and takes to 1 MB the two slowest of each and the two whose time grew
most, and to 10 MB the slowest and the fastest growing of those. Everything is looked at, with google-re2 and without.

The bounds after which a result is withheld are raised first, or most of this would not be looked at. What grows faster than n^1.3 is told as soon as it
is seen at a megabyte or more, and not tried with more. Times are those of the thread.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from hostile_kit import TEXTS, VALUES

from guard.core import hiding
from guard.core.redaction import LABEL, Redaction
from guard.core.values import encode
from guard.redactors import DETECTORS, nested, redactor
from guard.redactors.find import Finder
from guard.redactors.fold import folded
from guard.redactors.national import WORDS

Steps = tuple[tuple[int, int], ...]
"""Sizes, each with how many of the slowest texts of each look, and of the fastest growing ones, are taken to it."""
_ALL = 1 << 30
FULL: Steps = ((100_000, _ALL), (1_000_000, _ALL), (10_000_000, _ALL))
QUICK: Steps = ((2_000, _ALL), (20_000, _ALL), (1_000_000, 2), (10_000_000, 1))
PARTS = ("rules", "looks-with", "looks-without", "values-with", "values-without")
Times = dict[tuple[str, str], dict[int, float]]
"""Seconds by size, of each look and text."""
_BOUND = 1 << 40
_LEAST = 2e-4  # seconds: less is not told from nothing
_LARGE = 1_000_000
_FAST = 1.3  # a power of the size that is told at once
_TELLING = f"phone ip card {' '.join(WORDS)}"[:400]
Look = tuple[str, Callable[[Any], object]]


def raised() -> None:
    """Take the bounds away that keep more from being looked at."""
    for module, names in ((nested, ("_MOST", "_DECODED")), (hiding, ("_MAX_LEAF", "MOST"))):
        for name in names:
            setattr(module, name, _BOUND)


def rules() -> Iterator[Look]:
    """Each detector by itself, without a key and under one that tells of every id; and what stands under and beside a password."""
    for row in DETECTORS:
        yield f"{row.name}, gate", row.gate
        yield f"{row.name}, rule", lambda text, row=row: row.gate(text) and row.rule(None, text)
        yield f"{row.name}, rule under a telling key", lambda text, row=row: row.gate(text) and row.rule(_TELLING, text)
    finder = Finder(DETECTORS, seconds=math.inf)
    yield "look-alikes", folded
    yield "all rules, again and again", lambda text: finder.detect(None, text)
    yield "under password", lambda text: finder.detect("password", text)
    yield "beside password", lambda text: finder.detect(f"{LABEL}password", text)


def looks(*, fast: bool) -> Iterator[Look]:
    """The first look: at JSON text, at one text and at many."""
    one = redactor(Redaction(seconds=math.inf), fast=fast)
    yield "JSON text", one.quiet
    yield "JSON text of it", lambda text: one.quiet(f'["{text}"]')
    yield "one text", lambda text: one.sift([text])
    yield "a list of texts", lambda text: hiding.hide([text[at : at + 50] for at in range(0, len(text), 50)], one, set())


def values(*, fast: bool) -> Iterator[Look]:
    """A whole value, its JSON text, and that as a text of its own."""
    one = redactor(Redaction(seconds=math.inf), fast=fast)
    yield "a value", lambda value: hiding.hide(value, one, set())
    yield "its JSON text", lambda value: one.quiet(encode(value))
    yield "JSON inside a text", lambda value: one.detect(None, encode(value))


def seconds(work: Callable[[Any], object], given: Any, size: int) -> float:
    """Of this thread. What is nested too deeply for this Python counts as looked at."""
    if size >= _LARGE:
        gc.collect()  # takes longer than a small text
    gc.disable()
    begin = time.thread_time()
    try:
        work(given)
    except RecursionError:
        pass
    finally:
        gc.enable()
    return time.thread_time() - begin


def grow(part: str, steps: Steps, only: str) -> None:
    """One part, smallest size first; after each the table of what was fastest growing and slowest."""
    works = dict(rules() if part == "rules" else (looks if part.startswith("looks") else values)(fast=part.endswith("with")))
    makes: dict[str, Callable[[int], Any]] = dict(VALUES) if part.startswith("values") else dict(TEXTS)
    times: Times = {(look, name): {} for look in works for name in makes if only in name}
    for size, most in steps:
        worst = {one for look in works for one in _worst(look, times, most)}
        for name, make in makes.items():
            wanted = [look for look in works if (look, name) in worst]
            given = make(size) if wanted else None
            for look in wanted:
                known = times[look, name]
                known[size] = seconds(works[look], given, size)
                if _runs_away(known):
                    print(f"{part}: {look} grows as n^{_power(known):.2f} with {name}: {known}", flush=True)
        _told(part, size, times)


def _worst(look: str, times: Times, most: int) -> list[tuple[str, str]]:
    """The texts of one look that are taken further: the slowest, and as many of the fastest growing."""
    before = [one for one, known in times.items() if one[0] == look and not _runs_away(known)]
    sizes = [max(times[one], default=0) for one in before]
    before = [one for one, size in zip(before, sizes, strict=True) if size == max(sizes)]
    if len(before) <= most:
        return before
    slow = sorted(before, key=lambda one: -times[one][max(sizes)])[:most]
    rest = [one for one in before if one not in slow]
    return slow + sorted(rest, key=lambda one: -_power(times[one]))[:most]


def _runs_away(known: dict[int, float]) -> bool:
    """Whether there is no need to try it with more. Below a megabyte a window of some thousand characters may not be full yet."""
    return len(known) > 1 and max(known) >= _LARGE and _power(known) > _FAST


def _power(known: dict[int, float]) -> float:
    """How the time grew with the last step in size."""
    (small, before), (large, after) = sorted(known.items())[-2:]
    return math.log(max(after, _LEAST) / max(before, _LEAST)) / math.log(large / small)


def _told(part: str, size: int, times: Times) -> None:
    for look in dict.fromkeys(look for look, _ in times):
        found = [(known, name) for (one, name), known in times.items() if one == look and size in known]
        if not found:
            continue
        slow, name = max(found, key=lambda one: one[0][size])
        line = f"{part}: {look}, {size:,} characters of {len(found)} kinds: slowest {size / 1e6 / max(slow[size], _LEAST):.2f} MB/s ({name[:48]})"
        steps = [(_power(known), name) for known, name in found if len(known) > 1 and known[size] > 0.05]
        print(line + (f"; fastest growing n^{max(steps)[0]:.2f} ({max(steps)[1][:48]})" if steps else ""), flush=True)


def hostile(arguments: list[str]) -> None:
    """All parts, or those that are asked for."""
    raised()
    given = dict(pairwise(arguments))
    steps = QUICK if "--quick" in arguments else FULL
    most = int(given.get("--to", steps[-1][0]))
    for part in PARTS:
        if given.get("--part", part) == part:
            grow(part, tuple(step for step in steps if step[0] <= most), given.get("--only", ""))
