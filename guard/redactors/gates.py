"""Gates: short patterns that tell which texts of a value may hold something to hide, all of them looked for at once.

A gate is a necessary condition: what a rule finds in a text, its gate matches there. With google-re2 (extra `fast`) the gates are one set that
reads all texts of a value in one go; without it the views of `views` answer, and both may only differ in how many texts they call loud, never
in what is hidden. Patterns are bytes, since both engines read them alike. May not hide anything; comes after the rules, before `core.hiding`.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

from guard.core.objects import REST
from guard.core.redaction import SECONDS
from guard.core.roles import NAMING_WORDS
from guard.redactors.calm import calm
from guard.redactors.card import may_be
from guard.redactors.engine import finder, re2
from guard.redactors.escapes import escaped, readings
from guard.redactors.find import SHORT, Detector, Finder, Span
from guard.redactors.fold import foldable, plain
from guard.redactors.given import GATE, meant
from guard.redactors.iban import LENGTHS
from guard.redactors.logins import PROGRAMS
from guard.redactors.national import IDS, SSN
from guard.redactors.nested import SAYS_BASE64, SAYS_HEX
from guard.redactors.passes import Passes, alone
from guard.redactors.phone import COLUMN, COLUMNS
from guard.redactors.phone import WORDS as PHONE_WORDS
from guard.redactors.prefixes import PREFIXES
from guard.redactors.quiet import Quiet
from guard.redactors.tables import listed, valued
from guard.redactors.telling import WORDS as KEY_WORDS

_X = "[0-9A-Fa-f]"
_FEW = 6  # characters of a key that a gate looks at behind its sign: more would only make the set larger
_FIRST = re.compile(r"(\[[^\]]*\])\{([0-9]+)")
_LONG = 10_000  # characters of a text that is looked at only once


def _sign(sign: str, rest: str) -> str:
    """A sign and the beginning of what follows it."""
    first = _FIRST.match(rest)
    alone = first is None or "|" in rest
    return re.escape(sign) + ("" if first is None or alone else f"{first[1]}{{{min(_FEW, int(first[2]))}}}")


def _word(word: str) -> str:
    """A word or pair of words that tells of an id, however it is written together."""
    return "[^A-Za-z0-9\\x00]*".join(re.escape(part) for part in word.split())


def _part(words: Collection[str], behind: str = "[^a-z\\x00]") -> str:
    """A pattern for a key that holds one of these words as a part of its own, in any of the ways in which names are written."""
    plain_, other = sorted(word for word in words if word.isascii()), sorted(word for word in words if not word.isascii())
    small, big, capital = "|".join(plain_), "|".join(map(str.upper, plain_)), "|".join(map(str.capitalize, plain_))
    return rf"(?:(?:(?:\b|[_0-9])(?:{small})|(?:\b|[_0-9a-z])(?:{big})|{capital}){behind}|{'|'.join(other)})"


_NAMED = (
    r"(?i:passw(?:or)?d|passphrase|pwd|secrete?|credentials?|token|key|[_-]pw|[_-]pass|oauth)s?(?:_?[0-9]+)?"
    r"[\\\"'\])]*[ \t]*(?::|\|+:|\?=|!?=)"
    r"|(?i:passw(?:or)?d|passphrase|pwd|secret|credential|token|key)[A-Za-z0-9_./-]*(?:=|[\"']?[ ]?[,\r\n][ \r\n]*[\"']?(?i:val))"
)
_OWN_IDS = "|".join(f"(?:{row.pattern})" for row in (*SSN, *IDS) if not row.words)
_TOLD = tuple(dict.fromkeys(word for row in (*SSN, *IDS) for word in row.words))

_MORE = "(?:[ -]?[0-9])"
_CARD = rf"\b(?:(?:50|5[678]|6[37]){_MORE}{{10}}|4{_MORE}{{12}}|(?:3[0-9]|18|21|5[1-5]|2[2-7]|6[0245]){_MORE}{{12}})"
_CARD_ALONE = re.compile(_CARD, re.ASCII)

_PHONE = (
    rf"(?i:(?:{'|'.join(PHONE_WORDS)})s?(?:[ _-]?(?:number|no|nr|num|is|at|号码|号|號碼|番号|번호|是|为|[:#.=>]))*)"
    r"[\\\"']{0,4}[ ]?[:=]?[ ]{0,2}\[?[\\\"']{0,4}\(?\+?[0-9](?:[ ./()-]{0,3}[0-9]){3}"
)

GATES: tuple[tuple[str, str], ...] = (
    ("at", "@|%40"),
    ("sign", r"(?:\b|\\[nrt]|%3[dD])(?:" + "|".join(["eyJ", *(_sign(*row) for row in PREFIXES)]) + ")"),
    ("inside", "[.]atlasv1[.]|[0-9]Q~|[0-9]{7}:A[A-Za-z0-9_-]{6}|[0-9a-f]{6}-us[0-9]"),
    ("words", f"PRIVATE KEY|(?:curl|{PROGRAMS}) "),
    ("named", _NAMED),
    ("given", GATE),
    ("bearer", "(?i:bearer|basic)[ ]{1,3}[A-Za-z0-9._~+/=-]{8}"),
    ("card", _CARD),
    ("iban", f"(?i:{'|'.join(LENGTHS)})[0-9]{{2}}(?:[ -]?[A-Za-z0-9]){{11}}"),
    ("id", _OWN_IDS),
    (
        "told",
        f"{_part([word for word in _TOLD if ' ' not in word])}|(?i:{'|'.join(_word(word) for word in _TOLD if ' ' in word)})",
    ),
    ("ip", rf"[0-9]\.[0-9]{{1,3}}\.[0-9]{{1,3}}\.[0-9]|::{_X}|{_X}::|(?:{_X}{{1,4}}:){{6}}"),
    ("mac", rf"{_X}{{2}}(?:[:-]{_X}{{2}}){{5}}|{_X}{{4}}\.{_X}{{4}}\.{_X}{{4}}"),
    ("dial", r"\+ ?\(?[1-9](?:[ ./()-]{0,3}[0-9]){6}"),
    ("grouped", r"[2-9][0-9]{2}[)]?[-. ]? ?[2-9][0-9]{2}[-.][0-9]{4}|1[3-9][0-9][ -][0-9]{4}[ -][0-9]{4}"),
    ("phone", _PHONE),
    ("column", COLUMNS),
)
"""Name and pattern of each gate. No gate can match a NUL, which stands between two texts."""


_KEY = _part(KEY_WORDS)
_NAMING = "|".join(NAMING_WORDS)
_BLANK = r"[ \t\r\n]*"
NESTED: tuple[tuple[str, str], ...] = (
    ("escape", r"[{[][^\x00]*\\"),
    ("key", rf'{_KEY}(?:(?:[^"\\\x00]|\\[^\x00])*")?[ \t\r\n]*:'),
    ("said", rf'{_KEY}(?:[^"\\\x00]*")?{_BLANK}[,}}\]]'),
    ("before", rf"(?:{_part(KEY_WORDS, '')})(?:[^a-z{REST}][^{REST}]*)?(?:\"[ \t]*)?[:=]{_BLANK}[{{\[]"),
    ("base64", SAYS_BASE64.pattern),
    ("hex", SAYS_HEX.pattern),
)
"""The same for texts inside texts."""


_QUIET = Quiet(_PHONE, COLUMN)
_CARDS = next(number for number, (name, _) in enumerate(GATES) if name == "card")
_GIVEN = next(number for number, (name, _) in enumerate(GATES) if name == "given")
_SAID = len(GATES) + next(number for number, (name, _) in enumerate(NESTED) if name == "said")
BESIDE: tuple[str, str] = (
    rf'(?i:{_NAMING})"{_BLANK}:{_BLANK}(?:{{{_BLANK}"[^"\\\x00]*"{_BLANK}:{_BLANK})?"[^"\\\x00]*{_KEY}',
    rf'[\[,]{_BLANK}"[^"\\\x00]*{_KEY}(?:[^"\\\x00]*")?{_BLANK}[,\]]',
)
"""Where a word that tells and is no key may be the name of what stands beside it: as what a field says, of itself, of a column or of what
holds nothing else, and as the item of a list."""
_BRIEF, _KNOWN = 200, 1_000  # characters of a text that is remembered as quiet, and how many are
_DIGITS = re.compile(b"[0-9]+(?:[ -][0-9]+)*")


class Gates:
    """The gates of one table of detectors. `more` are rows that were added to it."""

    def __init__(self, more: Sequence[Detector] = (), *, fast: bool = True) -> None:
        self.patterns = tuple(pattern for _, pattern in (*GATES, *NESTED))
        self._set = Passes((*GATES, *NESTED)) if fast and re2() else None
        self._each: tuple[Any, ...] = self._set.each if self._set is not None else ()
        self._beside = alone(tuple(map(_raw, BESIDE))) if self._set is not None else ()
        self._asked = tuple(row.gate for row in more)
        self._blind = any(row.shape is None for row in more)  # a gate that knows only whole leaves
        self._shapes = _shapes(tuple(row.shape for row in more if row.shape is not None))

    def quiet(self, text: str) -> bool:
        """Whether nothing can be hidden in any leaf or under any key of the value that this JSON text was written from. False says nothing."""
        if self._blind or "\\" in text or (not text.isascii() and foldable(text)):
            return False
        return self._silent(text) and (not escaped(text) or self._unescaped(text))

    def _silent(self, text: str) -> bool:
        still = _QUIET(text) if self._set is None else self._still(text, self._set)
        return still and not (self._shapes and any(shape(text) for shape in self._shapes))

    def _unescaped(self, text: str) -> bool:
        """Whether nothing can be hidden in what the texts of a JSON text say without their escapes."""
        quotes = text.count('"')
        found = (seen for seen, ways in readings(text) if ways)
        return all("\\" not in seen and seen.count('"') == quotes and self._silent(seen) for seen in found)

    def _still(self, text: str, passes: Passes) -> bool:
        raw = _raw(text)
        return not any(self._stands(number, text, raw, passes) for number in passes(raw))

    def _stands(self, number: int, text: str, raw: bytes, passes: Passes) -> bool:
        """Whether something may be hidden for this gate."""
        if number == _CARDS:
            return self._carded(raw)
        if number == _GIVEN:
            return meant(text)
        if number == _SAID:
            return self._named(text, raw)
        return number not in passes.unsure or self._each[number].search(raw) is not None

    def _named(self, text: str, raw: bytes) -> bool:
        """Whether a word that tells may be the name of what stands beside it."""
        named, item = self._beside
        if named.search(raw) is not None and (valued(text) or listed(text)):
            return True
        return item.search(raw) is not None and listed(text)

    def _carded(self, raw: bytes) -> bool:
        """Whether a card may be among the runs of digits that begin like one."""
        match = self._each[_CARDS].search(raw, 0)
        while match is not None:
            run = _DIGITS.match(raw, match.start())
            if run is None or may_be(run.group().replace(b" ", b"-").decode()):
                return True
            match = self._each[_CARDS].search(raw, run.end())
        return False

    def loud(self, texts: Sequence[str]) -> Collection[str]:
        """The texts in which something may be hidden under an ordinary key; empty where there is surely nothing."""
        loud = self._loud(texts)
        if escaped("\0".join(texts)):
            loud = {*loud, *(text for text in texts if escaped(text) and self._loud([seen for seen, _ in readings(text)]))}
        return loud

    def _loud(self, texts: Sequence[str]) -> Collection[str]:
        loud = self._quick(texts)
        if self._asked:
            loud = {*loud, *(text for text in texts for flat in (plain(text),) if any(gate(flat) for gate in self._asked))}
        return loud

    def _quick(self, texts: Sequence[str]) -> Collection[str]:
        if self._set is None:
            return calm(texts, _CARD_ALONE)
        joined = "\0".join(texts)
        if joined.count("\0") >= len(texts):
            return frozenset(texts)  # a text holds what keeps the others apart
        shapes = texts
        if not joined.isascii() and foldable(joined):
            shapes = [plain(text) for text in texts]
            joined = "\0".join(shapes)
        raw = _raw(joined)
        found = self._set(raw)
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


class Sieve:
    """The first look at all texts of a value at once. Made on first use, so that importing guard stays cheap."""

    def __init__(self, finder: Finder, more: Sequence[Detector] = (), *, fast: bool = True, seconds: float = SECONDS) -> None:
        self._detect = finder.detect
        self._seconds = seconds  # of this thread, for all texts of one value
        self._make = partial(Gates, more, fast=fast)
        self._unwatched = 0 if more else SHORT  # characters between two looks at the clock
        self._known = set[str]()  # short texts with nothing to hide: arguments of calls repeat

    @cached_property
    def gates(self) -> Gates:
        """The gates."""
        return self._make()

    def quiet(self, text: str) -> bool:
        """Whether there is surely nothing to hide in the value that this JSON text was written from."""
        brief = len(text) <= _BRIEF
        if brief and text in self._known:
            return True
        still = self.gates.quiet(text)
        if still and brief:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            self._known.add(text)
        return still

    def loud(self, texts: Sequence[str]) -> Collection[str]:
        """The texts in which something may be hidden under an ordinary key."""
        return self.gates.loud(texts)

    def __call__(self, texts: Sequence[str]) -> Collection[str]:
        """The texts in which `detect` finds something under one ordinary key or another; there is surely nothing to hide in the others.

        Raises TimeoutError where that takes longer than a result is worth.
        """
        loud = self.gates.loud(texts)
        return self._heard(loud) if loud else ()

    def _heard(self, loud: Collection[str]) -> Collection[str]:
        until = time.thread_time() + self._seconds
        heard = set()
        seen = 0
        for text in loud:
            if len(text) > _LONG or self._detect(None, text)[1]:
                heard.add(text)
            seen += len(text) + 1
            if seen < self._unwatched:
                continue
            seen = 0
            if time.thread_time() > until:
                raise TimeoutError("a result took too long to look through, so nothing of it may be shown")
        return heard


def _shapes(patterns: tuple[str, ...]) -> list[Callable[[str], bool]]:
    """For each pattern whether it is found anywhere in a text."""
    return [partial(_shaped, finder(pattern)) for pattern in patterns]


def _shaped(find: Callable[[str], list[Span]], text: str) -> bool:
    return bool(find(text))


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
