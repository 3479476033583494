"""Keeper: makes checkpoints while a program runs, and sends them to every target until each has them.

One thread that looks now and then; nothing that is decided waits for it. What cannot be made or sent is said once in the host's log and tried again at
the next look. Comes after `making` and `targets`; compose and the command line start it.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from guard.core.log import Checkpoint, Signer
from guard.core.ports import Store
from guard.errors import GuardError
from guard.proof import keys
from guard.proof.making import log_name, signer
from guard.proof.targets import Target, target

_LOOK = 5.0  # seconds between two looks
_RUNNING: weakref.WeakSet[Keeper] = weakref.WeakSet()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """How checkpoints are made: the file of the key that signs, and where they go (files, `https://…`, `command:…`).

    One is made when `every` seconds went by and something new was recorded, or after `records` new records, and when the guard is closed.
    """

    key: str | Path
    to: Sequence[str]
    every: float = 60.0
    records: int = 1000

    def keep(self, store: Store) -> Keeper:
        """Begin with a store that was just opened; where that cannot be, the store is closed. Raises GuardError."""
        try:
            return Keeper(store, self)
        except BaseException:
            store.close()
            raise


class Keeper:
    """Makes and sends the checkpoints of a store. Raises GuardError for a key or a target that cannot be used."""

    def __init__(self, store: Store, plan: Checkpoints, *, start: bool = True) -> None:
        if not plan.to or isinstance(plan.to, str):
            raise GuardError("checkpoints go to a list of places outside of the store: to=['/elsewhere/checkpoints.jsonl']")
        self._store, self._key = store, keys.load(plan.key)
        self._targets: tuple[Target, ...] = tuple(map(target, plan.to))
        name = log_name(store.secret)
        self._due: Signer = signer(self._key, name, every=plan.every, records=plan.records)
        self._now: Signer = signer(self._key, name)
        self._pause = min(_LOOK, plan.every)
        self._told = ""
        self._stopped = False
        if start:
            _RUNNING.add(self)
            self._begin()

    def _begin(self) -> None:
        self._wake = threading.Event()
        self._thread: threading.Thread | None = threading.Thread(target=self._run, daemon=True, name="guard-checkpoints")
        self._thread.start()

    def _run(self) -> None:
        wake = self._wake
        while not wake.wait(self._pause):
            self.try_(now=False)

    def try_(self, *, now: bool) -> Checkpoint | None:
        """One look; what goes wrong is said in the log."""
        try:
            made = self.look(now=now)
            self._told = ""
        except Exception as error:  # noqa: BLE001 - whatever happens in one look, the next one takes place
            text = str(error) if isinstance(error, GuardError) else type(error).__name__
            if text != self._told:
                logging.getLogger("guard").error("a checkpoint of the audit was not made or not sent: %s", text)  # noqa: TRY400 - the text says all
            self._told = text
            return None
        return made

    def look(self, *, now: bool) -> Checkpoint | None:
        """Make a checkpoint where one is due (`now`: where there is anything new), and send what was not taken yet. Raises GuardError."""
        made = self._store.checkpoint(self._now if now else self._due)
        for one in self._store.checkpoints(unsent=True):
            for send in self._targets:
                send(one)
            self._store.sent(one.number)
        return made

    def close(self) -> None:
        """Stop looking, after one more checkpoint."""
        if self._stopped:
            return
        self._stopped = True
        _RUNNING.discard(self)
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_LOOK)
        self.try_(now=True)

    def forked(self) -> None:
        """In a child process nobody looks yet."""
        self._begin()


def _after_fork() -> None:
    for keeper in list(_RUNNING):
        keeper.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
