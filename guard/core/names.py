"""Names: a reference to a person, together with the real name while that is known. Comes before the model; pure.

It is a text like any other, equal to the reference, so that it is written, compared and counted as such wherever names are; only who asks for the real name
gets it. What is kept holds the reference alone, the payloads excepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Self

from guard.core.replacing import replace

_REFERENCE = re.compile(r"person_[a-p]{40}")


class Name(str):
    """A reference that knows whom it means."""

    __slots__ = ("real",)

    real: str

    def __new__(cls, reference: str, real: str = "") -> Self:
        """The reference, and the real name."""
        made = super().__new__(cls, reference)
        made.real = real
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Name, (str(self), self.real)


def real(name: str) -> str:
    """The real name behind a reference that knows it; else the name as it stands."""
    return (name.real or str(name)) if isinstance(name, Name) else name


def is_reference(name: str) -> bool:
    """Whether a name has the form of a reference to a person."""
    return _REFERENCE.fullmatch(name) is not None


def alike(one: str | None, other: str | None) -> bool:
    """Whether two names stand for one person: equal, or a reference beside the name that it stands for. Detectors change, so that both may be kept."""
    if one is None or other is None:
        return one is other
    if type(one) is str and type(other) is str:  # neither knows whom it means
        return one == other
    return str(one) == str(other) or not _marks(one).isdisjoint(_marks(other))


def distinct(names: Iterable[str]) -> int:
    """How many people these are, each counted once under all of their names."""
    found = tuple(names)
    if len(found) < 2:
        return len(found)
    groups: list[frozenset[tuple[str, str]]] = []
    for name in found:
        marks = _marks(name)
        near = [group for group in groups if not group.isdisjoint(marks)]
        groups = [marks.union(*near), *(group for group in groups if group not in near)]
    return len(groups)


def _marks(name: str) -> frozenset[tuple[str, str]]:
    """What a name is, and whom it means. A bare reference means nobody who is called like it."""
    kept, means = str(name), real(name)
    unknown = means == kept and is_reference(kept)
    return frozenset({("kept", kept)} if unknown else {("kept", kept), ("means", means)})


def pairs(names: Iterable[str | None]) -> dict[str, str]:
    """The references among these names, each with its real name: for a payload."""
    return {str(name): name.real for name in names if isinstance(name, Name) and name.real}


def whole(value: Any, change: Callable[[str], str], fields: Iterable[str]) -> Any:
    """A dataclass with these fields of it changed: names, or tuples of them; None stays."""
    found = {field: getattr(value, field) for field in fields}
    new = {
        field: tuple(map(change, one)) if isinstance(one, tuple) else one if one is None else change(one)
        for field, one in found.items()
    }
    return replace(value, **new)


def restored(name: str, known: dict[str, str]) -> str:
    """A name as it was before it was kept without what it means."""
    return Name(name, known[name]) if name in known else name


def restored_all(found: Any, known: dict[str, str]) -> Any:
    """A name, or each of several; None stays."""
    if isinstance(found, tuple):
        return tuple(restored(one, known) for one in found)
    return None if found is None else restored(found, known)
