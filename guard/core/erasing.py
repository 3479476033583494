"""Erasing: what is left of calls whose raw values go, and the record that says so. The chain stays whole: no record is touched.

Used by the stores' callers with `Erase`; a store erases in one transaction a conversation. Comes after `answer`; pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import inf
from typing import Protocol

from guard.core.grants import ERASED, Grant
from guard.core.model import Approval
from guard.core.ports import CallRow, Event
from guard.core.replacing import replace
from guard.core.values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What was erased in one conversation: places of calls, ids of approvals and grants, how often the user spoke. `left` are calls that are not over yet."""

    tenant: str
    conversation: str
    principal: str
    calls: tuple[tuple[int, int], ...] = ()
    approvals: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    words: int = 0
    left: tuple[tuple[int, int], ...] = ()

    @property
    def anything(self) -> bool:
        """Whether there was something to erase."""
        return bool(self.calls or self.words or self.grants)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    """What to erase in one conversation: the calls at these places (None: all that are over), and older words and handles with them.

    Grants that came from these calls end with them, unless `grants_over` is a time: then only those that were over by then are erased, of every call.
    """

    home: tuple[str, str]
    row: Callable[[CallRow], CallRow]
    event: Callable[[Erased], Event]
    only: Collection[tuple[int, int]] | None = None
    words_before: float = inf  # what the user said at this time or before
    grants_over: float | None = None
    handles_before: float = inf  # what stands behind handles that were last given out before


class Erasing(Protocol):
    """What a store that lasts can do besides the port."""

    def erase(self, command: Erase) -> Erased:
        """Erase in one transaction, on record."""

    def unerasable(self, home: tuple[str, str], only: Collection[tuple[int, int]] | None) -> Erased:
        """The calls of these places (None: of all of the conversation) that an erasure would leave, since they are not over."""

    def aged(self, before: float, limit: int) -> Mapping[tuple[str, str], frozenset[tuple[int, int]]]:
        """Calls that were over by this time, by conversation; the oldest so many."""

    def aged_grants(self, before: float, limit: int) -> tuple[tuple[str, str], ...]:
        """The conversations of grants that may have been over by this time and are not erased yet."""

    def homes(self, principal: str | None, name: str | None) -> tuple[tuple[str, str], ...]:
        """The conversations of a person, or of this name, of all tenants."""


def bare(approval: Approval) -> Approval:
    """An approval that is over, without anybody's data: who was asked, who decided and when is left, as they are kept."""
    known = approval.calling(str)
    votes = tuple(replace(vote, reason=None, note=None) for vote in known.votes)
    kept = replace(known, arguments={}, origins={}, show=(), call_id="", reason=None, effect="", votes=votes, veil="")
    return replace(kept, edited_why="", words=replace(approval.words, text=""))


def bare_grant(grant: Grant) -> Grant:
    """A grant that is over, without anybody's data: whose calls it was for, who gave it, when, and how far it was used are left."""
    return replace(grant.calling(str), constraint=ERASED, salt="", veil="", reason=None, revoked_why=None)


def erased(found: Erased, actor: Mapping[str, Json], reason: str) -> Event:
    """The record of an erasure. `reason` is redacted already."""
    return {
        "kind": "payload.erased",
        "tenant": found.tenant,
        "conversation": found.conversation,
        "principal": found.principal,
        "actor": dict(actor),
        "reason": reason,
        "priv": {"erased": True},
        "erased": {
            "calls": [list(place) for place in found.calls],
            "approvals": list(found.approvals),
            **({"grants": list(found.grants)} if found.grants else {}),
            "words": found.words,
        },
    }
