"""Making: frozen dataclasses with slots that are made, and copied, in half of the time, by the same call and with the same fields.

What `dataclass` writes for a frozen class sets each field through a call of its own; a step of a call makes some fifty objects with three hundred fields. Here
an object is for the time of its making one of a class beside its own whose fields can be set, and becomes what it is as the last step: nobody sees it before. A
class that does anything else when it is made (`__post_init__`, no slots, fields that `__init__` does not take) stays as it is, and so do classes made
of it. May not know any class. Comes before everything that is made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field
from types import CodeType, FunctionType
from typing import Any

__all__ = ["copier", "quicken"]

_become = object.__dict__["__class__"].__set__
_open: dict[type, type] = {}


def quicken(*kinds: type) -> None:
    """Have objects of these classes made quicker, where nothing about a class forbids it."""
    for kind in kinds:
        if _plain(kind):
            kind.__init__ = _init(kind)  # type: ignore[misc]


def copier(kind: type, names: Iterable[str]) -> Callable[[Any], Any]:
    """What copies these fields, which are slots, of an object of this class. The copy can be changed until it is made one of its class."""
    lines = ["def copy(value):", " made = _new(_open)", *(f" made.{name} = value.{name}" for name in names), " return made"]
    return FunctionType(_code(lines), {"_new": object.__new__, "_open": _beside(kind)}, "copy")


def _beside(kind: type) -> type:
    """The class beside a class: its fields can be set, and its objects may become those of the class."""
    if kind not in _open:
        sets = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}  # both, or neither is quick
        _open[kind] = type(kind.__name__, (kind,), {"__slots__": (), "__module__": kind.__module__, **sets})
    return _open[kind]


def _plain(kind: type) -> bool:
    """Whether objects of a class are nothing but their fields, all of which `__init__` takes."""
    if not dataclasses.is_dataclass(kind) or kind.__dictoffset__ or hasattr(kind, "__post_init__"):
        return False
    own = "__init__" in vars(kind) and "__setattr__" in vars(kind) and vars(kind)["__dataclass_params__"].frozen
    return own and all(one.init for one in dataclasses.fields(kind))


class _Absent:
    """Stands for a field that was not given and is made anew for each object."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<factory>"


_ABSENT = _Absent()


def _init(kind: type) -> Any:
    """`__init__` with the signature that it had."""
    old, fields = vars(kind)["__init__"], dataclasses.fields(kind)
    known = {"_kind": kind, "_open": _beside(kind), "_become": _become, "_absent": _ABSENT, "_set": object.__setattr__}
    made = FunctionType(_code(_lines(fields)), known | _makers(fields), "__init__")
    made.__defaults__ = tuple(_default(one) for one in fields if not one.kw_only and _optional(one))
    made.__kwdefaults__ = {one.name: _default(one) for one in fields if one.kw_only and _optional(one)}
    made.__annotations__, made.__qualname__, made.__module__ = old.__annotations__, old.__qualname__, old.__module__
    return made


def _optional(one: Field[Any]) -> bool:
    return one.default is not MISSING or one.default_factory is not MISSING


def _default(one: Field[Any]) -> Any:
    return one.default if one.default is not MISSING else _ABSENT


def _makers(fields: tuple[Field[Any], ...]) -> dict[str, Any]:
    return {f"_make_{one.name}": one.default_factory for one in fields if one.default_factory is not MISSING}


def _lines(fields: tuple[Field[Any], ...]) -> list[str]:
    """The text of `__init__`: nothing of a field but its name stands in it."""
    plain, named = ([one.name for one in fields if one.kw_only is kw_only] for kw_only in (False, True))
    return [
        f"def __init__({', '.join(['self', *plain, *(['*', *named] if named else [])])}):",
        " if self.__class__ is _kind:",
        "  _become(self, _open)",
        *(f"  self.{one.name} = {_value(one)}" for one in fields),
        "  self.__class__ = _kind",
        " else:",  # of a class made of it
        *(f"  _set(self, {one.name!r}, {_value(one)})" for one in fields),
    ]


def _value(one: Field[Any]) -> str:
    if one.default_factory is MISSING:
        return one.name
    return f"_make_{one.name}() if {one.name} is _absent else {one.name}"


def _code(lines: list[str]) -> CodeType:
    """The code of the one function in these lines."""
    module = compile("\n".join(lines), "<making>", "exec")
    return next(found for found in module.co_consts if isinstance(found, CodeType))
