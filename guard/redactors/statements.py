"""Statements: secrets in SQL: the values of an INSERT under the names of its columns, and the words that set a password.

Pure; part of `secret`.
"""

from __future__ import annotations

import re
from itertools import accumulate, chain, takewhile
from typing import TypeAlias

from guard.redactors.given import fits, strong
from guard.redactors.secret_keys import SECRET_KEYS

Span: TypeAlias = tuple[int, int]
_INSERT = re.compile(
    r"(?i:\b(?:insert|replace|merge|upsert)\b(?:[ \t\r\n]+(?:ignore|or[ ]replace))?(?:[ \t\r\n]+into)?)[ \t\r\n]+[^ \t\r\n()]{1,200}[ \t\r\n]*"
    r"\((?P<columns>[^()]+)\)[^()']{0,60}?(?i:\b(?P<kind>values?|select)\b)"
)
_ITEM = re.compile(
    r"[ \t\r\n]*(?:[A-Za-z_]{0,8}'(?P<single>(?:[^'\\]|''|\\.)*)'|\"(?P<double>[^\"]*)\"|(?P<call>[A-Za-z_]{1,40}\([^()]{0,400}\))|(?P<bare>[^,()'\"]{0,400}))"
    r"[ \t\r\n]*(?P<more>(?:[,);]|\r?\n)?)",
)
_OPEN = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*\(")
_IDENTIFIED = re.compile(
    r"(?i:\b(?:identified[ ](?:with[ ][a-z0-9_']{1,40}[ ])?(?:by|as)|password[ ](?:for[ ][^ ]{1,80}[ ]?=|=)|(?:encrypted[ ])?password|requirepass|masterauth))"
    r"[ ]{1,4}[\"'](?P<value>[^\"'\n]{4,400})"
)
_COPY = re.compile(r"(?:\A|\n)(?i:copy)[ ][^()\n]{1,200}\((?P<columns>[^()\n]+)\)[ ](?i:from)[ ](?i:stdin)[^\n]{0,100}\n")
_AGAIN = 4  # times the text that all statements together may read: one may stand in a value of another


def statement_spans(text: str) -> list[Span]:
    """The spans of the secrets in statements."""
    found: list[Span] = []
    if "(" in text:
        left = _AGAIN * len(text)
        for match in _INSERT.finditer(text):
            names = _names(match["columns"])
            if left > 0 and any(map(SECRET_KEYS.__getitem__, names)):
                left -= _rows(text, match.end(), names, found, whole=match["kind"].lower() == "select") - match.end()
        done = 0
        for match in _COPY.finditer(text):
            if match.start() >= done:
                done = _copied(text, match.end(), _names(match["columns"]), found)
    return [*found, *(one.span("value") for one in _IDENTIFIED.finditer(text) if fits("password", one["value"], firm=True))]


def _names(columns: str) -> list[str]:
    return [one.strip(" \t\r\n`\"'[]") for one in columns.split(",")]


def _rows(text: str, at: int, names: list[str], found: list[Span], *, whole: bool) -> int:
    """Read the rows behind the names of their columns; where they end. `whole`: one row without brackets."""
    if whole:
        return _items(text, at, names, found)
    while (opens := _OPEN.match(text, at)) is not None:
        at = _items(text, opens.end(), names, found)
    return at


def _items(text: str, at: int, names: list[str], found: list[Span]) -> int:
    """Read one row; where it ends."""
    for name in chain(names, ("",)):
        item = _ITEM.match(text, at, at + 4000)
        if item is None:
            break
        group = (
            item.lastgroup
            if item.lastgroup != "more"
            else next((one for one in ("single", "double", "call", "bare") if item[one] is not None), "bare")
        )
        value = item[group or "bare"]
        if group in {"single", "double"} and name and fits(name, value, firm=strong(name)):
            found.append(item.span(group))
        at = item.end()
        if item["more"] != ",":
            break
    return at


def _copied(text: str, at: int, names: list[str], found: list[Span]) -> int:
    """Read the lines that a dump copies into a table; where they end."""
    kept = [one for one, name in enumerate(names) if SECRET_KEYS[name]]
    while kept and at < len(text) and not text.startswith("\\.", at):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        cells = text[at:end].split("\t")
        starts = [*accumulate((len(cell) + 1 for cell in cells), initial=at)]
        found += [
            (starts[one], starts[one] + len(cells[one]))
            for one in takewhile(len(cells).__gt__, kept)
            if fits(names[one], cells[one], firm=strong(names[one]))
        ]
        at = end + 1
    return at
