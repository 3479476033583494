"""The gate: lets one transaction of a store in at a time, and always opens again.

Ctrl-C may arrive between any two steps, also right after the lock was taken. So the lock belongs to the thread that took it, and leaving
gives back whatever this thread holds, without asking whether it got that far. Knows nothing of what happens inside. Comes before `memory`
and `database`.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TypeVar

from guard.errors import StoreError

T = TypeVar("T")


class Gate:
    """Runs pieces of work one at a time. A function, not a context manager: nothing can happen between entering and leaving."""

    __slots__ = ("_inside", "lock")

    def __init__(self) -> None:
        self.lock = RLock()
        self._inside = False

    def run(self, work: Callable[[], T], undo: Callable[[], None]) -> T:
        """What `work` gives; where it ends by any exception, `undo` runs before the next one may enter.

        Raises StoreError when this thread is inside already, as in a signal handler that calls the store: joining the interrupted
        transaction would break it.
        """
        mine = False
        try:
            self.lock.acquire()
            if self._inside:
                raise StoreError("the store was called from within its own transaction")  # noqa: TRY301 - a call is one more place for Ctrl-C
            mine = self._inside = True
            answer = work()
        except BaseException:
            if mine:
                undo()
            raise
        finally:
            if mine:
                self._inside = False
            try:  # noqa: SIM105 - nothing may be called before the lock is free: Ctrl-C would be looked for there
                self.lock.release()
            except RuntimeError:  # interrupted before the lock was taken
                pass
        return answer
