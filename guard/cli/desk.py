"""Desk: the approvals of a store as one person may see them, found by id or by the beginning of one.

Somebody sees what they may decide about or have asked for, no more; what is not theirs is not there. Decides nothing itself. Used by `approvals`.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from guard.cli.keys import keys_of
from guard.cli.places import existing_store, person, policy_folder, store_of
from guard.core.grants import Grant
from guard.core.model import Approval, Session
from guard.core.ways import Way
from guard.errors import ApprovalError
from guard.redactors import redactor
from guard.runner import Approvals, View
from guard.runner.deciders import concerns, wrote
from guard.runner.doubts import Doubts
from guard.runner.grants import Grants
from guard.runner.guard import Guard
from guard.runner.looks import Looks

SHORTEST = 6
"""Characters of an id that may stand for the whole of it."""


@dataclass(frozen=True, slots=True)
class Desk:
    """The approvals of a store as one person may see them."""

    approvals: Approvals
    doubts: Doubts
    me: Session
    grants: Grants
    now: Callable[[], float]
    looks: Looks

    def sees(self, approval: Approval) -> bool:
        """Whether this person may decide about it, asked for it, or edited it."""
        return self.owns(approval) or wrote(approval, self.me) or self.approvals.entitled(approval, self.me)

    def owns(self, approval: Approval) -> bool:
        """Whether this person asked for it."""
        return concerns(approval, self.me)

    def decides(self, approval: Approval) -> bool:
        """Whether it waits for somebody like this person."""
        return approval.status == "pending" and self.approvals.entitled(approval, self.me)

    def standing(self, grant: Grant) -> str:
        """How a grant stands, with `void` for one that today's policy no longer offers."""
        status = grant.status(self.now())
        return "void" if status == "live" and not self.grants.stands(grant) else status

    def list(self, status: str | None) -> list[Approval]:
        """What this person may see, oldest first; None: of any status."""
        return [one for one in self.approvals.list(status=status, tenant=self.me.tenant) if self.sees(one)]

    def show(self, name: str) -> Approval:
        """One approval by its id, or by a beginning that no other one has, for whoever may see it.

        Raises ApprovalError alike for one that is not there and for one that is not theirs.
        """
        with contextlib.suppress(ApprovalError):
            found = self.approvals.show(name)
            if self.sees(found):
                return found
        begun = [one for one in self.list(None) if one.id.startswith(name)] if len(name) >= SHORTEST else []
        if len(begun) == 1:
            return begun[0]
        if begun:
            raise ApprovalError("not_found", f"{len(begun)} approvals begin with {name}; give the whole id")
        raise ApprovalError("not_found", f"there is no approval {name} that {self.me.who} may see; give the whole id")

    def view(self, name: str) -> View:
        """What this person is shown of it; for whoever may see it. That somebody who may decide is shown it is on record first."""
        found = self.approvals.view(self.show(name), self.me)
        self.looks.look([found], self.me, assurance="os-user", via="cli")
        return found


@contextlib.contextmanager
def desk(arguments: argparse.Namespace) -> Iterator[Desk]:
    """The desk of the operating-system user. Raises UsageError, PolicyError, and UnknownPersonError for whoever is nobody."""
    policy = policy_folder(arguments.policy, arguments.layer).policy
    with existing_store(store_of(arguments), keys_of(arguments)) as store:
        guard = Guard(policy=policy, store=store, tools={}, redactor=redactor(policy.redaction))
        me = replace(guard.known(person(policy, arguments.policy)), way=Way(assurance="os-user", via="cli"))
        looks = Looks(store, guard.redactor)
        yield Desk(guard.approvals, guard.unknown, me, guard.grants, store.now, looks)
