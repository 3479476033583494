"""Markup: secrets in elements and attributes of XML and HTML: `<password>…`, `<add key="…" value="…">`, `<key>…</key><string>…`, rows of a table.

One pass over the tags of a text, however they are nested or cut off. Pure; part of `secret`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from guard.redactors.given import fits
from guard.redactors.keys import word_list
from guard.redactors.secret_keys import SECRET_KEYS

_TAG = re.compile(
    r"<!\[CDATA\[(?P<data>[^\]]{0,1000})\]\]>|<(?P<end>/?)(?P<tag>[A-Za-z][A-Za-z0-9_.:-]*)(?P<rest>(?:[^A-Za-z0-9_.:<>-][^<>]*)?)>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"(?P<name>[A-Za-z_:][A-Za-z0-9_.:-]{0,100})[ ]{0,3}=[ ]{0,3}(?:\\?\"(?P<double>[^\"\\]*)|\\?'(?P<single>[^'\\]*))"
)
_NAMING = frozenset(
    {"name", "key", "id", "field", "property", "param", "parameter", "variable", "attribute", "header", "for", "option"}
)
_HOLDS = frozenset({"value", "val", "content", "v", "default"})
_CELLS = frozenset({"td", "th"})
_PLAIN = frozenset({"b", "strong", "i", "em", "code", "span", "u", "font", "small", "kbd", "tt", "p", "div", "br"})
_MOST = 100  # elements inside each other that are known


@dataclass(slots=True)
class _Read:
    """How far the text was read: the names that what follows stands under, and those of the columns."""

    above: list[tuple[str, str, bool]] = field(default_factory=list)  # tag, name that says secret, whether only that
    said: str = ""  # the name that the last text was
    columns: list[str] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    cell: int = -1


def markup_spans(text: str) -> list[tuple[int, int]]:
    """The spans of the secrets in elements and attributes."""
    if "<" not in text or ">" not in text:
        return []
    found: list[tuple[int, int]] = []
    read = _Read()
    done = 0
    for tag in _TAG.finditer(text):
        found += _text(read, text, done, tag.start())
        if tag["data"] is not None:
            found += _text(read, text, *tag.span("data"))
        elif tag["end"]:
            _closed(read, _local(tag["tag"]))
        else:
            found += _opened(read, tag)
        done = tag.end()
    return found


def _local(tag: str) -> str:
    return tag.rsplit(":", 1)[-1]


def _opened(read: _Read, tag: re.Match[str]) -> list[tuple[int, int]]:
    """Enter an element; the secrets in its attributes."""
    given = list(_attributes(tag))
    local = _local(tag["tag"])
    naming = next((value for name, value, _ in given if name in _NAMING and _named(value)), "")
    found = [
        span
        for name, value, span in given
        if (name in _HOLDS and naming and fits(naming, value, firm=True)) or (_named(name) and fits(name, value, firm=True))
    ]
    if local.lower() == "tr":
        read.row, read.cell = [], -1
    if local.lower() in _CELLS:
        read.cell += 1
    if not tag["rest"].endswith("/") and len(read.above) < _MOST:
        own = local if _named(local) else naming if local.lower() != "label" else ""
        read.above.append((local, own, own == local))
    return found


def _attributes(tag: re.Match[str]) -> Iterator[tuple[str, str, tuple[int, int]]]:
    at = tag.start("rest")
    for one in _ATTRIBUTE.finditer(tag["rest"]):
        group = "double" if one["double"] is not None else "single"
        start, end = one.span(group)
        yield _local(one["name"]), one[group], (at + start, at + end)


def _closed(read: _Read, tag: str) -> None:
    """Leave an element, and those inside that were not closed."""
    for at in range(len(read.above) - 1, -1, -1):
        if read.above[at][0] == tag:
            del read.above[at:]
            break
    if tag.lower() == "tr" and read.row:
        if not read.columns or any(map(_named, read.row)):
            read.columns = read.row if any(map(_named, read.row)) else read.columns
        read.row, read.cell = [], -1  # the next row has its own cells: what is filled up is never more than the tags of one row
    if tag.lower() == "table":
        read.columns = []


def _text(read: _Read, text: str, start: int, end: int) -> list[tuple[int, int]]:
    """What a piece of text between two tags is: a secret, a name, or neither."""
    piece = text[start:end].strip()
    if not piece:
        return []
    at = text.index(piece, start)
    span = [(at, at + len(piece))]
    tag = next((one[0] for one in reversed(read.above) if one[0].lower() not in _PLAIN), "")
    holder = next((one for one in reversed(read.above) if one[1]), None)
    if holder is not None and fits(holder[1], piece, firm=holder[2] or tag.lower() not in _NAMING):
        return span
    if read.said and fits(read.said, piece, firm=tag.lower() not in _CELLS | {"dd", "span", ""}):
        read.said = ""
        return span
    read.said = _name(piece) if read.above else ""
    if tag.lower() in _CELLS:
        read.row += [""] * (read.cell - len(read.row)) + [read.said]
        column = read.columns[read.cell] if 0 <= read.cell < len(read.columns) else ""
        if column and fits(column, piece, firm=True):
            return span
    return []


def _name(piece: str) -> str:
    """The name that a piece of text is, where it says secret."""
    bare = piece.strip(" :*\t\r\n")
    return bare if len(bare) <= 60 and bare.count(" ") <= 3 and _named(bare) else ""


def _named(name: str) -> bool:
    return SECRET_KEYS[name] and len(word_list(name)) <= 8
