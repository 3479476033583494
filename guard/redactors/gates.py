"""Gates: short patterns that tell which texts of a value may hold something to hide, all of them looked for at once.

A gate is a necessary condition: what a rule finds in a text, its gate matches there. With google-re2 (extra `fast`) the gates are one set that
reads all texts of a value in one go; without it the views of `views` answer, and both may only differ in how many texts they call loud, never
in what is hidden. Patterns are bytes, since both engines read them alike. May not hide anything; comes after the rules, before `core.hiding`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from guard.redactors.calm import calm
from guard.redactors.engine import re2
from guard.redactors.fold import foldable, plain
from guard.redactors.iban import LENGTHS
from guard.redactors.national import IDS, SSN
from guard.redactors.phone import WORDS as PHONE_WORDS
from guard.redactors.prefixes import PREFIXES

_X = "[0-9A-Fa-f]"
_FEW = 6  # characters of a key that a gate looks at behind its sign: more would only make the set larger
_FIRST = re.compile(r"(\[[^\]]*\])\{([0-9]+)")
_MEMORY = 64 << 20
_CANARY = b"a@example.com"


def _sign(sign: str, rest: str) -> str:
    """A sign and the beginning of what follows it."""
    first = _FIRST.match(rest)
    alone = first is None or "|" in rest
    return re.escape(sign) + ("" if first is None or alone else f"{first[1]}{{{min(_FEW, int(first[2]))}}}")


def _word(word: str) -> str:
    """A word or pair of words that tells of an id, however it is written together."""
    return "[^A-Za-z0-9\\x00]*".join(re.escape(part) for part in word.split())


_NAMED = (
    r"(?i:passw(?:or)?d|passphrase|pwd|secrete?|credentials?|token|key|[_-]pw|[_-]pass|oauth|accessid|access_id|login)(?:_?[0-9]+)?"
    r"[\\\"'\])]*[ \t]*(?::|\|+:|\?=|!?=|,)"
)
_OWN_IDS = "|".join(f"(?:{row.pattern})" for row in (*SSN, *IDS) if not row.words)
_TOLD_IDS = "|".join(dict.fromkeys(_word(word) for row in (*SSN, *IDS) for word in row.words))

_MORE = "(?:[ -]?[0-9])"
_CARD = rf"\b(?:(?:50|5[678]|6[37]){_MORE}{{10}}|4{_MORE}{{12}}|(?:3[0-9]|18|21|5[1-5]|2[2-7]|6[0245]){_MORE}{{12}})"
_CARD_ALONE = re.compile(_CARD, re.ASCII)

GATES: tuple[tuple[str, str], ...] = (
    ("at", "@|%40"),
    ("sign", r"(?:\b|\\[nrt]|%3[dD])(?:" + "|".join(["eyJ", *(_sign(*row) for row in PREFIXES)]) + ")"),
    ("inside", "[.]atlasv1[.]|[0-9]Q~|[0-9]{7}:A[A-Za-z0-9_-]{6}|[0-9a-f]{6}-us[0-9]"),
    ("words", "PRIVATE KEY|curl "),
    ("named", _NAMED),
    ("bearer", "(?i:bearer|basic)[ ]{1,3}[A-Za-z0-9._~+/=-]{8}"),
    ("card", _CARD),
    ("iban", f"(?i:{'|'.join(LENGTHS)})[0-9]{{2}}(?:[ -]?[A-Za-z0-9]){{11}}"),
    ("id", _OWN_IDS),
    ("told", f"(?i:{_TOLD_IDS})"),
    ("ip", rf"[0-9]\.[0-9]{{1,3}}\.[0-9]{{1,3}}\.[0-9]|::{_X}|{_X}::|(?:{_X}{{1,4}}:){{6}}"),
    ("mac", rf"{_X}{{2}}(?:[:-]{_X}{{2}}){{5}}|{_X}{{4}}\.{_X}{{4}}\.{_X}{{4}}"),
    ("dial", r"\+ ?\(?[1-9](?:[ ./()-]{0,3}[0-9]){6}"),
    ("grouped", r"[2-9][0-9]{2}[)]?[-. ]? ?[2-9][0-9]{2}[-.][0-9]{4}|1[3-9][0-9][ -][0-9]{4}[ -][0-9]{4}"),
    ("phone", f"(?i:{'|'.join(PHONE_WORDS)})[^0-9\\x00]*[0-9]"),
)
"""Name and pattern of each gate. No gate can match a NUL, which stands between two texts."""


class Gates:
    """The gates of one table of detectors. `more` are patterns of detectors of one's own."""

    def __init__(self, more: Sequence[str] = (), *, fast: bool = True) -> None:
        self.patterns = (*(pattern for _, pattern in GATES), *more)
        built = _built(tuple(map(_raw, self.patterns))) if fast and re2() else (None, ())
        self._set: Any = built[0]
        self._each: tuple[Any, ...] = built[1]
        self._more = [re.compile(_raw(pattern)) for pattern in more]

    def loud(self, texts: Sequence[str]) -> Collection[str]:
        """The texts in which something may be hidden under an ordinary key; empty where there is surely nothing."""
        joined = "\0".join(texts)
        if joined.count("\0") >= len(texts):
            return frozenset(texts)  # a text holds what keeps the others apart
        if self._set is None:
            return self._slow(texts)
        shapes = texts
        if not joined.isascii() and foldable(joined):
            shapes = [plain(text) for text in texts]
            joined = "\0".join(shapes)
        raw = joined.encode("utf-8", "surrogatepass")
        found = self._set.Match(raw)
        return self._located(raw, found, texts, shapes) if found else ()

    def _located(self, raw: bytes, found: Sequence[int], texts: Sequence[str], shapes: Sequence[str]) -> Collection[str]:
        """The texts in which the gates of these numbers match."""
        sizes = map(len, shapes) if len(raw) == sum(map(len, shapes)) + len(texts) - 1 else (len(_raw(text)) for text in shapes)
        ends = list(accumulate(size + 1 for size in sizes))
        loud = set()
        for number in found:
            match = self._each[number].search(raw, 0)
            while match is not None:
                at = bisect_right(ends, match.start())
                loud.add(texts[at])
                match = self._each[number].search(raw, ends[at]) if ends[at] < len(raw) else None
        return loud

    def _slow(self, texts: Sequence[str]) -> Collection[str]:
        more = self._more
        loud = calm(texts, _CARD_ALONE)
        return {*loud, *(text for text in texts for gate in more if gate.search(_raw(text)))} if more else loud


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@cache
def _built(patterns: tuple[bytes, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The set of these patterns and each alone. Raises RuntimeError where the set does not even find what was planted."""
    engine = re2()
    options = engine.Options()
    options.encoding = engine.Options.Encoding.LATIN1
    options.max_mem = _MEMORY
    options.log_errors = False
    found = engine.Set.SearchSet(options)
    for pattern in patterns:
        found.Add(pattern)
    found.Compile()
    if 0 not in found.Match(_CANARY):
        raise RuntimeError("the set of gates does not match what it must match")
    return found, tuple(engine.compile(pattern, options) for pattern in patterns)
