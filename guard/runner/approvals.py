"""Approvals: people's yes or no to one exact call. It executes nothing.

Who the approver is comes from the host as a `Session`; whether the vote counts is judged here against the policy in force and written by
the store in one transaction. A stranger learns nothing, not even whether the approval exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guard.core import audit_votes
from guard.core.approval import Approval, Assurance, Seen, Via
from guard.core.model import Outcome, Session
from guard.core.names import distinct
from guard.core.persons import called
from guard.core.ports import Event
from guard.core.presented import document, masked, presented
from guard.core.replacing import replace
from guard.core.revising import Revision
from guard.core.rights import Rights
from guard.core.values import Json, JsonObject
from guard.core.wording import Ran, became
from guard.errors import ApprovalError
from guard.runner import editing
from guard.runner.behind import hiding, salted
from guard.runner.deciders import ballot_of, barred, concerns, not_found, wrote
from guard.runner.drivers import SyncRun
from guard.runner.gone import erasure
from guard.runner.opening import listed

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One approval as this person may see it: `document` is what to show, `presented` its digest, which the vote carries back (`seen`).

    In `approval` and `previous` (the revision before) a mask stands in the place of what the policy calls secret. `needs` is how many more
    people must say yes, `ran` what became of the call, `gone` when and by whom its arguments were erased (empty: they were not).
    """

    approval: Approval
    previous: Approval | None
    document: JsonObject
    presented: str
    entitled: bool
    needs: int
    ran: Ran | None = None
    gone: str = ""

    @property
    def seen(self) -> Seen:
        """What a form that shows this carries."""
        return Seen(revision=self.approval.revision, fingerprint=self.approval.fingerprint, presented=self.presented)


class Approvals:
    """The approvals of a guard's store."""

    def __init__(self, guard: GuardBase) -> None:
        self._guard = guard

    def list(
        self, *, status: str | None = "pending", tenant: str | None = None, conversation: str | None = None
    ) -> tuple[Approval, ...]:
        """Approvals, oldest first; pending ones unless `status` says otherwise (None: all)."""
        return listed(self._guard, status=status, tenant=tenant, conversation=conversation)

    def show(self, approval_id: str | Approval) -> Approval:
        """One approval, by its id (or itself, looked up anew), with its final arguments in full. Raises ApprovalError (`not_found`)."""
        approval_id = approval_id.id if isinstance(approval_id, Approval) else str(approval_id)
        found = self._guard.store.approval(approval_id)
        return found if found is not None else not_found(approval_id)

    def view(self, approval_id: str | Approval, viewer: Session) -> View:
        """What this person is shown before a vote. Raises ApprovalError (`not_found`) unless they may decide about it, asked for it or edited it."""
        approval, viewer = self.show(approval_id), self._guard.known(viewer)
        entitled = self.entitled(approval, viewer)
        if not entitled and not concerns(approval, viewer) and not wrote(approval, viewer):
            not_found(approval.id)
        previous = self._before(approval)
        counted = distinct(vote.by for vote in approval.yes if self._rights.still(approval, vote))
        return View(
            approval=masked(approval),
            previous=None if previous is None else masked(previous),
            document=document(approval, previous),
            presented=presented(approval, previous),
            entitled=entitled,
            needs=max(0, approval.need - counted) if approval.status == "pending" else 0,
            ran=None if approval.status == "pending" else became(approval, self._guard.store.call(editing.key_of(approval))),
            gone=erasure(self._guard.store, approval),
        )

    def approve(
        self,
        approval_id: str | Approval,
        *,
        approver: Session,
        reason: str | None = None,
        seen: Seen | None = None,
        via: Via = "program",
        assurance: Assurance = "host",
    ) -> Approval:
        """Say yes to this exact call. Runs nothing. With `seen`, only to what was shown. Raises ApprovalError when the vote does not count."""
        return self._vote(approval_id, "approved", approver, reason, None, seen, via, assurance)

    def reject(
        self,
        approval_id: str | Approval,
        *,
        approver: Session,
        reason: str | None = None,
        note: str | None = None,
        seen: Seen | None = None,
        via: Via = "program",
        assurance: Assurance = "host",
    ) -> Approval:
        """Say no; the model may read `reason` and never `note`. Raises ApprovalError when the vote does not count."""
        return self._vote(approval_id, "rejected", approver, reason, note, seen, via, assurance)

    def edit(
        self,
        approval_id: str | Approval,
        *,
        editor: Session,
        changes: Mapping[str, Json],
        reason: str,
        seen: Seen | None = None,
        via: Via = "program",
        assurance: Assurance = "host",
    ) -> Approval:
        """Change arguments that the policy names in `edit:` (values by JSON Pointer); gives the new revision, which waits in place of this one.

        Raises ApprovalError: `not_editable`, `stale`, or `refused` (with `outcome`) where the policy refuses the changed call.
        """
        approval, edit = self.to_edit(approval_id, editor, changes, reason, seen, via, assurance)
        _, walk = editing.flow(self._guard, approval, editor, edit)
        return self.edited(approval, editor, edit, SyncRun(self._guard.hands).run(walk))

    def to_edit(
        self,
        approval_id: str | Approval,
        editor: Session,
        changes: Mapping[str, Json],
        reason: str,
        seen: Seen | None,
        via: Via,
        assurance: Assurance,
    ) -> tuple[Approval, editing.Edit]:
        """The approval and the edit, once this person may change it. For the drivers."""
        if not isinstance(editor, Session):
            raise ApprovalError("not_entitled", "an editor is a Session that the host authenticated")
        editor, rights = self._guard.known(editor), self._rights
        approval = self.show(approval_id)
        refusal = barred(replace(approval, authors=()), editor, rights) or self._stale(approval, seen)
        if refusal is not None:
            raise refusal
        if not isinstance(reason, str) or not reason.strip():
            raise ApprovalError("not_entitled", "say why: a reason is needed")
        ballot = ballot_of(seen, None, rights, via, assurance)
        return approval, editing.Edit(changes=changes, reason=reason, ballot=ballot, via=via, assurance=assurance)

    def edited(self, approval: Approval, editor: Session, edit: editing.Edit, found: Revision | Outcome) -> Approval:
        """Keep what the walk of a changed call gave. For the drivers."""
        hides = hiding(self._guard, editing.key_of(approval), approval.arguments)
        return editing.written(self._guard, approval, editor, edit, found, hides)

    def cancel(
        self, approval_id: str | Approval, *, by: Session, reason: str, via: Via = "program", assurance: Assurance = "host"
    ) -> Approval:
        """Withdraw a question, or a yes that was not used: by whoever asked, or may decide. Its call is refused, and the model told so."""
        return self._end(approval_id, "cancelled", by, reason, via, assurance)

    def revoke(
        self, approval_id: str | Approval, *, by: Session, reason: str, via: Via = "program", assurance: Assurance = "host"
    ) -> Approval:
        """Take back a yes that was not used yet: by whoever may decide, or gave it. Its call is refused."""
        return self._end(approval_id, "revoked", by, reason, via, assurance)

    def entitled(self, approval: Approval, approver: Session) -> bool:
        """Whether the policy in force lets this person decide about the approval. Says nothing about its status."""
        return self._rights.may(approval, approver)

    @property
    def _rights(self) -> Rights:
        """Read once for each vote: it is judged by one version of the policy."""
        return self._guard.rights

    def _before(self, approval: Approval) -> Approval | None:
        return None if approval.supersedes is None else self._guard.store.approval(approval.supersedes)

    def _vote(
        self,
        approval_id: str | Approval,
        decision: str,
        approver: Session,
        reason: str | None,
        note: str | None,
        seen: Seen | None,
        via: Via,
        assurance: Assurance,
    ) -> Approval:
        approver = self._authentic(approver)
        approval, rights, store = self.show(approval_id), self._rights, self._guard.store
        hides = hiding(self._guard, editing.key_of(approval), approval.arguments) if reason or note else self._guard.redactor
        written = audit_votes.words(reason, note, hides, salted(self._guard, editing.key_of(approval), note))

        def lost(why: str) -> Event:
            state: JsonObject = {"status": "refused", "wanted": decision, "why": why, **written}
            return audit_votes.record("approval.vote", approval, approver, hides, state, assurance=assurance, via=via)

        def counts(after: Approval) -> Event:
            kind, state = audit_votes.counted(after, decision)
            state |= {"presented": ballot.presented, **written} if ballot.presented else written
            return audit_votes.record(kind, after, approver, hides, state, assurance=assurance, via=via)

        refusal = barred(approval, approver, rights) or self._stale(approval, seen)
        if refusal is not None:
            store.record((), (lost(refusal.code),))
            raise refusal
        ballot = ballot_of(seen, note, rights, via, assurance)
        by, roles = called(approver, approval.people), tuple(sorted(approver.roles))
        try:
            return store.vote(approval.id, status=decision, by=by, reason=reason, event=counts, roles=roles, ballot=ballot)
        except ApprovalError as error:  # decided or expired before: a vote that came too late is on record, too
            store.record((), (lost(error.code),))
            raise

    def _authentic(self, approver: Session) -> Session:
        """The session with what stands for its person in the store."""
        if not isinstance(approver, Session):
            raise ApprovalError("not_entitled", "an approver is a Session that the host authenticated")
        return self._guard.known(approver)

    def _stale(self, approval: Approval, seen: Seen | None) -> ApprovalError | None:
        """A vote about something else than what stands: an older revision, other content, or another view of it."""
        if seen is None:
            return None
        shown = presented(approval, self._before(approval))
        if seen == Seen(revision=approval.revision, fingerprint=approval.fingerprint, presented=shown):
            return None
        newer = f"; the one in force is {approval.superseded_by}" if approval.superseded_by else ""
        return ApprovalError("stale", f"this is not what was shown: look at revision {approval.revision} again{newer}")

    def _end(
        self, approval_id: str | Approval, status: str, by: Session, reason: str, via: Via, assurance: Assurance
    ) -> Approval:
        if not isinstance(by, Session):
            raise ApprovalError("not_entitled", f"an approval is {status} by a Session that the host authenticated")
        approval, by = self.show(approval_id), self._guard.known(by)
        gave = any(by.means(vote.by) for vote in approval.yes) and by.tenant == approval.tenant
        own = concerns(approval, by) and status == "cancelled"
        if not (own or self.entitled(replace(approval, authors=()), by) or (gave and status == "revoked")):
            if concerns(approval, by):
                raise ApprovalError("own", "the requester cancels a call; only who may decide about it revokes a yes")
            not_found(approval.id)
        if not isinstance(reason, str) or not reason.strip():
            raise ApprovalError("not_entitled", "say why: a reason is needed")
        hides = hiding(self._guard, editing.key_of(approval), approval.arguments)

        def ended(after: Approval) -> Event:
            state: JsonObject = {"status": after.status, **audit_votes.words(reason, None, hides)}
            return audit_votes.record(f"approval.{status}", after, by, hides, state, assurance=assurance, via=via)

        return self._guard.store.end(
            approval.id, status="revoked" if status == "revoked" else "cancelled", by=called(by, approval.people), event=ended
        )
