"""Erasing: what is left of calls whose raw values go, and the record that says so. The chain stays whole: no record is touched.

Used by the stores' callers with `Erase`; a store erases in one transaction a conversation. Comes after `answer`; pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import inf
from typing import Protocol

from guard.core import names
from guard.core.grants import ERASED, Grant
from guard.core.kills import Kill
from guard.core.model import Approval
from guard.core.ports import CallRow, Event
from guard.core.replacing import replace
from guard.core.values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What was erased in one conversation: places of calls, ids of approvals and grants, how often the user spoke. `left` are calls that are not over yet.

    Kills belong to no conversation: `kills` are those of one tenant, or of none, and then nothing else was erased.
    """

    tenant: str
    conversation: str
    principal: str
    calls: tuple[tuple[int, int], ...] = ()
    approvals: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    words: int = 0
    kills: tuple[str, ...] = ()
    left: tuple[tuple[int, int], ...] = ()

    @property
    def anything(self) -> bool:
        """Whether there was something to erase."""
        return bool(self.calls or self.words or self.grants or self.kills)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseKills:
    """Of which kills names and reasons go: of those that were cleared at this time or before. What each stopped, and when, is left.

    With `whose`, which says whether a name in a kill is a person's: of every kill, but only what that person is called and wrote. A reason goes once the kill is
    cleared: who has to judge whether one in force may be cleared needs to know it.
    """

    event: Callable[[Erased], Event]
    before: float = inf
    whose: Callable[[Kill, str], bool] | None = None


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

    def erase_kills(self, command: EraseKills, limit: int) -> tuple[Erased, ...]:
        """Erase in one transaction what so many kills hold of persons, on record; by tenant."""

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


def bare_kill(kill: Kill) -> Kill:
    """A kill that was cleared, without anybody's data: what it stopped, when, and how many approvals it ended are left."""
    return replace(kill.calling(str), reason="", cleared_why="")


def kill_without(kill: Kill, whose: Callable[[Kill, str], bool]) -> Kill:
    """A kill without what one person is called and wrote. See EraseKills."""
    made = kill.calling(lambda name: str(name) if whose(kill, name) else name)
    if kill.cleared_at is None:
        return made
    made = replace(made, reason="") if whose(kill, kill.by) else made
    return replace(made, cleared_why="") if whose(kill, kill.cleared_by or "") else made


def tells(kill: Kill) -> tuple[str | None, ...]:
    """What a kill holds that can be erased."""
    return (kill.reason, kill.cleared_why, *names.pairs(kill.people).values())


def erased(found: Erased, actor: Mapping[str, Json], reason: str) -> Event:
    """The record of an erasure. `reason` is redacted already."""
    return {
        "kind": "payload.erased",
        **{name: whose for name in ("tenant", "conversation", "principal") if (whose := getattr(found, name)) or not found.kills},
        "actor": dict(actor),
        "reason": reason,
        "priv": {"erased": True},
        "erased": {
            "calls": [list(place) for place in found.calls],
            "approvals": list(found.approvals),
            **({"grants": list(found.grants)} if found.grants else {}),
            **({"kills": list(found.kills)} if found.kills else {}),
            "words": found.words,
        },
    }
