"""Tool points: what in one tool's entry narrows its calls, key by key. One row of `_ROWS` for each key that can; used by `points`.

Forms that the language permits (one mapping or a list, a text or a mapping) are all read; what the loader would refuse never gets here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from guard.policy.language import has_unit
from guard.policy.source import Item
from guard.review.edits import Edit, Steps, constant
from guard.review.point import Point, place

_SUM = ("sum", "per", "at_most", "same")
_NARROWING = ("same", "once", "latest")
"""Keys beside a source that take away what it would accept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spot:
    """One key of a tool's entry: where it stands."""

    tool: str
    document: int
    steps: Steps

    def below(self, *steps: str | int) -> _Spot:
        return _Spot(tool=self.tool, document=self.document, steps=(*self.steps, *steps))

    def point(self, kind: str, what: str, item: Item, *edits: Edit, name: str = "", detail: bool = False) -> Point:
        """A point of this tool; without edits of its own it is taken away as a whole."""
        made = edits or (Edit(self.steps),)
        spot = place(item)
        return Point(
            kind=kind, what=what, spot=spot, name=name, tool=self.tool, document=self.document, edits=made, detail=detail
        )


def tool_points(name: str, item: Item, document: int) -> list[Point]:
    """Every point of one tool's entry, in the order in which it is written."""
    found: list[Point] = []
    for key, below in item.fields.items():
        row = _ROWS.get(key)
        if row is not None:
            found += row(below, _Spot(tool=name, document=document, steps=("tools", name, key)))
    return found


def _each(item: Item, spot: _Spot) -> list[tuple[int, Item, _Spot]]:
    """The entries of a list, or the one that stands in its place."""
    if isinstance(item.value, list):
        return [(number, one, spot.below(number)) for number, one in enumerate(item.items)]
    return [(0, item, spot)]


def _details(fields: Mapping[str, Item], of: str, spot: _Spot) -> Iterator[Point]:
    for key in _NARROWING:
        if key in fields and fields[key].value is not False:
            yield spot.below(key).point("detail", f"{key} of {of}", fields[key], detail=True)


def _tests(item: Item, of: str, spot: _Spot) -> Iterator[Point]:
    """Each test of a condition that has several, where all of them must hold."""
    for key, below in item.fields.items() if len(item.fields) > 1 else ():
        yield spot.below(key).point("detail", f"{key} in {of}", below, detail=True)


# -- a row for each key ----------------------------------------------------------------------------------------------------


def _allow(item: Item, spot: _Spot) -> Iterator[Point]:
    roles = [one.value for _, one, _ in _each(item, spot)]
    if "*" not in roles:
        yield spot.point("allow", f"allow {', '.join(roles)}", item, Edit(spot.steps, constant("*", item)))


def _bind(item: Item, spot: _Spot) -> Iterator[Point]:
    for field, below in item.fields.items():
        here = spot.below(field)
        yield here.point("bind", f"bind {field}", below, name=field)
        if "strict" in below.fields and below.fields["strict"].value is True:
            yield here.below("strict").point("detail", f"strict of bind {field}", below.fields["strict"], detail=True)


def _checks(item: Item, spot: _Spot) -> Iterator[Point]:
    for _, one, here in _each(item, spot):
        name = f"check {one.fields['name'].value if one.fields else one.value}"
        yield here.point("check", name, one, name=name)


def _ground(item: Item, spot: _Spot) -> Iterator[Point]:
    for argument, below in item.fields.items():
        here, what = spot.below(argument), f"ground {argument}"
        yield here.point("rule", what, below, name=f"ground {argument.removeprefix('arguments.')}")
        options = _each(below.fields["any_of"], here.below("any_of")) if "any_of" in below.fields else [(0, below, here)]
        for _, option, inner in options:
            yield from _details(option.fields, what, inner)


def _after(item: Item, spot: _Spot) -> Iterator[Point]:
    for _, one, here in _each(item, spot):
        what = f"after {one.fields['tool'].value}"
        yield here.point("rule", what, one, name=what)
        yield from _details(one.fields, what, here)
        if "where" in one.fields:
            where = one.fields["where"]
            yield here.below("where").point("detail", f"where of {what}", where, detail=True)
            yield from _tests(where, f"where of {what}", here.below("where"))


def _resource(item: Item, spot: _Spot) -> Iterator[Point]:
    for _, one, here in _each(item, spot):
        what = f"resource {next(key for key in one.fields if key != 'owner')}"
        yield here.point("resource", what, one, name=what)
        if "owner" in one.fields:
            yield here.below("owner").point("detail", f"owner of {what}", one.fields["owner"], detail=True)


def _unknown(item: Item, spot: _Spot) -> Iterator[Point]:
    if "target" in item.fields or ("blocks" in item.fields and item.fields["blocks"].value != "call"):
        yield spot.point("unknown", "unknown", item)


def _rules(effect: str) -> Callable[[Item, _Spot], Iterator[Point]]:
    def rows(item: Item, spot: _Spot) -> Iterator[Point]:
        for number, one, here in _each(item, spot):
            name = f"{spot.tool}.{effect}[{number}]"
            bare = "when" not in one.fields
            when = one if bare else one.fields["when"]
            yield here.point("rule", f"{effect} {', '.join(when.fields)}", one, name=name)
            if effect == "require":
                yield from _tests(when, name, here if bare else here.below("when"))

    return rows


def _limits(item: Item, spot: _Spot) -> Iterator[Point]:
    for _, one, here in _each(item, spot):
        window = has_unit(one.fields["per"]) if "per" in one.fields else False
        kind = "window" if window else "limits"
        counts = [key for key in ("calls", "equal", "sum") if key in one.fields]
        for key in counts:
            of = "of " if key == "sum" else ""
            within = f" per {one.fields['per'].value}" if window else ""
            own = [here.below(part).steps for part in (_SUM if key == "sum" else (key,)) if not (window and part == "per")]
            yield here.below(key).point(
                f"{kind}.{key}",
                f"limits.{key} {of}{one.fields[key].value}{within}" if of else f"limits.{key}: {one.fields[key].value}{within}",
                one.fields[key],
                *map(Edit, own if len(counts) > 1 else [here.steps]),
            )


def _ceilings(item: Item, spot: _Spot) -> Iterator[Point]:
    for key, below in item.fields.items():
        yield spot.below(key).point("ceiling", f"ceilings.{key}: {below.value}", below, name=f"ceiling {key}")


def _approve(item: Item, spot: _Spot) -> Iterator[Point]:
    if item.value == "never":
        return
    several = _each(item, spot)
    for number, one, here in several:
        who = _who(one)
        last = number == len(several) - 1
        nobody = Edit(spot.steps if len(several) == 1 else here.steps, constant("never", one))
        if who:
            yield here.point(
                "approve", f"approve by {', '.join(who)}", one, nobody if last else Edit(here.steps), name=",".join(sorted(who))
            )
        if "when" in one.fields:
            behind = [Edit(spot.below(after).steps) for after in range(len(several) - 1, number, -1)]
            when = one.fields["when"]
            what = f"when of approve by {', '.join(who) or 'never'}"
            yield here.point("detail", what, when, *behind, Edit(here.below("when").steps), detail=True)
            yield from _tests(when, what, here.below("when"))


def _who(one: Item) -> list[str]:
    by = one.fields.get("by")
    names = [] if by is None else [below.value for below in by.items] if isinstance(by.value, list) else [by.value]
    return [name.removeprefix("role:") for name in names if name != "never"]


def _schema(item: Item, spot: _Spot) -> Iterator[Point]:
    if item.value is not True:
        yield spot.point("schema", "schema", item)


def _result(item: Item, spot: _Spot) -> Iterator[Point]:
    """Each rule that hides, of everybody and of each role."""
    yield from _hides(item, spot, "result")
    if "schema" in item.fields:
        yield spot.below("schema").point("form", "result.schema", item.fields["schema"])
    if "roles" in item.fields:
        for name, below in item.fields["roles"].fields.items():
            yield from _hides(below, spot.below("roles", name), f"result.roles.{name}")


def _hides(item: Item, spot: _Spot, of: str) -> Iterator[Point]:
    if "keep" in item.fields:
        yield spot.below("keep").point("keep", f"{of}.keep", item.fields["keep"])
    for key in ("drop", "hash"):
        for _, one, here in _each(item.fields[key], spot.below(key)) if key in item.fields else ():
            yield here.point("keep", f"{of}.{key} {one.value}", one)
    for key in ("mask", "handle", "blocks"):
        for name, below in item.fields[key].fields.items() if key in item.fields else ():
            if below.value != "keep":
                yield spot.below(key, name).point("keep", f"{of}.{key} {name}", below)


_ROWS: Mapping[str, Callable[[Item, _Spot], Iterator[Point]]] = {
    "allow": _allow,
    "bind": _bind,
    "schema": _schema,
    "checks": _checks,
    "ground": _ground,
    "after": _after,
    "resource": _resource,
    "unknown": _unknown,
    "require": _rules("require"),
    "refuse": _rules("refuse"),
    "limits": _limits,
    "ceilings": _ceilings,
    "approve": _approve,
    "result": _result,
}
