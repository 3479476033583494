"""The filer: files what this process wrote to a PostgreSQL database, a moment later and on another connection than the decisions.

Nothing is filed in the transaction of a decision. What is filed in a chain has no gap, and records of a chain become visible in the order of their numbers,
so the last one that is filed says where to go on. A portion is one transaction, and one process files at a time; a crash leaves all or nothing of a portion, and
the next who writes goes on. Until then every search reads what is not filed. Comes after `postgres_filing` and `postgres_wire`, before `postgres`.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, Final

from guard.errors import StoreError
from guard.stores import postgres_filing, postgres_sql
from guard.stores.postgres_errors import FailedError
from guard.stores.postgres_wire import Wire

MOMENT: Final = 1.0
"""Seconds after a record until it is filed. Each process files, and a portion costs the server as much as some dozens of records however few it holds: with
16 processes and a fifth of a second, filing took a quarter of the processor time."""
PORTION: Final = 128
"""Records of each chain in one transaction."""
REST: Final = 30.0
"""Seconds until it is tried again, where it failed."""
MANY: Final = 1_000
"""Unfiled records that whoever meets them has filed: somebody died before they were."""
_PATIENCE: Final = 5.0  # seconds that closing waits for a portion
_LOG: Final = logging.getLogger("guard.stores.filing")
_all: weakref.WeakSet[Filer] = weakref.WeakSet()


class Filer:
    """Files for one store. `run` gives a work a connection."""

    def __init__(self, run: Callable[[Callable[[Wire], bool | None]], bool | None]) -> None:
        self._run = run
        self._closed = False
        self._renew()
        _all.add(self)

    def _renew(self) -> None:
        """Nothing is due: at first, and in the child of a fork, where what was written is the parent's to file."""
        self._lock, self._busy = threading.Lock(), threading.Lock()
        self._timer: threading.Timer | None = None
        self._rest_until = 0.0  # where filing failed: monotonic seconds

    def wrote(self) -> None:
        """Records were committed: file them in a moment, unless that is due already."""
        if self._pending() or self._closed or (self._rest_until and monotonic() < self._rest_until):
            return
        with self._lock:
            if self._pending():  # another thread was faster
                return
            self._timer = timer = threading.Timer(MOMENT, _due, (weakref.ref(self),))
            timer.daemon, timer.name = True, "guard-filer"
            try:
                timer.start()
            except RuntimeError:  # no thread can be started: the next record tries again
                self._timer = None

    def _pending(self) -> bool:
        return self._timer is not None

    def due(self) -> None:
        """The moment is over."""
        more: bool | None = None
        try:
            with self._busy:
                self._timer = None  # what is written from here on may not be seen any more, and has a moment of its own
                while more := self._run(partial(portion, wait=False)):
                    pass
        except Exception as error:  # noqa: BLE001 - nothing depends on it, whatever it was: searches read what is not filed
            self._rest_until = monotonic() + REST
            if not self._closed:
                _LOG.warning("audit records are not made findable by index for now: %s", type(error).__name__)
            return
        if more is None:
            self.wrote()  # another process is at it, and may not have seen what this one wrote

    def all(self) -> None:
        """File every record that is there. Raises StoreError."""
        while self._run(partial(portion, wait=True)):
            pass

    def close(self) -> None:
        """File what is due, where that can be done at once; what is under way is waited for a while."""
        timer, self._timer, self._closed = self._timer, None, True
        if timer is not None:
            timer.cancel()
        mine = self._busy.acquire(timeout=_PATIENCE)
        with suppress(StoreError, FailedError):
            if timer is not None and mine:
                self.all()
        if mine:
            self._busy.release()


def portion(wire: Wire, *, wait: bool) -> bool | None:
    """File the next records of every chain; whether there may be more. None, and nothing is done, where another process is at it and is not to be waited for."""
    wire.execute(postgres_sql.BEGIN_WRITE)
    alone = wire.execute(postgres_filing.WAIT if wait else postgres_filing.TRY).fetchone()
    if not wait and not (alone or (False,))[0]:
        wire.commit()
        return None
    made = wire.execute(postgres_filing.FILE, (PORTION,))
    wire.commit()
    (most,) = made.first() or (0,)
    return int(most or 0) >= PORTION


def _due(ref: weakref.ref[Any]) -> None:
    filer = ref()
    if filer is not None:
        filer.due()


def _forked() -> None:
    for one in list(_all):
        one._renew()  # noqa: SLF001 - of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
