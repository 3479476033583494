"""Merge: what several layers write, as one policy that is written down: tool by tool and key by key, the widest first.

May not compile anything. Comes after keys and numbers; before load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from guard.core.ceilings import CEILINGS
from guard.core.values import equal
from guard.policy import language
from guard.policy.ceilings import SECONDS, bounded
from guard.policy.layers.both import Both, Ceiling, at, mapping, seconds
from guard.policy.layers.keys import meet
from guard.policy.layers.numbers import prices, whole_limits
from guard.policy.problems import Problems, squash
from guard.policy.reading import Reading
from guard.policy.source import Item
from guard.policy.written import Written, as_written, collect, tops

MERGED = ("tools", "limits", "ceilings", "prices", "people", "layers")
"""The top-level keys that are compared. Any other one is the widest layer's alone."""


@dataclass(slots=True)
class _Whole:
    """What the layers so far say together."""

    problems: Problems
    tools: dict[str, Item] = field(default_factory=dict)
    ceilings: dict[str, Item] = field(default_factory=dict)
    limits: Item | None = None
    prices: dict[str, Item] = field(default_factory=dict)
    people: Item | None = None
    closed: Item | None = None
    others: list[tuple[str, Item]] = field(default_factory=list)
    first: bool = True


def layered(reading: Reading, problems: Problems) -> Written:
    """Each layer as it is written, and all of them together as one document."""
    layers = tuple(as_written(layer.place, layer.files, problems) for layer in reading.layers)
    whole = _Whole(problems)
    for layer in layers:
        _take(whole, layer.documents)
        whole.first = False
    others = (mapping(item, {key: item}) for key, item in whole.others)
    shapes = {name: item for layer in layers for name, item in layer.shapes.items()}
    documents = (_document(whole, layers), *others)
    return Written(place=reading.place, files=reading.files, documents=documents, shapes=shapes, layers=layers)


def _document(whole: _Whole, layers: Sequence[Written]) -> Item:
    spot = next((one for layer in layers for one in layer.documents), Item(layers[0].place, None))
    named = {"tools": whole.tools, "ceilings": whole.ceilings, "prices": whole.prices}
    fields = {key: mapping(next(iter(found.values())), found) for key, found in named.items() if found}
    fields |= {key: found for key, found in (("limits", whole.limits), ("people", whole.people)) if found is not None}
    return mapping(spot, fields)


def _take(whole: _Whole, documents: Sequence[Item]) -> None:
    """Add one layer. Ceilings first: they bound what the layer's own tools may write."""
    problems = whole.problems
    wider, written = _effective(whole.ceilings), set(whole.ceilings)
    own = _ceilings(whole, documents)
    for key, item in own.items():
        _lower(whole, key, item)
    for name, item in collect(documents, "tools", problems).items():
        known = whole.tools.get(name)
        if known is None:
            _introduce(whole, name, item, {key: wider[key] for key in written})
        else:
            whole.tools[name] = _tool(name, known, item, wider, problems)
    for name, item in whole.tools.items():
        whole.tools[name] = _capped(item, own)
    _counts(whole, documents)
    _people(whole, documents)
    _close(whole, documents)
    _carry(whole, documents)


def _tool(name: str, wide: Item, narrow: Item, ceilings: Ceiling, problems: Problems) -> Item:
    """One tool of both."""
    fields = dict(wide.fields)
    for key, item in language.mapping(narrow, "tool", problems).items():
        bounds = {**ceilings, **_own_ceilings(wide)}
        both = Both(
            what=f"{name}.{key}",
            wide=fields.get(key),
            narrow=item,
            entry=wide,
            defined="kind" in wide.fields,
            ceilings=bounds,
            problems=problems,
        )
        if item.value is None and both.wide is not None:
            both.loosens("nothing takes back what stands", "leave it out")
        else:
            fields[key] = meet(key, both)
    return mapping(wide, fields)


def _own_ceilings(wide: Item) -> dict[str, float]:
    fields = wide.fields["ceilings"].fields if "ceilings" in wide.fields else {}
    found = {key: bounded(item, key, Problems(), "") for key, item in fields.items()}
    return {key: value for key, value in found.items() if value is not None}


def _introduce(whole: _Whole, name: str, item: Item, ceilings: Ceiling) -> None:
    """A tool that no wider layer names. What wider layers write about all tools counts for it, too."""
    problems = whole.problems
    if whole.closed is not None:
        message = f"no wider layer names {name}, and the list is closed at {at(whole.closed)}"
        problems.error(item, message, "name it there, or remove the entry", code="layer-loosens")
    for other, first in whole.tools.items():
        if squash(other) == squash(name):
            problems.error(item, f"{name} is {other} at {at(first)} in another spelling", f"write {other}", code="layer-loosens")
    for key, inner in _bounded(item):
        most, value = ceilings.get(key), bounded(inner, key, Problems(), "")
        if not whole.first and most is not None and value is not None and value > most:
            wide = whole.ceilings.get(key, item)
            message = f"{name}: {inner.value} is more than the ceiling of {int(most)} at {at(wide)}"
            problems.error(inner, message, f"write at most {int(most)}", code="layer-loosens")
    whole.tools[name] = item


def _bounded(item: Item) -> list[tuple[str, Item]]:
    """The values of an entry that a ceiling of the whole policy bounds."""
    found = list(item.fields["ceilings"].fields.items()) if "ceilings" in item.fields else []
    result = item.fields.get("result")
    return [*found, *([("result_bytes", result.fields["max_bytes"])] if result and "max_bytes" in result.fields else [])]


# -- ceilings --------------------------------------------------------------------------------------------------------


def _ceilings(whole: _Whole, documents: Sequence[Item]) -> dict[str, Item]:
    """What one layer writes under `ceilings:`, in all of its files."""
    found: dict[str, Item] = {}
    for block in tops(documents, "ceilings"):
        for key, item in language.mapping(block, "ceilings", whole.problems).items():
            if key in found:
                message = f"ceilings.{key} is written twice"
                whole.problems.error(item, message, f"the first stands at {at(found[key])}; keep one")
            found.setdefault(key, item)
    return found


def _lower(whole: _Whole, key: str, item: Item) -> None:
    most, value = _effective(whole.ceilings)[key], bounded(item, key, whole.problems, f"ceilings.{key}")
    if value is not None and value > most and not whole.first:
        wide = whole.ceilings.get(key)
        where = f"at {at(wide)}" if wide else "that holds where no wider layer writes one"
        told = language.spelled(most) if key == SECONDS else str(int(most))
        message = f"ceilings.{key}: {item.value} is more than the {told} {where}"
        whole.problems.error(item, message, f"write at most {told}", code="layer-loosens")
    whole.ceilings[key] = item


def _effective(written: Mapping[str, Item]) -> dict[str, float]:
    """Every ceiling, by its key: as written, else as it is where nobody writes one."""
    usual = {key: float(getattr(CEILINGS, "approval_seconds" if key == SECONDS else key)) for key in language.KEYS["ceilings"]}
    found = {key: bounded(item, key, Problems(), "") for key, item in written.items()}
    return {**usual, **{key: value for key, value in found.items() if value is not None}}


def _capped(item: Item, own: Mapping[str, Item]) -> Item:
    """A wider layer's entry under what a narrower layer writes about all tools: the lower number counts."""
    fields = dict(item.fields)
    for key, inner in _bounded(item):
        cap = own.get(key)
        if cap is None or not _higher(inner, cap, key):
            continue
        place, name = ("result", "max_bytes") if key == "result_bytes" else ("ceilings", key)
        fields[place] = mapping(fields[place], {**fields[place].fields, name: cap})
    if SECONDS in own and "approve" in fields:
        fields["approve"] = _sooner(fields["approve"], own[SECONDS])
    return replace(item, value={key: one.value for key, one in fields.items()}, fields=fields) if fields else item


def _higher(inner: Item, cap: Item, key: str) -> bool:
    value, most = bounded(inner, key, Problems(), ""), bounded(cap, key, Problems(), "")
    return _layer(inner) != _layer(cap) and value is not None and most is not None and value > most


def _layer(item: Item) -> str:
    return item.file.rpartition("/")[0]


def _sooner(item: Item, cap: Item) -> Item:
    if isinstance(item.value, list):
        items = [_sooner(one, cap) for one in item.items]
        return Item(item.file, item.line, [one.value for one in items], items=items)
    most, expires = seconds(cap), seconds(item.fields.get("expires"))
    if most is None or expires is None or expires <= most or _layer(item.fields["expires"]) == _layer(cap):
        return item
    return mapping(item, {**item.fields, "expires": cap})


# -- limits, prices, people ------------------------------------------------------------------------------------------


def _counts(whole: _Whole, documents: Sequence[Item]) -> None:
    problems = whole.problems
    own: dict[str, Item] = {}
    for block in tops(documents, "limits"):
        for key, item in language.mapping(block, "limits", problems).items():
            if key in own:
                problems.error(item, f"limits.{key} is written twice", f"the first stands at {at(own[key])}; keep one")
            own.setdefault(key, item)
    cost = _cost(whole.limits)
    if own:
        block = mapping(next(iter(own.values())), own)
        whole.limits = block if whole.limits is None else whole_limits(whole.limits, block, problems)
    whole.prices = prices(whole.prices, collect(documents, "prices", problems), cost, problems)


def _cost(limits: Item | None) -> Item | None:
    """A limit on cost, where the wider layers have one."""
    tables = [limits.fields[key] for key in ("run", "conversation") if limits is not None and key in limits.fields]
    return next((table.fields["cost"] for table in tables if "cost" in table.fields), None)


def _people(whole: _Whole, documents: Sequence[Item]) -> None:
    """Who the operating-system users are is said by one layer, the widest: whoever says it gives them their roles."""
    own = collect(documents, "people", whole.problems)
    if whole.first:
        whole.people = mapping(next(iter(own.values())), own) if own else None
        return
    for user, item in own.items():
        first = whole.people.fields.get(user) if whole.people else None
        if first is None or not equal(first.value, item.value):
            where = f"at {at(first)}" if first else "in the widest layer"
            message = f"people: who {user} is can only be said {where}, since it gives roles"
            whole.problems.error(item, message, "write it there", code="layer-loosens")


def _close(whole: _Whole, documents: Sequence[Item]) -> None:
    for block in tops(documents, "layers"):
        fields = language.mapping(block, "layers", whole.problems)
        closed = language.flag(fields.get("closed"), whole.problems, "layers.closed")
        if closed and whole.closed is None:
            whole.closed = fields["closed"]


def _carry(whole: _Whole, documents: Sequence[Item]) -> None:
    """What nobody can compare is said by the widest layer; another one may only say the same."""
    for key in language.KEYS["file"]:
        for item in tops(documents, key) if key not in MERGED else ():
            same = [other for name, other in whole.others if name == key]
            if whole.first:
                whole.others.append((key, item))
            elif not any(equal(item.value, other.value) for other in same):
                where = f"at {at(same[0])}" if same else "in the widest layer"
                whole.problems.error(item, f"{key}: it can only be said {where}", "write it there", code="layer-loosens")
