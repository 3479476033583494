"""Tables: whether what a store says of its approvals, apart from the log, is what the records say became of them.

What may run is decided by those tables, so whoever changes a row there need not touch the log. The states are read before the records and behind them: what
changed meanwhile is no contradiction. Comes after `chains`; the command line uses it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from guard.core.log import Tabled
from guard.proof.chains import Problem

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


class Replay:
    """What the records say of each approval, as they come: the status that it has behind them, and what was voted that counts."""

    def __init__(self) -> None:
        self.status: dict[str, str] = {}
        self.votes: dict[str, list[str]] = {}
        self.place: dict[str, tuple[int, int]] = {}  # the last record about it

    def add(self, chain: int, seq: int, body: str) -> None:
        """The next record of its chain. One that cannot be read says nothing, as its hash will tell."""
        if not isinstance(body, str) or _MARK not in body:
            return
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            return
        name, kind = found.get("approval"), found.get("kind")
        if isinstance(name, str) and isinstance(kind, str):
            self._told(name, kind, found.get("approval_state"), (chain, seq))

    def _told(self, name: str, kind: str, given: Any, place: tuple[int, int]) -> None:
        state: dict[str, Any] = given if isinstance(given, dict) else {}
        if kind == "approval.requested":
            self._set(name, "pending", place)
        elif kind in _ENDS:
            self._set(name, _ENDS[kind], place)
            if kind == "approval.edited":
                self._set(str(state.get("by")), "pending", place)
        elif kind == "approval.resolved" or (kind == "approval.vote" and state.get("status") == "pending"):
            self._set(name, str(state.get("status")), place)
            self.votes.setdefault(name, []).append(str(state.get("decision")))

    def _set(self, name: str, status: str, place: tuple[int, int]) -> None:
        self.status[name], self.place[name] = status, place

    def against(self, before: Mapping[str, Tabled], after: Mapping[str, Tabled]) -> Iterator[Problem]:
        """What of the tables contradicts the records, where it was the same before these were read and is behind."""
        for name in sorted({*before, *self.status}):
            one = after.get(name)
            if one is None and name in self.status:
                yield self._problem(name, "is not among the approvals of the store")
            elif one is not None and one == before.get(name):
                yield from self._differing(name, one)

    def _differing(self, name: str, one: Tabled) -> Iterator[Problem]:
        status, votes = self.status.get(name), tuple(self.votes.get(name, ()))
        if status is None:
            yield Problem("", f"approval {name} stands in the store, and no record is about it")
        elif one.status != status:
            yield self._problem(name, f"is {one.status} in the store, and {status} by the records")
        elif one.votes != votes:
            yield self._problem(name, f"has other votes in the store ({_told(one.votes)}) than in the records ({_told(votes)})")

    def _problem(self, name: str, what: str) -> Problem:
        chain, seq = self.place[name]
        return Problem("", f"approval {name} {what}", chain, seq)


def _told(votes: tuple[str, ...]) -> str:
    return ", ".join(votes) or "none"
