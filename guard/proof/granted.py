"""Granted: what the records say of each grant, held against its row, and what they say that no grant permits. Comes after `chains` and before `tables`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from guard.core.log import Tabled
from guard.core.values import digest
from guard.proof.chains import Problem

_TERMS: Final = ("scope", "uses", "until", "need", "field", "at_most", "sum", "fingerprint", "others", "terms")
_WHOSE: Final = ("tenant", "principal", "conversation", "approval")
_Call = tuple[str, ...]


class Granted:
    """Grants by the records, in any order: they may stand in several chains."""

    def __init__(self) -> None:
        self.given: dict[str, dict[str, Any]] = {}
        self.givers: dict[str, list[str]] = {}
        self.revoked: set[str] = set()
        self.most: dict[str, int] = {}  # the highest number of uses that was recorded
        self.drawn: dict[_Call, str] = {}  # calls that used a grant and have not ended yet
        self.ran: dict[str, int] = {}  # how many of them ended well
        self.place: dict[str, tuple[int, int]] = {}
        self.used: dict[str, str] = {}  # by call, as rows name it, the grant that it used
        self.erased: set[str] = set()

    def add(self, kind: str, found: dict[str, Any], place: tuple[int, int]) -> None:
        """The next record."""
        call = tuple(str(found.get(one)) for one in ("tenant", "conversation", "branch", "turn", "position"))
        if kind == "call.end" and call in self.drawn:
            name, exec_ = self.drawn.pop(call), found.get("exec")
            well = isinstance(exec_, dict) and exec_.get("status") == "ok"
            self.ran[name] = self.ran.get(name, 0) + well
        if kind == "payload.erased":
            self.erased.update(_erased(found))
        state = found.get("grant")
        if not kind.startswith("grant.") or not isinstance(state, dict) or not isinstance(state.get("id"), str):
            return
        name = state["id"]
        self.place[name] = place
        if kind == "grant.created":
            self._given(name, found, state)
        elif kind == "grant.revoked":
            self.revoked.add(name)
        elif kind == "grant.used":
            self.drawn[call] = name
            self.used[_named(found)] = name
            used = state.get("used")
            self.most[name] = max(self.most.get(name, 0), used if type(used) is int else 0)

    def _given(self, name: str, found: dict[str, Any], state: dict[str, Any]) -> None:
        actor, tool = found.get("actor"), found.get("tool")
        self.givers.setdefault(name, []).append(str(actor.get("ref")) if isinstance(actor, dict) else "")
        if name in self.given:
            return
        terms = {one: state[one] for one in _TERMS if one in state} | {one: found.get(one) for one in _WHOSE}
        if isinstance(tool, dict):
            terms |= {"tool": tool.get("name"), "definition": tool.get("definition")}
        if isinstance(state.get("where"), dict):
            terms["where"] = sorted(state["where"])
        self.given[name] = terms

    def against(
        self, before: Mapping[str, Tabled], after: Mapping[str, Tabled], voters: Mapping[str, list[str]]
    ) -> Iterator[Problem]:
        """What contradicts the records, in the tables and among themselves. `voters`: by approval, whom the records name as such."""
        for name, terms in sorted(self.given.items()):
            yield from self._beyond(name, terms)
            if name not in after:
                yield self._problem(name, "is not among the grants of the store")
        for name, one in sorted(after.items()):
            if name not in self.given:
                if one == before.get(name):
                    yield Problem("", f"grant {name} stands in the store, and no record is about it")
            elif one == before.get(name):
                yield from self._differing(name, one, voters)

    def uses(self, before: Mapping[str, Tabled], after: Mapping[str, Tabled], *, cut: bool) -> Iterator[Problem]:
        """Uses in the store that no record knows: such a call would draw on its grant no more. `cut`: earlier records left."""
        for name, one in sorted(after.items()):
            if one.status != "used" or one != before.get(name) or one.row is None:
                continue
            grant = one.row.columns.get("grant_id")
            if self.used.get(name, grant if cut else None) != grant:
                said = self.used.get(name, "none")
                yield Problem(
                    "", f"use of a grant {name} is of {grant} in the store, and of {said} by the records (grant_uses.grant_id)"
                )

    def _beyond(self, name: str, terms: dict[str, Any]) -> Iterator[Problem]:
        uses = terms.get("uses")
        used = max(self.most.get(name, 0), self.ran.get(name, 0))
        if type(uses) is int and used > uses:
            yield self._problem(name, f"was used {used} times, and it is for {uses}")

    def _differing(self, name: str, one: Tabled, voters: Mapping[str, list[str]]) -> Iterator[Problem]:
        status, terms = "revoked" if name in self.revoked else "given", self.given[name]
        givers, known = self.givers[name], {str(terms["principal"]), *voters.get(str(terms["approval"]), ())}
        if one.status != status or "revoked" in one.says:
            yield self._problem(name, f"is {one.says.get('revoked', one.status)} in the store, and {status} by the records")
        if one.says.get("erased", False) != (name in self.erased) and "erased" in one.says:
            yield self._problem(name, "is erased in the store or by the records, and not by both (grants.erased)")
        same = all(kept == told or kept in known for kept, told in zip(one.voters, givers, strict=False))
        if len(one.voters) != len(givers) or not same:
            yield self._problem(
                name, f"was given by others in the store ({', '.join(one.voters)}) than by the records ({', '.join(givers)})"
            )
        for term in (term for term in terms if one.says.get(term, terms[term]) != terms[term]):
            what = f"{one.says[term]} in the store, and {terms[term]} by the records"
            yield self._problem(name, f"says something else of {term}: {what}")

    def _problem(self, name: str, what: str) -> Problem:
        return Problem("", f"grant {name} {what}", *self.place[name])


def _named(found: dict[str, Any]) -> str:
    """The call of a record, as rows name it."""
    home = digest(str(found.get("tenant")), str(found.get("conversation")))[:32]
    return f"{home}/{found.get('turn')}/{found.get('position')}"


def _erased(found: dict[str, Any]) -> list[str]:
    gone = found.get("erased")
    grants = gone.get("grants") if isinstance(gone, dict) else None
    return [str(one) for one in grants] if isinstance(grants, list) else []
