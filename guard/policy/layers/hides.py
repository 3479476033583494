"""Hides: what a narrower layer may add to the rules that hide parts of a result. Each rule of a wider layer stays; a further one only hides more.

What roles see cannot be compared and is said by one layer. Comes after both; before keys.
"""

from __future__ import annotations

from guard.core.values import equal
from guard.policy.layers.both import Both, mapping, together
from guard.policy.source import Item

HIDES = ("drop", "hash", "mask", "handle", "blocks")
"""Keys of `result` whose entries add up."""


def hidden(both: Both, key: str, first: Item | None, item: Item) -> Item:
    """The rules of both layers under one of these keys."""
    if first is None:
        return item
    if key in ("drop", "hash"):
        return together(first, item)
    known = dict(first.fields)
    for name, one in item.fields.items():
        stands = known.get(name)
        same = stands is None or equal(stands.value, one.value)
        if not same and not (key == "blocks" and one.value == "drop") and not (key == "mask" and one.value == "fixed"):
            both.loosens(f"{key} {name} is not what stands", "leave it out, or write the same", wide=stands, narrow=one)
        known[name] = one
    return mapping(first, known)
