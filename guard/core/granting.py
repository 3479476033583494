"""Granting: what the walk asks of the world about grants: which may cover its calls, and that a look-up uses one; and the store's part in it.

The claim of an action carries its use itself (see Claim). Frozen data and one protocol. Comes after grants and acting and before ports; imports no room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from guard.core.acting import Conflict
from guard.core.commands import Command, Event
from guard.core.grants import Grant, Use
from guard.core.kills import Killed
from guard.core.model import CallKey
from guard.core.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One call for which a person would be asked."""

    key: CallKey
    tool: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveGrants:
    """The live grants of this person for the tool of one call, the narrowest first. `taken`: the one under which the call was taken before.

    None where a person said no to this very call in its conversation: that counts more than any grant.
    """

    grants: tuple[Grant, ...] = ()
    taken: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindGrants(Command[tuple[LiveGrants, ...]]):
    """Find what may cover these calls, in order."""

    calls: tuple[Asking, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UseGrant(Command[Conflict | Killed | None]):
    """Let a look-up use a grant: checked, counted and recorded in one durable transaction, once per call key; or why it cannot be used."""

    key: CallKey
    tool: str
    arguments: JsonObject
    fingerprint: str
    use: Use


class GrantStore(Protocol):
    """What a store does with grants. Each method is one transaction; StoreError as everywhere."""

    def find_grants(self, command: FindGrants) -> tuple[LiveGrants, ...]:
        """See FindGrants."""

    def use_grant(self, command: UseGrant) -> Conflict | Killed | None:
        """See UseGrant."""

    def give(self, grant: Grant, event: Callable[[Grant], Event]) -> Grant:
        """Keep a grant, or add its giver to the one that is proposed with the same terms. Giving again what stands changes nothing.

        Raises ApprovalError where the approval that it is made from does not carry it (`not_approved`), or another one was made from it (`already_given`).
        """

    def grant(self, grant_id: str) -> Grant | None:
        """One grant, with what was drawn on it."""

    def grants(
        self, *, tenant: str | None = None, principal: str | None = None, approval: str | None = None
    ) -> tuple[Grant, ...]:
        """Grants, oldest first, with what was drawn on them."""

    def revoke_grant(self, grant_id: str, *, by: str, reason: str | None, event: Callable[[Grant], Event]) -> Grant:
        """End a grant. Raises ApprovalError (`not_found`, `already_decided`)."""
