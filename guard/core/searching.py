"""Searching: a stored audit record, and which records somebody looks for. No store is touched here; comes before the ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from guard.core.log import Sealed
from guard.core.values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """Which audit records are looked for: those that meet every field that is given.

    Times are seconds since the epoch, `since` included and `until` not. A kind may end with `*`. `person` finds the records of one principal, and
    those with one of `tags`, the keyed hashes of a personal value. `newest` is the order; `behind` goes on behind one record (microseconds,
    chain, seq) in that order. `asked` finds what belongs to some approval. Of what is kept under several
    names (a conversation, a person), and of approvals, all may be given. Texts are compared by their first 200 characters.
    """

    since: float | None = None
    until: float | None = None
    kinds: tuple[str, ...] = ()
    tenant: str | None = None
    conversation: str | tuple[str, ...] | None = None
    turn: int | None = None
    position: int | None = None
    call: str | None = None
    approval: str | tuple[str, ...] | None = None
    tool: str | None = None
    verdict: str | None = None
    state: str | None = None
    reason: str | None = None
    actor: str | tuple[str, ...] | None = None
    principal: str | tuple[str, ...] | None = None
    person: str | tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    spoof: bool = False
    shadow: bool = False
    asked: bool = False
    newest: bool = True
    behind: tuple[int, int, int] | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """What is filed about one record, so that it can be found: copies of values of its body by column, and the keyed hashes in it."""

    seq: int
    columns: dict[str, Any]
    tags: frozenset[str]


def either(wanted: Any) -> tuple[Any, ...]:
    """The values any of which will do."""
    return wanted if isinstance(wanted, tuple) else (wanted,)


PLAIN = (
    "tenant",
    "conversation",
    "turn",
    "position",
    "call",
    "approval",
    "tool",
    "verdict",
    "state",
    "reason",
    "actor",
    "principal",
)
"""Fields of `Sought` that a record meets by having the same value."""

GROUPS = ("day", "kind", "tenant", "tool", "verdict", "state", "reason", "actor", "principal", "spoof", "shadow")
"""By what records can be counted; a day is its number since the epoch."""


class SearchStore(Protocol):
    """The part of a store that finds audit records. Every method is one transaction and changes nothing."""

    def search(self, sought: Sought) -> tuple[Sealed, ...]:
        """The audit records of all chains that meet `sought`, found by an index where the store lasts."""

    def tally(self, sought: Sought, by: tuple[str, ...]) -> tuple[tuple[tuple[Json, ...], int], ...]:
        """How many records meet `sought`, for each combination of values of `by` (of `searching.GROUPS`), in their order."""

    def filed(self, sought: Sought, names: tuple[str, ...]) -> tuple[tuple[Json, ...], ...]:
        """These columns of what is filed about the records that meet `sought`, in its order: for who counts, without reading bodies."""

    def copies(self, *, chain: int = 0, after: int = 0, limit: int = 1000) -> tuple[Filed, ...]:
        """What is filed about the records of one chain behind `after`: copies that who verifies holds against the bodies."""
