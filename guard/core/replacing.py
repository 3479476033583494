"""Replacing: a frozen dataclass with some of its fields changed, as `dataclasses.replace` gives it, in less than half of its time.

Every step of a call makes rows of two dozen fields anew, and the standard way asks each field for its options and calls `__init__` by keywords. This one
copies the slots, as `making` does. A class that does anything else when it is made (`__post_init__`, its own `__setattr__`, fields that `__init__` does not take, no slots) goes the standard
way. Type checkers see the standard function. May not know any class. Comes before everything that replaces.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeAlias

from guard.core.making import copier

if TYPE_CHECKING:
    from dataclasses import replace

__all__ = ["replace"]

Slots: TypeAlias = tuple[Callable[[Any], Any], frozenset[str]]
"""What copies all fields of an object into one whose fields can be set, and their names."""

_known: dict[type, Slots | None] = {}


def _replace(value: Any, /, **changes: Any) -> Any:
    """`value` with these fields changed. Raises TypeError for what is no field, or no dataclass."""
    kind = type(value)
    try:
        slots = _known[kind]
    except KeyError:
        slots = _known[kind] = _slots(kind)
    if slots is None or not slots[1] >= changes.keys():
        return dataclasses.replace(value, **changes)
    made = slots[0](value)
    for name, one in changes.items():
        setattr(made, name, one)
    made.__class__ = kind
    return made


def _slots(kind: type) -> Slots | None:
    """The slots of a class whose objects are nothing but their fields; None for any other."""
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__post_init__") or kind.__dictoffset__ or _sets(kind):
        return None
    fields = dataclasses.fields(kind)
    names = [one.name for one in fields if one.init and isinstance(getattr(kind, one.name, None), MemberDescriptorType)]
    if len(names) < len(fields):
        return None
    return copier(kind, names), frozenset(names)


def _sets(kind: type) -> bool:
    """Whether a class, or one that it is made of, brings a `__setattr__` of its own; what is frozen has the one that `dataclass` made."""
    brings = [vars(one) for one in kind.__mro__[:-1] if "__setattr__" in vars(one)]
    return not all("__dataclass_params__" in own and own["__dataclass_params__"].frozen for own in brings)


if not TYPE_CHECKING:
    replace = _replace
