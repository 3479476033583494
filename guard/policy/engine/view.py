"""View: what a matcher sees as `r.ctx`: a read-only thing with only the attributes that the policy names.

A model decides how large its arguments are and what their keys are called; here neither costs anything nor reaches a method. What is missing
raises when it is read. Comes before engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NoReturn

from guard.core.values import Json

_Tree = dict[str, "_Tree"]


class Many:
    """A list or mapping as a leaf: it can be asked `in` and compared, nothing else."""

    __slots__ = ("_held",)
    _held: Any

    def __init__(self, held: Any) -> None:
        object.__setattr__(self, "_held", held)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a view cannot be changed")

    def __contains__(self, value: object) -> bool:
        return any(leaf(one) == value and isinstance(one, bool) == isinstance(value, bool) for one in self._held)

    def __eq__(self, other: object) -> bool:
        return bool(self._held == (other._held if isinstance(other, Many) else other))

    __hash__ = None  # type: ignore[assignment]


def leaf(value: Json) -> Any:
    """One value as a matcher sees it: floats by their digits, what holds other values closed."""
    if isinstance(value, float):
        return Decimal(repr(value))
    return Many(value) if isinstance(value, Mapping | list | tuple) else value


def view_of(paths: Iterable[tuple[str, ...]]) -> Callable[[Mapping[str, Json]], object]:
    """What makes a view of a scope; `paths` are the attributes that the policy names."""
    tree: _Tree = {}
    for path in paths:
        here = tree
        for name in path:
            here = here.setdefault(name, {})
    return _maker(tree)


def _maker(tree: _Tree) -> Callable[[Mapping[str, Json]], object]:
    below = {name: _maker(inner) if inner else leaf for name, inner in tree.items()}
    kind: Any = type("View", (_Closed,), {"__slots__": tuple(tree)})

    def make(values: Json) -> object:
        made = kind()
        for name, value in _named(values, below):
            object.__setattr__(made, name, value)
        return made

    return make


def _named(values: Json, below: Mapping[str, Callable[[Any], object]]) -> Iterator[tuple[str, object]]:
    if isinstance(values, Mapping):
        yield from ((name, make(values[name])) for name, make in below.items() if name in values)


class _Closed:
    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a view cannot be changed")
