"""Replacing: a frozen dataclass with some of its fields changed, as `dataclasses.replace` gives it, in less than half of its time.

Every step of a call makes rows of two dozen fields anew, and the standard way asks each field for its options and calls `__init__` by keywords. This one
copies the slots. A class that does anything else when it is made (`__post_init__`, its own `__setattr__`, fields that `__init__` does not take, no slots) goes the standard
way. Type checkers see the standard function. May not know any class. Comes before everything that replaces.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable
from itertools import repeat
from operator import attrgetter, call
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from dataclasses import replace

__all__ = ["replace"]

Writes: TypeAlias = dict[str, Callable[[Any, Any], None]]
Slots: TypeAlias = tuple[Callable[[Any], tuple[Any, ...]], Writes]
"""What reads the values of all fields at once, and what writes each of them, in the same order."""

_known: dict[type, Slots | None] = {}
_bare = object.__new__


def _replace(value: Any, /, **changes: Any) -> Any:
    """`value` with these fields changed. Raises TypeError for what is no field, or no dataclass."""
    kind = type(value)
    try:
        slots = _known[kind]
    except KeyError:
        slots = _known[kind] = _slots(kind)
    if slots is None or not slots[1].keys() >= changes.keys():
        return dataclasses.replace(value, **changes)
    read, writes = slots
    made = _bare(kind)
    deque(map(call, writes.values(), repeat(made), read(value)), maxlen=0)
    for name, one in changes.items():
        writes[name](made, one)
    return made


def _slots(kind: type) -> Slots | None:
    """The slots of a class whose objects are nothing but their fields; None for any other."""
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__post_init__") or kind.__dictoffset__ or _sets(kind):
        return None
    fields = dataclasses.fields(kind)
    places = {one.name: getattr(kind, one.name, None) for one in fields if one.init}
    writes: Writes = {name: place.__set__ for name, place in places.items() if isinstance(place, MemberDescriptorType)}
    if len(writes) < max(len(fields), 2):  # of one name `attrgetter` gives no tuple
        return None
    return attrgetter(*writes), writes


def _sets(kind: type) -> bool:
    """Whether a class, or one that it is made of, brings a `__setattr__` of its own; what is frozen has the one that `dataclass` made."""
    brings = [vars(one) for one in kind.__mro__[:-1] if "__setattr__" in vars(one)]
    return not all("__dataclass_params__" in own and own["__dataclass_params__"].frozen for own in brings)


if not TYPE_CHECKING:
    replace = _replace
