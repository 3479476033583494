"""What redaction costs: clean values of two kilobytes beside `json.loads`, and the peers."""

from __future__ import annotations

import itertools
import json
import random
import re
import statistics
import time
from collections.abc import Callable
from typing import Any

from redaction_peers import Peer

from guard.core.hiding import beginning, hide, shown_text
from guard.core.ports import Redactor
from guard.core.values import encode
from guard.redactors import REDACTOR, redactor


def timed(work: Callable[[], object]) -> float:
    """CPU seconds of one run."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def beside(base: Callable[[], object], *works: Callable[[], object], rounds: int) -> list[float]:
    """How many times as long as the first each other one takes: the median of rounds, in each of which all run in turns.

    So whatever slows the machine down for a while slows all of a round alike. Each runs several times in a row before the next, so that none is
    measured with its memory driven out of the caches by another; the quickest of a row counts, and the first run of it does not.
    """
    found: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        first, *others = (min([timed(one) for _ in range(_ROW)][1:]) for one in (base, *works))
        for times, other in zip(found, others, strict=True):
            times.append(other / first)
    return [statistics.median(times) for times in found]


def clean(docs: list[Any]) -> list[Any]:
    """Values of about two kilobytes in which nothing is to be hidden, put together from the records of tools."""
    found: list[Any] = []
    some: list[Any] = []
    for doc in docs:
        if len(encode(doc)) < 2200 and hide(doc, REDACTOR, set()) is doc:
            some.append(doc)
        if len(encode(some)) > 2000:
            found.append(some)
            some = []
    return found


MOST = 16_000  # bytes of a result, as a policy has it that says nothing
CASES = (
    ("looked through", "JSON text of it to whether anything may be in it: what google-re2 is for"),
    ("given as JSON text", "JSON text to what goes back, which is the same text"),
    ("given as an object", "the object to the JSON text that goes back"),
)
"""What is timed of a clean result, and from where to where."""


def works(one: Redactor, values: list[Any], lines: list[str]) -> list[Callable[[], object]]:
    """The cases, over all values."""
    return [
        lambda: [one.quiet(line) for line in lines],
        lambda: [beginning(line, MOST, one) for line in lines],
        lambda: [shown_text(value, one, set()) for value in values],
    ]


def anew(value: Any, dice: random.Random) -> Any:
    """A value of the same form that nobody has seen: the same names of fields, other digits everywhere, the words of each text in another order."""
    if isinstance(value, dict):
        return {name: anew(item, dice) for name, item in value.items()}
    if isinstance(value, list):
        return [anew(item, dice) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        words = value.split(" ")
        dice.shuffle(words)
        return "".join(str(dice.randrange(10)) if char in "0123456789" else char for char in " ".join(words))
    if isinstance(value, int):
        return int("".join(dice.choice("123456789") for _ in str(abs(value))))
    return value


ROUNDS = 30
_ROW = 4  # runs of one thing in a row
_RUN = re.compile("[A-Za-z0-9]+")
_SOUNDS = ("bdfgklmnprstvz", "aeiou")
_KINDS = ("0123456789", "abcdef", "ABCDEF")


def reworded(value: Any, dice: random.Random) -> Any:
    """The same with words of its own for every name and text: as long, and written alike. Letters between digits stay, or stay hexadecimal."""
    if isinstance(value, dict):
        return {_reworded(name, dice): reworded(item, dice) for name, item in value.items()}
    if isinstance(value, list):
        return [reworded(item, dice) for item in value]
    return _reworded(value, dice) if isinstance(value, str) else anew(value, dice)


def _reworded(text: str, dice: random.Random) -> str:
    return _RUN.sub(lambda match: _word(match.group(), dice), text)


def _word(word: str, dice: random.Random) -> str:
    if not word.isalpha():
        return "".join(dice.choice(next((kind for kind in _KINDS if char in kind), char)) for char in word)
    pairs = zip(word, itertools.cycle(dice.choice((_SOUNDS, _SOUNDS[::-1]))), strict=False)
    return "".join(dice.choice(some).upper() if char.isupper() else dice.choice(some) for char, some in pairs)


def never_seen(values: list[Any], make: Callable[[Any, random.Random], Any]) -> list[tuple[str, float, float]]:
    """The median of each case over documents that are seen once each, beside `json.loads` of them, which is given each once as well."""
    sides = [redactor(fast=fast) for fast in (True, False)]
    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name, _ in CASES}
    for seed in range(ROUNDS):
        for case, (name, _) in enumerate(CASES):
            for side, one in enumerate(sides):
                given = [make(value, random.Random(f"{seed}.{at}.{case}.{side}")) for at, value in enumerate(values)]
                lines = [encode(value) for value in given]
                work = works(one, given, lines)[case]
                base = timed(lambda: [json.loads(line) for line in lines])  # noqa: B023 - called at once
                found[name][side].append(timed(work) / base)
    return [(name, *(statistics.median(side) for side in sides_)) for name, sides_ in found.items()]


def cost(docs: list[Any], others: list[Peer]) -> None:
    """What clean results cost beside reading their JSON, with google-re2 and without, and beside the peers: each sentence of the bar has its line."""
    values = clean(docs)
    lines = [encode(value) for value in values]
    size = sum(map(len, lines)) // len(lines)
    print(
        f"clean results of {size} bytes, multiples of json.loads   with google-re2   without   without : with   median of {ROUNDS} rounds"
    )
    both = [works(redactor(fast=fast), values, lines) for fast in (True, False)]
    loads, dumps = (lambda: [json.loads(line) for line in lines]), (lambda: [json.dumps(value) for value in values])
    for (name, what), with_, without in zip(CASES, *both, strict=True):
        fast, slow = beside(loads, with_, without, rounds=ROUNDS)
        print(f"  {name:20} {fast:34.2f} {slow:9.2f} {slow / fast:16.2f}   {what}")
    print(f"  {'json.dumps alone':20} {beside(loads, dumps, rounds=ROUNDS)[0]:34.2f}")
    for what, make in (("other digits, other order of words", anew), ("no word that was ever seen", reworded)):
        print(f"the same, of documents that are seen once each ({what}; median of {ROUNDS} rounds of {len(values)})")
        for name, fast, slow in never_seen(values, make):
            print(f"  {name:20} {fast:34.2f} {slow:9.2f} {slow / fast:16.2f}")
    for peer in others:
        against(peer, values, lines, 2 if peer.slow else ROUNDS)


def against(peer: Peer, values: list[Any], lines: list[str], rounds: int) -> None:
    """How many times as long a peer takes on the same: on the JSON texts, and on the objects, of which it is given the JSON text that is written first."""
    find = getattr(peer, "timed", None) or peer.find
    ours = works(redactor(), values, lines)
    read, written = (
        (lambda: [find(line) for line in lines]),
        (lambda: [find(json.dumps(value, ensure_ascii=False)) for value in values]),
    )
    found = [*beside(read, *ours[:2], rounds=rounds), *beside(written, ours[2], rounds=rounds)]
    told = ", ".join(f"{1 / one:.1f} x {name}" for one, (name, _) in zip(found, CASES, strict=True))
    print(f"  {peer.name}: {told} (with google-re2)")
