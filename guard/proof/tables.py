"""Tables: whether what a store says of its approvals, grants and kills, apart from the log, is what the records say became of them.

What may run is decided by those tables, so whoever changes a row there need not touch the log. The states are read before the records and behind them: what
changed meanwhile is no contradiction. Where a row was changed and put back, the records themselves may hold what can never be right. What an older record does not
say is not compared. Comes after `chains`, `granted` and `killed`; the command line uses it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from guard.core.log import Tabled
from guard.core.values import digest
from guard.proof import killed
from guard.proof.chains import Problem
from guard.proof.granted import Granted
from guard.proof.marked import Marked
from guard.proof.ran import KINDS, Ran

_ENDS: Final = {
    "approval.expired": "expired",
    "approval.cancelled": "cancelled",
    "approval.revoked": "revoked",
    "approval.superseded": "superseded",
    "approval.revalidation_failed": "superseded",
    "approval.edited": "superseded",
    "call.begin": "consumed",
}
_MARK: Final = '"approval":"'
_KIND: Final = '"kind":"'
_NEAR: Final = 400  # characters of a body among which its kind stands
_ASKED: Final = ("need", "by", "self", "decide_by", "revision")
_TOLD: Final = {
    "need": "how many must say yes",
    "by": "who may decide",
    "self": "whether the requester may decide",
    "decide_by": "until when it is decided",
    "use_by": "until when it is used",
    "revision": "its revision",
    "fingerprint": "which call it is about",
    "principal": "who asked for the call",
    "tool": "the tool",
    "definition": "the tool's definition",
    "kind": "what kind of tool it is",
    "home": "the conversation",
    "turn": "the turn",
    "position": "the place in the turn",
}
_ALIKE: Final = ("principal", "tool", "kind", "home", "turn", "position")  # the same in every revision
_STANDING: Final = ("scope", "uses", "until", "need", "tenant", "principal", "conversation", "tool", "definition", "approval")
Place = tuple[int, int]
_Call = tuple[str, ...]


class Carried(NamedTuple):
    """Digests of what stood when the last month was closed whose records left; no kills (None): its record is of a version that did not say."""

    grants: Mapping[str, str] = {}
    kills: Mapping[str, str] | None = {}


class Replay:
    """What the records say of each approval, as they come: the status that it has behind them, what was voted that counts and by whom, and its terms."""

    def __init__(self, secret: bytes = b"") -> None:
        self.secret = secret  # the store's, with which digests of rows were made
        self.status: dict[str, str] = {}
        self.votes: dict[str, list[str]] = {}
        self.voters: dict[str, list[str]] = {}
        self.terms: dict[str, dict[str, Any]] = {}
        self.known: dict[str, set[str]] = {}  # names that stood in it before somebody voted
        self.begun: dict[str, tuple[_Call, int, bool]] = {}  # the call, its last attempt, and whether it has ended well
        self.place: dict[str, Place] = {}  # the last record about it
        self.wrong: list[Problem] = []
        self.grants, self.ran, self.kills, self.marked = Granted(), Ran(secret), killed.Killed(), Marked()

    def add(self, chain: int, seq: int, body: str) -> None:
        """The next record of its chain. One that cannot be read says nothing, as its hash will tell."""
        if not isinstance(body, str) or not (_MARK in body or killed.MARK in body or _kind(body) in KINDS):
            self.ran.opened(body)
            return
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            return
        if isinstance(found, dict) and isinstance(found.get("kind"), str):
            self._add(found["kind"], found, (chain, seq))

    def _add(self, kind: str, found: dict[str, Any], place: Place) -> None:
        self.grants.add(kind, found, place)
        self.marked.add(found.get("rows"), place)
        if kind.startswith("kill."):
            self.kills.add(kind, found, place)
        if kind == "call.begin":
            self.kills.began(found, place)
        if kind in KINDS:
            self.ran.add(kind, found, place)
        else:
            self.ran.turned(found)
        if isinstance(found.get("approval"), str):
            self._told(found["approval"], kind, found, place)

    def _told(self, name: str, kind: str, found: dict[str, Any], place: Place) -> None:
        given = found.get("approval_state")
        state: dict[str, Any] = given if isinstance(given, dict) else {}
        if kind == "approval.requested":
            self._asked(name, found, {one: state[one] for one in _ASKED if state.get(one) is not None})
            self._set(name, "pending", place)
        elif kind in _ENDS:
            self._run(name, found, place) if kind == "call.begin" else None
            self._set(name, _ENDS[kind], place)
            if kind == "approval.edited":
                self._edited(name, found, state, place)
        elif kind == "approval.resolved" or (kind == "approval.vote" and state.get("status") == "pending"):
            self._voted(name, found, state, place)
        elif kind == "approval.escalated" and isinstance(state.get("by"), list):
            self.terms.setdefault(name, {})["by"] = state["by"]
        elif kind == "call.end" and name in self.begun and _part(found, "exec").get("status") == "ok":
            self.begun[name] = (*self.begun[name][:2], True)

    def _asked(self, name: str, found: dict[str, Any], terms: dict[str, Any]) -> None:
        if isinstance(found.get("fingerprint"), str):
            terms["fingerprint"] = found["fingerprint"]
        terms |= _whose(found) | ({"authors": []} if terms.get("revision") == 1 else {})
        self.terms[name], self.known[name] = terms, {str(found.get("principal"))}

    def _edited(self, name: str, found: dict[str, Any], state: dict[str, Any], place: Place) -> None:
        """The next revision: of it, the record says less than of one that was asked."""
        new = str(state.get("by"))
        self._set(new, "pending", place)
        old, editor = self.terms.get(name, {}), str(_part(found, "actor").get("ref"))
        terms = {"need": state.get("need"), "fingerprint": state.get("to")} | {one: old.get(one) for one in _ALIKE}
        terms |= {"authors": [*old["authors"], editor]} if "authors" in old else {}
        self.terms[new] = {one: value for one, value in terms.items() if value is not None}
        self.known[new] = {*self.known.get(name, ()), str(found.get("principal")), editor}

    def _voted(self, name: str, found: dict[str, Any], state: dict[str, Any], place: Place) -> None:
        terms, need, have = self.terms.setdefault(name, {}), state.get("need"), state.get("have")
        if need is not None and need != terms.get("need", need):
            self._never(name, f"was voted about as if {need} had to say yes, and {terms['need']} had to", place)
        elif state.get("status") == "approved" and _fewer(have, need):
            self._never(name, f"was approved by {have}, and {need} had to say yes", place)
        if state.get("status") == "approved" and state.get("use_by") is not None:
            terms["use_by"] = state["use_by"]
        self._set(name, str(state.get("status")), place)
        self.votes.setdefault(name, []).append(str(state.get("decision")))
        self.voters.setdefault(name, []).append(str(_part(found, "actor").get("ref")))

    def _run(self, name: str, found: dict[str, Any], place: Place) -> None:
        """A call begins under it: one that was approved, once, or again as the next attempt of that very call."""
        call = tuple(str(found.get(one)) for one in ("tenant", "conversation", "branch", "turn", "position"))
        attempt, status = _part(found, "exec").get("attempt"), self.status.get(name)
        if type(attempt) is not int:
            return
        before = self.begun.get(name)
        if before is None and status not in (None, "approved", "consumed"):
            self._never(name, f"was {status} by the records when a call began under it", place)
        elif before is not None and (call != before[0] or attempt <= before[1] or before[2]):
            self._never(name, "was spent twice: a second call began under it", place)
        self.begun[name] = (call, attempt, False)

    def _never(self, name: str, what: str, place: Place) -> None:
        self.wrong.append(Problem("", f"approval {name} {what}", *place))

    def _set(self, name: str, status: str, place: Place) -> None:
        self.status[name], self.place[name] = status, place

    def against(
        self, before: Mapping[str, Tabled], after: Mapping[str, Tabled], carried: Carried | None = None
    ) -> Iterator[Problem]:
        """What of the tables contradicts the records, where it was the same before these were read and is behind; first what of the records themselves cannot be.

        `carried`: where earlier records left with closed months, what stood then. No approval was open then, so what is over is not compared.
        """
        yield from self.wrong
        yield from self.marked.against(before, after, self.secret)
        yield from self.grants.uses(before, after, cut=carried is not None)
        if carried is not None:
            before, after = self._without(before, carried.grants), self._without(after, carried.grants)
        before, after = ({name: one for name, one in found.items() if one.status != "used"} for found in (before, after))
        grants = {name: one for name, one in after.items() if one.status in ("given", "revoked") and name.startswith("gr_")}
        kills = {name: one for name, one in after.items() if _stop(name, one)}
        yield from self.kills.under(self.ran.begins())
        yield from self.kills.against(before, kills, None if carried is None else carried.kills, cut=carried is not None)
        for name in sorted({*before, *self.status} - {*grants, *kills, *self.grants.given, *self.kills.known}):
            one = after.get(name)
            if one is None and name in self.status:
                yield self._problem(name, "is not among the approvals of the store")
            elif one is not None and one == before.get(name):
                yield from self._differing(name, one)
        yield from self.grants.against(before, grants, self.voters)

    def _without(self, rows: Mapping[str, Tabled], carried: Mapping[str, str]) -> dict[str, Tabled]:
        """Rows without those whose records all left: approvals that are over, grants that were revoked or stand as they stood."""
        known = {*self.status, *self.grants.given}
        return {name: one for name, one in rows.items() if name in known or _stop(name, one) or not _left(one, carried.get(name))}

    def _differing(self, name: str, one: Tabled) -> Iterator[Problem]:
        status, votes = self.status.get(name), tuple(self.votes.get(name, ()))
        if status is None:
            yield Problem("", f"approval {name} stands in the store, and no record is about it")
        elif one.status != status:
            yield self._problem(name, f"is {one.status} in the store, and {status} by the records")
        elif name not in self.known:
            return  # of how it was asked nothing was read
        elif one.votes != votes:
            yield self._problem(name, f"has other votes in the store ({_told(one.votes)}) than in the records ({_told(votes)})")
        elif (others := self._others(name, one.voters)) is not None:
            yield self._problem(name, f"has another voter in the store ({others[0]}) than in the records ({others[1]})")
        elif one.says.get("voted") and one.says["voted"] != [list(pair) for pair in zip(one.votes, one.voters, strict=True)]:
            yield self._problem(name, "has other votes in its row than among the votes")
        else:
            yield from self._terms(name, one)

    def _terms(self, name: str, one: Tabled) -> Iterator[Problem]:
        terms, author = self.terms.get(name, {}), self._author(name, one)
        if author is not None:
            yield self._problem(name, f"has other authors in the store ({author}) than in the records")
        for term in (term for term in _TOLD if term in terms and one.says.get(term, terms[term]) != terms[term]):
            what = f"{one.says[term]} in the store, and {terms[term]} by the records"
            yield self._problem(name, f"says something else of {_TOLD[term]}: {what}")

    def _others(self, name: str, voters: tuple[str, ...]) -> tuple[str, str] | None:
        """The first voter whom the records call otherwise. Who stood in an approval already is kept there as before."""
        known = self.known.get(name, set())
        pairs = zip(voters, self.voters.get(name, ()), strict=False)
        return next((pair for pair in pairs if pair[0] != pair[1] and pair[0] not in known), None)

    def _author(self, name: str, one: Tabled) -> str | None:
        """Who edited it by its row, where the records say otherwise. Whoever edits twice stands there once."""
        told, known = self.terms.get(name, {}).get("authors"), self.known.get(name, set())
        kept = one.says.get("authors")
        if told is None or kept is None:
            return None
        told = list(dict.fromkeys(told))
        same = len(kept) == len(told) and all(a == b or a in known for a, b in zip(kept, told, strict=True))
        last = (one.says.get("edited_by") in (*kept, *told)) if told else one.says.get("edited_by") is None
        return None if same and last else ", ".join(map(str, [*kept, one.says.get("edited_by")]))

    def _problem(self, name: str, what: str) -> Problem:
        chain, seq = self.place[name]
        return Problem("", f"approval {name} {what}", chain, seq)


def _whose(found: dict[str, Any]) -> dict[str, Any]:
    """Whose call a question is about, and of which tool, as far as its record says it."""
    tenant, conversation = found.get("tenant"), found.get("conversation")
    said = {one: found.get(one) for one in ("principal", "turn", "position")} | {
        term: _part(found, "tool").get(name) for term, name in (("tool", "name"), ("definition", "definition"), ("kind", "kind"))
    }
    if isinstance(tenant, str) and isinstance(conversation, str):
        said["home"] = digest(tenant, conversation)[:32]  # as rows name it
    return {one: value for one, value in said.items() if value is not None}


def _kind(body: str) -> str:
    begin = body.find(_KIND, 0, _NEAR) + len(_KIND)
    return body[begin : body.find('"', begin, begin + _NEAR)]


def _stop(name: str, one: Tabled) -> bool:
    """Whether a row is a kill's, of which is told apart what left."""
    return one.status in ("set", "cleared") and name.startswith("ki_")


def _left(one: Tabled, carried: str | None) -> bool:
    """Whether nobody need be told that there is no record about a row."""
    if one.status == "given":
        return carried == standing_digest(one)
    return one.status not in ("pending", "approved", "missing")


def standing_digest(one: Tabled) -> str:
    """What a closed month keeps of a grant that stands: a digest of its terms, without what it says of arguments."""
    return hashlib.sha256(json.dumps({name: one.says.get(name) for name in _STANDING}, sort_keys=True).encode()).hexdigest()


def _told(votes: tuple[str, ...]) -> str:
    return ", ".join(votes) or "none"


def _part(found: dict[str, Any], name: str) -> dict[str, Any]:
    part = found.get(name)
    return part if isinstance(part, dict) else {}


def _fewer(have: Any, need: Any) -> bool:
    return type(have) is int and type(need) is int and have < need
