"""Grids: what tables say that are written as text: CSV with any separator, Markdown, frames of lines, what databases and commands print.

A line of names with one that tells is a head where the next line has as many cells; the rows below it are read until one has another number.
Each line is read once. Pure; secrets are read so, and what other detectors look for below names (`Wanted`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from guard.core.roles import NAMING, ROLES, VALUE
from guard.redactors.given import STEMS, fits
from guard.redactors.secret_keys import PHRASE, SECRET_KEYS

Span: TypeAlias = tuple[int, int]
_STEM = re.compile(STEMS)
_LINE = re.compile(r"[^\r\n]+")
_BARS = re.compile("[|\u2502\u2503\u2551]")
_RULE = re.compile("[-+=|: \t\u2500-\u257f]+")
_GAP = re.compile(r" {2,}|\t+")
_NEW = r"(?:\r?\n|\r|\\r\\n|\\[nr])"
LINE = rf"(?:[`*\] |]{{0,6}}{_NEW}|[\\]{{0,3}}[\"'][`*\] |]{{0,4}}{_NEW}[^ \t\r\n\]}}\\])"
"""The end of a line, in a text or in JSON; a text in quotes that ends one is the last of a list in JSON where the next line ends that."""
APART = r"(?:[`*\] ]{0,4}(?:[\t,;|]|│|┃|║|\\t)|[\\]{0,3}[\"'][`*\] ]{0,3}(?:[\t,;|][^\r\n\\]|│|┃|║|\\t)|[\\\"'`*\] ]{0,4}  )"
"""What stands between the name of a column and the next one. In JSON on lines a new one begins behind a comma."""
_CELL = {
    mark: re.compile(rf'(?:[ ]*"(?P<quoted>(?:[^"]|"")*)"[ ]*|(?P<bare>[^{sign}]*))(?P<more>{sign}?)')
    for mark, sign in ((",", ","), (";", ";"), ("\t", "\\t"))
}
_MOST = 10_000  # cells of a line
_WIDE = 20_000  # characters of a line
_NAME = 40  # characters of the name of a column, at most
_NAMES = re.compile("[A-Za-z0-9_$#@./\u0080-\uffff-]+(?:[ ][A-Za-z0-9_#()/\u0080-\uffff-]+){0,3}")


class Wanted(NamedTuple):
    """What is looked for: what a line with such a name holds, whether a name tells, and whether a cell below or beside it is one (`firm`: it stands as one)."""

    stem: re.Pattern[str]
    says: Callable[[str], bool]
    fits: Callable[[str, str, bool], bool]


class Row(NamedTuple):
    """One line: its cells, and where each stands."""

    mark: str
    cells: Sequence[str]
    spans: Sequence[Span]


def grid_spans(text: str) -> list[Span]:
    """The spans of the secrets in the cells of tables."""
    return cells_of(text, _SECRETS)


def cells_of(text: str, wanted: Wanted) -> list[Span]:
    """The spans of what is wanted in the cells of tables."""
    if "\n" not in text and "\r" not in text:
        return []
    found: list[Span] = []
    lines = [match.span() for match in _LINE.finditer(text) if not _RULE.fullmatch(text, *match.span())]
    at = 0
    while at < len(lines):
        start, end = lines[at]
        at += 1
        if end - start > _WIDE or at > len(lines):
            continue
        if wanted.stem.search(text, start, end) is None and not _pairs(text, start, end):
            continue
        more = _table(text, lines, at, found, wanted)
        at = max(at, more)
        if more == 0:
            found += _record(text, start, end, wanted)
    return found


def _table(text: str, lines: list[Span], at: int, found: list[Span], wanted: Wanted) -> int:
    """Read the table of which the line before `at` is the head; where it ends, 0 where it is none."""
    for head in _rows(text, *lines[at - 1]):
        names = [_name(cell) for cell in head.cells]
        kept = [one for one, name in enumerate(names) if name and wanted.says(name)]
        paired = len(names) >= 2 and ROLES[names[0]] == NAMING and any(ROLES[name] == VALUE for name in names[1:])
        if not (kept or paired) or (head.mark != "gap" and not all(len(cell) <= _NAME * 2 for cell in head.cells)):
            continue
        if not _named(head, names):
            continue
        top = lines[at - 1][0]
        if at > 1 and (above := _row(text, head, top, *lines[at - 2])) is not None and above.cells:
            continue  # a head has no row above it
        end = at
        while end < len(lines) and (row := _row(text, head, top, *lines[end])) is not None:
            if kept:
                found += _cells(names, kept, row, wanted)
            else:
                found += _pair(row, wanted, firm=True)
            end += 1
        if end > at:
            return end
    return 0


def _named(head: Row, names: Sequence[str]) -> bool:
    """Whether every cell of a head may be the name of a column."""
    if head.mark == "bar":
        return True
    return all(name or not cell.strip() for name, cell in zip(names, head.cells, strict=True))


def _name(cell: str) -> str:
    bare = cell.strip(" \t`*_\"'[]")
    return bare if len(bare) <= _NAME and _NAMES.fullmatch(bare) is not None else ""


def _says(name: str) -> bool:
    """Whether a name says secret: of several words only one that ends as such names do."""
    return SECRET_KEYS[name] and (" " not in name or PHRASE.fullmatch(name) is not None)


def _secret(name: str, value: str, firm: bool) -> bool:  # noqa: FBT001 - as `Wanted` asks
    return fits(name, value, firm=firm)


_SECRETS = Wanted(_STEM, _says, _secret)


def _cells(names: Sequence[str], kept: Sequence[int], row: Row, wanted: Wanted) -> Iterator[Span]:
    """What is wanted in one row of a table."""
    for one in kept:
        if one < len(row.cells):
            value, span = _bare(row.cells[one], row.spans[one])
            if wanted.fits(names[one], value, row.mark == "bar" or " " not in value or row.cells[one][:1] != " "):
                yield span


def _pair(row: Row, wanted: Wanted, *, firm: bool) -> Iterator[Span]:
    """What is wanted in a row of which the first cell is its name."""
    name = _name(row.cells[0])
    if not name or not wanted.says(name):
        return
    for cell, span in zip(row.cells[1:], row.spans[1:], strict=True):
        value, inner = _bare(cell, span)
        if wanted.fits(name, value, firm):
            yield inner
            return


def _record(text: str, start: int, end: int, wanted: Wanted) -> list[Span]:
    """What is wanted in a line that is no part of a table with a head: a name, a bar and a value."""
    if _BARS.search(text, start, end) is None:
        return []
    row = _barred(text, start, end)
    return list(_pair(row, wanted, firm=False)) if row is not None else []


def _bare(cell: str, span: Span) -> tuple[str, Span]:
    """What a cell says without the signs around it."""
    inner = cell.strip(" \t`*")
    start = span[0] + (cell.index(inner) if inner else 0)
    return inner, (start, start + len(inner))


def _pairs(text: str, start: int, end: int) -> bool:
    """Whether a line may be the head of a table of names and values."""
    return end - start <= _NAME and ("value" in text[start:end].lower() or "val" in text[start:end].lower())


def _rows(text: str, start: int, end: int) -> Iterator[Row]:
    """The ways to read a line as cells."""
    if (row := _barred(text, start, end)) is not None:
        yield row
    for mark in ("\t", ";", ","):
        if mark in text[start:end] and (row := _parted(text, mark, start, end)) is not None:
            yield row
    if (row := _spaced(text, start, end)) is not None:
        yield row


def _row(text: str, head: Row, top: int, start: int, end: int) -> Row | None:
    """A row below a head, whose line begins at `top`; None where a line is none."""
    if end - start > _WIDE:
        return None
    if head.mark == "gap":
        return _under(text, head, top, start, end)
    row = _barred(text, start, end) if head.mark == "bar" else _parted(text, head.mark, start, end)
    return row if row is not None and len(row.cells) == len(head.cells) else None


def _barred(text: str, start: int, end: int) -> Row | None:
    """A line with bars between its cells, and perhaps around them."""
    at = [match.start() for match in _BARS.finditer(text, start, end) if text[match.start() - 1 : match.start()] != "\\"]
    if not at or len(at) > _MOST:
        return None
    edges = [start - 1, *at, end]
    spans = [(left + 1, right) for left, right in pairwise(edges)]
    if not text[slice(*spans[0])].strip():
        del spans[0]
    if spans and not text[slice(*spans[-1])].strip():
        del spans[-1]
    return Row("bar", [text[slice(*span)] for span in spans], spans) if len(spans) >= 2 or len(at) > 1 else None


def _parted(text: str, mark: str, start: int, end: int) -> Row | None:
    """A line of CSV."""
    line, done = text[start:end], 0
    cells: list[str] = []
    spans: list[Span] = []
    for match in _CELL[mark].finditer(line):
        if match.start() != done or len(cells) >= _MOST:
            return None
        group = "quoted" if match["quoted"] is not None else "bare"
        cells.append(match[group])
        spans.append((start + match.start(group), start + match.end(group)))
        done = match.end()
        if not match["more"]:
            break
    return Row(mark, cells, spans) if done == len(line) and len(cells) >= 2 else None


def _spaced(text: str, start: int, end: int) -> Row | None:
    """A line with two blanks or more between its cells."""
    spans, done = [], start
    for gap in (*_GAP.finditer(text, start, end), None):
        until = gap.start() if gap is not None else end
        if until > done:
            spans.append((done, until))
        done = gap.end() if gap is not None else end
        if len(spans) > _MOST:
            return None
    return Row("gap", [text[slice(*span)] for span in spans], spans) if len(spans) >= 2 else None


def _under(text: str, head: Row, top: int, start: int, end: int) -> Row | None:
    """A row whose cells begin where those of the head do."""
    row = _spaced(text, start, end)
    if row is None:
        return None
    begins = {span[0] - start: span for span in row.spans}
    spans = [begins.get(span[0] - top) for span in head.spans]
    if sum(span is not None for span in spans) < 2:
        return None
    known = [span if span is not None else (start, start) for span in spans]
    return Row("gap", [text[slice(*span)] for span in known], known)
