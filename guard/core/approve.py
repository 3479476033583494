"""Approve: the seventh room. `AuthorizedCall` → `Allow`, `Hold` or a refusal: whether a person must decide, and what they decided.

An approval is about one exact call; it is asked for only after everything else has passed, and an approved one is compared with the
call and with today's rule again. Comes after limit and before claim, which spends the approval. A person's yes runs nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from guard.core.covering import drawn as amount_of
from guard.core.covering import fits, offered, reaches, room
from guard.core.edited import changed
from guard.core.granting import LiveGrants
from guard.core.grants import ZERO, Giver, Grant, rule_mark
from guard.core.kills import Stop
from guard.core.kills import refusal as killed
from guard.core.model import Allow, Approval, AuthorizedCall, CallKey, ConversationRef, Hold, Refusal, ValidCall
from guard.core.names import alike, distinct
from guard.core.paths import Path
from guard.core.pointers import pointer, spots, within
from guard.core.presented import mask
from guard.core.reasons import Reason
from guard.core.replacing import replace
from guard.core.rights import Rights
from guard.core.rules import ApprovalRule
from guard.core.values import Json, canonical, digest, encode


def proposal(
    call: AuthorizedCall, rule: ApprovalRule, key: CallKey, policy: str, now: float, edits: Mapping[str, Json] | None = None
) -> Approval:
    """The question that a person would be asked about this call; the store finds an equal one or opens it."""
    return question(call.valid, call.grounded.origins, rule, key, policy, now, edits or {})


def question(
    valid: ValidCall,
    origins: Mapping[str, str],
    rule: ApprovalRule,
    key: CallKey,
    policy: str,
    now: float,
    edits: Mapping[str, Json],
) -> Approval:
    """The question about a call with these final arguments, of which a person changed what stands at `edits`.

    The id is derived from place and fingerprint, so that asking twice about the same call is asking once.
    """
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
        origins=_origins(origins, edits),
        show=tuple(str(path) for path in rule.show),
        requester=ref.principal,
        veil=valid.veil,
        tenant=ref.tenant,
        conversation=ref.conversation,
        branch=ref.branch,
        turn=key.turn,
        position=key.position,
        call_id=valid.call.id,
        by=rule.by,
        by_self=rule.self_,
        policy=policy,
        rule=rule_mark(rule) if rule.grants else "",
        requested_at=now,
        expires_at=now + rule.expires,
        **_terms(rule, valid, now),
    )


def _terms(rule: ApprovalRule, valid: ValidCall, now: float) -> dict[str, Any]:
    """What the rule says about the votes, what they may change, and what they are shown."""
    secret = spots(rule.secret, valid.arguments)
    return {
        "editable": spots(rule.edit, valid.arguments),
        "secret": secret,
        "effect": _effect(rule, valid, secret),
        "why": _why(rule, valid.tool.name),
        "need": rule.need,
        "use_within": rule.use_within,
        "on_message": rule.on_message,
        "escalate_at": None if rule.escalate_after is None else now + rule.escalate_after,
        "escalate_to": rule.escalate_to,
    }


def _origins(origins: Mapping[str, str], edits: Mapping[str, Json]) -> dict[str, str]:
    by_hand = changed(edits)
    return {name: "edit" if name in by_hand and origin != "session" else origin for name, origin in origins.items()}


def _effect(rule: ApprovalRule, valid: ValidCall, secret: tuple[str, ...]) -> str:
    """The operator's line, filled from the final arguments: each as JSON, so that no text can pass for words of the operator's."""
    return "".join(part if isinstance(part, str) else _filled(part, valid, secret) for part in rule.effect)


def _filled(path: Path, valid: ValidCall, secret: tuple[str, ...]) -> str:
    found = [
        mask(value, valid.veil) if within(pointer(at), secret) else encode(value) for value, at in path.spots(valid.arguments)
    ]
    return ", ".join(found) or "nothing"


def _why(rule: ApprovalRule, tool: str) -> tuple[str, ...]:
    """What holds the call, in words that an approver may read."""
    who = " or ".join([*rule.by, *(["the requester"] if rule.self_ else [])])
    people = f"{rule.need} people: " if rule.need > 1 else ""
    return (f"{tool} is decided by {people}{who}" + (f" when {rule.when.text}" if rule.when is not None else ""),)


def flooded() -> Refusal:
    """The refusal where too many questions of this person are open: nobody is asked one more."""
    return Refusal(
        reason=Reason.LIMIT_REACHED,
        detail="Too many calls of this person wait for a decision; nobody was asked about this one.",
        rules=("ceiling open_approvals",),
    )


_OVER = {
    "expired": (Reason.APPROVAL_EXPIRED, ""),
    "cancelled": (Reason.APPROVAL_REJECTED, "The question was withdrawn."),
    "revoked": (Reason.APPROVAL_REJECTED, "A reviewer approved it and took that back."),
    "superseded": (Reason.APPROVAL_INVALID, "Conditions have changed since it was asked."),
}


def approve(
    call: AuthorizedCall, rule: ApprovalRule, approval: Approval | None, rights: Rights, *, again: bool = False
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
        if not _suffices(approval, rule, rights):
            return Refusal(reason=Reason.APPROVAL_INVALID, note="today's policy asks for another approver")
        if _weaker(approval.origins, call.grounded.origins):
            return Refusal(reason=Reason.APPROVAL_INVALID, note="a value has less behind it than people were shown")
        return Allow(call=call, approval=approval)
    return _ended(approval)


def _ended(approval: Approval) -> Refusal:
    """What an approval that ended means for its call."""
    if approval.status == "rejected":
        detail = f"Reason given: {approval.reason}" if approval.reason else ""
        return Refusal(reason=Reason.APPROVAL_REJECTED, detail=detail, extra={"approval": approval.id})
    if approval.kill:
        return replace(killed(Stop(approval.kill)), extra={"approval": approval.id})
    if approval.status not in _OVER:
        return Refusal(reason=Reason.APPROVAL_INVALID, note=f"status {approval.status}")
    reason, detail = _OVER[approval.status]
    if approval.status == "expired" and approval.use_by is not None:
        detail = "It was approved and not used in time."
    return Refusal(reason=reason, detail=detail, extra={"approval": approval.id})


def _other(approval: Approval, valid: ValidCall) -> str:
    """In what the approval is for another call; nothing when it is for this one."""
    if approval.fingerprint != valid.fingerprint or approval.definition != valid.tool.definition:
        return "fingerprint"
    if approval.arguments is valid.arguments:  # the question of this very walk
        return ""
    # a person saw what the store held, which may have been changed
    return "arguments" if canonical(approval.arguments) != valid.canonical else ""


_BEHIND = {"model": 0, "bounded": 1}
"""How much stands behind a value: nothing where the model wrote it, a bound where it is at most what a tool returned, and 2 for all else."""


def _weaker(shown: Mapping[str, str], today: Mapping[str, str]) -> bool:
    """Whether some argument has less behind it today than people were shown. What a person wrote into it stands for itself."""
    told = ((_BEHIND.get(origin, 2), today.get(name, "")) for name, origin in shown.items() if origin != "edit")
    return any(_BEHIND.get(now, 2) < before for before, now in told)


def _suffices(approval: Approval, rule: ApprovalRule, rights: Rights) -> bool:
    """Whether what people said under an earlier rule still meets the rule of today, as many of them as it asks for."""
    roles = {*rule.by, *(rule.escalate_to if approval.escalated_at is not None else ())}
    if rule.by and not (approval.by and set(approval.by) <= roles):
        return False
    if not rule.by and not approval.by and not approval.by_self:
        return False
    meant = (approval.revision, approval.fingerprint)
    yes = [vote for vote in approval.yes if (vote.revision, vote.fingerprint) == meant]
    if not rule.self_:
        yes = [vote for vote in yes if not alike(vote.by, approval.requester)]
    still = distinct(vote.by for vote in yes if rights.still(approval, vote, roles if rule.by else None))
    return still >= max(approval.need, rule.need)


@dataclass(slots=True)
class Drawn:
    """What calls of this walk are about to draw on one grant: how many, and how much in all."""

    calls: int = 0
    summed: Decimal = ZERO


def granted(
    call: AuthorizedCall,
    rule: ApprovalRule,
    ref: ConversationRef,
    found: LiveGrants,
    walk: dict[str, Drawn],
    now: float,
    rights: Rights,
    open_: Approval | None = None,
) -> Allow | None:
    """The call allowed under a grant, where a person would be asked and one of their grants covers it by today's rule; else None.

    `open_` is what a person is asked about the call already: it waits on where the grant does not answer after all.
    `walk` is what calls before this one are about to draw, and is kept. A call that was taken under its grant before has drawn on it already.
    """
    valid = call.valid
    for grant in found.grants:
        taken, drawn = found.taken == grant.id, walk.setdefault(grant.id, Drawn())
        about = reaches(grant, ref, valid.tool.name, valid.tool.definition) and fits(grant, valid.arguments, valid.fingerprint)
        asked = amount_of(grant, valid.arguments)
        good = ("live", "spent", "expired") if taken else ("live",)
        if not about or grant.status(now) not in good or not stands(grant, rule, rights):
            continue
        if taken:
            return Allow(call=call, grant=grant)
        if room(grant, asked, drawn.calls, drawn.summed):
            drawn.calls, drawn.summed = drawn.calls + 1, drawn.summed + asked
            return Allow(call=call, grant=grant, otherwise=None if open_ is None else Hold(call=call, approval=open_))
    return None


def stands(grant: Grant, rule: ApprovalRule, rights: Rights) -> bool:
    """Whether today's policy would let this rule offer the grant, given by enough people who may still approve."""
    if not offered(grant, rule):
        return False
    return distinct(giver.by for giver in grant.givers if may_give(grant, giver, rule, rights)) >= rule.need


def may_give(grant: Grant, giver: Giver, rule: ApprovalRule, rights: Rights) -> bool:
    """Whether this person, as they are today, may give it by today's policy: the requester only where the rule says `self`."""
    who = rights.today(giver, grant.tenant)
    if who is None:
        return False
    verdict = rights.authorizer.decide(who, grant.tool, "approve")
    if who.means(grant.principal):
        return rule.self_ and not verdict.denied
    return verdict.allowed and not verdict.denied and bool(rights.authorizer.roles(who) & set(rule.by))
