"""The outbox: how what leaves the audit for other places remembers how far it got. The audit itself holds what is to be sent.

A follower of a sink reads records behind its cursor in each chain, holds a lease while it sends, and writes down where it stands. Comes after ports;
data and one protocol only. The rules are in `guard.stores.outbox`, whoever sends is in `guard.sinks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from guard.core.ports import Event, Sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A record that a sink did not take and that was set aside: which one, when, after how many tries, and why."""

    chain: int
    seq: int
    at: float = 0.0
    tries: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkState:
    """Where a sink stands. `cursors` holds the number of the last record of each chain that it is done with."""

    sink: str
    holder: str = ""
    lease: float = 0.0
    failures: int = 0  # in a row
    due: float = 0.0  # nothing is tried before
    error: str = ""  # the last failure, in words without data; empty after a success
    sent: int = 0
    sent_at: float | None = None
    dropped: int = 0
    letters: int = 0
    cursors: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """What one attempt to send changed. `events` are records about it, written in the same transaction."""

    sink: str
    cursors: Mapping[int, int] = field(default_factory=dict)
    letters: Sequence[Letter] = ()
    delivered: Sequence[Letter] = ()  # letters that arrived after all, or are given up
    failures: int = 0
    due: float = 0.0
    error: str = ""
    sent: int = 0
    dropped: int = 0
    events: Sequence[Event] = ()


class Outbox(Protocol):
    """What a follower needs of a store. Raises StoreError and nothing else."""

    chains: int

    def now(self) -> float:
        """Seconds since the epoch by the store's clock."""

    def standing(self, sink: str) -> SinkState | None:
        """Where a sink stands; None for one that never sent."""

    def sinks(self) -> tuple[SinkState, ...]:
        """All that ever sent, by name."""

    def ends(self) -> Mapping[int, int]:
        """The number of the newest record of each chain that has one."""

    def behind(self, cursors: Mapping[int, int], limit: int, first: int = 0) -> tuple[Sealed, ...]:
        """At most so many records behind the cursors, each chain in its order, beginning with the chain `first`."""

    def seize(self, sink: str, sign: str, lease: float, *, newest: bool = False) -> SinkState | None:
        """Take the right to send for so many seconds; None while somebody else has it. `newest`: a new sink begins behind what is there already."""

    def advance(self, sign: str, change: Advance) -> bool:
        """Write down what was done and give the right back; False, and nothing written, where somebody else has it by now."""

    def letters(self, sink: str, limit: int) -> tuple[Letter, ...]:
        """What was set aside, oldest first."""

    def record(self, letter: Letter) -> Sealed | None:
        """The record that a letter is about."""
