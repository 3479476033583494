"""Timeline: the life of one call, from proposal to delivery, out of its records; and which calls an id may mean.

An id is a call's place (CONVERSATION/turn/position, or with colons), the id or number of a record, an approval or a call id; the last may be that of many calls. Only reads.
Comes after `steps` and `log`; shown by the command line and the pages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from guard.auditing import left, persons
from guard.auditing.causes import causes
from guard.auditing.entry import Entry, entry
from guard.auditing.log import Log
from guard.auditing.log import place as place_of
from guard.auditing.steps import Step, step
from guard.core.searching import Sought
from guard.core.values import JsonObject

MOST = 2000
"""Records of one call that are shown, and that are looked through for an id."""
_PLACE = re.compile(r"(.+)([/:])(\d{1,9})\2(\d{1,9})\Z", re.DOTALL)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
_NUMBER = re.compile(r"(?:(\d{1,3}):)?(\d{1,15})\Z")
_NEAR = 5.0  # seconds by which the time in a record's id and the record's own may differ


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One call: its tenant, conversation, turn and position."""

    tenant: str
    conversation: str
    turn: int
    position: int

    @property
    def name(self) -> str:
        """As it is written to find it again."""
        return f"{self.conversation}/{self.turn}/{self.position}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One call, or one record that belongs to none. `facts` are what does not change in it."""

    place: Place | None
    facts: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    cut: bool = False
    left: str = ""  # that its first records left, where they may have

    def json(self) -> JsonObject:
        """For a machine."""
        came = causes(self.steps)
        steps = [
            {"time": one.time, "kind": one.kind, "who": one.who, "told": one.told, "facts": [list(fact) for fact in one.facts]}
            | {"record": one.number, "hash": one.hash, "id": one.id, "cause": cause}
            for one, cause in zip(self.steps, came, strict=True)
        ]
        return {
            "call": self.place.name if self.place else None,
            "facts": dict(self.facts),
            "steps": steps,
            "cut": self.cut,
            "left": self.left,
        }


def candidates(log: Log, name: str, tenant: str | None = None) -> tuple[Place | Entry, ...]:
    """The calls that `name` may mean, and records of that name which belong to no call; in order, none where there is nothing."""
    found = [one for one in _named(log, name, tenant) if tenant is None or one.at("tenant") == tenant]
    places = sorted({place for one in found if (place := _place(one)) is not None})
    return (*places, *(one for one in found if _place(one) is None and _own(one, name)))


def _own(one: Entry, name: str) -> bool:
    return one.at("id") == name or name in (one.number, f"{one.sealed.chain}:{one.sealed.seq}")


def life(log: Log, of: Place | Entry) -> Life:
    """The records of a call, oldest first, and what they say."""
    if isinstance(of, Entry):
        return Life(place=None, facts=_fixed([of]), steps=(step(of),))
    where = Sought(
        tenant=of.tenant, conversation=of.conversation, turn=of.turn, position=of.position, newest=False, limit=MOST + 1
    )
    found = [one for one in map(entry, log.search(where)) if _place(one) == of]
    found = sorted([*found, *_erased(log, of)], key=lambda one: place_of(one.sealed)) if found else []
    facts = (("place", of.name), *_fixed(found), *_lasted(found))
    gone = "" if found and found[0].text("kind") == "call.proposed" else left.before(log)
    return Life(place=of, facts=facts, steps=tuple(map(step, found[:MOST])), cut=len(found) > MOST, left=gone)


def _erased(log: Log, of: Place) -> list[Entry]:
    """What says that the call's values were erased: such a record is about a conversation, and names its calls."""
    where = Sought(tenant=of.tenant, conversation=of.conversation, kinds=("payload.erased",), newest=False, limit=MOST)
    found = map(entry, log.search(where))
    return [one for one in found if isinstance(calls := one.at("erased", "calls"), list) and [of.turn, of.position] in calls]


def _named(log: Log, name: str, tenant: str | None) -> list[Entry]:
    place = _PLACE.match(name)
    if place:
        where = Sought(
            tenant=tenant,
            conversation=persons.conversation(log, place[1]),
            turn=int(place[3]),
            position=int(place[4]),
            limit=MOST,
        )
        there = log.search(where)
        if there or place[2] == "/":
            return list(map(entry, there))
    if _UUID.match(name):
        return _of_id(log, name)
    found = [
        *log.search(Sought(approval=name, tenant=tenant, limit=MOST)),
        *log.search(Sought(call=name, tenant=tenant, limit=MOST)),
    ]
    number = _NUMBER.match(name)
    if number and int(number[1] or 0) < log.chains:
        found += [
            one for one in log.audit(chain=int(number[1] or 0), after=int(number[2]) - 1, limit=1) if one.seq == int(number[2])
        ]
    return list(map(entry, found))


def _of_id(log: Log, name: str) -> list[Entry]:
    """A record by its id, whose first 48 bits are about the time at which it was written; then an approval that has such an id."""
    at = int(name[:8] + name[9:13], 16) / 1000
    near = log.search(Sought(since=at - _NEAR, until=at + _NEAR))
    found = [one for one in map(entry, near) if one.at("id") == name]
    return found or list(map(entry, log.search(Sought(approval=name, limit=MOST))))


def _place(one: Entry) -> Place | None:
    turn, position, conversation = one.at("turn"), one.at("position"), one.at("conversation")
    if not isinstance(turn, int) or not isinstance(position, int) or not isinstance(conversation, str):
        return None
    return Place(one.text("tenant"), conversation, turn, position)


_FIXED = (
    ("tool", ("tool", "name")),
    ("definition", ("tool", "definition")),
    ("kind", ("tool", "kind")),
    ("call id", ("call_id",)),
    ("for", ("principal",)),
    ("tenant", ("tenant",)),
    ("conversation", ("conversation",)),
    ("branch", ("branch",)),
    ("approval", ("approval",)),
)


def _fixed(found: Sequence[Entry]) -> tuple[tuple[str, str], ...]:
    values = ((name, next((text for one in found if (text := one.text(*path))), "")) for name, path in _FIXED)
    return tuple((name, text) for name, text in values if text)


def _beside(one: Entry) -> bool:
    """Whether a record says nothing of how the call stands: somebody looked, voted in vain, was given what is known, or erased the values."""
    vain = one.text("kind") == "approval.vote" and one.text("approval_state", "decision") == "refused"
    return vain or one.text("kind") in ("result.delivered", "approval.viewed", "payload.erased")


def _lasted(found: Sequence[Entry]) -> tuple[tuple[str, str], ...]:
    """The last word about the call."""
    last = next((step(one) for one in reversed(found) if not _beside(one)), None)
    return (("in the end", last.told),) if last is not None else ()
