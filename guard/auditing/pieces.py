"""Pieces: what the blocks of a report are made of: tables, figures, times. Every text is made inert. Pure; comes after `inert`, before `blocks`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from guard.auditing.inert import markup

Cells = Sequence[object]
Link = Callable[[str], str]
_FEW = 4  # columns that a phone has room for, where all but one are numbers


@dataclass(frozen=True, slots=True)
class Raw:
    """Markup of our own."""

    html: str


def section(name: str, title: str, *parts: str) -> str:
    """One section with its heading."""
    return f'<section id="{name}" aria-labelledby="{name}-h"><h2 id="{name}-h">{markup(title)}</h2>{"".join(parts)}</section>'


def table(caption: str, heads: Sequence[str], rows: Iterable[Cells], *, numbers: Sequence[int] = ()) -> str:
    """A table; the columns of `numbers` are set to the right. One of many columns is a card for each row on a phone; the roles stay what they are."""
    named = "".join(
        f'<th scope="col" role="columnheader"{_right(place, numbers)}>{markup(head)}</th>' for place, head in enumerate(heads)
    )
    lines = "".join(
        '<tr role="row">'
        + "".join(
            f'<td role="cell" data-head="{markup(heads[place])}"{_right(place, numbers)}>{_cell(cell)}</td>'
            for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    many = ' class="many"' if len(heads) > _FEW or (len(heads) == _FEW and len(heads) - len(numbers) > 1) else ""
    head, body = f'<thead role="rowgroup"><tr role="row">{named}</tr></thead>', f'<tbody role="rowgroup">{lines}</tbody>'
    return f'<div class="box" tabindex="0" role="region" aria-label="{markup(caption)}"><table role="table"{many}><caption>{markup(caption)}</caption>{head}{body}</table></div>'


def _right(place: int, numbers: Sequence[int]) -> str:
    return ' class="n"' if place in numbers else ""


def _cell(cell: object) -> str:
    return cell.html if isinstance(cell, Raw) else "" if cell is None else markup(cell)


def listed(
    caption: str, found: Any, heads: Sequence[str], row: Callable[[Any], Cells], none: str, *, numbers: Sequence[int] = ()
) -> str:
    """A bounded list as a table, with how many there are in all."""
    if not found["rows"]:
        return paragraph(none)
    shown = len(found["rows"])
    cut = (
        paragraph(f"The first {shown} of {found['all']} are listed; guard audit --csv gives all.") if found["all"] > shown else ""
    )
    if found.get("cut"):
        cut += paragraph(
            "There are more records of this than one report reads: what the last of them say is missing here. Narrow it with --tenant."
        )
    return table(f"{caption} ({found['all']})", heads, map(row, found["rows"]), numbers=numbers) + cut


def counted(number: int, one: str, many: str) -> str:
    """So many of something."""
    return f"{number:,} {one if number == 1 else many}"


def paragraph(text: str) -> str:
    """A sentence or two."""
    return f"<p>{markup(text)}</p>"


def figure(caption: str, chart: str, key: Sequence[tuple[str, str]] = ()) -> str:
    """A chart with its caption and the key of its colours."""
    keys = "".join(f'<span><i class="{kind}"></i>{markup(name)}</span>' for kind, name in key)
    head = f"<figure><figcaption>{markup(caption)}{f'<span class=key>{keys}</span>' if keys else ''}</figcaption>"
    return f"{head}{chart}</figure>"


def time(text: str) -> Raw:
    """A time to the second."""
    shown = text[:19].replace("T", " ")
    return Raw(f'<time datetime="{markup(text)}">{markup(shown)}</time>')


def lasted(seconds: float | None) -> str:
    """A span for a person."""
    if seconds is None:
        return ""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
