"""Grants: standing permissions that people give from an approval, list and take back. Nothing here runs a call.

Who the giver is comes from the host as a `Session`; whether they may give it, and what may be given, is judged here against the policy in force, and the
store writes it in one transaction. Whether a grant still covers a call is judged anew each time by the walk. A stranger learns nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from guard.core import grant_records
from guard.core.approval import Assurance, Seen, Via
from guard.core.approve import stands
from guard.core.covering import covers
from guard.core.grant_words import promised, words
from guard.core.granting import Asking, FindGrants
from guard.core.grants import Giver, Grant, GrantStatus, rule_mark
from guard.core.model import Approval, CallKey, ConversationRef, Session
from guard.core.names import real
from guard.core.offers import Offer, Scope
from guard.core.persons import called, opaque
from guard.core.replacing import replace
from guard.core.rules import ApprovalRule, Tool
from guard.errors import ApprovalError
from guard.runner.approvals import Approvals
from guard.runner.behind import hiding
from guard.runner.giving import Choice, Drafting, Read
from guard.runner.grant_bounds import Bounds

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase


class Grants:
    """The grants of a guard's store."""

    def __init__(self, guard: GuardBase) -> None:
        self._guard = guard

    def list(
        self,
        *,
        status: GrantStatus | None = "live",
        tenant: str | None = None,
        principal: str | None = None,
        conversation: str | None = None,
        approval: str | None = None,
    ) -> tuple[Grant, ...]:
        """Grants, oldest first; live ones unless `status` says otherwise (None: all). One of no conversation is one of each."""
        found = self._guard.store.grants(tenant=tenant, principal=None, approval=approval)
        now = self._guard.store.now()
        where = {None, conversation, conversation and opaque(self._guard.redactor, "conversation", conversation)}
        found = tuple(one for one in found if principal in (None, one.principal, real(one.principal)))
        here = (one for one in found if conversation is None or one.conversation in where)
        return tuple(one for one in here if status in (None, one.status(now)))

    def show(self, grant_id: str | Grant) -> Grant:
        """One grant as it is now, with what calls have drawn on it. Raises ApprovalError (`not_found`)."""
        name = grant_id.id if isinstance(grant_id, Grant) else str(grant_id)
        found = self._guard.store.grant(name)
        return found if found is not None else _not_found(name)

    def words(self, grant: Grant) -> tuple[str, ...]:
        """What it permits, in sentences that a person reads before giving it."""
        return words(grant)

    def stands(self, grant: Grant) -> bool:
        """Whether today's policy would let it be given still, to people who may still approve. If not, it covers no call."""
        policy, rights = self._guard.policy, self._guard.rights
        tool = policy.tools.get(grant.tool)
        rules = () if tool is None or self._redefined(tool, grant.definition) else tool.approval
        try:
            return any(stands(grant, rule, rights) for rule in rules)
        except Exception:  # noqa: BLE001 - a policy that cannot be evaluated offers nothing
            return False

    def answers(self, approval: Approval) -> bool:
        """Whether a grant that was given meanwhile answers what is asked, so that the call may be walked again."""
        tool = self._guard.policy.tools.get(approval.tool)
        if tool is None or approval.status != "pending" or not any(rule.grants for rule in tool.approval):
            return False
        key, store = _key(approval), self._guard.store
        asking = Asking(key=key, tool=approval.tool, fingerprint=approval.fingerprint)
        named, now = (approval.tool, approval.definition), store.now()
        [found] = store.find_grants(FindGrants(calls=(asking,)))
        fit = (one for one in found.grants if covers(one, key.ref, named, approval.arguments, approval.fingerprint, now))
        return any(map(self.stands, fit))

    def offers(self, approval_id: str | Approval, *, by: Session) -> tuple[Offer, ...]:
        """What this person could give from this approval by the policy in force. Raises ApprovalError where they may not decide about it."""
        rule = self._rule(self._approval(approval_id, by))
        return () if rule is None else rule.grants

    def choices(self, approval_id: str | Approval, *, by: Session, assurance: Assurance = "host") -> tuple[Choice, ...]:
        """Every offer with the grant as it would stand, to be read. Raises ApprovalError where they may not decide about it."""
        return self._drafting(self._approval(approval_id, by), by, assurance).choices()

    def draft(
        self,
        approval_id: str | Approval,
        *,
        by: Session,
        scope: Scope,
        reason: str | None = None,
        assurance: Assurance = "host",
        shown: str | None = None,
        **bounds: Unpack[Bounds],
    ) -> Grant:
        """The grant that `give` would keep, to be read before. Nothing is kept. Takes the same, and raises the same, but for what the vote decides."""
        found = self._drafting(self._approval(approval_id, by), by, assurance).draft(scope, bounds, shown)
        return replace(found, reason=reason or found.reason)

    def give(
        self,
        approval_id: str | Approval,
        *,
        by: Session,
        scope: Scope,
        reason: str | None = None,
        assurance: Assurance = "host",
        shown: str | None = None,
        **bounds: Unpack[Bounds],
    ) -> Grant:
        """Let further calls run without a question, within what the policy offers and these bounds: a grant is never widened afterwards.

        The approval must be approved, or have this person's yes. Where the rule needs several
        people it is `proposed` until so many gave it: the others give the same without bounds. With `shown`, the digest of the words that were read
        (`promised`), only that. Raises ApprovalError (`not_found`, `not_entitled`, `not_offered`, `not_approved`, `already_given`, `stale`).
        """
        approval = self._approval(approval_id, by)
        by = self._guard.known(by)
        made = self.draft(approval, by=by, scope=scope, reason=reason, assurance=assurance, shown=shown, **bounds)
        hides = hiding(self._guard, _key(approval), approval.arguments)
        return self._guard.store.give(made, partial(grant_records.given, by=by, assurance=assurance, redactor=hides))

    def give_read(
        self, approval_id: str | Approval, draft: Grant, *, by: Session, reason: str | None = None, assurance: Assurance = "host"
    ) -> Grant:
        """Give exactly what `draft` gave to read. Raises ApprovalError as `give` does: `stale` where it would be another by now."""
        given = draft.constraint
        bounds: Bounds = {"uses": draft.uses, "until": draft.until, "at_most": given.get("at_most"), "sum": given.get("sum")}
        more: Any = {"reason": reason, "assurance": assurance, "shown": promised(draft), **bounds}
        return self.give(approval_id, by=by, scope=draft.scope, **more)

    def approve(
        self,
        approval_id: str | Approval,
        read: Read,
        *,
        approver: Session,
        reason: str | None = None,
        seen: Seen | None = None,
        via: Via = "program",
        assurance: Assurance = "host",
    ) -> tuple[Approval, Grant]:
        """Say yes to the call and give the grant that was read with it. Where that is another one by now, nothing is decided.

        Raises ApprovalError as `approvals.approve` and `give` do; `not_given`: the yes counts, and the grant was not given after all.
        """
        approvals = Approvals(self._guard)
        bounds: Any = {"until": read.until, "shown": read.shown, "assurance": assurance}
        waits = approvals.show(approval_id).status == "pending"  # else the vote says who was faster
        draft = self.draft(approval_id, by=approver, scope=read.scope, **bounds) if waits else None
        after = approvals.approve(approval_id, approver=approver, reason=reason, seen=seen, via=via, assurance=assurance)
        try:
            given = None if draft is None else self.give_read(after, draft, by=approver, reason=reason, assurance=assurance)
        except ApprovalError as error:
            raise ApprovalError("not_given", f"the yes counts, but no grant was given: {error}") from error
        if given is None:
            raise ApprovalError("not_given", "the yes counts, but no grant was given: read again what may be given")
        return after, given

    def revoke(self, grant_id: str | Grant, *, by: Session, reason: str | None = None) -> Grant:
        """Take it back, for good: by whoever gave it, whoever may approve calls of the tool today, or the person whose calls it covers.

        A call that has begun goes on. Raises ApprovalError (`not_found`, `already_decided`).
        """
        grant = self.show(grant_id)
        if not isinstance(by, Session) or not self.concerns(grant, by):
            _not_found(grant.id)
        by = self._guard.known(by)
        event = partial(grant_records.revoked, by=by, redactor=self._guard.redactor)
        return self._guard.store.revoke_grant(grant.id, by=called(by, grant.people), reason=reason, event=event)

    def concerns(self, grant: Grant, person: Session) -> bool:
        """Whether this person may see it and take it back."""
        if person.tenant != grant.tenant:
            return False
        if any(map(self._guard.known(person).means, grant.people)):
            return True
        try:
            verdict = self._guard.policy.authorizer.decide(person, grant.tool, "approve")
        except Exception:  # noqa: BLE001 - a policy that cannot be evaluated entitles nobody
            return False
        return verdict.allowed and not verdict.denied

    def _approval(self, approval_id: str | Approval, by: Session) -> Approval:
        if not isinstance(by, Session):
            raise ApprovalError("not_entitled", "whoever gives a grant is a Session that the host authenticated")
        approvals = Approvals(self._guard)
        approval = approvals.show(approval_id)
        if not approvals.entitled(approval, by):
            if self._guard.known(by).means(approval.requester) and by.tenant == approval.tenant:
                raise ApprovalError("not_entitled", "the requester may not give a grant for these calls; another person must")
            raise ApprovalError("not_found", f"there is no approval {approval.id} that this person may decide about")
        return approval

    def _rule(self, approval: Approval) -> ApprovalRule | None:
        """The alternative of today's policy by which the approval was asked for, where there is still the same one."""
        tool = self._guard.policy.tools.get(approval.tool)
        if tool is None or self._redefined(tool, approval.definition):
            return None
        return next((rule for rule in tool.approval if rule.strictness and rule_mark(rule) == approval.rule), None)

    def _redefined(self, tool: Tool, definition: str) -> bool:
        """Whether the tool is defined anew, where that can be told: a guard without the program's functions does not know what they take."""
        return tool.name in self._guard.hands.tools and tool.definition != definition

    def _giver(self, by: Session, approval: Approval, assurance: Assurance) -> Giver:
        given = self._guard.store.grants(tenant=approval.tenant, principal=None, approval=approval.id)
        name = called(self._guard.known(by), (*approval.people, *(name for one in given for name in one.people)))
        return Giver(by=name, roles=tuple(sorted(by.roles)), at=self._guard.store.now(), assurance=assurance)

    def _drafting(self, approval: Approval, by: Session, assurance: Assurance) -> Drafting:
        giver = self._giver(by, approval, assurance)
        return Drafting(guard=self._guard, approval=approval, rule=self._rule(approval), giver=giver)


def _key(approval: Approval) -> CallKey:
    names = {"tenant": approval.tenant, "principal": approval.requester, "conversation": approval.conversation}
    return CallKey(ConversationRef(**names, branch=approval.branch), approval.turn, approval.position)


def _not_found(name: str) -> NoReturn:
    raise ApprovalError("not_found", f"there is no grant {name} that this person may see")
