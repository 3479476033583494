"""Changes: one difference between two policies, and which way it goes.

A direction that cannot be told counts as one that may widen, so that nobody is reassured by what was not understood. Comes first in this
package; pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from guard.core.values import encode

T = TypeVar("T")


class Direction(StrEnum):
    """Which way a difference goes, the gravest first."""

    WIDENS = "widens"  # something is permitted, shown or run that was not
    MAYBE = "may widen"  # it cannot be told
    NARROWS = "narrows"
    CHANGES = "changes"  # a reason, a word, an order: nothing more is permitted and nothing less


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference. `subject` is what it is about (`tool refund`, `limits`), `what` the fact; `old` and `new` are words for people.

    A place is `file:line`, empty where a side does not say anything. `note` is an example or the reason for the direction.
    """

    direction: Direction
    subject: str
    what: str
    old: str = ""
    new: str = ""
    old_place: str = ""
    new_place: str = ""
    note: str = ""

    @property
    def widens(self) -> bool:
        """Whether somebody should look at it before it is used."""
        return self.direction in {Direction.WIDENS, Direction.MAYBE}


@dataclass(frozen=True, slots=True)
class Fact:
    """A difference without its place: what, which way, and both sides in words."""

    direction: Direction
    what: str
    old: str = ""
    new: str = ""
    note: str = ""


def most(old: T | None, new: T | None) -> Direction | None:
    """The direction of an upper bound; None is no bound at all."""
    if old == new:
        return None
    if new is None:
        return Direction.WIDENS
    if old is None:
        return Direction.NARROWS
    return Direction.WIDENS if new > old else Direction.NARROWS  # type: ignore[operator]  # bounds are numbers of one kind


def loosened(old: bool, new: bool) -> Direction | None:  # noqa: FBT001 - both sides of one flag
    """The direction of a flag that permits more when it is set."""
    return None if old == new else Direction.WIDENS if new else Direction.NARROWS


def tightened(old: bool, new: bool) -> Direction | None:  # noqa: FBT001 - as above
    """The direction of a flag that permits less when it is set."""
    return loosened(new, old)


def demands(old: Iterable[T], new: Iterable[T]) -> Direction | None:
    """The direction of a set of demands that must all be met."""
    return permits(new, old)


def permits(old: Iterable[T], new: Iterable[T]) -> Direction | None:
    """The direction of a set of things that are each permitted."""
    before, after = set(old), set(new)
    if before == after:
        return None
    return Direction.WIDENS if before < after else Direction.NARROWS if after < before else Direction.MAYBE


def fact(direction: Direction | None, what: str, old: object, new: object, note: str = "") -> Iterator[Fact]:
    """The fact, where there is a difference."""
    if direction is not None:
        yield Fact(direction, what, words(old), words(new), note)


def words(value: object) -> str:
    """A value of a policy in words."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence | set | frozenset):
        return ", ".join(map(words, value)) or "-"
    try:
        return encode(value)
    except (TypeError, ValueError):
        return str(value)


def matched(old: Sequence[T], new: Sequence[T], same: Callable[[T], object]) -> tuple[list[T], list[T]]:
    """What is left of two lists when everything that both have is taken away."""
    left = list(new)
    gone = []
    for one in old:
        twin = next((other for other in left if same(other) == same(one)), None)
        if twin is None:
            gone.append(one)
        else:
            left.remove(twin)
    return gone, left
