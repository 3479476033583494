"""Charts: bars as SVG, drawn here: no script, font or picture from elsewhere. Every text is made inert; colours are the page's classes. Pure.

A chart says in words what it shows (`role="img"` with a label); its figures stand in a table on the same page. Comes after `inert`, before `page`.
"""

from __future__ import annotations

from collections.abc import Sequence

from guard.auditing.inert import markup
from guard.core.unseen import one_line

WIDTH = 720
_LEFT, _TOP, _FOOT = 46, 10, 26
Series = Sequence[tuple[str, str, Sequence[int]]]
"""(class, name, a number for each place) of each colour, from the ground up."""


def _ticks(most: int) -> list[int]:
    """Three to six round numbers from 0 to at least `most`."""
    step = 1
    while most / step > 5:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return list(range(0, most + step, step))


def stacked(label: str, names: Sequence[str], series: Series, *, height: int = 200, every: int = 1) -> str:
    """Columns, one for each name, stacked of the series. `every`: which names are written below."""
    sums = [sum(numbers[place] for _, _, numbers in series) for place in range(len(names))]
    ticks = _ticks(max([1, *sums]))
    room, ground = height - _TOP - _FOOT, height - _FOOT
    wide = (WIDTH - _LEFT - 8) / max(1, len(names))
    parts = _grid(ticks, room, ground)
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
    return _svg(label, height, parts)


def _grid(ticks: Sequence[int], room: int, ground: int) -> list[str]:
    parts = []
    for tick in ticks:
        y = ground - tick * room / ticks[-1]
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>')
    return parts


def bars(label: str, rows: Sequence[tuple[str, int]], kind: str) -> str:
    """Lying bars, one for each row, with its name before and its number behind."""
    named, tall = 16 + 7 * max([9, *(len(_short(name)) for name, _ in rows)]), 22  # as wide as its names, about
    most = max([1, *(number for _, number in rows)])
    parts = []
    for place, (name, number) in enumerate(rows):
        y = 4 + place * tall
        wide = number * (WIDTH - named - 60) / most
        parts.append(f'<text x="{named - 8}" y="{y + 14}" text-anchor="end">{markup(_short(name))}</text>')
        parts.append(f'<rect class="{kind}" x="{named}" y="{y + 2}" width="{max(wide, 1):.1f}" height="{tall - 6}"/>')
        parts.append(f'<text x="{named + max(wide, 1) + 6:.1f}" y="{y + 14}">{number}</text>')
    return _svg(label, 8 + len(rows) * tall, parts)


def _short(name: str) -> str:
    """A name that fits before a bar; the table has it whole."""
    plain = one_line(name)
    return plain if len(plain) <= 30 else plain[:29] + "\u2026"


def _svg(label: str, height: int, parts: Sequence[str]) -> str:
    said = markup(label)
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{said}">{"".join(parts)}</svg>'
