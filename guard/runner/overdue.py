"""Overdue: windows of approvals that ended, and escalations, are written down in time, although nobody looks at the approvals.

What is due is judged by the store, which everybody who looks would ask as well: this only looks. Bounded: so many at a time, each in a transaction
of its own. Comes after the store's port; beside `guard serve` and in its workers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from guard.core.ports import Store
from guard.errors import StoreError

LOG = logging.getLogger("guard.approvals")
LOOK_SECONDS = 5.0
"""Between two looks."""
MOST = 200
"""Approvals of one look; what is left is found by the next."""


def look(store: Store, most: int = MOST) -> int:
    """Write down of at most so many approvals what is due; how many it was. Raises StoreError."""
    found = store.due(most)
    for name in found:
        store.approval(name)
    return len(found)


class Looking:
    """Looks without raising: what a look meets is said once, until one goes well again, and the next is made."""

    def __init__(self, store: Store, seconds: float = LOOK_SECONDS) -> None:
        self._store, self._seconds, self._next = store, seconds, 0.0
        self._down = False

    def in_time(self) -> int:
        """Look once `seconds` have passed by the store's clock; of how many approvals something was written down, 0 where it is too early."""
        now = self._store.now()
        if self._next - self._seconds <= now < self._next:
            return 0
        found = self.once()
        self._next = now + self._seconds if found < MOST else 0.0
        return found

    def once(self) -> int:
        """Look now."""
        try:
            found, self._down = look(self._store), False
        except Exception as error:  # noqa: BLE001 - see the class
            if not self._down:
                LOG.warning("approvals cannot be looked at: %s", error if isinstance(error, StoreError) else type(error).__name__)
            found, self._down = 0, True
        return found


@asynccontextmanager
async def looking(store: Store, seconds: float = LOOK_SECONDS) -> AsyncIterator[None]:
    """Look every so many seconds, beside what runs meanwhile. The look under way ends first."""
    stop = asyncio.Event()
    job = asyncio.create_task(_look_on(Looking(store), seconds, stop))
    try:
        yield
    finally:
        stop.set()
        await job


async def _look_on(eyes: Looking, seconds: float, stop: asyncio.Event) -> None:
    while not stop.is_set():
        found = await asyncio.to_thread(eyes.once)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds if found < MOST else 0.05)
