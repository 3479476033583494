"""Replacing: what comes back is what `dataclasses.replace` gives, whatever the class."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import pytest
from stores_kit import key, outcome, proposal, row

from guard import Session
from guard.core.replacing import replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """Fields that another class takes over."""

    a: int = 1
    b: str = "b"


@dataclass(frozen=True, slots=True, kw_only=True)
class More(Base):
    """Its own field behind those of its base."""

    c: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class One:
    """A single field."""

    a: int


@dataclass(frozen=True)
class Wide:
    """Without slots."""

    a: int
    b: int = 2


@dataclass(frozen=True, slots=True)
class Checked:
    """Refuses some values when it is made."""

    a: int
    b: int = 0

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("below zero")


@dataclass(frozen=True, slots=True)
class Counted:
    """Has a field that is not given."""

    a: int
    b: int = field(default=7, init=False)


@dataclass(slots=True)
class Loose:
    """May be changed in place."""

    a: int
    b: int


@dataclass(slots=True)
class Watched:
    """Refuses some values whenever they are set."""

    a: int
    b: int

    def __setattr__(self, name: str, value: Any) -> None:
        if value < 0:
            raise ValueError("below zero")
        object.__setattr__(self, name, value)


@dataclass(slots=True)
class Heir(Watched):
    """Takes that over."""

    c: int = 0


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "row": (row("started"), {"status": "done", "at": 3.0}),
    "key": (key(1), {"turn": 4}),
    "outcome": (outcome(), {"status": "failed"}),
    "approval": (proposal(now=1.0), {"status": "approved", "decided_by": "b1"}),
    "session": (Session(principal="u", roles=("a",)), {"roles": ("b",)}),
    "nothing": (row("started"), {}),
    "taken over": (More(), {"a": 2, "c": (1,)}),
    "one field": (One(1), {"a": 2}),
    "no slots": (Wide(1), {"b": 3}),
    "checked": (Checked(1), {"b": 3}),
    "not given": (Counted(1), {"a": 3}),
    "loose": (Loose(1, 2), {"b": 3}),
    "watched": (Watched(1, 2), {"b": 3}),
}


@pytest.mark.parametrize(("value", "changes"), CASES.values(), ids=CASES)
def test_it_gives_what_the_standard_function_gives(value: Any, changes: dict[str, Any]) -> None:
    """Of the same class, equal, with the same hash and text, and the one it was made of is as it was."""
    before = repr(value)
    made, standard = replace(value, **changes), dataclasses.replace(value, **changes)
    assert (type(made), made, repr(made)) == (type(standard), standard, repr(standard))
    assert repr(value) == before
    assert made is not value


@pytest.mark.parametrize(
    ("value", "changes", "kind"),
    [
        (row("started"), {"nothing": 1}, TypeError),
        (Checked(1), {"a": -1}, ValueError),
        (Counted(1), {"b": 1}, ValueError),
        (Watched(1, 2), {"a": -1}, ValueError),
        (Heir(1, 2), {"a": -1}, ValueError),
        ("text", {"a": 1}, TypeError),
    ],
    ids=["no field", "refused", "not given", "watched", "heir", "no dataclass"],
)
def test_it_raises_what_the_standard_function_raises(value: Any, changes: dict[str, Any], kind: type[Exception]) -> None:
    """A name that is no field, a value that the class refuses, a field that is not given, and what is no dataclass."""
    with pytest.raises(kind):
        replace(value, **changes)
    with pytest.raises(kind):
        dataclasses.replace(value, **changes)


def test_what_is_frozen_stays_frozen() -> None:
    """The new value cannot be changed in place either."""
    made = replace(More(), a=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.a = 3  # type: ignore[misc]
