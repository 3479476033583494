"""Announcing: a backend that writes, with whatever is written next, the records that were announced to it; where that fails they wait again.

Everything else is the backend's own. Decides nothing. Comes after `backend` and before `log_store`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from guard.core.ports import Event
from guard.errors import StoreError
from guard.stores.backend import Backend
from guard.stores.locks import Lock
from guard.stores.tables import T, Tables


class Announcing:
    """A backend with records in front of it. Others that stand around the backend itself write past them."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._owed: deque[Event] = deque()

    def __getattr__(self, name: str) -> Any:
        """Whatever the backend has."""
        return getattr(self._backend, name)

    @property
    def lock(self) -> Lock:
        """As of the backend."""
        return self._backend.lock

    @property
    def clock(self) -> Callable[[], float]:
        """As of the backend."""
        return self._backend.clock

    def announce(self, events: Sequence[Event]) -> None:
        """Have these written with whatever is written next."""
        self._owed.extend(events)

    def write(self, work: Callable[[Tables], T]) -> T:
        """What `work` gives, in a transaction of the backend, behind the records that were announced."""
        owed = _taken(self._owed) if self._owed else []
        if not owed:
            return self._backend.write(work)

        def whole(tables: Tables) -> T:
            for event in owed:
                tables.append(event)
            return work(tables)

        try:
            return self._backend.write(whole)
        except BaseException:
            self._owed.extendleft(reversed(owed))
            raise

    def read(self, work: Callable[[Tables], T]) -> T:
        """As the backend does: what was announced is read by nobody here before it is written."""
        return self._backend.read(work)

    def close(self) -> None:
        """Write what was announced, where that can be, and close the backend."""
        if self._owed:
            with suppress(StoreError):
                self.write(lambda _: None)
        self._backend.close()


def _taken(owed: deque[Event]) -> list[Event]:
    """Everything that waits, taken out one by one: no other thread gets the same."""
    found: list[Event] = []
    with suppress(IndexError):
        while True:
            found.append(owed.popleft())
    return found
