"""Kills: an operator's stop for a tool, a conversation, a tenant, or what is all of those together: whose calls it covers, and what they are told.

While one is in force every new call that it covers is refused, whatever permits it, and what was held or approved for such a call has ended. A call that has
begun goes on. Frozen data. Comes after the model and before commands; imports no room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from guard.core import names
from guard.core.approval import Assurance, Via
from guard.core.model import Refusal
from guard.core.reasons import Reason
from guard.core.values import JsonObject

GONE: Final = "(erased)"
"""What people read in the place of a reason that was erased."""


@dataclass(frozen=True, slots=True)
class Stop:
    """What a kill covers: the calls that meet every field that is not None. What a walk is told of a kill."""

    id: str
    tenant: str | None = None
    conversation: str | None = None
    tool: str | None = None

    def covers(self, home: tuple[str, str], tool: str) -> bool:
        """Whether calls of this tool in this conversation (tenant, conversation) are stopped."""
        return self.reaches(home) and self.tool in (None, tool)

    def reaches(self, home: tuple[str, str]) -> bool:
        """Whether some call of this conversation may be stopped."""
        tenant, conversation = home
        return self.tenant in (None, tenant) and self.conversation in (None, conversation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A stop, who set it and why, and who cleared it. Times are seconds since the epoch by the store's clock.

    `conversation` is the name under which it is kept. The reason is for people alone: no model reads it. `cancelled` and `revoked` count the approvals that
    ended by it.
    """

    stop: Stop
    by: str
    at: float
    reason: str
    assurance: Assurance = "host"
    via: Via = "program"
    cancelled: int = 0
    revoked: int = 0
    cleared_by: str | None = None
    cleared_at: float | None = None
    cleared_why: str | None = None

    @property
    def id(self) -> str:
        """Its id: `ki_` and twenty hexadecimal digits."""
        return self.stop.id

    @property
    def status(self) -> str:
        """`set` while it is in force, then `cleared`."""
        return "set" if self.cleared_at is None else "cleared"

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody who stands in it."""
        return tuple(name for name in (self.by, self.cleared_by) if name)

    def calling(self, change: Callable[[str], str]) -> Kill:
        """The same with each name in it changed."""
        made: Kill = names.whole(self, change, ("by", "cleared_by"))
        return made


@dataclass(frozen=True, slots=True)
class Killed:
    """The answer for a call that a stop covers: nothing was written of it, and it may not start."""

    stop: Stop


def stopping(stops: Iterable[Stop], home: tuple[str, str], tool: str) -> Stop | None:
    """The first of these that covers such a call."""
    return next((one for one in stops if one.covers(home, tool)), None)


def words(stop: Stop) -> str:
    """What it covers, in words for people."""
    what = "everything" if stop.tool is None else f"the tool {stop.tool}"
    here = "" if stop.conversation is None else f" in the conversation {stop.conversation}"
    where = (
        " in every tenant"
        if stop.tenant is None
        else f" of the tenant {stop.tenant}"
        if here
        else f" in the tenant {stop.tenant}"
    )
    return what + here + where


def refusal(stop: Stop) -> Refusal:
    """The refusal of a call that is stopped. Neither the reason nor how far the kill reaches is the model's business."""
    return Refusal(reason=Reason.KILLED, rules=(f"kill {stop.id}",), note=stop.id)


def plain(kill: Kill, moment: Callable[[float], str | None]) -> JsonObject:
    """A kill as JSON; `moment` writes a time."""
    stop = kill.stop
    return {
        "id": kill.id,
        "status": kill.status,
        "tool": stop.tool,
        "conversation": stop.conversation,
        "tenant": stop.tenant,
        "words": words(stop),
        "by": str(kill.by),
        "at": moment(kill.at),
        "reason": kill.reason,
        "cancelled": kill.cancelled,
        "revoked": kill.revoked,
        "cleared_by": None if kill.cleared_by is None else str(kill.cleared_by),
        "cleared_at": None if kill.cleared_at is None else moment(kill.cleared_at),
        "cleared_why": kill.cleared_why,
    }
