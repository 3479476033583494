"""Spellings: one text found in another, however it is written there, with what is to stand in its place.

Two ways. As text: letters of any case, with escapes of JSON, Python, URLs and HTML, up to three of them over each other, and with line breaks inside; the
place itself is replaced. As code: hexadecimal and lists of bytes, base64 and base32, of the text in UTF-8, UTF-16 or Latin-1, whatever stands around
it inside; then the whole run of that code is replaced, since what is left of one tells the ends of what was in it. A short text is replaced only where it
stands alone. May know no policy. Comes before echoes; pure.
"""

from __future__ import annotations

import base64
import html
import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

Finds = Callable[[str], tuple[str, int]]
"""A text → the text without what was looked for, and how often something was found."""
_SHORT = 6  # characters: a shorter text is looked for as a whole word
_LEAST = 4  # bytes of a text whose codes are told from other texts
_LAYERS = 3  # escapes over each other that are undone


def finder(shown: Mapping[str, str]) -> Finds | None:
    """What puts in the place of each of these texts what is shown of it; None where there is nothing to look for."""
    if not shown:
        return None
    sought = [_Sought(text, mask) for text, mask in sorted(shown.items(), key=lambda one: -len(one[0])) if len(text) > 1]
    whole = {_lower(text.strip()): mask for text, mask in shown.items() if text.strip()}
    if not whole:
        return None
    least = min((one.least for one in sought), default=0)

    def find(text: str) -> tuple[str, int]:
        mask = whole.get(_lower(text.strip()))
        if mask is not None:
            return mask, 1
        if len(text) < least or not sought:
            return text, 0
        text, coded = _decoded(text, sought)
        places = _places(text, sought)
        return _put(text, places), coded + len(places)

    return find


def _decoded(text: str, sought: Iterable[_Sought]) -> tuple[str, int]:
    """The text without the codes of what is sought, and how many there were. In each code it is read once, until it changes."""
    count, read = 0, dict[Callable[[str], str], str]()
    for one in sought:
        for code in one.codes:
            if len(text) >= code.least and code.holds(text, read):
                text, found = code.hidden(text, one.mask)
                count += found
                read.clear()
    return text, count


# -- as text ---------------------------------------------------------------------------------------------------------------

_BREAK = re.compile(r"[ \t]{0,40}[\r\n]\s*")
_BLANK = re.compile(r"\s+|\+")
_ESCAPE = re.compile(
    r"(?P<url>(?:%[0-9A-Fa-f]{2})+)|(?P<html>&#?[0-9A-Za-z]{1,31};)|(?P<wide>(?:\\{1,8}u[0-9A-Fa-f]{4})+)|(?P<byte>(?:\\{1,8}x[0-9A-Fa-f]{2})+)"
    r"|(?P<long>\\{1,8}U[0-9A-Fa-f]{8})|(?P<break>\\{1,8}[nr])|(?P<sign>\\{1,8}[\"'/tbf\\])|(?P<gap>[ \t]{0,40}[\r\n]\s*)"
)
_SIGNS = {"t": "\t", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class _View:
    """A text with some of its escapes undone: for each of its characters, where what it was made of begins and ends."""

    text: str
    begins: array[int]
    ends: array[int]


def _plain(text: str) -> _View:
    return _View(text, array("L", range(len(text))), array("L", range(1, len(text) + 1)))


def _undone(view: _View, pattern: re.Pattern[str], means: Callable[[re.Match[str]], str]) -> _View:
    """The view with every match as what it means."""
    pieces, begins, ends, last = list[str](), array("L"), array("L"), 0
    for match in pattern.finditer(view.text):
        start, end = match.span()
        new = means(match)
        pieces += (view.text[last:start], new)
        begins += view.begins[last:start] + array("L", [view.begins[start]] * len(new))
        ends += view.ends[last:start] + array("L", [view.ends[end - 1]] * len(new))
        last = end
    if not pieces:
        return view
    return _View("".join((*pieces, view.text[last:])), begins + view.begins[last:], ends + view.ends[last:])


def _meaning(match: re.Match[str]) -> str:
    """What an escape stands for; nothing for a line break."""
    kind, text = match.lastgroup, match[0]
    if kind in ("gap", "break"):
        return ""
    if kind == "html":
        return html.unescape(text)
    if kind == "sign":
        return _SIGNS.get(text[-1], text[-1])
    if kind == "wide":
        raw = bytes.fromhex("".join(part[-4:] for part in re.findall(r"u[0-9A-Fa-f]{4}", text)))
        return raw.decode("utf-16-be", "replace")
    if kind == "long":
        return chr(min(int(text[-8:], 16), 0x10FFFF))
    raw = unquote_to_bytes(text) if kind == "url" else bytes.fromhex("".join(re.findall(r"x([0-9A-Fa-f]{2})", text)))
    try:
        return raw.decode()
    except ValueError:
        return raw.decode("latin-1")


def _layers(text: str, *, blank: bool) -> list[_View]:
    """The text, and what it is with one escape after the other undone; `blank`: without any white space."""
    view = _plain(text)
    found = [view]
    for _ in range(_LAYERS):
        new = _undone(view, _ESCAPE, _meaning)
        if new is view:
            break
        view = new
        found.append(view)
    return [*found, _undone(view, _BLANK, lambda _: "")] if blank else found


def _lower(text: str) -> str:
    """In small letters, each where it stood."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


class _Sought:
    """One text that is looked for, and what stands in its place."""

    def __init__(self, text: str, mask: str) -> None:
        self.mask = mask
        self.blank = re.search(r"\s|\+", text) is not None
        self.digits = text.isdigit()
        self.alone = len(text) < _SHORT and text.isascii()
        found = {_lower(view.text) for view in _layers(text, blank=self.blank)} | {_lower(_BREAK.sub("", text))}
        self.needles = {one for one in found if len(one) >= min(len(text), _LEAST)}
        self.codes = tuple(_codes(text))
        self.least = min([*map(len, self.needles), *(code.least for code in self.codes)], default=0)
        """Characters of a text that may hold it."""

    def fits(self, text: str, start: int, end: int) -> bool:
        """Whether what was found there is it: a short one stands alone, and numbers on two lines are two numbers."""
        if self.digits and _BREAK.search(text, start, end):
            return False
        around = text[max(start - 1, 0) : start] + text[end : end + 1]
        return not (self.alone and any(char.isascii() and char.isalnum() for char in around))


def _places(text: str, sought: Iterable[_Sought]) -> list[tuple[int, int, str]]:
    """Where something is found, in order: what is found first, of the longest texts, keeps its place."""
    views = [(_lower(view.text), view) for view in _layers(text, blank=any(one.blank for one in sought))]
    taken: list[tuple[int, int, str]] = []
    for one in sought:
        for low, view in views:
            for needle in one.needles:
                at = low.find(needle)
                while at >= 0:
                    start, end = view.begins[at], view.ends[at + len(needle) - 1]
                    fits = one.fits(text, start, end)
                    if fits:
                        _take(taken, start, end, one.mask)
                    at = low.find(needle, at + (len(needle) if fits else 1))
    return taken


def _take(taken: list[tuple[int, int, str]], start: int, end: int, mask: str) -> None:
    """Add a place; what overlaps others becomes one with them."""
    at = bisect_left(taken, start, key=lambda one: one[1] - 1)
    over = at
    while over < len(taken) and taken[over][0] < end:
        start, end, mask = min(start, taken[over][0]), max(end, taken[over][1]), taken[over][2]
        over += 1
    taken[at:over] = [(start, end, mask)]


def _put(text: str, places: list[tuple[int, int, str]]) -> str:
    pieces, last = list[str](), 0
    for start, end, mask in places:
        pieces += (text[last:start], mask)
        last = end
    return "".join((*pieces, text[last:])) if pieces else text


# -- as code ---------------------------------------------------------------------------------------------------------------

_SAFE = str.maketrans("-_", "+/")
_LINES = re.compile(r"(?:\\{1,8}[rn]|[\r\n])+[ \t]*")
_NO_HEX = re.compile(r"0x|\\{1,8}x|[^0-9a-f]")
_NO_DIGITS = re.compile(r"[^0-9]+")
_HEX_RUN = re.compile(r"(?:0x|\\{1,4}x)?[0-9A-Fa-f]{2,}(?:(?:0x|\\{1,4}x|[\s:,;_%-]){1,4}[0-9A-Fa-f]{2,}+(?![G-Zg-z]))*")
_BYTES_RUN = re.compile(r"[0-9]{1,3}(?:[\s,;]{1,4}[0-9]{1,3}){3,}")
_BASE64_RUN = re.compile(r"(?:[A-Za-z0-9+/_-]{40,}+(?:\\{1,4}[rn]|[\r\n]){1,4}[ \t]*)*[A-Za-z0-9+/_-]+(?:=|%3[Dd]){0,6}")


def _hex(text: str) -> str:
    return _NO_HEX.sub("", text.lower())


def _numbers(text: str) -> str:
    return _NO_DIGITS.sub(",", f",{text},")


def _joined(text: str) -> str:
    return _LINES.sub("", text).translate(_SAFE)


def _small(text: str) -> str:
    return _LINES.sub("", text).lower()


@dataclass(frozen=True, slots=True)
class _Code:
    """How runs of a code are found and read, and what is looked for in them."""

    run: re.Pattern[str]
    read: Callable[[str], str]
    forms: frozenset[str]
    least: int  # characters of a text that may hold one of them

    def hidden(self, text: str, mask: str) -> tuple[str, int]:
        """The text with a mask in the place of each run that holds one of the forms, and how many these were."""
        count = 0

        def shown(match: re.Match[str]) -> str:
            nonlocal count
            held = self.holds(match[0], {})
            count += held
            return mask if held else match[0]

        return self.run.sub(shown, text), count

    def holds(self, text: str, read: dict[Callable[[str], str], str]) -> bool:
        """Whether a text holds one of the forms; `read` keeps how it was read."""
        said = read.get(self.read)
        if said is None:
            said = read[self.read] = self.read(text)
        return any(map(said.__contains__, self.forms))


def _codes(text: str) -> list[_Code]:
    """The codes of a text, each with what of it is the same whatever stands before and behind the text."""
    first = text.encode("utf-8", "replace")
    if len(first) < _LEAST:
        return []
    raws = {first, text.encode("utf-16-le", "replace"), text.encode("utf-16-be", "replace")}
    raws |= {text.encode("latin-1")} if all(ord(char) < 256 for char in text) else set()
    small = frozenset(_inner(raw, shift, base64.b32encode, 5).lower() for raw in raws for shift in range(5))
    found = (
        (_HEX_RUN, _hex, frozenset(raw.hex() for raw in raws)),
        (_BYTES_RUN, _numbers, frozenset(f",{','.join(map(str, raw))}," for raw in raws)),
        (_BASE64_RUN, _joined, frozenset(_inner(raw, shift, base64.b64encode, 6) for raw in raws for shift in range(3))),
        (_BASE64_RUN, _small, small),
    )
    return [_Code(run, read, forms, min(len(form.strip(",")) for form in forms)) for run, read, forms in found]


def _inner(raw: bytes, shift: int, encode: Callable[[bytes], bytes], width: int) -> str:
    """What of the code of some bytes is the same whatever stands around them, `shift` bytes behind the last group; `width`: bits of a sign."""
    made = encode(b"\0" * shift + raw)
    return made[-(-shift * 8 // width) : (shift + len(raw)) * 8 // width].decode("ascii")
