"""Alike: how many questions about calls of the same tool for the same person there were within a day, for whoever decides about one more.

Shown beside the call and never part of what is voted over: it changes while somebody reads. Counted from what is filed about the records, within bounds.
Comes after site; before the pages.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from starlette.requests import Request

from guard.core.approval import Approval
from guard.core.searching import Sought
from guard.errors import StoreError
from guard.web.site import site

DAY = 86_400
_ASKED, _DECIDED = "approval.requested", "approval.resolved"
MOST = 2_000
"""Records that are counted; where there are more, the newest ones are, and the page says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """Questions of the last 24 hours, this one among them. What is neither approved nor rejected waits, or ended without a decision."""

    asked: int
    approved: int
    rejected: int
    more: bool

    @property
    def open(self) -> int:
        """Those without a decision; some that were decided may have been asked before."""
        return max(0, self.asked - self.approved - self.rejected)


def alike(request: Request, approval: Approval) -> Alike | None:
    """The count; None where it cannot be had. Asks the store: use it in a thread."""
    sought = Sought(
        since=site(request).clock() - DAY,
        kinds=(_ASKED, _DECIDED),
        tenant=approval.tenant,
        tool=approval.tool,
        principal=str(approval.requester),
        limit=MOST,
    )
    with suppress(StoreError):
        rows = site(request).guard.store.filed(sought, ("kind", "state"))
        count = {row: rows.count(row) for row in set(rows)}
        asked = sum(number for (kind, _), number in count.items() if kind == _ASKED)
        approved, rejected = (count.get((_DECIDED, state), 0) for state in ("approved", "rejected"))
        return Alike(asked=asked, approved=approved, rejected=rejected, more=len(rows) == MOST)
    return None
