"""Seams: where a process dies or falls asleep. The guard has no hook for it: its store and its tools are wrapped.

`Dice` decides and carries it out with a real SIGKILL, SIGSTOP or sleep. `Seams` is the store with a seam before and after what it writes.
`Naive` is a store that forgets who took a call: with it the run must find duplicates.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from crash import targets
from guard.core.ports import CallRow, Claim, ClaimAnswer, Event, Lapse, Opened, OpenTurn, Won
from guard.errors import StoreError

SLEEP = 0.6  # seconds: longer than every lease


class Dice:
    """One process's luck. `kill` is the chance to die at each seam, `sleep` that of each of two ways to be late in a tool."""

    def __init__(self, folder: Path, name: str, *, kill: float, sleep: float) -> None:
        self.folder, self._kill, self._sleep = folder, kill, sleep
        self.random = Random(name)
        self.deaf_until = 0.0

    def seam(self, name: str) -> None:
        """Die here, or go on."""
        if self.random.random() < self._kill:
            targets.write(self.folder, "kill", name)
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)  # it takes the kernel a moment

    def pause(self) -> None:
        """Sleep past the lease here, or go on: asleep without a heartbeat, or stopped as a whole (the parent wakes it)."""
        chance = self.random.random()
        if chance < self._sleep:
            targets.write(self.folder, "late", "asleep")
            self.deaf_until = time.monotonic() + SLEEP
            time.sleep(SLEEP)
        elif chance < 2 * self._sleep:
            targets.write(self.folder, "late", "stopped")
            os.kill(os.getpid(), signal.SIGSTOP)


class Fatal(Dice):
    """Dies at one named seam, and nowhere else."""

    def __init__(self, folder: Path, where: str) -> None:
        super().__init__(folder, "fatal", kill=0.0, sleep=0.0)
        self._where = where

    def seam(self, name: str) -> None:
        """Die where it was asked for."""
        if name == self._where:
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)


class Full(Fatal):
    """From the named seam on this process can write nothing to any file, as on a disk that is full."""

    def seam(self, name: str) -> None:
        """Fill the disk where it was asked for."""
        if name == self._where:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


class Wrapped:
    """A store that passes everything on."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


_CALLED = {"decide": "record", "begin": "claim"}  # both write decisions; both take calls


class Torn(Wrapped):
    """A place that keeps data, whose process may die when everything is written and nothing committed."""

    def __init__(self, backend: Any, dice: Dice) -> None:
        super().__init__(backend)
        self._dice = dice

    def write(self, work: Callable[[Any], Any]) -> Any:
        named: Any = getattr(work, "work", work)  # the claim of a plain call is a work around one
        verb = _CALLED.get(verb := named.__qualname__.split(".")[1], verb)

        def whole(tables: Any) -> Any:
            answer = work(tables)
            if not getattr(tables, "over", False):  # what was one statement has no such moment on this side
                self._dice.seam(f"before the commit of {verb}")
            return answer

        return self._store.write(whole)


class Naive(Wrapped):
    """Says `won` to everybody and remembers nothing: the call is written down only once it has acted."""

    at_once = False

    def claim(self, command: Claim) -> ClaimAnswer:
        return Won(at=self._store.now(), idem=command.row.idem, lease=command.lease)


class Seams(Wrapped):
    """A store whose process may die around what it writes."""

    def __init__(self, store: Any, dice: Dice) -> None:
        super().__init__(store)
        self._dice = dice
        ledger = store._store if isinstance(store, Naive) else store
        ledger._tables = Torn(ledger._tables, dice)

    def open_turn(self, command: OpenTurn) -> Opened:
        self._dice.seam("before the turn is opened")
        opened = self._store.open_turn(command)
        self._dice.seam("turn opened")
        return opened

    def ask(self, command: Any) -> Any:
        asked = self._store.ask(command)
        self._dice.seam("approval asked for")
        return asked

    def vote(self, *given: Any, **more: Any) -> Any:
        voted = self._store.vote(*given, **more)
        self._dice.seam("vote counted")
        return voted

    def record(self, rows: Sequence[CallRow], events: Sequence[Event]) -> None:
        ends = any(row.attempt for row in rows)
        self._dice.seam("tool ended, outcome not recorded" if ends else "decided, not recorded")
        self._store.record(rows, events)
        self._dice.seam("outcome recorded" if ends else "decision recorded")

    def decide(self, command: Any) -> Any:
        self._dice.seam("decided, not recorded")
        found = self._store.decide(command)
        self._dice.seam("decision recorded")
        return found

    def hold(self, command: Any) -> Any:
        self._dice.seam("decided, not recorded")
        found = self._store.hold(command)
        self._dice.seam("decision recorded")
        return found

    def claim(self, command: Claim) -> ClaimAnswer:
        self._dice.seam("before the claim")
        answer = self._store.claim(command)
        if isinstance(answer, Won):
            self._dice.seam("claimed")
        return answer

    def begin(self, command: Any) -> ClaimAnswer:
        self._dice.seam("decided, not recorded")
        answer: ClaimAnswer = self._store.begin(command)
        if isinstance(answer, Won):
            self._dice.seam("claimed")
        return answer

    def lapse(self, command: Lapse) -> CallRow:
        row = self._store.lapse(command)
        self._dice.seam("found to be lost")
        return row

    def renew(self, *given: Any) -> bool:
        if time.monotonic() < self._dice.deaf_until:
            raise StoreError("asleep")
        return bool(self._store.renew(*given))
