"""Landing: a call that may wait for a disk runs in a thread, and its answer comes back to the event loop in one step.

Like `run_in_executor`, with a third of its turns of the loop: every store call of every walk goes this way. A caller who is cancelled can wait
again: the call goes on. Who has the loop to itself may stand still for a moment instead, which saves all of them, and as long as calls come back soon even
the thread. Decides nothing. Used by the driver for asyncio.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

from guard.runner.threads import Came

T = TypeVar("T")
_MOST = 32  # threads of one event loop
_MOMENT = 0.005  # seconds: nearly all commits take less
_pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, ThreadPoolExecutor] = weakref.WeakKeyDictionary()


class Calm:
    """For whoever has the loop to itself: whether a call may be made right here, with no thread between. The loop stands still meanwhile.

    Only while calls come back within `seconds`, which is told by the last one; only of a store that waits no longer than that for whoever else writes; and
    never in the main thread, where Ctrl-C could come in the middle.
    """

    __slots__ = ("_soon", "seconds")

    def __init__(self, seconds: float = _MOMENT) -> None:
        self.seconds = seconds
        self._soon = True

    def here(self) -> bool:
        """Whether the next call may be made right here."""
        return self._soon and threading.current_thread() is not threading.main_thread()

    def tried(self, store: object, call: Callable[[], T]) -> tuple[T] | None:
        """What a call of the store gives, made right here; None where that may not be, or it would have had to wait: then nothing was done."""
        hastily: Callable[[Callable[[], T], float], tuple[T] | None] | None = getattr(store, "hastily", None)
        if hastily is None or not self.here():
            return None
        found = self.timed(lambda: hastily(call, self.seconds))
        self._soon = self._soon and found is not None
        return found

    def timed(self, call: Callable[[], T]) -> T:
        """What the call gives or raises; remembers whether that came soon."""
        begun = monotonic()
        try:
            return call()
        finally:
            self._soon = monotonic() - begun <= self.seconds


class Landing:
    """One call, begun at once. `patient`: the caller will ask for it by `soon` first."""

    __slots__ = ("_asked", "_came", "_ended", "_loop", "_waiter")

    def __init__(self, call: Callable[[], Any], *, patient: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._came: Came | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._ended = threading.Lock() if patient else None
        if self._ended is not None:
            self._ended.acquire()
        self._asked = not patient  # whether the loop is to be woken
        _pool(self._loop).submit(self._run, call)

    def soon(self, seconds: float) -> Came | None:
        """What it gave or raised, where that comes within so many seconds. The loop stands still meanwhile."""
        if self._ended is not None and not self._ended.acquire(timeout=seconds):
            self._asked = True  # before the next look: whoever ends it looks the other way round
        return self._came

    async def came(self) -> Came:
        """What it gave or raised. Where the caller is cancelled it may ask again."""
        while self._came is None:
            self._waiter = self._loop.create_future()
            await self._waiter
        return self._came

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            came = Came(value=call())
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            came = Came(error=error)
        self._came = came
        if self._ended is not None:
            self._ended.release()
        if self._asked:
            with suppress(RuntimeError):  # the loop was closed: nobody waits
                self._loop.call_soon_threadsafe(self._land)

    def _land(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _pool(loop: asyncio.AbstractEventLoop) -> ThreadPoolExecutor:
    """The threads of this loop; they end with it."""
    found = _pools.get(loop)
    if found is None:
        found = _pools[loop] = ThreadPoolExecutor(_MOST, thread_name_prefix="guard-store")
    return found
