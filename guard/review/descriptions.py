"""Descriptions: tools that the model cannot tell apart by what is said of them, or of which nothing is said.

Only definitions that are known are looked at: without the program a function's docstring is not. Near texts are found by their rare words first,
so that thousands of tools take seconds.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from guard.errors import Problem
from guard.review.view import View, finding

NEAR = 0.9
"""Share of words that two descriptions have in common, in order, from which on they are nearly equal."""

_FILLERS = frozenset(
    ["a", "an", "the", "of", "for", "to", "one", "this", "that", "with", "by", "its", "it", "from", "in", "and", "please", "all"]
)
_ENDINGS = re.compile(r"(?<=\w{3})(?:ies|es|s|y)$")


def descriptions_empty(view: View) -> Iterator[Problem]:
    """A known definition without a word about what the tool does."""
    for name, tool in view.tools.items():
        known = name in view.survey.told or "description" in view.entries[name].fields
        if known and not _words(tool.description):
            message = f"{name} has no description, so the model must guess from its name"
            yield finding(view.entries[name], "description-empty", message, "write description:, or a docstring")


def descriptions_alike(view: View) -> Iterator[Problem]:
    """Two tools whose descriptions say nearly the same."""
    texts = [(name, _words(tool.description)) for name, tool in view.tools.items()]
    texts = [(name, words) for name, words in texts if words]
    seen: set[str] = set()
    for first, second in _pairs([words for _, words in texts]):
        one, other = texts[first][0], texts[second][0]
        if other not in seen and _near(texts[first][1], texts[second][1]):
            seen.add(other)
            spot = view.entries[one]
            message = f"{other} is described nearly as {one} ({spot.file}:{spot.line}), so the model cannot tell them apart"
            yield finding(view.entries[other], "description-alike", message, "say in both what only this tool does")


def _words(text: str) -> tuple[str, ...]:
    found = re.findall(r"\w+", text.casefold())
    return tuple(_ENDINGS.sub("", word) for word in found if word not in _FILLERS) or tuple(found)


def _pairs(texts: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, int]]:
    """Pairs that may be near: they share one of the few rarest words of each (a pair that shares nine in ten must)."""
    often = Counter(word for words in texts for word in set(words))
    holders: dict[str, list[int]] = {}
    for index, words in enumerate(texts):
        rare = sorted(set(words), key=lambda word: (often[word], word))
        found: set[int] = set()
        for word in rare[: len(rare) // 5 + 1]:
            found.update(holders.get(word, ())[:50])
            holders.setdefault(word, []).append(index)
        yield from ((other, index) for other in sorted(found))


def _near(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if Counter(one) == Counter(other):
        return True
    longer = max(len(one), len(other))
    if min(len(one), len(other)) < NEAR * longer or len(set(one) & set(other)) < (NEAR - 0.15) * len({*one, *other}):
        return False
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    swapped = [
        (one[a:b], other[c:d]) for kind, a, b, c, d in matcher.get_opcodes() if kind == "replace"
    ]  # another word in the same place is what tells them apart, unless it only looks different
    if any(not _spelt_alike(" ".join(left), " ".join(right)) for left, right in swapped):
        return False
    same = sum(block.size for block in matcher.get_matching_blocks()) + sum(len(left) for left, _ in swapped)
    return 2 * same >= NEAR * (len(one) + len(other))


def _spelt_alike(one: str, other: str) -> bool:
    if any(char.isdigit() for char in one + other):
        return False
    return difflib.SequenceMatcher(None, one, other).ratio() >= 0.8
