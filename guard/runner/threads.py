"""Threads: run a call in one of its own, wait for it no longer than its time-out, and carry over what it gave or raised.

Nothing can stop a thread: one that was given up goes on, and what it does in the end can still be learned. Used by `hands` and the drivers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What a tool that ran elsewhere gave or raised, carried over as a value: not every exception can travel in a future."""

    value: Any = None
    error: BaseException | None = None

    def get(self) -> Any:
        """The value; raises the error where the caller waits."""
        if self.error is not None:
            raise self.error
        return self.value


class Promise(Future[Came]):
    """How a call that is run elsewhere really ends, told by whoever runs it, though nobody may wait for it any more.

    `stands` is its row once that was written down, None where it was not; `settled` whether it is what was told, or the ledger knew better.
    """

    stands: Any = None
    settled = False

    def tell(self, came: Came) -> None:
        """Say how it ended. Comes back when that is written down, so not to be called where nothing may wait."""
        self.set_running_or_notify_cancel()
        self.set_result(came)


def in_thread(call: Callable[[], Any]) -> Future[Came]:
    """Run `call` in a daemon thread of its own, so that one that never returns blocks neither the caller nor the exit."""
    future: Future[Came] = Future()
    future.set_running_or_notify_cancel()  # nobody can stop it any more; a caller who gives up just does not look

    def run() -> None:
        try:
            came = Came(value=call())
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            came = Came(error=error)
        future.set_result(came)

    threading.Thread(target=run, daemon=True, name="guard-tool").start()
    return future


class TooLateError(TimeoutError):
    """The guard's own time-out, told apart from one that a tool raises. `pending` is what goes on running, where something does."""

    def __init__(self, pending: Future[Came] | None = None) -> None:
        self.pending = pending
        super().__init__()


def within(call: Callable[[], Any], timeout: float | None) -> Any:
    """Run inline; with a time-out in a thread, since nothing else can be stopped waiting for. Raises TooLateError."""
    if timeout is None:
        return call()
    future = in_thread(call)
    try:
        done, _ = wait([future], timeout)
    except BaseException as error:
        error.guard_pending = future  # type: ignore[attr-defined]  # it goes on, and what it does in the end can still be learned
        raise
    if not done:
        raise TooLateError(future)
    return future.result().get()
