"""Slowing: wrong secrets from one address are answered later and later, and then not at all for a while. Right ones are let in.

Secrets are 256 random bits, so this saves the machine rather than the secret. Comes before people; may not read requests.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from time import monotonic

from guard.web.bodies import RequestError

WINDOW = 60.0
"""Seconds that a wrong secret is remembered."""
FREE = 20
"""Wrong secrets from one address in that time before it is told to wait."""
_PAUSE = 0.5  # seconds before such an answer
_WAITING = 50  # answers kept waiting at once; beyond, they are given at once
_ADDRESSES = 10_000


class Slowing:
    """The wrong secrets of the last minute, by address."""

    def __init__(self) -> None:
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()
        self._waiting = 0

    async def wrong(self, address: str) -> None:
        """Count a wrong secret. Raises RequestError (429) where there were too many."""
        times = self._of(address)
        times.append(monotonic())
        if len(times) > FREE:
            await self._pause()
            raise RequestError("too many wrong tokens; wait a minute", 429)

    def check(self, address: str) -> None:
        """Raises RequestError (429) where an address gave too many wrong secrets: before one is looked at."""
        if len(self._of(address)) > FREE:
            raise RequestError("too many wrong tokens; wait a minute", 429)

    def _of(self, address: str) -> deque[float]:
        times = self._wrong.setdefault(address, deque(maxlen=FREE + 1))
        self._wrong.move_to_end(address)
        while len(self._wrong) > _ADDRESSES:
            self._wrong.popitem(last=False)
        while times and monotonic() - times[0] > WINDOW:
            times.popleft()
        return times

    async def _pause(self) -> None:
        if self._waiting >= _WAITING:
            return
        self._waiting += 1
        try:
            await asyncio.sleep(_PAUSE)
        finally:
            self._waiting -= 1
