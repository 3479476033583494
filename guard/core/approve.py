"""Approve: the seventh room. `AuthorizedCall` → `Allow`, `Hold` or a refusal: whether a person must decide, and what they decided.

An approval is about one exact call; it is asked for only after everything else has passed, and an approved one is compared with the
call and with today's rule again. Comes after limit and before claim, which spends the approval. A person's yes runs nothing here.
"""

from __future__ import annotations

from guard.core.model import Allow, Approval, AuthorizedCall, CallKey, Hold, Refusal, Session, ValidCall
from guard.core.ports import Authorizer
from guard.core.reasons import Reason
from guard.core.rules import ApprovalRule
from guard.core.values import canonical, digest


def proposal(call: AuthorizedCall, rule: ApprovalRule, key: CallKey, policy: str, now: float) -> Approval:
    """The question that a person would be asked about this call; the store finds an equal one or opens it.

    The id is derived from place and fingerprint, so that asking twice about the same call is asking once.
    """
    valid = call.valid
    ref = key.ref
    place = digest("guard-approval-v1", ref.tenant, ref.conversation, ref.branch, str(key.turn), str(key.position), key.key)
    return Approval(
        id="ap_" + digest(place, valid.fingerprint)[:20],
        fingerprint=valid.fingerprint,
        status="pending",
        tool=valid.tool.name,
        definition=valid.tool.definition,
        kind=valid.tool.kind,
        arguments=valid.arguments,
        origins=dict(call.grounded.origins),
        show=tuple(str(path) for path in rule.show),
        requester=ref.principal,
        tenant=ref.tenant,
        conversation=ref.conversation,
        branch=ref.branch,
        turn=key.turn,
        position=key.position,
        call_id=valid.call.id,
        by=rule.by,
        by_self=rule.self_,
        policy=policy,
        requested_at=now,
        expires_at=now + rule.expires,
    )


def flooded() -> Refusal:
    """The refusal where too many questions of this person are open: nobody is asked one more."""
    return Refusal(
        reason=Reason.LIMIT_REACHED,
        detail="Too many calls of this person wait for a decision; nobody was asked about this one.",
        rules=("ceiling open_approvals",),
    )


_OVER = {"expired": (Reason.APPROVAL_EXPIRED, ""), "cancelled": (Reason.APPROVAL_REJECTED, "The question was withdrawn.")}


def approve(
    call: AuthorizedCall, rule: ApprovalRule, approval: Approval | None, authorizer: Authorizer, *, again: bool = False
) -> Allow | Hold | Refusal:
    """What the approval means for the call, today: today's rule and today's rights of the person who said yes.

    `again`: the call was taken before and lost, so that the approval which it spent then is still its own. Without an approval nobody was
    asked: too many questions of this person are open.
    """
    if approval is None:
        return flooded()
    valid = call.valid
    other = _other(approval, valid)
    if other:
        return Refusal(reason=Reason.APPROVAL_INVALID, note=other)
    if approval.status == "pending":
        return Hold(call=call, approval=approval)
    if approval.status == "approved" or (again and approval.status == "consumed"):
        if not _suffices(approval, rule) or not _still_may(approval, authorizer):
            return Refusal(reason=Reason.APPROVAL_INVALID, note="today's policy asks for another approver")
        return Allow(call=call, approval=approval)
    if approval.status == "rejected":
        detail = f"Reason given: {approval.reason}" if approval.reason else ""
        return Refusal(reason=Reason.APPROVAL_REJECTED, detail=detail, extra={"approval": approval.id})
    if approval.status in _OVER:
        reason, detail = _OVER[approval.status]
        return Refusal(reason=reason, detail=detail, extra={"approval": approval.id})
    return Refusal(reason=Reason.APPROVAL_INVALID, note=f"status {approval.status}")


def _other(approval: Approval, valid: ValidCall) -> str:
    """In what the approval is for another call; nothing when it is for this one."""
    if approval.fingerprint != valid.fingerprint or approval.definition != valid.tool.definition:
        return "fingerprint"
    if approval.arguments is valid.arguments:  # the question of this very walk
        return ""
    # a person saw what the store held, which may have been changed
    return "arguments" if canonical(approval.arguments) != valid.canonical else ""


def _suffices(approval: Approval, rule: ApprovalRule) -> bool:
    """Whether an approval given under an earlier rule still meets the rule of today."""
    if approval.decided_by == approval.requester and not rule.self_:
        return False
    if rule.by:
        return bool(approval.by) and set(approval.by) <= set(rule.by)
    return bool(approval.by) or approval.by_self


def _still_may(approval: Approval, authorizer: Authorizer) -> bool:
    """Whether nothing in today's policy takes the right from who decided, with the roles that they held then."""
    if approval.decided_by is None:
        return False
    who = Session(principal=approval.decided_by, tenant=approval.tenant, roles=approval.decided_roles)
    verdict = authorizer.decide(who, approval.tool, "approve")
    return not verdict.denied and (verdict.allowed or approval.decided_by == approval.requester)


def may_decide(approval: Approval, principal: str, tenant: str, roles: frozenset[str]) -> bool:
    """Whether this person's vote counts: the requester where the policy says `self`, else a holder of a role, never the requester."""
    if tenant != approval.tenant:
        return False
    if principal == approval.requester:
        return approval.by_self
    return bool(roles & set(approval.by))
