"""Leases: keeps the calls that run here from being taken for lost, and keeps outcomes that the store did not take until it does.

One background thread, there only while there is something to do. May not decide whether anything runs. Used by `hands`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from guard.core import ports as p
from guard.core.endings import never_started
from guard.core.kills import Killed
from guard.core.model import Approval, CallKey
from guard.core.replacing import replace
from guard.errors import StoreError

LOG = logging.getLogger("guard")
_FIRST, _LONGEST = 0.2, 5.0  # seconds between attempts to write an outcome down
_IDLE = 5.0  # seconds for which the thread waits for more to do
_clock = getattr(time, "CLOCK_BOOTTIME", None)


def elapsed() -> float:
    """Seconds of a clock that never stands still, not while the machine sleeps either, where the system has one."""
    return time.monotonic() if _clock is None else time.clock_gettime(_clock)


def enough_left(won: p.Won, timeout: float | None) -> bool:
    """Whether a call that was taken may still be started: all of its time-out, or a third of its lease, must be left."""
    left = won.lease - (elapsed() - won.asked)
    return left >= (won.lease / 3 if timeout is None else timeout)


@dataclass(slots=True)
class _Held:
    """One running call: which attempt, and when its lease is to be renewed next."""

    won: p.Won
    due: float


def decided(store: p.Store, command: p.Record) -> tuple[Approval | None, ...] | Killed | p.CallRow | None:
    """Write decisions down; where calls go on by them, only while no kill covers those. What may wait waits, and nobody looks."""
    later = getattr(store, "later", None) if command.light else None
    if later is not None and later(command.rows, command.events):
        return None
    if command.asks:
        return store.hold(command)
    return store.decide(command) if command.going else store.record(command.rows, command.events)


def written_down(store: p.Store, command: p.Finish) -> p.CallRow | None:
    """Write rows, their events, and what went back as handles, in one transaction; those of look-ups a moment later where the host said so."""
    handles = command.handles
    later = getattr(store, "later", None) if command.light else None
    if later is not None and later(command.rows, command.events, handles):
        return None
    return store.record(command.rows, command.events, handles) if handles else store.record(command.rows, command.events)


class Keeper:
    """The leases and the unwritten outcomes of one guard."""

    def __init__(self, store: p.Store, redactor: p.Redactor) -> None:
        self._store = store
        self.redactor = redactor
        """What hides, as the policy in force says: another version brings its own."""
        self._held: dict[CallKey, _Held] = {}
        self._owed: list[p.Finish | tuple[CallKey, str]] = []
        self._pause, self._retry = _FIRST, 0.0
        self._closed = False
        self._next = 0.0  # when the thread looks again by itself
        self._said = 0  # how much was owed when the log was told
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None

    def hold(self, key: CallKey, won: p.Won) -> None:
        """Renew the lease of this call until `drop`."""
        with self._wake:
            due = won.asked + won.lease / 3
            self._held[key] = _Held(won, due)
            self._start(due)

    def drop(self, key: CallKey) -> None:
        """The call has ended."""
        self._held.pop(key, None)

    def owe(self, finish: p.Finish) -> None:
        """Write this outcome down as soon as the store takes it. The model has been told that it is unknown by then."""
        rows = tuple(replace(row, settled=False) for row in finish.rows)
        with self._wake:
            if self._closed:
                return
            self._owed.append(replace(finish, rows=rows))
            self._retry = elapsed() + self._pause
            self._start(self._retry)

    def disown(self, key: CallKey, sign: str) -> None:
        """The answer to this claim was lost, and the model was told that nothing ran: if it was written, the ledger must say so, too."""
        with self._wake:
            if self._closed:
                return
            self._owed.append((key, sign))
            self._retry = elapsed() + self._pause
            self._start(self._retry)

    def close(self) -> None:
        """Try once more to write down what is owed; what the store does not take now is lost, and its call will be unknown."""
        self.flush()
        with self._wake:
            self._closed, self._owed, self._held = True, [], {}
            self._wake.notify()

    def flush(self) -> None:
        """Try once to write down everything that is owed."""
        with self._wake:
            owed, self._owed = self._owed, []
        for number, finish in enumerate(owed):
            try:
                if isinstance(finish, p.Finish):
                    self._write(finish)
                else:
                    self._withdraw(*finish)
            except Exception as error:  # noqa: BLE001 - whatever a store raises, what it did not take is kept
                self._say(len(owed) - number, error)
                with self._wake:
                    self._owed = owed[number:] + self._owed
                return
        self._pause, self._said = _FIRST, 0

    def _say(self, count: int, error: Exception) -> None:
        """One line for the host's log each time that more is owed."""
        if count > self._said:
            code = error.code if isinstance(error, StoreError) else "unavailable"
            LOG.warning(
                "%d outcomes could not be recorded yet, and are kept until the store is back: %s (%s)",
                count,
                type(error).__name__,
                code,
            )
        self._said = count

    def _withdraw(self, key: CallKey, sign: str) -> None:
        row = self._store.call(key)
        if row is not None and row.status == "started" and row.executor.partition("@")[0] == sign and row.attempt == 1:
            self._store.record(*never_started(row, self.redactor))

    def _write(self, finish: p.Finish) -> None:
        first = finish.rows[0] if finish.rows else None
        known = None if first is None else self._store.call(first.key)
        if first is None or known is None or known.attempt != first.attempt or known.outcome != first.outcome:
            written_down(self._store, finish)  # else: it had been written down, only the answer was lost

    def _start(self, due: float) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, daemon=True, name="guard-leases")
            self._thread.start()
        elif due < self._next:
            self._wake.notify()  # it waits for something that is due later than this

    def _run(self) -> None:
        while True:
            with self._wake:
                now = elapsed()
                due = [held.due for held in list(self._held.values())] + ([self._retry] if self._owed else [])
                self._next = min(due) if due else now + _IDLE
                self._wake.wait(max(0.0, self._next - now))
                if not (self._held or self._owed):
                    self._thread = None
                    return
            self._renew(elapsed())
            if self._owed and elapsed() >= self._retry:
                self.flush()
                self._pause = min(self._pause * 2, _LONGEST)
                self._retry = elapsed() + self._pause

    def _renew(self, now: float) -> None:
        for key, held in list(self._held.items()):
            if held.due > now:
                continue
            won = held.won
            held.due = now + won.lease / 3
            _quietly(partial(self._store.renew, key, won.attempt, won.lease, won.sign))


def _quietly(call: Callable[[], object]) -> None:
    """A lease that cannot be renewed runs out; that is what it is for."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - nobody is there to hear it but the log
        LOG.warning("a lease could not be renewed: %s", type(error).__name__)
