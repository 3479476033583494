"""Tables: rows of plain text in columns. Every cell goes through `show.spell`; nothing is cut. Used by every command; pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from guard.cli.show import spell


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], *, indent: str = "") -> list[str]:
    """The lines of a table with a head; None is an empty cell."""
    return [indent + line for line in columns(heads, rows, [0] * len(heads), head=True)]


def columns(heads: Sequence[str], rows: Sequence[Sequence[object]], widths: list[int], *, head: bool) -> list[str]:
    """The lines of a table, or of more of it where `head` is False. `widths` grow where a cell needs it."""
    cells = [
        *([list(heads)] if head else []),
        *([spell("" if cell is None else cell if isinstance(cell, str) else str(cell)) for cell in row] for row in rows),
    ]
    widths[:] = [max([wide, *(width(row[column]) for row in cells)]) for column, wide in enumerate(widths)]
    if head:
        cells.insert(1, ["-" * wide for wide in widths])
    return [_line(row, widths) for row in cells]


def pairs(rows: Sequence[tuple[str, str]], *, indent: str = "") -> list[str]:
    """`name  value` lines with the values in one column. The values must be spelled already."""
    wide = max((width(name) for name, _ in rows), default=0)
    return [f"{indent}{_fill(name, wide)}  {text}".rstrip() for name, text in rows]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(_fill(cell, wide) for cell, wide in zip(row, widths, strict=True)).rstrip()


def _fill(cell: str, wide: int) -> str:
    return cell + " " * (wide - width(cell))


def width(text: str) -> int:
    """Columns that `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
