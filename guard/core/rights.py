"""Rights: whether a person may vote about an approval, and whether a vote that was given may be given still.

Roles that stand in a vote are what the host vouched for then: they are judged by today's policy, and where the host says who somebody is
today, only that counts. Everything that fails entitles nobody. Comes after ports; used by the approve room and by the runner; pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from guard.core.approval import Approval, Vote
from guard.core.model import Session
from guard.core.persons import known, named, names
from guard.core.ports import Authorizer, Redactor

Sessions: TypeAlias = Callable[[str, str], Session | None]
"""principal, tenant → their session as it is now, with today's roles; None for somebody who may not act any more."""


class Gave(Protocol):
    """What somebody gave: a vote, or a grant."""

    @property
    def by(self) -> str:
        """Who."""

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that the host vouched for then."""

    @property
    def assurance(self) -> str:
        """Whose word it is who they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """Who may vote, by the policy in force. `people` are those that the policy itself names, `sessions` asks the host who somebody is now.

    `redactor` says as what people are kept; without one, as they are called.
    """

    authorizer: Authorizer
    people: Mapping[str, Session] = field(default_factory=dict)
    sessions: Sessions | None = None
    redactor: Redactor | None = None

    def may(self, approval: Approval, who: Session, by: Collection[str] | None = None) -> bool:
        """Whether this person's vote counts. `by`: the roles that may decide by today's rule, where it is known."""
        who = self.known(who)
        try:
            roles = self.authorizer.roles(who)
            verdict = self.authorizer.decide(who, approval.tool, "approve")
        except Exception:  # noqa: BLE001 - a policy that cannot be evaluated entitles nobody
            return False
        if not may_decide(approval, who, roles):
            return False
        own = who.means(approval.requester)
        if by is not None and not own and not roles & set(by):
            return False
        return not verdict.denied and (own or verdict.allowed)

    def still(self, approval: Approval, vote: Vote, by: Collection[str] | None = None) -> bool:
        """Whether who gave this vote could give it now."""
        who = self.today(vote, approval.tenant)
        return who is not None and self.may(approval, who, by)

    def today(self, gave: Gave, tenant: str) -> Session | None:
        """Who gave a vote or a grant, as they are today; None too where nobody knows any more whom the name means."""
        name = named(gave.by)
        found = None if name is None else self._today(gave, name, tenant)
        return None if found is None else self.known(found)

    def known(self, who: Session) -> Session:
        """The session with what stands for its person."""
        return who if self.redactor is None else known(self.redactor, who)

    def _today(self, gave: Gave, name: str, tenant: str) -> Session | None:
        if self.sessions is not None:
            try:
                found = self.sessions(name, tenant)
            except Exception:  # noqa: BLE001 - nobody can be asked whether this person may
                return None
            return found if found is not None and (found.principal, found.tenant) == (name, tenant) else None
        if gave.assurance == "os-user":  # the policy names who that is
            known = (one for one in self.people.values() if (one.principal, one.tenant) == (name, tenant))
            return next(known, None)
        kept = () if self.redactor is None else names(self.redactor, tenant, name)
        return Session(principal=name, tenant=tenant, roles=gave.roles, names=kept)


def may_decide(approval: Approval, who: Session, roles: frozenset[str]) -> bool:
    """Whether this person may decide by the approval's own terms: the requester where the policy says `self`, else a holder of a role.

    Never the requester otherwise, and never an author: who edited the call has written it too.
    """
    if who.tenant != approval.tenant:
        return False
    if who.means(approval.requester):
        return approval.by_self
    return not any(map(who.means, approval.authors)) and bool(roles & set(approval.by))
