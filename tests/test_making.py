"""Making: a class whose objects are made quicker is the same class in everything else."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any

import pytest

from guard.core.commands import CallRow
from guard.core.making import quicken
from guard.core.model import CallKey, Outcome, Refusal
from guard.core.replacing import replace


@dataclass(frozen=True, slots=True)
class Mixed:
    """Fields by place and by name, given and made anew."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    d: int = field(kw_only=True)
    e: dict[str, int] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class Checked:
    """Refuses some values when it is made."""

    a: int

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("below zero")


@dataclass(frozen=True)
class Wide:
    """Without slots."""

    a: int = 1


@dataclass(slots=True)
class Open:
    """Not frozen."""

    a: int = 1


BEFORE = inspect.signature(Mixed)
INITS = {kind: kind.__init__ for kind in (Checked, Wide, Open)}
quicken(Mixed, Checked, Wide, Open)


class Loose(Mixed):
    """Made of a quick class, and with room for anything."""


@dataclass(frozen=True, slots=True)
class Longer(Mixed):
    """One field more."""

    f: int = field(default=6, kw_only=True)


def test_fields_are_those_that_were_given() -> None:
    """Each field has what was given, its default, or something made for this object alone."""
    one, other = Mixed(1, d=4), Mixed(a=1, b="b", c=[], d=4, e={})
    assert one == other
    assert (one.a, one.b, one.c, one.d, one.e) == (1, "b", [], 4, {})
    assert one.c is not Mixed(1, d=4).c
    assert repr(one) == "Mixed(a=1, b='b', c=[], d=4, e={})"


def test_it_is_called_as_before() -> None:
    """Names, order and kinds of what it takes are as before; what is missing, or too much, is a TypeError."""
    after = inspect.signature(Mixed)
    assert [(one.name, one.kind) for one in after.parameters.values()] == [
        (one.name, one.kind) for one in BEFORE.parameters.values()
    ]
    for given in ({}, {"a": 1}, {"a": 1, "d": 2, "x": 3}):
        with pytest.raises(TypeError):
            Mixed(**given)
    with pytest.raises(TypeError):
        Mixed(1, "b", [], 4)  # type: ignore[misc,call-arg]


@pytest.mark.parametrize("made", [Mixed(1, d=4), Loose(1, d=4), Longer(1, d=4)], ids=lambda one: type(one).__name__)
def test_it_stays_frozen_and_its_own_class(made: Any) -> None:
    """The object is one of its class and of no other, can be copied, stored and replaced, and no field of it can be set or dropped."""
    kind = type(made)
    assert kind in (Mixed, Loose, Longer)
    for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)), replace(made)):  # noqa: S301 - its own
        assert type(again) is kind
        assert again == made
    with pytest.raises(FrozenInstanceError):
        made.a = 2
    with pytest.raises(FrozenInstanceError):
        del made.a
    assert type(replace(made, a=5)) is kind
    assert replace(made, a=5).a == 5
    with pytest.raises(FrozenInstanceError):
        replace(made, a=5).a = 6


@pytest.mark.parametrize("kind", list(INITS), ids=lambda kind: kind.__name__)
def test_what_does_more_is_left_alone(kind: type) -> None:
    """A class that checks what it is given, has no slots, or is not frozen is made as before."""
    assert kind.__init__ is INITS[kind]  # type: ignore[misc]


def test_checks_still_refuse() -> None:
    """Nothing that a class refuses gets in."""
    with pytest.raises(ValueError, match="below zero"):
        Checked(-1)


@pytest.mark.parametrize("kind", [CallRow, CallKey, Outcome, Refusal], ids=lambda kind: kind.__name__)
def test_classes_of_the_walk_are_quick(kind: Any) -> None:
    """These are made for each call, and their `__init__` has the names and defaults of their fields."""
    taken = inspect.signature(kind).parameters
    assert list(taken) == [one.name for one in dataclasses.fields(kind)]
    assert kind.__init__.__code__.co_filename == "<making>"
    for one in dataclasses.fields(kind):
        if one.default is not dataclasses.MISSING:
            assert taken[one.name].default == one.default
