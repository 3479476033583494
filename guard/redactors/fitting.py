"""Fitting: what the rules of plain text found, hidden where it stands so that the JSON in the text stays JSON, with the names and types that it had.

Between objects a finding is replaced by its mask. In one, every text that it reaches into keeps its quotes, and a number that it touches becomes a
text, as where the whole text is JSON (`nested`); signs, and names that it only passes over, stay. Pure; part of `find`, after its rules.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from guard.core.objects import Span, objects
from guard.redactors.nested import TOKEN

_UNICODE, _OTHER = 6, 2  # characters of an escape


class Change(NamedTuple):
    """What takes the place of a part of a text."""

    start: int
    end: int
    new: str


class _Token(NamedTuple):
    """What a text in an object says, between its quotes, or a number; and whether it is the name of a field."""

    start: int
    end: int
    quoted: bool
    names: bool


def replaced(text: str, groups: Sequence[Change]) -> str:
    """The text with each of these changes, none of which overlap, from left to right. The same where nothing of them is anything but signs of JSON."""
    whole = objects(text)
    pieces: list[str] = []
    done = 0
    for start, end, new in _Fitting(text, whole).fitted(groups) if whole else groups:
        pieces += (text[done:start], new)
        done = end
    return "".join([*pieces, text[done:]])


class _Fitting:
    """A text with the objects in it."""

    def __init__(self, text: str, whole: Sequence[Span]) -> None:
        self._text, self._whole = text, whole
        self._ends = [end for _, end in whole]
        self._known: tuple[int, list[_Token]] = (-1, [])

    def fitted(self, groups: Sequence[Change]) -> Iterator[Change]:
        """The changes, cut where objects and what stands in them begin and end; two in one number, or in one escape, are one."""
        done = 0
        for change in (part for group in groups for part in self._parts(group)):
            if change.end > done:
                yield change._replace(start=max(done, change.start))
                done = change.end

    def _parts(self, group: Change) -> Iterator[Change]:
        left = group.start
        for at in range(bisect_right(self._ends, left), len(self._whole)):
            start, end = self._whole[at]
            if start >= group.end:
                break
            if self._swallowed(start, end, group):
                continue
            yield from self._between(left, start, group.new)
            yield from self._within(at, Change(max(left, start), min(end, group.end), group.new))
            left = end
        if left == group.start:
            yield group
        else:
            yield from self._between(left, group.end, group.new)

    def _swallowed(self, start: int, end: int, group: Change) -> bool:
        """Whether a list of numbers is a part of something longer that was found: brackets in a number or a password."""
        around = group.start <= start and end <= group.end and end - start < group.end - group.start
        return around and '"' not in self._text[start:end]

    def _between(self, start: int, end: int, new: str) -> Iterator[Change]:
        """What of a finding stands between objects, where that is more than signs."""
        if any(map(str.isalnum, self._text[start:end])):
            yield Change(start, end, new)

    def _within(self, at: int, group: Change) -> Iterator[Change]:
        """What of a finding stands in an object."""
        tokens = self._tokens(at)
        touched: list[_Token] = []
        for token in tokens[bisect_right(tokens, group.start, key=_end) :]:
            if token.start >= group.end:
                break
            touched.append(token)
        for token in [one for one in touched if not one.names] or touched:
            yield self._inside(token, group)

    def _tokens(self, at: int) -> list[_Token]:
        """The texts and numbers of an object."""
        if self._known[0] != at:
            self._known = (at, list(_read(self._text, *self._whole[at])))
        return self._known[1]

    def _inside(self, token: _Token, group: Change) -> Change:
        new = json.dumps(group.new, ensure_ascii=False)
        if not token.quoted:
            return Change(token.start, token.end, new)
        start, _ = self._escape(max(token.start, group.start), token.start)
        _, end = self._escape(min(token.end, group.end), token.start)
        return Change(start, end, new[1:-1])

    def _escape(self, at: int, least: int) -> Span:
        """Where the escape begins and ends in the middle of which a place is; else the place, twice. `least`: where the text around it begins."""
        first = back = self._text.rfind("\\", max(least, at - _UNICODE + 1), at)
        if back < 0:
            return at, at
        while first > least and self._text[first - 1] == "\\":
            first -= 1
        end = back + (_UNICODE if self._text[back + 1] == "u" else _OTHER)
        return (back, end) if (back - first) % 2 == 0 and at < end else (at, at)


def _end(token: _Token) -> int:
    return token.end


def _read(text: str, start: int, end: int) -> Iterator[_Token]:
    """The texts and numbers of the object that stands there; empty texts are none."""
    last: _Token | None = None
    for match in TOKEN.finditer(text, start, end):
        sign = text[match.start()]
        if sign in {'"', "-"} or sign.isdigit():
            if last is not None and last.end > last.start:
                yield last
            quoted = sign == '"'
            last = _Token(match.start() + quoted, match.end() - quoted, quoted, names=False)
        elif sign == ":" and last is not None:
            last = last._replace(names=True)
    if last is not None and last.end > last.start:
        yield last
