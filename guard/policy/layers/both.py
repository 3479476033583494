"""Both: one key as a wider and a narrower layer write it, and how a mistake about the two is told. Comes before the rules for each key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from guard.core.values import canonical, equal
from guard.policy import language
from guard.policy.problems import Problems
from guard.policy.source import Item

Ceiling: TypeAlias = Mapping[str, float]
"""The ceilings of the wider layers, those that nobody wrote included, by their keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """One key of one tool. `wide` is None where the wider layers have an entry for the tool without this key; `entry` is that entry.

    `defined` is False as long as no wider layer says of which kind the tool is: then what the tool is may still be said.
    """

    what: str
    wide: Item | None
    narrow: Item
    entry: Item
    defined: bool
    ceilings: Ceiling
    problems: Problems

    @property
    def first(self) -> bool:
        """Whether the narrower layer is the first to say what the tool is."""
        return self.wide is None and not self.defined

    @property
    def same(self) -> bool:
        """Whether both write the same value."""
        return self.wide is not None and equal(self.wide.value, self.narrow.value)

    def loosens(self, why: str, cure: str, *, wide: Item | None = None, narrow: Item | None = None) -> None:
        """Report that the narrower layer is not tighter; `why` says how, as in `60s is more than 30s`."""
        spot = wide or self.wide or self.entry
        self.problems.error(narrow or self.narrow, f"{self.what}: {why} at {at(spot)}", cure, code="layer-loosens")


def at(item: Item) -> str:
    """`file:line` of a value."""
    return item.file if item.line is None else f"{item.file}:{item.line}"


def mapping(spot: Item, fields: Mapping[str, Item], *, added: bool = False) -> Item:
    """A mapping of these fields that stands where `spot` does."""
    value = {name: below.value for name, below in fields.items()}
    return Item(spot.file, spot.line, value, fields=dict(fields), added=added)


def listed(spot: Item, items: Sequence[Item]) -> Item:
    """A list of these items that stands where `spot` does."""
    return Item(spot.file, spot.line, [one.value for one in items], items=list(items))


def parts(item: Item | None) -> list[Item]:
    """The items of a list, or the one value that stands for a list of one."""
    return [] if item is None else item.items if isinstance(item.value, list) else [item]


def together(wide: Item | None, narrow: Item) -> Item:
    """A list of what both write, each once."""
    seen: set[str] = set()
    found: list[Item] = []
    for one in (*parts(wide), *parts(narrow)):
        mark = canonical(one.value)
        if mark not in seen:
            found.append(one)
        seen.add(mark)
    return listed(wide or narrow, found) if found else narrow


def words(item: Item | None) -> list[str]:
    """A text or a list of texts, without anything that is none; whoever compiles reports that."""
    return [one.value for one in parts(item) if isinstance(one.value, str)]


def seconds(item: Item | None) -> float | None:
    """A duration; what is none is reported by whoever compiles it."""
    return language.duration(item, Problems(), "") if item is not None else None
