"""Inert: text of others for a table, a page, a CSV file or a line of JSON, so that nothing in it is obeyed by what shows it. Pure.

A terminal and a page get every unseen character spelled out; a page escapes besides. A spreadsheet gets an apostrophe in front of whatever it would
compute. JSON needs nothing but its own escapes (`guard.cli.show.escaped`). What a cell loses is said: see `cell`.
"""

from __future__ import annotations

import html
import re

from guard.core.unseen import one_line

_STARTS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
_FORMULA = re.compile(f"(^|;)( *)([{_STARTS}])")


def cell(text: str) -> str:
    """One cell of a CSV file: unseen characters (line breaks and tabs among them) spelled out, and no formula, at its beginning or behind a semicolon."""
    return _FORMULA.sub(r"\1'\2\3", one_line(text))


def markup(text: object) -> str:
    """Text for a page: on one line, unseen characters spelled out, nothing in it markup."""
    return html.escape(one_line(str(text)))
