"""Spoofs: the proposals that sent a field which belongs to the session, each once: an approved call is judged again before it runs, and says so again. Only reads.

The first record of each call counts, also where it lies before the time that is asked for. Comes after `log`, before `month`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from guard.auditing.entry import Entry
from guard.auditing.log import Log, found
from guard.core.searching import Sought
from guard.stores import filing

CALL: Final = ("tenant", "conversation", "turn", "position")
"""What is filed of a record that says which call it is about."""
_BEFORE: Final = 31 * 86400  # seconds for which a question may have waited


class Once:
    """Which records are the first of their call, of those that come in order of time."""

    def __init__(self, log: Log, sought: Sought) -> None:
        self._seen: set[tuple[Any, ...]] = set()
        if sought.since is not None:
            earlier = replace(sought, since=max(sought.since - _BEFORE, 0), until=sought.since, spoof=True, limit=None)
            self._seen.update(log.filed(earlier, CALL))

    def new(self, one: Entry) -> bool:
        """Whether no other record of its call came before."""
        return self.first(tuple(filing.cut(one.at(name)) for name in CALL))

    def first(self, call: tuple[Any, ...]) -> bool:
        """The same of what is filed. What belongs to no call is one of its own."""
        fresh = None in call or call not in self._seen
        self._seen.add(call)
        return fresh


def proposals(log: Log, sought: Sought) -> Iterator[Entry]:
    """The first such record of each call, oldest first."""
    once = Once(log, sought)
    return (one for one in found(log, replace(sought, spoof=True, newest=False)) if once.new(one))


def count(log: Log, sought: Sought) -> int:
    """How many calls there are of which `proposals` gives a record."""
    once = Once(log, sought)
    return sum(map(once.first, log.filed(replace(sought, spoof=True, newest=False), CALL)))
