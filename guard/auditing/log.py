"""Log: what is read of a store by whoever only looks: a part of the `Store` port, and walks over it that hold a page at a time.

A whole store is one, and so is a file that is opened for reading alone (`guard.stores.log`). Comes after the stores.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

from guard.auditing.entry import Entry, entry
from guard.core.log import Head, Sealed, Segment
from guard.core.searching import Sought
from guard.core.values import Json
from guard.stores import filing

PAGE = 2000  # records that are held at a time


class Log(Protocol):
    """The records of a store, to be read."""

    chains: int
    secret: bytes

    def search(self, sought: Sought) -> tuple[Sealed, ...]:
        """See `Store`."""

    def tally(self, sought: Sought, by: tuple[str, ...]) -> tuple[tuple[tuple[Json, ...], int], ...]:
        """See `Store`."""

    def filed(self, sought: Sought, names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
        """See `Store`."""

    def audit(self, *, chain: int = 0, after: int = 0, limit: int | None = None) -> tuple[Sealed, ...]:
        """See `Store`."""

    def beginnings(self) -> Mapping[int, Head]:
        """See `Store`."""

    def segments(self) -> tuple[Segment, ...]:
        """See `Store`."""

    def now(self) -> float:
        """See `Store`."""


def every(log: Log) -> Iterator[Entry]:
    """Every record, also one that cannot be read: in order of its chain, chains merged by time."""
    return heapq.merge(*(_chain(log, chain) for chain in range(log.chains)), key=lambda one: one.text("ts"))


def _chain(log: Log, chain: int) -> Iterator[Entry]:
    after = 0
    while page := log.audit(chain=chain, after=after, limit=PAGE):
        yield from map(entry, page)
        after = page[-1].seq


def found(log: Log, sought: Sought) -> Iterator[Entry]:
    """The records that are looked for, in the order and up to the number asked for."""
    left = sought.limit
    while left is None or left > 0:
        page = log.search(replace(sought, limit=PAGE if left is None else min(PAGE, left)))
        yield from map(entry, page)
        if len(page) < PAGE:
            return
        left = None if left is None else left - len(page)
        sought = replace(sought, behind=place(page[-1]))


def place(sealed: Sealed) -> tuple[int, int, int]:
    """Where a record stands in the order of searches."""
    return filing.micros(entry(sealed).text("ts")), sealed.chain, sealed.seq


def size(log: Log) -> int:
    """How many records there are."""
    return sum(number for _, number in log.tally(Sought(), ()))


def tenants(log: Log) -> tuple[str, ...]:
    """The tenants that records name."""
    return tuple(str(name) for (name,), _ in log.tally(Sought(), ("tenant",)) if name is not None)
