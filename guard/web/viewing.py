"""Viewing: that somebody who may decide was shown an approval in full is on record (`approval.viewed`), once for each person and revision.

Not written: for a list, for a look with a credential that cannot vote, for what is decided, for HEAD. What a browser fetches ahead, or a preview, is not
answered: it would be shown later without another request. Written before the answer, so that nobody who may decide has seen what no record says.
A revision has an id of its own, so an approval and a person tell them apart. Comes after people; before the pages and the approvals' API.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from starlette.requests import Request

from guard.core import audit_votes
from guard.core.ports import Event, Redactor, Store
from guard.core.searching import Sought
from guard.runner.approvals import View
from guard.web.bodies import RequestError
from guard.web.people import Person

KIND = "approval.viewed"
_KEPT = 10_000
"""Looks that are remembered without asking the store."""
_AHEAD = ("sec-purpose", "purpose", "x-purpose", "x-moz")


class Viewings:
    """The looks of one server. Asks the store: use it in a thread. Two servers at the same moment may both write one."""

    def __init__(self, store: Store, redactor: Redactor) -> None:
        self._store, self._redactor = store, redactor
        self._known: dict[tuple[str, str, str], None] = {}
        self._lock = threading.Lock()

    def note(self, request: Request, person: Person, views: Iterable[View]) -> None:
        """Write down what this request shows. Raises StoreError; RequestError (503) for what is fetched ahead."""
        if ahead(request):
            raise RequestError("an approval is shown to whoever opens it, and not fetched ahead", 503)
        if request.method == "HEAD" or "vote" not in person.scopes:
            return
        fresh = {_key(view, person): view for view in views if view.entitled and view.approval.status == "pending"}
        if fresh.keys() <= self._known.keys():
            return
        with self._lock:
            unknown = {key: view for key, view in fresh.items() if key not in self._known}
            events = [self._event(view, person) for view in unknown.values() if not self._written(view, person)]
            if events:
                self._store.record((), events)
            self._known |= dict.fromkeys(unknown)
            for key in [*self._known][: max(0, len(self._known) - _KEPT)]:
                del self._known[key]

    def _written(self, view: View, person: Person) -> bool:
        """Whether it is on record already: found by the approval's index."""
        approval, who = view.approval, person.session
        sought = Sought(tenant=approval.tenant, approval=approval.id, kinds=(KIND,), actor=who.names or who.who, limit=1)
        return bool(self._store.search(sought))

    def _event(self, view: View, person: Person) -> Event:
        state = {"presented": view.presented}
        how = {"assurance": person.assurance, "via": person.via}
        return audit_votes.record(KIND, view.approval, person.session, self._redactor, state, **how)  # type: ignore[arg-type]


def ahead(request: Request) -> bool:
    """Whether the page is fetched before, or without, anybody looking at it, as browsers and previews say."""
    said = " ".join(request.headers.get(name, "") for name in _AHEAD).lower()
    return any(word in said for word in ("prefetch", "prerender", "preview"))


def _key(view: View, person: Person) -> tuple[str, str, str]:
    return view.approval.tenant, view.approval.id, person.session.principal
