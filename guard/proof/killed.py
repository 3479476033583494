"""Killed: what the records say of each kill, held against its row: a stop that was taken out of the store lets run what somebody stopped.

Comes after `chains` and before `tables`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from guard.core.log import Tabled
from guard.proof.chains import Problem

MARK: Final = '"kind":"kill.'
_SCOPE: Final = ("tenant", "conversation", "tool")


class Killed:
    """Kills by the records, in any order: they may stand in several chains."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Any]] = {}  # what each covers, and by whom it was set
        self.cleared: set[str] = set()
        self.place: dict[str, tuple[int, int]] = {}
        self.wrong: list[Problem] = []
        self._live: dict[tuple[int, str], dict[str, Any]] = {}  # by chain: of two chains nobody knows which record came first
        self._from: dict[str, dict[int, int]] = {}  # by kill, how far each chain had got when it was set, and when it was cleared
        self._upto: dict[str, dict[int, int]] = {}

    def add(self, kind: str, found: dict[str, Any], place: tuple[int, int]) -> None:
        """The next record about a kill."""
        state, tool, actor = found.get("kill"), found.get("tool"), found.get("actor")
        name = state.get("id") if isinstance(state, dict) else None
        if not isinstance(name, str):
            return
        self.place[name] = place
        if (upto := _upto(found)) is not None:
            (self._from if kind == "kill.set" else self._upto)[name] = upto
        if kind == "kill.cleared":
            self.cleared.add(name)
            self._live.pop((place[0], name), None)
        elif kind == "kill.set":
            scope = {"tenant": found.get("tenant"), "conversation": found.get("conversation")}
            scope["tool"] = tool.get("name") if isinstance(tool, dict) else None
            self.known[name] = {**scope, "by": str(actor.get("ref")) if isinstance(actor, dict) else ""}
            if name not in self._from:
                self._live[place[0], name] = scope

    def began(self, found: dict[str, Any], place: tuple[int, int]) -> None:
        """A call begins: none does that a kill covers which the same chain says to be in force, in the order in which both were written."""
        tool = found.get("tool")
        call = {"tenant": found.get("tenant"), "conversation": found.get("conversation")}
        call["tool"] = tool.get("name") if isinstance(tool, dict) else None
        for (chain, name), scope in self._live.items():
            if chain == place[0] and all(scope[part] in (None, call[part]) for part in _SCOPE):
                self.wrong.append(
                    Problem("", f"kill {name} was in force by the records when a call began that it covers", *place)
                )

    def under(self, begins: Iterable[tuple[tuple[str, str, str | None], tuple[int, int]]]) -> Iterator[Problem]:
        """Calls (tenant, conversation, tool, and where the record stands) that began under a kill, by how far each chain had got when it was set and cleared."""
        kills = [(name, self.known[name], since) for name, since in sorted(self._from.items()) if name in self.known]
        for call, (chain, seq) in begins if kills else ():
            for name, scope, since in kills:
                ends = self._upto.get(name, {}).get(chain, 0) if name in self._upto else None
                ends = 0 if name in self.cleared and ends is None else ends  # cleared by a program of an earlier version
                inside = seq > since.get(chain, 0) and (ends is None or seq <= ends)
                if inside and all(scope[part] in (None, given) for part, given in zip(_SCOPE, call, strict=True)):
                    yield Problem("", f"kill {name} was in force by the records when a call began that it covers", chain, seq)

    def against(
        self,
        before: Mapping[str, Tabled],
        after: Mapping[str, Tabled],
        stood: Mapping[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> Iterator[Problem]:
        """What of the tables contradicts the records. `cut`: earlier records left; `stood`: digests of what was in force then, where a record says it."""
        yield from self.wrong
        stood = stood if cut else {}
        for name in sorted({*self.known, *after, *(stood or ())}):
            one = after.get(name)
            if name not in self.known:
                why = self._left(name, one, stood, cut=cut) if one == before.get(name) else ""
                if why:
                    yield Problem("", f"kill {name} {why}", *self.place.get(name, ()))
            elif one is None:
                yield self._problem(name, "is not among the kills of the store")
            elif one == before.get(name):
                yield from self._differing(name, one)

    def _left(self, name: str, one: Tabled | None, stood: Mapping[str, str] | None, *, cut: bool) -> str:
        """What is wrong with a kill of which no record says that it was set; such a record may have left with a closed month."""
        digest = (stood or {}).get(name)
        if one is None:
            return "was in force when a month was closed that left, and is not among the kills of the store"
        if digest is not None and digest != stop_digest(one):
            return "covers something else in the store than when a month was closed that left"
        if one.status == "cleared":
            there = cut and (digest is None or name in self.cleared)
            return "" if there else "is cleared in the store, and no record says so"
        if name in self.cleared:
            return "is set in the store, and cleared by the records"
        return "" if digest is not None or stood is None else "stands in the store, and no record is about it"

    def _differing(self, name: str, one: Tabled) -> Iterator[Problem]:
        status, said = "cleared" if name in self.cleared else "set", self.known[name]
        if one.status != status:
            yield self._problem(name, f"is {one.status} in the store, and {status} by the records")
        if one.voters != (said["by"],):
            yield self._problem(name, f"was set by {one.voters[0]} in the store, and by {said['by']} by the records")
        for part in (part for part in _SCOPE if one.says.get(part) != said[part]):
            yield self._problem(
                name,
                f"covers another {part} in the store ({one.says.get(part) or 'any'}) than by the records ({said[part] or 'any'})",
            )

    def _problem(self, name: str, what: str) -> Problem:
        return Problem("", f"kill {name} {what}", *self.place[name])


def _upto(found: dict[str, Any]) -> dict[int, int] | None:
    heads = found.get("upto")
    if not isinstance(heads, dict):
        return None
    return {int(chain): seq for chain, seq in heads.items() if str(chain).isdecimal() and type(seq) is int}


def stop_digest(one: Tabled) -> str:
    """What a closed month keeps of a kill in force: a digest of what it covers."""
    return hashlib.sha256(json.dumps({name: one.says.get(name) for name in _SCOPE}, sort_keys=True).encode()).hexdigest()
