"""Aside: a program's event loop in a thread of its own, so that no signal comes in the middle of what that thread does.

Python runs what a signal calls for in the main thread alone, between any two of its steps. So the main thread only waits, and hands SIGTERM and Ctrl-C on to the loop,
which then closes everything first. Used by `mcp_serving`.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from guard.runner.threads import in_thread

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class _Stopping:
    """What the main thread was told, on its way to the job in the loop."""

    def __init__(self, job: Coroutine[Any, Any, int], say: Callable[[str], None]) -> None:
        self._job, self._say = job, say
        self._told: list[int] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[int] | None = None

    def stop(self, number: int, _frame: object) -> None:
        """In the main thread, by a signal."""
        self._told.append(number)
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended meanwhile
                self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def run(self) -> int:
        """In the loop: the job's exit code, or the signal's."""
        self._loop, self._task = asyncio.get_running_loop(), asyncio.ensure_future(self._job)
        if self._told:  # before there was a loop
            self._cancel()
        try:
            return await self._task
        except asyncio.CancelledError:
            self._say("stopped")
            return 128 + self._told[0] if self._told else 1


def run_aside(job: Coroutine[Any, Any, int], say: Callable[[str], None]) -> int:
    """The exit code of a job in a loop of its own; at SIGTERM or Ctrl-C it is cancelled, and `say` is told. Raises what the job raises."""
    stopping = _Stopping(job, say)
    with _handed(stopping.stop):
        code: int = in_thread(lambda: asyncio.run(stopping.run())).result().get()
    return code


@contextmanager
def _handed(stop: Callable[[int, object], None]) -> Iterator[None]:
    """Have the signals call `stop`, and put back what they called before."""
    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
