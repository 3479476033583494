"""Lists: keys under which what each layer writes holds together: checks, grounds, prerequisites, conditions and records. Comes after both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from guard.core.values import canonical, equal
from guard.policy.layers.both import Both, listed, mapping, parts, together, words
from guard.policy.source import Item


def checks(both: Both) -> Item:
    """Further checks; one that is in force stays in force."""
    known = {_name(one): one for one in parts(both.wide)}
    for one in parts(both.narrow):
        first = known.get(_name(one))
        if first is None or _shadow(first):
            known[_name(one)] = one
        elif _shadow(one):
            both.loosens(f"the check {_name(one)} is in force", "leave enforce: shadow out", wide=first, narrow=one)
    return listed(both.wide or both.narrow, list(known.values())) if known else both.narrow


def _name(one: Item) -> str:
    found = one.value.get("name") if isinstance(one.value, dict) else one.value
    return found if isinstance(found, str) else canonical(one.value)


def _shadow(one: Item) -> bool:
    return isinstance(one.value, dict) and one.value.get("enforce") == "shadow"


def ground(both: Both) -> Item:
    """Further arguments, and further demands on the same one: both must be met. What a narrower layer adds vouches for nothing elsewhere."""
    known = dict(both.wide.fields) if both.wide else {}
    for name, item in both.narrow.fields.items():
        first = known.get(name)
        own = replace(item, added=both.defined)
        if first is None:
            known[name] = own
        elif not any(equal(one.value, item.value) for one in (first, *first.also)):
            for one in (first, *first.also):
                _check_sources(both, name, one, item)
            known[name] = replace(first, also=(*first.also, own))
    return mapping(both.wide or both.narrow, known) if both.narrow.fields else both.narrow


def _check_sources(both: Both, name: str, wide: Item, narrow: Item) -> None:
    """More sources beside all of those that the wider layer has would do nothing."""
    known, found = set(_sources(wide)), set(_sources(narrow))
    if not _shadow(wide) and (_shadow(narrow) or known < found):
        why = f"{name} may come only from {_spelled(wide)}"
        both.loosens(why, "name fewer sources, or other demands that must hold besides", wide=wide, narrow=narrow)


def _options(item: Item) -> list[Item]:
    return parts(item.fields["any_of"]) if "any_of" in item.fields else [item]


def _sources(item: Item) -> Iterator[str]:
    for one in _options(item):
        fields = {key: below.value for key, below in one.fields.items() if key != "enforce"}
        yield canonical(fields)


def _spelled(item: Item) -> str:
    told = [f"{key} {below.value}" for one in _options(item) for key, below in one.fields.items() if "_" in key]
    return " or ".join(told) or "what stands"


def after(both: Both) -> Item:
    """Further prerequisites: all must be met. One that is in force cannot become a shadow."""
    for one in parts(both.narrow):
        for first in parts(both.wide):
            if _shadow(one) and not _shadow(first) and _without(one) == _without(first):
                both.loosens("the prerequisite is in force", "leave enforce: shadow out", wide=first, narrow=one)
    return together(both.wide, both.narrow)


def conditions(both: Both) -> Item:
    """Further conditions of `require` or `refuse`. One that is in force cannot become a shadow."""
    for one in parts(both.narrow):
        for first in parts(both.wide):
            if _shadow(one) and not _shadow(first) and _when(one) == _when(first):
                both.loosens("the condition is in force", "leave enforce: shadow out", wide=first, narrow=one)
    return together(both.wide, both.narrow)


def _without(one: Item) -> str:
    return canonical(
        {key: value for key, value in one.value.items() if key != "enforce"} if isinstance(one.value, dict) else one.value
    )


def _when(one: Item) -> str:
    """What is asked: of a rule its condition, else the whole, as `require` may be written."""
    plain = isinstance(one.value, dict) and isinstance(one.value.get("when"), dict)
    return canonical(one.value["when"] if plain else one.value)


def resource(both: Both) -> Item:
    """The same record, whose owner may be asked for besides. A second record would give conditions other facts."""
    known = list(parts(both.wide))
    for one in parts(both.narrow):
        place = next((index for index, first in enumerate(known) if _record(first) == _record(one)), None)
        if place is None:
            if both.wide is not None:
                named = ", ".join(word for first in parts(both.wide) for word in _record(first))
                both.loosens(f"the record is {named}", "a second record gives conditions other facts: leave it out", narrow=one)
            known.append(one)
            continue
        first, owner = known[place], one.fields.get("owner")
        if "owner" in first.fields and (owner is None or not equal(owner.value, first.fields["owner"].value)):
            why = f"the owner is {first.fields['owner'].value}"
            both.loosens(why, f"write owner: {first.fields['owner'].value}, or leave the record out", wide=first, narrow=one)
        known[place] = one
    single = len(known) == 1 and not isinstance(both.narrow.value, list)
    return known[0] if single else listed(both.wide or both.narrow, known)


def _record(one: Item) -> list[str]:
    return sorted(f"{key}: {canonical(below.value)}" for key, below in one.fields.items() if key != "owner") or words(one)
