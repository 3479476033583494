"""Numbers: limits and ceilings of several layers. All hold; a number that is higher than a wider layer's has no effect and is a mistake.

Comes after both. May not count anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from guard.core.values import canonical, is_number
from guard.policy import language
from guard.policy.layers.both import Both, at, listed, parts, seconds, together
from guard.policy.problems import Problems
from guard.policy.source import Item


@dataclass(frozen=True, slots=True)
class Bound:
    """One number, and what it bounds: two with the same `subject` draw on the same budget."""

    subject: str
    name: str
    item: Item


def tool_limits(both: Both) -> Item:
    """Further limits; of two on one budget the tighter counts, so that a wider one that never matters any more is left out."""
    compare(both, _bounds(both.wide), _bounds(both.narrow))
    tighter = {bound.subject for bound in _bounds(both.narrow)}
    left = [one for one in parts(both.wide) if not _replaced(one, tighter)]
    return together(listed(both.wide, left) if both.wide and left else None, both.narrow)


def _replaced(one: Item, tighter: set[str]) -> bool:
    """Whether each number of a wider entry has a tighter one on the same budget; one that is not was reported."""
    found = list(_bounds(one))
    numbers = {"calls", "equal", "sum"} & one.fields.keys()
    return len(found) == len(numbers) > 0 and all(bound.subject in tighter for bound in found)


def compare(both: Both, wide: Iterator[Bound], narrow: Iterator[Bound]) -> None:
    """Report each number of the narrower layer that is higher than the wider one's on the same budget."""
    known: dict[str, Bound] = {}
    for one in wide:
        first = known.get(one.subject)
        if first is None or one.item.value < first.item.value:
            known[one.subject] = one
    for one in narrow:
        first = known.get(one.subject)
        if first is not None and one.item.value > first.item.value:
            why = f"{one.name} {one.item.value} is more than {first.item.value}"
            both.loosens(why, f"write at most {first.item.value}", wide=first.item, narrow=one.item)


def _bounds(item: Item | None) -> Iterator[Bound]:
    """Every number of a tool's limits that is in force."""
    for one in parts(item):
        fields = one.fields
        if fields.get("enforce") is None:
            yield from _of_entry(fields)


def _of_entry(fields: Mapping[str, Item]) -> Iterator[Bound]:
    window = _window(fields)
    for key in ("calls", "equal"):
        if key in fields and is_number(fields[key].value):
            yield Bound(canonical([key, *(window or ())]), key, fields[key])
    bound = fields.get("at_most")
    if "sum" in fields and bound is not None and is_number(bound.value):
        whose = list(window) if window else [_plain(fields.get("per"))]
        yield Bound(canonical(["sum", fields["sum"].value, *whose]), f"the sum of {fields['sum'].value}", bound)


def _window(fields: Mapping[str, Item]) -> tuple[str, ...] | None:
    """Length and reach of a window, where the entry is one."""
    item = fields.get("per")
    if item is None or isinstance(item.value, list) or not isinstance(item.value, str) or not language.has_unit(item):
        return None
    return (str(seconds(item)), _plain(fields.get("of")) if "of" in fields else canonical(["principal"]))


def _plain(item: Item | None) -> str:
    """What must be equal, in its order: another order is another budget."""
    return canonical([one.value for one in parts(item)])


# -- the policy's own limits -----------------------------------------------------------------------------------------


def whole_limits(wide: Item, narrow: Item, problems: Problems) -> Item:
    """`limits:` of two layers, table by table."""
    known = dict(wide.fields)
    for table, item in narrow.fields.items():
        first = known.get(table)
        both = _both(f"limits.{table}", first or item, item, problems)
        if first is None:
            known[table] = item
        elif item.value is None:
            both.loosens("nothing takes back what stands", "leave it out")
        elif table == "windows":
            compare(both, _windows(first), _windows(item))
            known[table] = together(first, item)
        else:
            known[table] = _table(f"limits.{table}", first, item, problems)
    return Item(wide.file, wide.line, {key: one.value for key, one in known.items()}, fields=known)


def _both(what: str, wide: Item, narrow: Item, problems: Problems) -> Both:
    return Both(what=what, wide=wide, narrow=narrow, entry=wide, defined=True, ceilings={}, problems=problems)


def _windows(item: Item) -> Iterator[Bound]:
    for one in parts(item):
        if "enforce" not in one.fields and "calls" in one.fields and is_number(one.fields["calls"].value):
            yield Bound(canonical(["calls", *(_window(one.fields) or ())]), "calls", one.fields["calls"])


def _table(what: str, wide: Item, narrow: Item, problems: Problems) -> Item:
    known = dict(wide.fields)
    for key, item in narrow.fields.items():
        first = known.get(key)
        known[key] = item
        if first is None:
            continue
        both = _both(f"{what}.{key}", first, item, problems)
        if key == "whole":
            if first.value is True and item.value is not True:
                both.loosens("it is true", "leave it out")
        elif not _tighter(both, first, item):
            known[key] = first
    return Item(wide.file, wide.line, {key: one.value for key, one in known.items()}, fields=known)


def _tighter(both: Both, first: Item, item: Item) -> bool:
    """Whether the narrower number may stand in the place of the wider one; what cannot be read is reported when it is compiled."""
    most, value = _number(first), _number(item)
    if most is None:
        return False
    shadow, was = _is_shadow(item), _is_shadow(first)
    if shadow and not was:
        both.loosens(f"{most} is in force", "leave enforce: shadow out", wide=first, narrow=item)
    elif value is not None and value > most:
        both.loosens(f"{value} is more than {most}", f"write at most {most}", wide=first, narrow=item)
    return True


def _number(item: Item) -> Decimal | None:
    found = item.fields["at_most"].value if "at_most" in item.fields else item.value
    return Decimal(found) if is_number(found) else None


def _is_shadow(item: Item) -> bool:
    return "enforce" in item.fields


def prices(wide: Mapping[str, Item], narrow: Mapping[str, Item], cost: Item | None, problems: Problems) -> dict[str, Item]:
    """A price stands in one layer. Where a wider layer limits cost, a new one would let through what is refused as unknown."""
    known = dict(wide)
    for model, item in narrow.items():
        first = known.get(model)
        if first is not None and canonical(first.value) != canonical(item.value):
            problems.error(item, f"prices: the price of {model} is not that at {at(first)}", "keep one", code="layer-loosens")
        elif first is None and cost is not None:
            message = f"prices: {model} has no price where a wider layer limits cost at {at(cost)}"
            problems.error(item, message, "write the price there: an unknown cost is refused", code="layer-loosens")
        known[model] = item
    return known
