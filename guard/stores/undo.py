"""Undo: changes of dicts and lists that can be taken back. What makes a transaction of the memory store whole.

The way back is written down before each change, and may be walked again from anywhere, so that an interrupt at any step costs nothing. Not
safe for several threads. Comes before `memory`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")
_ABSENT: Any = object()


class Undo:
    """Makes changes and remembers how to take them back."""

    __slots__ = ("_log",)

    def __init__(self) -> None:
        self._log: list[tuple[Callable[..., None], Any, Any, Any]] = []

    def put(self, table: dict[K, V], key: K, value: V) -> None:
        """Do `table[key] = value`."""
        self._log.append((_restore, table, key, table.get(key, _ABSENT)))
        table[key] = value

    def drop(self, table: dict[K, V], key: K) -> None:
        """Do `del table[key]`, where there is one."""
        self._log.append((_restore, table, key, table.get(key, _ABSENT)))
        table.pop(key, None)

    def append(self, items: list[V], item: V) -> None:
        """Do `items.append(item)`."""
        self._log.append((_cut, items, len(items), None))
        items.append(item)

    def insert(self, items: list[Any], item: Any) -> None:
        """Put an item into a sorted list of distinct ones."""
        self._log.append((_without, items, item, None))
        insort(items, item)

    def remove(self, items: list[Any], item: Any) -> None:
        """Take an item out of a sorted list of distinct ones."""
        self._log.append((_within, items, item, None))
        _without(items, item)

    def swap(self, items: list[V], new: list[V]) -> None:
        """Do `items[:] = new`."""
        self._log.append((_whole, items, list(items), None))
        items[:] = new

    def keep(self) -> None:
        """From here on there is no way back: the one step that makes everything since the last `keep` count."""
        self._log.clear()

    def back(self) -> None:
        """Take back everything since the last `keep`."""
        while self._log:
            step, target, key, value = self._log[-1]
            step(target, key, value)
            self._log.pop()


def _restore(table: dict[Any, Any], key: Any, value: Any) -> None:
    if value is _ABSENT:
        table.pop(key, None)
    else:
        table[key] = value


def _whole(items: list[Any], before: list[Any], _: None) -> None:
    items[:] = before


def _cut(items: list[Any], length: int, _: None) -> None:
    del items[length:]


def _without(items: list[Any], item: Any, _: None = None) -> None:
    at = bisect_left(items, item)
    if at < len(items) and items[at] == item:
        del items[at]


def _within(items: list[Any], item: Any, _: None) -> None:
    at = bisect_left(items, item)
    if at == len(items) or items[at] != item:
        items.insert(at, item)
