"""Budget changes: limits over windows, shadows of limits, and ceilings under two policies, each with its direction.

A limit that is only a shadow refuses nothing: here it counts as no limit, and a change of the shadow itself is a change of nothing else.
Comes after changes and evidence; used by tool_changes and whole. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from guard.core.ceilings import Ceilings
from guard.core.rules import Limits, Source, WindowLimit
from guard.review.changes import Direction, Fact, fact, most, words
from guard.review.evidence import bound_direction, source_words


def in_force(limits: Limits, table: str) -> Mapping[str, object]:
    """The numbers of `run` or `conversation` that are no shadows."""
    found: Mapping[str, object] = getattr(limits, table)
    return {name: value for name, value in found.items() if f"{table}.{name}" not in limits.shadow}


def shadow_facts(old: Sequence[str], new: Sequence[str]) -> Iterator[Fact]:
    """What is watched without being in force; whether something left or entered force stands beside it as a change of its own."""
    if sorted(old) != sorted(new):
        yield Fact(Direction.CHANGES, "shadows", words(sorted(old)), words(sorted(new)))


def window_facts(old: Sequence[WindowLimit], new: Sequence[WindowLimit], what: str) -> Iterator[Fact]:
    """Every limit over a window. Another length or another `of` is another limit: one goes, one comes."""
    sides = [_strictest(limits) for limits in (old, new)]
    for name in sorted({*sides[0], *sides[1]}):
        one, other = (side.get(name) for side in sides)
        if one is None or other is None:
            direction = Direction.NARROWS if one is None else Direction.WIDENS
            yield Fact(direction, f"{what} {name}", _bound(one), _bound(other))
        else:
            yield from fact(bound_direction(one.at_most, other.at_most), f"{what} {name}", _bound(one), _bound(other))
    yield from shadow_facts([one.text for one in old if one.shadow], [one.text for one in new if one.shadow])


def ceiling_facts(old: Ceilings, new: Ceilings) -> Iterator[Fact]:
    """Every ceiling; a higher one lets more in."""
    for field in fields(Ceilings):
        before, after = getattr(old, field.name), getattr(new, field.name)
        yield from fact(most(before, after), f"ceilings.{field.name}", before, after)


def _strictest(limits: Sequence[WindowLimit]) -> dict[str, WindowLimit]:
    """The limits in force by what they count; of two equal ones with numbers the smaller, else each by its own number."""
    found: dict[str, WindowLimit] = {}
    for one in limits:
        if one.shadow:
            continue
        name = _name(one)
        known = found.get(name)
        if known is None:
            found[name] = one
        elif isinstance(known.at_most, Source) or isinstance(one.at_most, Source):
            found[f"{name} ({_bound(one)})"] = one
        elif one.at_most < known.at_most:
            found[name] = one
    return found


def _name(one: WindowLimit) -> str:
    counted = one.counts if one.argument is None else f"sum of {one.argument}"
    return f"{counted} per {one.seconds:g}s of {', '.join([one.of, *map(str, one.per)])}"


def _bound(limit: WindowLimit | None) -> str:
    if limit is None:
        return "-"
    return source_words(limit.at_most) if isinstance(limit.at_most, Source) else f"at most {limit.at_most}"
