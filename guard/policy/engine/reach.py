"""Reach: of many people, those of whom some rule about one tool and act may speak at all; of all others no rule does.

Built from the same certain terms of the matcher as the index, split into those that read the tool and act and those that read who and where, so that
a table of everybody and every tool asks the engine only where there is something to ask. What it leaves out the engine would find no candidate for.
Comes after index and engine; used by casbin_rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from guard.policy.engine.engine import Engine
from guard.policy.engine.index import Index, Term

_WHAT = frozenset({"obj", "act"})


class Reach:
    """Who is spoken of. `asked` holds the requests of each person, for any tool; they are numbered as they come."""

    def __init__(self, engine: Engine, asked: Iterable[Sequence[Sequence[Any]]]) -> None:
        self._request = engine.model.request
        what = [term for term in engine.index.terms if self._reads(term) <= _WHAT]
        who = [term for term in engine.index.terms if not self._reads(term) & _WHAT]
        alike: dict[tuple[str, ...], int] = {}  # rules that ask the same of who and where are looked for once
        fields = (tuple(row[term.theirs] for term in who) for row in engine.rows)
        self._group = [alike.setdefault(field, len(alike)) for field in fields]
        firsts = dict(reversed(list(zip(self._group, engine.rows, strict=True))))
        self._what = Index(what, engine.rows, engine.closures)
        whose = Index(who, [firsts[group] for group in range(len(alike))], engine.closures)
        self._people: list[list[int]] = [[] for _ in alike]
        for number, requests in enumerate(asked):
            for group in {one for request in requests for one in _found(whose, request, len(alike))}:
                self._people[group].append(number)

    def _reads(self, term: Term) -> set[str]:
        return {self._request[place] for place in term.ours}

    def spoken_of(self, tool: str, act: str) -> set[int]:
        """The numbers of those whom some rule about `act` on `tool` may match."""
        given = {"obj": tool, "act": act}
        request = [given.get(name, "") for name in self._request]
        groups = {self._group[place] for place in _found(self._what, request, len(self._group))}
        return {number for group in groups for number in self._people[group]}


def _found(index: Index, request: Sequence[Any], count: int) -> Iterable[int]:
    found = index.find(request)
    return range(count) if found is None else found
