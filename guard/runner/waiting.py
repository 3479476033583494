"""Waiting: for whoever took a call, as looks at the store with growing pauses between them. Shared by both drivers; decides nothing.

A caller waits while the other one may be at it, and never longer than its patience: what it does not learn by then is not known.
"""

from __future__ import annotations

from time import monotonic

from guard.core import ports as p

PATIENCE = 55.0  # seconds that one caller waits in all: most who wait for a reply over HTTP give up at 60
_FIRST, _LONGEST, _GROWTH = 0.004, 0.25, 1.5


class Watch:
    """Looks after one call. `pause` is how long to wait before the next look, `until` the monotonic time at which patience ends."""

    def __init__(self, store: p.Store, row: p.CallRow, until: float) -> None:
        self._store, self._row, self._until = store, row, until
        self.pause = _FIRST

    def look(self) -> p.Joined | None:
        """What became of the call; None while somebody may be at it and patience lasts."""
        row = self._store.call(self._row.key) or self._row
        if row.status != "started":
            return p.Joined(row=row, lost=False)
        if row.lease is None or row.lease <= self._store.now():
            return p.Joined(row=row, lost=True)
        self.pause = min(self.pause * _GROWTH, _LONGEST)
        return p.Joined(row=row, lost=False) if monotonic() >= self._until else None

    def leave(self) -> p.Joined:
        """What is known when the caller is interrupted."""
        return p.Joined(row=self._row, lost=False)
