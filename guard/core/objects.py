"""Objects: where objects and lists of JSON stand in a text that holds them among other words: a log, lines of JSON, an answer that was cut off.

One walk over the text, with a stack of what is open and no trial: what is no JSON ends all that is open, and what was closed before stays. A quote
may open a text or close one, whoever wrote what stands before it; so the walk is made for both, and a bracket counts in that one in which it stands
outside of quotes. Linear in the text, however deep or broken it is. Pure; used by the detectors of texts, and where a text is cut.
"""

from __future__ import annotations

import re
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
MOST, DEEPEST = 1_000_000, 200
"""Characters of a text of JSON that is taken apart as one, and its levels: what reads it stops at a thousand. Of a larger one the parts are."""
LEFT = 120
"""Characters in which the name before an object stands."""
_GIVES, _QUOTES, _JOINS = frozenset(":="), frozenset("\"'"), frozenset("_.-")
_SIGNS = frozenset('\r\n":={}[]')
REST = r'\x00\r\n":={}\[\]'
"""What is in no such name, as a part of a class of characters."""

_VALUE = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null|NaN|-?Infinity"
_OPENS = re.compile(rf'[{{\[][ \t\r\n]*(?:["{{\[]|{_VALUE})')
_QUOTE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})|(")|\\')
_BRACKET = re.compile(r"[{\[]")
_PIECE = re.compile(rf"[ \t\r\n]*(?:([{{}}\[\],:])|({_VALUE})|[^ \t\r\n])")

_FIRST, _NEXT, _ITEM = "list begun", "list goes on", "item"
_BEGUN, _MORE, _NAME, _COLON, _FIELD = "object begun", "object goes on", "name", "value follows", "field"
_VALUED = {_FIRST: _ITEM, _NEXT: _ITEM, _COLON: _FIELD}
_AFTER = {
    '"': {**_VALUED, _BEGUN: _NAME, _MORE: _NAME},
    ",": {_ITEM: _NEXT, _FIELD: _MORE},
    ":": {_NAME: _COLON},
}
"""Where what is open stands behind a text or a sign, by where it stood before it; nothing else is JSON."""
_BEGINS = {"[": _FIRST, "{": _BEGUN}
_ENDS = {"]": (_ITEM, _FIRST), "}": (_FIELD, _BEGUN)}


def opens(text: str) -> bool:
    """Whether an object or list of JSON with a text in it may begin somewhere in a text."""
    return ("{" in text or "[" in text) and '"' in text and _OPENS.search(text) is not None


def objects(text: str) -> list[Span]:
    """Where objects and lists of JSON stand in a text, from left to right, each as far out as it is JSON, none inside another; no empty ones."""
    if _OPENS.search(text) is None:
        return []
    borders, broken = _borders(text)
    found: list[Span] = []
    done = 0
    for start, end in sorted((span for first in (0, 1) for span in _Walk(text).over(borders, broken, first)), key=_outermost):
        if start >= done:
            found.append((start, end))
            done = end
    return found


def _borders(text: str) -> tuple[list[int], set[int]]:
    """Where the quotes stand that open or close a text, and behind which of them, by number, stands an escape that JSON does not know."""
    borders, broken = [-1], set()
    for match in _QUOTE.finditer(text):
        if match[1]:
            borders.append(match.start())
        elif match.end() - match.start() == 1:
            broken.add(len(borders) - 1)
    return [*borders, len(text)], broken


def _outermost(span: Span) -> Span:
    return span[0], -span[1]


def unfinished(text: str) -> int:
    """Where the outermost object or list begins that is JSON as far as the text goes and is not closed in it; the end of the text where none is."""
    if _OPENS.search(text) is None:
        return len(text)
    borders, broken = _borders(text)
    walks = [_Walk(text), _Walk(text)]
    for first, walk in enumerate(walks):
        walk.over(borders, broken, first)
    return min(walk.open for walk in walks)


def name_before(text: str, start: int) -> str | None:
    """The name that a text gives what begins here, where it gives one right before it: a word, or what stands in quotes."""
    before = text[max(0, start - LEFT) : start].rstrip(" \t\r\n")
    if before[-1:] not in _GIVES:
        return None
    before = before[:-1].rstrip(" \t")
    if before[-1:] in _QUOTES:
        opening = before.rfind(before[-1], 0, -1)
        name = before[opening + 1 : -1]
        return name if opening >= 0 and _SIGNS.isdisjoint(name) else None
    at = len(before)
    while at > 0 and (before[at - 1].isalnum() or before[at - 1] in _JOINS):
        at -= 1
    return before[at:] or None


class _Walk:
    """One walk: what is open, and what was closed and is part of nothing else that was."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = self._levels = 0  # of the innermost that is open
        self._state: str | None = None  # None: nothing is
        self._around: list[tuple[int, str | None, int]] = []  # for each that is open, these three of the one around it
        self._closed: list[Span] = []

    @property
    def open(self) -> int:
        """Where the outermost that is open begins; the end of the text where none is."""
        if self._state is None:
            return len(self._text)
        return self._around[1][0] if len(self._around) > 1 else self._start

    def over(self, borders: list[int], broken: set[int], first: int) -> list[Span]:
        """What is closed. Between two borders stands a text, perhaps a broken one, or what is around texts, in turns: that from `first` on."""
        for at in range(first, len(borders) - 1, 2):
            if at > first and self._state is not None:
                self._go({} if at - 1 in broken else _AFTER['"'])
            self._between(borders[at] + 1, borders[at + 1])
        return self._closed

    def _between(self, at: int, end: int) -> None:
        """What stands around texts."""
        while at < end:
            if self._state is None:
                match = _BRACKET.search(self._text, at, end)
                if match is None:
                    return
                self._begin(match.start(), match.group())
            else:
                match = _PIECE.match(self._text, at, end)
                if match is None:
                    return
                self._piece(match)
            at = match.end()

    def _piece(self, match: re.Match[str]) -> None:
        sign = match[1]
        if sign is None:
            self._go(_VALUED if match[2] is not None else {})
        elif sign in _BEGINS:
            self._begin(match.end() - 1, sign)
        elif sign in _ENDS:
            self._end(match.end(), _ENDS[sign])
        else:
            self._go(_AFTER[sign])

    def _go(self, after: dict[str, str]) -> None:
        """Go on behind something, or end all that is open."""
        self._state = after.get(self._state or "")
        if self._state is None:
            self._around.clear()

    def _begin(self, at: int, sign: str) -> None:
        self._go(_VALUED)
        self._around.append((self._start, self._state, self._levels))
        self._start, self._state, self._levels = at, _BEGINS[sign], 1

    def _end(self, end: int, allowed: tuple[str, str]) -> None:
        if self._state not in allowed:
            self._go({})
            return
        start, levels = self._start, self._levels
        if self._state == allowed[0] and levels <= DEEPEST and end - start <= MOST:
            while self._closed and self._closed[-1][0] > start:
                self._closed.pop()
            self._closed.append((start, end))
        self._start, self._state, around = self._around.pop()
        self._levels = max(around, levels + 1)
