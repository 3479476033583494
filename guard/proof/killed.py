"""Killed: what the records say of each kill, held against its row: a stop that was taken out of the store lets run what somebody stopped.

Comes after `chains` and before `tables`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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

    def add(self, kind: str, found: dict[str, Any], place: tuple[int, int]) -> None:
        """The next record about a kill."""
        state, tool, actor = found.get("kill"), found.get("tool"), found.get("actor")
        name = state.get("id") if isinstance(state, dict) else None
        if not isinstance(name, str):
            return
        self.place[name] = place
        if kind == "kill.cleared":
            self.cleared.add(name)
        elif kind == "kill.set":
            scope = {"tenant": found.get("tenant"), "conversation": found.get("conversation")}
            scope["tool"] = tool.get("name") if isinstance(tool, dict) else None
            self.known[name] = {**scope, "by": str(actor.get("ref")) if isinstance(actor, dict) else ""}

    def against(self, before: Mapping[str, Tabled], after: Mapping[str, Tabled]) -> Iterator[Problem]:
        """What of the tables contradicts the records."""
        for name in sorted({*self.known, *after}):
            one = after.get(name)
            if name not in self.known:
                if one == before.get(name):
                    yield Problem("", f"kill {name} stands in the store, and no record is about it")
            elif one is None:
                yield self._problem(name, "is not among the kills of the store")
            elif one == before.get(name):
                yield from self._differing(name, one)

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
