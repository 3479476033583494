"""Looks: that somebody who may decide was shown an approval in full is on record (`approval.viewed`), once for each person and revision.

Not written for what is decided, nor for a look of somebody who cannot decide. Written before it is shown, so that nobody who may decide has seen what no
record says. A revision has an id of its own, so an approval and a person tell them apart. Decides nothing. Used by the console and the terminal.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from guard.core import audit_votes
from guard.core.approval import Assurance, Via
from guard.core.model import Session
from guard.core.ports import Event, Redactor, Store
from guard.core.searching import Sought
from guard.runner.approvals import View

KIND = "approval.viewed"
_KEPT = 10_000
"""Looks that are remembered without asking the store."""


class Looks:
    """The looks of one process. Asks the store: use it in a thread. Two processes at the same moment may both write one."""

    def __init__(self, store: Store, redactor: Redactor) -> None:
        self._store, self._redactor = store, redactor
        self._known: dict[tuple[str, str, str], None] = {}
        self._lock = threading.Lock()

    def look(self, views: Iterable[View], who: Session, *, assurance: Assurance, via: Via) -> None:
        """Write down what this person is about to be shown. Raises StoreError."""
        fresh = {_key(view, who): view for view in views if view.entitled and view.approval.status == "pending"}
        if fresh.keys() <= self._known.keys():
            return
        with self._lock:
            unknown = {key: view for key, view in fresh.items() if key not in self._known}
            news = [view for view in unknown.values() if not self._written(view, who)]
            if news:
                self._store.record((), [self._event(view, who, assurance, via) for view in news])
            self._known |= dict.fromkeys(unknown)
            for key in [*self._known][: max(0, len(self._known) - _KEPT)]:
                del self._known[key]

    def _written(self, view: View, who: Session) -> bool:
        """Whether it is on record already: found by the approval's index."""
        approval = view.approval
        sought = Sought(tenant=approval.tenant, approval=approval.id, kinds=(KIND,), actor=who.names or who.who, limit=1)
        return bool(self._store.search(sought))

    def _event(self, view: View, who: Session, assurance: Assurance, via: Via) -> Event:
        state = {"presented": view.presented}
        return audit_votes.record(KIND, view.approval, who, self._redactor, state, assurance=assurance, via=via)


def _key(view: View, who: Session) -> tuple[str, str, str]:
    return view.approval.tenant, view.approval.id, who.principal
