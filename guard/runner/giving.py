"""Giving: what one person could give from one approval, by the policy in force: each grant as it would stand, to be read first.

Nothing is kept here. What was read is named by a digest (`promised`), so that what is given then is that or nothing. Comes after grant_bounds; used by
`grants`, which knows who somebody is and hands on what may be kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from secrets import token_hex
from typing import TYPE_CHECKING

from guard.core.approve import may_give
from guard.core.covering import constrained, offered
from guard.core.grant_words import promised
from guard.core.grants import Giver, Grant
from guard.core.model import Approval
from guard.core.names import alike
from guard.core.offers import Offer, Scope
from guard.core.paths import Path
from guard.core.pointers import pointer, within
from guard.core.rules import ApprovalRule
from guard.core.values import digest
from guard.errors import ApprovalError
from guard.runner.grant_bounds import Bounds, bounded, moment, narrowed

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a form carries of a grant that was read on it: its scope, until when, and the digest of its words."""

    scope: Scope
    until: float | None
    shown: str

    @classmethod
    def of(cls, grant: Grant) -> Read:
        """What is carried of this one."""
        return cls(scope=grant.scope, until=grant.until, shown=promised(grant))


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One offer of the policy, and the grant as it would stand; None with why it cannot be given."""

    offer: Offer
    grant: Grant | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting:
    """The grants of one approval, for one giver. `rule` is the alternative of today's policy by which it was asked for."""

    guard: GuardBase
    approval: Approval
    rule: ApprovalRule | None
    giver: Giver

    @property
    def offers(self) -> tuple[Offer, ...]:
        """What the rule offers."""
        return () if self.rule is None else self.rule.grants

    def choices(self) -> tuple[Choice, ...]:
        """Every offer with its grant, each grant once. An end is a whole second, so that it can be read to the end."""
        found: dict[object, Choice] = {}
        for number, offer in enumerate(self.offers):
            made = self._choice(offer)
            found.setdefault(number if made.grant is None else promised(made.grant), made)
        return tuple(found.values())

    def _choice(self, offer: Offer) -> Choice:
        known = self.guard.store.grant(self._name(offer.scope))
        try:
            if known is None:
                until: Bounds = {} if offer.until is None else {"until": floor(self.giver.at + offer.until)}
                return Choice(offer=offer, grant=self._made(offer, until))
            if not offer.covers(known.bounds()):
                return Choice(offer=offer, grant=None, why="another grant of this scope was given from this approval")
            return Choice(offer=offer, grant=self._open(known))
        except ApprovalError as error:
            return Choice(offer=offer, grant=None, why=str(error))

    def draft(self, scope: Scope, bounds: Bounds, shown: str | None = None) -> Grant:
        """The grant of this scope; with `shown` the very one that was read. Raises ApprovalError (`not_offered`, `stale`, `already_given`)."""
        known = self.guard.store.grant(self._name(scope))
        if known is not None and (shown is not None or not bounded(bounds)):
            found = self._open(known) if shown is not None else replace(known, givers=(self.giver,))
            if shown not in (None, promised(found)):
                raise _stale()
            return found
        offers = [one for one in self.offers if one.scope == scope]
        why = _stale() if shown is not None else self._none(scope)
        for offer in offers:
            try:
                found = self._made(offer, bounds)
            except ApprovalError as error:
                why = why if shown is not None else error
                continue
            if shown in (None, promised(found)):
                return found
        raise why

    def _none(self, scope: str) -> ApprovalError:
        names = ", ".join(dict.fromkeys(offer.scope for offer in self.offers))
        what = f"the policy in force offers no grant {scope} from this approval"
        return ApprovalError("not_offered", what + (f" (it offers {names})" if names else ""))

    def _open(self, known: Grant) -> Grant:
        """A grant that others proposed, to be given by this person too; one that stands or is over is given by nobody."""
        mine = any(alike(one.by, self.giver.by) for one in known.givers)
        status = known.status(self.guard.store.now())
        if status != "proposed" and not mine:
            raise ApprovalError("already_given", f"a grant of this scope was given from this approval by {known.by}")
        if status == "revoked":
            raise ApprovalError("already_given", f"the grant of this scope was taken back by {known.revoked_by}")
        return replace(known, givers=(self.giver,))

    def _name(self, scope: str) -> str:
        return "gr_" + digest("guard-grant-id-v1", self.approval.id, scope)[:20]

    def _made(self, within_offer: Offer, bounds: Bounds) -> Grant:
        approval, giver, guard, rule = self.approval, self.giver, self.guard, self.rule
        offer = narrowed(within_offer, bounds, guard.store.now())
        constraint = constrained(offer, approval.arguments, approval.fingerprint, approval.veil)
        if constraint is None:
            missing = ", ".join(map(str, offer.same))
            raise ApprovalError(
                "not_offered", f"this call has no single value for each of {missing}: without one there is nothing to hold to"
            )
        anywhere, until = offer.scope == "amount", moment(bounds.get("until"))
        made = Grant(
            id=self._name(offer.scope),
            tenant=approval.tenant,
            principal=approval.requester,
            conversation=None if anywhere else approval.conversation,
            branch="" if anywhere else approval.branch,
            tool=approval.tool,
            definition=approval.definition,
            kind=approval.kind,
            rule=approval.rule,
            need=max(approval.need, 1 if rule is None else rule.need),
            scope=offer.scope,
            constraint=constraint,
            uses=offer.uses,
            until=until if until is not None or offer.until is None else giver.at + offer.until,
            policy=guard.policy.version if approval.tool in guard.hands.tools else approval.policy,
            approval=approval.id,
            secret=tuple(str(path) for path in offer.same if _secret(path, approval)),
            salt=token_hex(16),
            givers=(giver,),
            at=giver.at,
        )
        if rule is None or not offered(made, rule) or not may_give(made, giver, rule, guard.rights):
            raise ApprovalError("not_offered", "the policy in force does not let this person give such a grant")
        return replace(made, veil=approval.veil)


def _secret(path: Path, approval: Approval) -> bool:
    """Whether something at a path is what nobody is shown."""
    place = pointer(path.steps)
    return within(place, approval.secret) or any(within(one, [place]) for one in approval.secret)


def _stale() -> ApprovalError:
    return ApprovalError("stale", "this is not the grant that was shown: read again what may be given")
