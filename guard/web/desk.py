"""Desk: the approvals and calls in doubt that one person may know of. What is not theirs is not there. Asks the store: use it in a thread.

Decides nothing: who may decide about what is judged by `guard.approvals`. Comes before the API of approvals and events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from guard.core.approval import Approval
from guard.core.model import Session
from guard.core.names import real
from guard.core.values import JsonObject
from guard.errors import ApprovalError
from guard.runner.approvals import Approvals, View
from guard.runner.deciders import concerns, wrote
from guard.runner.doubts import Doubts, Unknown
from guard.web import shapes
from guard.web.people import Person

STATUSES = ("pending", "approved", "rejected", "expired", "consumed", "cancelled", "revoked", "superseded")
_LIVE = ("pending", "approved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which approvals are asked for: a status (None: any), exact names, at most `limit`, those after the place of an earlier page's last one."""

    status: str | None = "pending"
    tool: str | None = None
    requester: str | None = None
    conversation: str | None = None
    limit: int = 50
    after: tuple[float, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What one person may know of."""

    approvals: Approvals
    doubts: Doubts
    person: Person
    me: Session = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "me", self.person.session)

    def asked(self, approval: Approval) -> bool:
        """Whether this person asked for the call."""
        return concerns(approval, self.me)

    def sees(self, approval: Approval) -> bool:
        """Whether this person may know of it: who asked for the call, who edited it, and who may decide."""
        return self.asked(approval) or wrote(approval, self.me) or self.approvals.entitled(approval, self.me)

    def page(self, wanted: Wanted) -> JsonObject:
        """One page, oldest first, and where the next one goes on."""
        found: list[Approval] = []
        more = False
        for one in self._visible(wanted):
            if len(found) == wanted.limit:
                more = True
                break
            found.append(one)
        last = found[-1] if more else None
        return {
            "approvals": [{**shapes.approval(one), "you": self.you(one)} for one in found],
            "next": None if last is None else f"{last.requested_at!r}~{last.id}",
        }

    def _visible(self, wanted: Wanted) -> Iterator[Approval]:
        every = self.approvals.list(status=wanted.status, tenant=self.me.tenant, conversation=wanted.conversation)
        for one in sorted(every, key=_place):
            fits = wanted.tool in (None, one.tool) and wanted.requester in (None, one.requester, real(one.requester))
            if fits and (wanted.after is None or _place(one) > wanted.after) and self.sees(one):
                yield one

    def you(self, approval: Approval, *, entitled: bool | None = None) -> JsonObject:
        """What this person may do about it with this credential; whether it counts is judged again when they do."""
        may = self.approvals.entitled(approval, self.me) if entitled is None else entitled
        acts = may and "vote" in self.person.scopes
        voted = any(self.me.means(vote.by) for vote in approval.votes)
        waits, live = approval.status == "pending", approval.status in _LIVE
        return {
            "asked": self.asked(approval),
            "voted": voted,
            "may_decide": acts and waits and not voted,
            "may_edit": acts and waits and bool(approval.editable),
            "may_cancel": live and "vote" in self.person.scopes and (may or self.asked(approval)),
            "may_revoke": acts and approval.status == "approved",
        }

    def shown(self, approval_id: str) -> JsonObject:
        """One approval in full. Raises ApprovalError."""
        return self.told(self.approvals.view(approval_id, self.me))

    def told(self, view: View) -> JsonObject:
        """A view as JSON."""
        return {
            "approval": shapes.approval(view.approval),
            "document": view.document,
            "revision": view.approval.revision,
            "fingerprint": view.approval.fingerprint,
            "presented": view.presented,
            "needs": view.needs,
            "you": self.you(view.approval, entitled=view.entitled),
            "ran": shapes.ended(view.ran),
            "erased": view.gone or None,
            "words": shapes.beside(view.approval),
        }

    def state(self, approval_id: str) -> JsonObject | None:
        """How an approval stands, for whoever may know of it."""
        try:
            found = self.approvals.show(approval_id)
        except ApprovalError:
            return None
        return shapes.state(found) if self.sees(found) else None

    def unknown(self) -> list[Unknown]:
        """The calls in doubt that this person may settle or asked for."""
        found = self.doubts.list(tenant=self.me.tenant)
        return [one for one in found if self.me.means(one.requester) or self.doubts.entitled(one, self.me)]

    def doubt(self, one: Unknown) -> JsonObject:
        """A call in doubt as JSON, and whether this person may settle it."""
        may = "vote" in self.person.scopes and self.doubts.entitled(one, self.me)
        return {**shapes.unknown(one), "you": {"may_settle": may}}


def _place(approval: Approval) -> tuple[float, str]:
    return approval.requested_at, approval.id
