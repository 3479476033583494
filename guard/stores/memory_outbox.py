"""The part of the memory store that keeps where sinks stand. Holds no rule. Comes after `undo` and before `memory`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guard.core.outbox import Advance, Letter, SinkState
from guard.core.replacing import replace
from guard.stores.undo import Undo


class MemoryOutbox:
    """Sinks, cursors and letters in dicts. The class that it becomes a part of brings time, undo log and records."""

    now: float
    _undo: Undo
    _audit: list[tuple[str, str, str]]

    def __init__(self) -> None:
        super().__init__()
        self._sinks: dict[str, SinkState] = {}
        self._letters: dict[tuple[str, int, int], Letter] = {}

    def sink(self, name: str) -> SinkState | None:
        """Where a sink stands."""
        found = self._sinks.get(name)
        return None if found is None else replace(found, letters=sum(key[0] == name for key in self._letters))

    def sink_names(self) -> tuple[str, ...]:
        """All sinks."""
        return tuple(sorted(self._sinks))

    def last_seq(self, chain: int) -> int:
        """The newest record of a chain."""
        return 0 if chain else len(self._audit)

    def new_sink(self, name: str, holder: str, until: float) -> bool:
        """Add a sink."""
        if name in self._sinks:
            return False
        self._undo.put(self._sinks, name, SinkState(sink=name, holder=holder, lease=until))
        return True

    def take_sink(self, before: SinkState, holder: str, until: float) -> bool:
        """Give a sink to this holder."""
        found = self._sinks[before.sink]
        if (found.holder, found.lease) != (before.holder, before.lease):
            return False
        self._undo.put(self._sinks, before.sink, replace(found, holder=holder, lease=until))
        return True

    def put_sink(self, change: Advance, holder: str) -> bool:
        """Keep counters and let the sink go."""
        found = self._sinks.get(change.sink)
        if found is None or found.holder != holder:
            return False
        new = replace(
            found,
            holder="",
            lease=0.0,
            failures=change.failures,
            due=change.due,
            error=change.error,
            sent=found.sent + change.sent,
            sent_at=self.now if change.sent else found.sent_at,
            dropped=found.dropped + change.dropped,
        )
        self._undo.put(self._sinks, change.sink, new)
        return True

    def cursors(self, name: str, found: Mapping[int, int]) -> None:
        """Keep new cursors."""
        one = self._sinks[name]
        self._undo.put(self._sinks, name, replace(one, cursors={**one.cursors, **found}))

    def set_aside(self, name: str, letters: Sequence[Letter]) -> None:
        """Keep letters."""
        for one in letters:
            old = self._letters.get((name, one.chain, one.seq))
            self._undo.put(self._letters, (name, one.chain, one.seq), replace(one, at=old.at if old else self.now))

    def take_back(self, name: str, letters: Sequence[Letter]) -> None:
        """Forget letters."""
        for one in letters:
            self._undo.drop(self._letters, (name, one.chain, one.seq))

    def letters(self, name: str, limit: int) -> tuple[Letter, ...]:
        """Letters, oldest first."""
        found = [letter for (sink, _, _), letter in self._letters.items() if sink == name]
        return tuple(sorted(found, key=lambda one: (one.at, one.chain, one.seq))[:limit])
