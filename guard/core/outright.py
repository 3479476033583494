"""Outright: a single call of which nothing is known yet is opened, limited, recorded and taken in one durable transaction.

What the walk does step by step elsewhere, for a call that needs no step in between: its turn is the one that was foreseen, its budgets have room,
nobody is asked. Where anything is otherwise nothing is written, and the call is walked step by step. Likewise the decision about a held call
that was approved, and its claim. Frozen data and one protocol. Comes after acting
and before ports; imports no room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from guard.core.acting import Claim, ClaimAnswer
from guard.core.commands import CallRow, Command, FindTwins, Opened, OpenTurn, Record, TakeQuota


@dataclass(frozen=True, slots=True, kw_only=True)
class Stood:
    """The turn as it was opened, and the answer to the claim of an action."""

    opened: Opened
    won: ClaimAnswer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outright(Command[Stood | None]):
    """Open the turn, take its quota, write its record, take its action: all of it, or nothing, and then the answer is None.

    It is nothing where the turn is another one than was foreseen (`fits` says no), where an equal call of the conversation makes a difference (`alone`
    says no of what the ledger has of it), or a budget has no room. The record comes before the claim as everywhere, and both are durable
    before the answer.
    """

    opening: OpenTurn
    fits: Callable[[Opened], bool]
    twins: FindTwins | None
    alone: Callable[[Mapping[str, CallRow]], bool]
    take: TakeQuota | None
    record: Record
    claim: Claim | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin(Command[ClaimAnswer]):
    """Write the decision about an action that goes on, and take it: in one durable transaction, the record first.

    Where a kill covers it by now nothing is written, and the answer says which. Where it cannot be taken the record stays, as it does step by step.
    """

    record: Record
    claim: Claim


class OutrightStore(Protocol):
    """What a store does with such a call."""

    @property
    def at_once(self) -> bool:
        """Whether it has one writer, so that a longer transaction meets no other one half-way."""

    def outright(self, command: Outright) -> Stood | None:
        """See Outright. Raises StoreError, and ConversationError as `open_turn` does."""

    def begin(self, command: Begin) -> ClaimAnswer:
        """See Begin."""
