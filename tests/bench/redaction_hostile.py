"""How the time of redaction grows with adversarial text, from 100 kB to 10 MB: of each detector, and of each look at a text or value.

    GUARD_CASES=DIR python tests/bench/redaction.py --hostile                # all: hours of processor time
    GUARD_CASES=DIR python tests/bench/redaction.py --hostile --to 1000000   # up to so many characters
    GUARD_CASES=DIR python tests/bench/redaction.py --hostile --only 'key '  # texts with this in their name
    GUARD_CASES=DIR python tests/bench/redaction.py --hostile --part looks-without   # or rules, looks-with, values-with, values-without

The bounds after which a result is withheld are raised first, or most of this would not be looked at. What grows faster than n^1.3 is told as soon as it
is seen, and not tried with more. Times are those of the thread.
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

SIZES = (100_000, 1_000_000, 10_000_000)
PARTS = ("rules", "looks-with", "looks-without", "values-with", "values-without")
_BOUND = 1 << 40
_LEAST = 2e-4  # seconds: less is not told from nothing
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


def seconds(work: Callable[[Any], object], given: Any) -> float:
    """Of this thread. What is nested too deeply for this Python counts as looked at."""
    gc.collect()
    gc.disable()
    begin = time.thread_time()
    try:
        work(given)
    except RecursionError:
        pass
    finally:
        gc.enable()
    return time.thread_time() - begin


def grow(part: str, most: int, only: str) -> None:
    """One part: every text at every size, smallest first; then the table of what was fastest growing and slowest."""
    works = dict(rules() if part == "rules" else (looks if part.startswith("looks") else values)(fast=part.endswith("with")))
    makes: dict[str, Callable[[int], Any]] = dict(VALUES) if part.startswith("values") else dict(TEXTS)
    times: dict[tuple[str, str], dict[int, float]] = {(look, name): {} for look in works for name in makes if only in name}
    for size in (size for size in SIZES if size <= most):
        for name, make in makes.items():
            given = make(size) if only in name else None
            for look, work in works.items() if only in name else ():
                known = times[look, name]
                if len(known) < 2 or _power(known) <= _FAST:
                    known[size] = seconds(work, given)
                    if len(known) > 1 and _power(known) > _FAST:
                        print(f"{part}: {look} grows as n^{_power(known):.2f} with {name}: {known}", flush=True)
        _told(part, size, times)


def _power(known: dict[int, float]) -> float:
    """How the time grew with the last step in size."""
    (small, before), (large, after) = sorted(known.items())[-2:]
    return math.log(max(after, _LEAST) / max(before, _LEAST)) / math.log(large / small)


def _told(part: str, size: int, times: dict[tuple[str, str], dict[int, float]]) -> None:
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
    for part in PARTS:
        if given.get("--part", part) == part:
            grow(part, int(given.get("--to", SIZES[-1])), given.get("--only", ""))
