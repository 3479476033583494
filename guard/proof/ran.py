"""Ran: what the records say of each call that began or ended, and of each conversation's counters, held against the rows.

The ledger decides by those rows what may run again and what counts as done. A row may say less than the records where these are newer, so both are read as of one
moment. Only what can never be right is told: a late end of an earlier attempt is on record and changes no row. Comes after `chains` and before `tables`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from guard.core.log import Rowed
from guard.proof.by import By
from guard.proof.chains import Problem
from guard.proof.talks import Talks

ERASED: Final = "payload.erased"
KINDS: Final = frozenset({"call.begin", "call.end", "call.unknown", "call.reconciled", "user.said", ERASED})
PROPOSED: Final = '"kind":"call.proposed"'
_WELL, _BADLY, _UNKNOWN, _SETTLED = (
    1,
    2,
    4,
    8,
)  # how it ended, by any record; settled: by a person's word, of whose text no digest stands in the record
_OLDER: Final = 16  # a record of an earlier version, which does not say which attempt it is about: nothing is compared
_ENDS: Final = {"ok": _WELL, "error": _BADLY, "unknown": _UNKNOWN}
_NEEDED: Final = {"done": (_WELL, "ended well"), "failed": (_BADLY, "failed"), "unknown": (_UNKNOWN, "is unknown")}
_TAKEN: Final = frozenset({"started", "done", "failed", "unknown", "refused"})
_Key = tuple[str, str, int, int]


class _Call:
    """One call by its records: its last attempt, how it ended, what digests of its outcome there are, what its tool does, and the last record about it."""

    __slots__ = ("attempt", "digests", "ends", "place", "rowed", "says")

    def __init__(self) -> None:
        self.attempt = self.ends = 0
        self.digests: tuple[str, ...] = ()
        self.place = (0, 0)
        self.says: dict[str, str] = {}
        self.rowed = By()


class Ran:
    """What the records say, as they come: of each chain in their order. `secret` is the store's."""

    def __init__(self, secret: bytes = b"") -> None:
        self._calls: dict[_Key, _Call] = {}
        self._secret = secret
        self.talks = Talks()
        self._seen: set[_Key] = set()

    def add(self, kind: str, found: dict[str, Any], place: tuple[int, int]) -> None:
        """The next record, of one of `KINDS`."""
        key = _key(found)
        if key is None:
            return
        if kind == "user.said":
            self.talks.said(key[:2], found)
        elif kind == ERASED:
            for spot in _spots(found):
                self._of((*key[:2], *spot)).rowed.erased = True
        elif key[2] >= 0:
            spoke, call = self.talks.turned(key[:2], key[2]), self._of(key)
            call.rowed.add(kind, found, spoke)
            self._call(call, kind, found)
            call.place = place

    def turned(self, found: dict[str, Any]) -> None:
        """Another record that is read, too: its conversation had got as far as that turn."""
        key = _key(found)
        if key is not None and key[2] >= 0:
            self.talks.turned(key[:2], key[2])
            if found.get("approval") and found.get("kind") != "result.delivered":
                self._of(key).rowed.asked(found)

    def opened(self, body: Any) -> None:
        """A record that is not read otherwise; a file may hold anything in the place of its text."""
        if isinstance(body, str) and PROPOSED in body:
            self.talks.opened(body)

    def _of(self, key: _Key) -> _Call:
        found = self._calls.get(key)
        if found is None:
            found = self._calls[key] = _Call()
        return found

    def begins(self) -> Iterator[tuple[tuple[str, str, str | None], tuple[int, int]]]:
        """Tenant, conversation and tool of each call that began, and where its record stands; again for each attempt."""
        for key, call in self._calls.items():
            for place in call.rowed.places:
                yield (*key[:2], call.says.get("tool")), place

    def _call(self, call: _Call, kind: str, found: dict[str, Any]) -> None:
        exec_, result = found.get("exec"), found.get("result")
        told = exec_ if isinstance(exec_, dict) else {}
        if kind == "call.begin":
            attempt = told.get("attempt")
            if type(attempt) is int:
                call.attempt = max(call.attempt, attempt)
                call.says = _says(found, told)
            else:
                call.ends |= _OLDER
            return
        call.ends |= _ENDS.get(str(told.get("status")), _UNKNOWN if kind == "call.unknown" else 0)
        if isinstance(result, dict) and isinstance(result.get("digest"), str):
            call.digests = (*call.digests, result["digest"])
        elif kind == "call.reconciled":
            call.ends |= _SETTLED

    # -- held against the rows ---------------------------------------------------------------------------------------------------

    def row(self, one: Rowed, *, cut: bool) -> Iterator[Problem]:
        """What a row says that its records do not. `cut`: earlier records left, when no call was started or unknown."""
        key = (one.tenant, one.conversation, one.turn, one.position)
        self._seen.add(key)
        call = self._calls.get(key)
        left = cut and (call is None or not call.attempt)
        why = self._why(one, call or _Call(), cut=left)
        if not why and one.says and not (call and call.ends & _OLDER):
            columns = list(dict.fromkeys((call or _Call()).rowed.differing(one, self._secret, cut=left)))
            why = f"says something else in {', '.join(columns)} than its records do" if columns else ""
        if why:
            yield Problem("", f"call {_name(key)} {why}", *(call.place if call and call.place[1] else ()))

    def _why(self, one: Rowed, call: _Call, *, cut: bool) -> str:
        if call.ends & _OLDER or (one.status == "alias" and not (call.attempt and _counts(call))):
            return ""
        if call.attempt:
            return self._taken(one, call) or self._ended(one, call) or _otherwise(one, call)
        if cut and not call.ends:
            return f"is {one.status} in the store, and no record is about it" if one.status in ("started", "unknown") else ""
        if not cut and one.claimed != 0:
            return "was taken in the store, and no record says that it began"
        if not cut and one.status == "started":
            return "is started in the store, and no record says that it began"
        return self._ended(one, call)

    def _taken(self, one: Rowed, call: _Call) -> str:
        if one.attempt != call.attempt:
            return f"is at attempt {one.attempt} in the store, and at attempt {call.attempt} by the records"
        if not one.claimed:
            return "may be taken again in the store, and began by the records"
        if one.status not in _TAKEN:
            return f"is {one.status} in the store, and began by the records"
        over = call.ends if call.attempt == 1 else call.ends & _WELL  # another end may be that of an earlier attempt
        if one.status == "started" and over:
            return "is started in the store, and ended by the records"
        if one.status == "unknown" and call.ends & _WELL:
            return "is unknown in the store, and ended well by the records"
        return (
            "is refused in the store, and no record says that it did not run"
            if one.status == "refused" and not call.ends & _BADLY
            else ""
        )

    def _ended(self, one: Rowed, call: _Call) -> str:
        needed, said = _NEEDED.get(one.status, (0, ""))
        if needed and not call.ends & needed:
            return f"is {one.status} in the store, and no record says that it {said}"
        told = one.digest is not None and call.digests and not call.ends & _SETTLED
        if told and needed and one.digest not in call.digests:
            return "has another outcome in the store than by the records"
        return ""

    def missing(self, began: frozenset[_Key]) -> Iterator[Problem]:
        """Of these calls those that have no row, once every row was looked at."""
        for key in sorted(began - self._seen):
            call = self._calls[key]
            yield Problem("", f"call {_name(key)} is not among the calls of the store, and began by the records", *call.place)

    def began(self) -> frozenset[_Key]:
        """The calls that are known to have begun."""
        return frozenset(key for key, call in self._calls.items() if call.attempt)


def _counts(call: _Call) -> bool:
    """Whether a call that began keeps another of the same content from running: it ended well, or nobody knows that it did not."""
    return bool(call.ends & _WELL or not call.ends & _BADLY)


def _says(found: dict[str, Any], told: dict[str, Any]) -> dict[str, str]:
    """What decides how a call that began may be taken again, as far as its record says it."""
    tool = found.get("tool")
    named = tool if isinstance(tool, dict) else {}
    said = {"tool": named.get("name"), "kind": named.get("kind"), "effect": told.get("class")}
    return {name: value for name, value in said.items() if isinstance(value, str)}


def _otherwise(one: Rowed, call: _Call) -> str:
    kept = {"tool": one.tool, "kind": one.kind, "effect": one.effect}
    other = next((name for name, value in call.says.items() if kept[name] not in (None, value)), None)
    return f"has another {other} in the store ({kept[other]}) than by the records ({call.says[other]})" if other else ""


def _key(found: dict[str, Any]) -> _Key | None:
    """The call that a record is about: of no call where its turn is less than 0; None where it is about no conversation."""
    tenant, conversation = found.get("tenant"), found.get("conversation")
    if not isinstance(tenant, str) or not isinstance(conversation, str):
        return None
    turn, position = found.get("turn"), found.get("position")
    return (
        (tenant, conversation, turn, position) if type(turn) is int and type(position) is int else (tenant, conversation, -1, -1)
    )


def _spots(found: dict[str, Any]) -> list[tuple[int, int]]:
    """The calls that were erased."""
    gone = found.get("erased")
    calls = gone.get("calls") if isinstance(gone, dict) else None
    pairs = calls if isinstance(calls, list) else []
    return [(pair[0], pair[1]) for pair in pairs if isinstance(pair, list) and len(pair) == 2]


def _name(key: _Key) -> str:
    return "/".join(map(str, key[1:]))
