"""Watch: one thread that looks for another policy, and has it loaded when it was the same at two looks.

Looking means reading and comparing digests: that sees renames by editors, swapped symbolic links, network folders and a file that is put back,
and needs no package. A signal from outside (a Casbin watcher) only says "look now"; the work is done here, never in the callback. Decides
nothing. Comes after `reload`; the guard starts and stops it.
"""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress
from typing import Any

from guard.errors import GuardError
from guard.runner.leases import elapsed
from guard.runner.reload import Reloader
from guard.runner.report import failure

SETTLE = 0.2  # seconds between the two looks that must agree, at most
_LONGEST = 30.0  # seconds between two tries of a policy that is broken
_UNASKED = (10.0, 60.0)  # seconds between two questions to a database: without a signal, and with one, which may be lost
_RUNNING: weakref.WeakSet[Watch] = weakref.WeakSet()


class Watch:
    """Looks every `every` seconds, and when `signal` (anything with Casbin's `set_update_callback`) says so, until it is stopped."""

    def __init__(self, reloader: Reloader, *, every: float, signal: Any = None) -> None:
        self._reloader, self._every, self._signal = reloader, every, signal
        self._stopped = False
        self._seen: object = None  # what the last look found, where it was not what is in force
        self._broken: str | None = None  # what could not be loaded
        self._retry, self._pause = 0.0, every
        self._asked = elapsed()
        if signal is not None:
            signal.set_update_callback(self.wanted)
        _RUNNING.add(self)
        self._begin()

    def _begin(self) -> None:
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="guard-policy")
        self._thread.start()

    def wanted(self, *_: object, **__: object) -> None:
        """Look now: what a watcher calls. Returns at once; many calls are one look."""
        self._asked = 0.0
        self._wake.set()

    @property
    def alive(self) -> bool:
        """Whether somebody looks."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Stop looking. A look that is under way is waited for a moment."""
        self._stopped = True
        _RUNNING.discard(self)
        if self._signal is not None:
            with suppress(Exception):  # whatever it is, it is not ours
                self._signal.set_update_callback(None)
        self._wake.set()
        if self._thread is not threading.current_thread():
            self._thread.join(1.0)

    def forked(self) -> None:
        """In a child process nobody looks yet."""
        self._begin()

    def _run(self) -> None:
        wake, pause = self._wake, self._every
        while not self._stopped:
            wake.wait(pause)
            wake.clear()
            if self._over():
                return
            try:
                pause = self._look()
            except BaseException as error:  # noqa: BLE001 - whatever happens in one look, the next one takes place
                self._failed(error, None)
                pause = self._pause

    def _over(self) -> bool:
        return self._stopped

    def _look(self) -> float:
        """One look; gives the seconds until the next one."""
        reloader = self._reloader
        with reloader.alone():
            reading = reloader.source.read(ask=self._asks()) if reloader.source is not None else None
            if reading is None or reading.mark == reloader.current.mark:
                self._seen = self._broken = None
                self._pause = self._every
                reloader.found()
                return self._every
            if reading.mark == reloader.left:
                return self._every  # somebody does not want it: it takes other contents, or a reload that is asked for
            if reading.stamp != self._seen:
                self._seen = reading.stamp
                return min(SETTLE, self._every)
            if reading.mark == self._broken and elapsed() < self._retry:
                return self._every
            try:
                reloader.load(reading)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the old one stays
                self._failed(error, reading.mark)
        return self._every

    def _asks(self) -> bool:
        """Whether a database is asked at this look."""
        self._poll()
        due = self._asked + (_UNASKED[0] if self._signal is None else _UNASKED[1])
        if elapsed() < max(due, self._every + self._asked):
            return False
        self._asked = elapsed()
        return True

    def _poll(self) -> None:
        """Some watchers call back only when they are asked whether there is anything new."""
        ask = getattr(self._signal, "should_reload", None)
        if callable(ask):
            try:
                ask()
            except Exception as error:  # noqa: BLE001 - a signal is a hint; without it a look takes place all the same
                failure("the signal of the rules", error, self._reloader.current.hands.redactor)

    def _failed(self, error: BaseException, mark: str | None) -> None:
        known = error if isinstance(error, Exception) else GuardError(type(error).__name__)
        self._reloader.failed(known)
        self._pause = min(self._pause * 2, _LONGEST) if mark == self._broken else self._every
        self._broken, self._retry = mark, elapsed() + self._pause


def _after_fork() -> None:
    for watch in list(_RUNNING):
        watch.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
