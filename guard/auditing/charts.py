"""Charts: bars as SVG, drawn here: no script, font or picture from elsewhere. Every text is made inert; colours are the page's classes. Pure.

A chart says in words what it shows (`role="img"` with a label); its figures stand in a table on the same page. Each is drawn twice, for a wide
screen and for a phone, so that its letters keep their size; the page shows one of them. Comes after `inert`, before `page`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from guard.auditing.inert import markup
from guard.core.unseen import one_line

WIDTH, NARROW = 720, 340
_LEFT, _TOP, _FOOT = 46, 10, 26
_LETTER, _GAP = 6.5, 4  # how wide a letter of a name is, about, and what is left free behind a name
Series = Sequence[tuple[str, str, Sequence[int]]]
"""(class, name, a number for each place) of each colour, from the ground up."""


def _ticks(most: int) -> list[int]:
    """Three to six round numbers from 0 to at least `most`."""
    step = 1
    while most / step > 5:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return list(range(0, most + step, step))


def stacked(label: str, names: Sequence[str], series: Series, *, height: int = 200) -> str:
    """Columns, one for each name, stacked of the series: for a wide screen and for a phone, of which the page shows one."""
    return "".join(_columns(label, names, series, height, width) for width in (WIDTH, NARROW))


def _columns(label: str, names: Sequence[str], series: Series, height: int, width: int) -> str:
    sums = [sum(numbers[place] for _, _, numbers in series) for place in range(len(names))]
    ticks = _ticks(max([1, *sums]))
    room, ground = height - _TOP - _FOOT, height - _FOOT
    wide = (width - _LEFT - 8) / max(1, len(names))
    every = max(1, ceil((_LETTER * max(map(len, names), default=1) + _GAP) / wide))  # which names have room below
    parts = _grid(ticks, room, ground, width)
    for place, name in enumerate(names):
        left, above = _LEFT + place * wide, float(ground)
        for kind, told, numbers in series:
            tall = numbers[place] * room / ticks[-1]
            above -= tall
            if numbers[place]:
                tip = f"<title>{markup(name)}: {numbers[place]} {markup(told)}</title>"
                parts.append(
                    f'<rect class="{kind}" x="{left + wide * 0.12:.1f}" y="{above:.1f}" width="{wide * 0.76:.1f}" height="{tall:.1f}">{tip}</rect>'
                )
        if place % every == 0:
            parts.append(f'<text x="{left + wide / 2:.1f}" y="{ground + 16}" text-anchor="middle">{markup(name)}</text>')
    return _svg(label, height, parts, width)


def _grid(ticks: Sequence[int], room: int, ground: int, width: int) -> list[str]:
    parts = []
    for tick in ticks:
        y = ground - tick * room / ticks[-1]
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>')
    return parts


def bars(label: str, rows: Sequence[tuple[str, int]], kind: str) -> str:
    """Lying bars, one for each row: its name before, on a phone above, and its number behind. For a wide screen and for a phone."""
    named = 16 + 7 * max([9, *(len(_short(name)) for name, _ in rows)])  # as wide as its names, about
    return _lying(label, rows, kind, WIDTH, named) + _lying(label, rows, kind, NARROW, 0)


def _lying(label: str, rows: Sequence[tuple[str, int]], kind: str, width: int, named: int) -> str:
    tall, below = (22, 0) if named else (38, 16)
    most = max([1, *(number for _, number in rows)])
    parts = []
    for place, (name, number) in enumerate(rows):
        y = 4 + place * tall
        wide = max(number * (width - named - 60) / most, 1)
        at = f'x="{named - 8}" y="{y + 14}" text-anchor="end"' if named else f'x="0" y="{y + 11}"'
        parts.append(f"<text {at}>{markup(_short(name))}</text>")
        parts.append(f'<rect class="{kind}" x="{named}" y="{y + below + 2}" width="{wide:.1f}" height="16"/>')
        parts.append(f'<text x="{named + wide + 6:.1f}" y="{y + below + 14}">{number}</text>')
    return _svg(label, 8 + len(rows) * tall, parts, width)


def _short(name: str) -> str:
    """A name that fits before a bar; the table has it whole."""
    plain = one_line(name)
    return plain if len(plain) <= 30 else plain[:29] + "\u2026"


def _svg(label: str, height: int, parts: Sequence[str], width: int) -> str:
    said, size = markup(label), "wide" if width == WIDTH else "narrow"
    return f'<svg class="chart {size}" viewBox="0 0 {width} {height}" role="img" aria-label="{said}">{"".join(parts)}</svg>'
