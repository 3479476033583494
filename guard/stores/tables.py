"""Tables: what the shared store logic needs from a place that keeps data, inside one transaction.

A new store implements `Tables` and `Backend` (in `backend`) and nothing else: what may be is decided once, in `ledger` and what it uses. Comes after the ports and before every implementation (`memory`, `sqlite`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol, TypeAlias, TypeVar

from guard.core.approval import Approval, Vote
from guard.core.model import ConversationRef
from guard.core.ports import CallRow, Event, Won
from guard.stores.batch_tables import BatchTables
from guard.stores.budget_tables import ZERO, BudgetTables
from guard.stores.erase_tables import EraseTables
from guard.stores.grant_tables import GrantTables
from guard.stores.kill_tables import KillTables
from guard.stores.log_tables import LogTables
from guard.stores.outbox_tables import OutboxTables
from guard.stores.search_tables import SearchTables
from guard.stores.unresolved_tables import UnresolvedTables
from guard.stores.vault_tables import VaultTables

T = TypeVar("T")
Home: TypeAlias = tuple[str, str]
"""Which conversation: (tenant, conversation)."""
Place: TypeAlias = tuple[int, int]
"""Where a call stands in its conversation: (turn, position)."""

OPEN = frozenset({"held", "started", "unknown"})
"""Calls that may run yet or may have run: what they drew counts, however long ago."""


@dataclass(slots=True, kw_only=True)
class Talk:
    """The counters of one conversation. Changed in place, then saved. A cost is None once some reply did not say what it cost."""

    home: Home
    principal: str
    turns: int = 0
    words: int = 0
    run: int = 0
    started: float | None = None  # when this run began
    steps: int = 0
    tokens: int = 0
    cost: Decimal | None = ZERO
    known: bool = True
    total_tokens: int = 0
    total_cost: Decimal | None = ZERO
    total_known: bool = True


@dataclass(frozen=True, slots=True)
class Mark:
    """One numbered turn: its number, the digest of its calls, and the run and time in which it was opened."""

    turn: int
    digest: str
    run: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An approval with the run in which it was asked for, and the one in which it was decided."""

    approval: Approval
    run: int
    decided_run: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which approvals to list: those that meet every field that is not None."""

    tenant: str | None = None
    conversation: str | None = None
    status: str | None = None
    due: float | None = None  # live ones whose window ends at this time or before


@dataclass(frozen=True, slots=True)
class Plain:
    """A plain claim as both databases are given it: written out by whoever wants it, before its turn comes.

    `columns` are what is looked for (conversation, principal, epoch, place), then what is written: the columns of `calls` in their order. The
    time, the run and the end of the lease are the database's to say.
    """

    columns: tuple[Any, ...]
    event: Event
    idem: str
    lease: float

    def won(self, at: float) -> Won:
        """The answer, once the call was taken."""
        return Won(at=at, attempt=1, idem=self.idem, lease=self.lease)


class Tables(
    SearchTables,
    OutboxTables,
    VaultTables,
    GrantTables,
    KillTables,
    LogTables,
    EraseTables,
    BatchTables,
    BudgetTables,
    UnresolvedTables,
    Protocol,
):
    """What stands in the tables, as one transaction sees and changes it."""

    now: float  # the time of the transaction
    one_writer: bool  # whether nobody else writes before it ends

    # conversations and turns
    def owner(self, home: Home) -> str | None:
        """The principal that the conversation belongs to, or None where there is no such conversation."""

    def create(self, ref: ConversationRef) -> None:
        """Add a conversation."""

    def talk(self, home: Home) -> Talk:
        """The counters of a conversation that exists."""

    def save(self, talk: Talk) -> None:
        """Keep changed counters."""

    def say(self, home: Home, number: int, text: tuple[str, str]) -> None:
        """Keep the words with which the user spoke for the `number`th time, and the salt of their digest."""

    def words(self, home: Home) -> tuple[str, ...]:
        """Everything that the user said, oldest first."""

    def newest(self, home: Home, branch: str, digest: str | None = None) -> Mark | None:
        """The newest turn of a branch (with this digest), turns with a key of their own left out."""

    def keyed(self, home: Home, key: str) -> Mark | None:
        """The turn that belongs to a key of the host."""

    def count(self, home: Home, branch: str, digest: str | None) -> int:
        """How many turns without a key a branch has, with this digest or at all."""

    def before(self, home: Home, branch: str, turn: int) -> int:
        """How many turns without a key a branch has before this one."""

    def opened(self, home: Home, after: int) -> tuple[Mark, ...]:
        """The turns after this one, of all branches and with or without a key, in order."""

    def number(self, home: Home, branch: str, key: str, mark: Mark) -> None:
        """Keep a new turn."""

    # calls
    def foresee(self, calls: Sequence[CallRow], *, claim: bool = False) -> None:
        """These calls are looked at next, or claimed: whatever that takes may be fetched at once. A hint; it changes nothing."""

    def row(self, home: Home, place: Place) -> CallRow | None:
        """One call."""

    def rows(self, home: Home, turn: int | None) -> tuple[CallRow, ...]:
        """The calls of one turn, or all, in order."""

    def unsettled(self, home: Home) -> tuple[CallRow, ...]:
        """The calls whose outcome was not told yet, in order."""

    def settle(self, home: Home, place: Place, status: str) -> None:
        """Mark a call as told where it has this status."""

    def ledger(self, home: Home, tools: frozenset[str], before: int, statuses: frozenset[str]) -> tuple[CallRow, ...]:
        """The calls of these tools in turns before `before`, in order."""

    def alike(self, home: Home, mark: str, statuses: frozenset[str], *, run: int | None = None) -> CallRow | None:
        """The newest call with this mark in one of these of LEDGER's statuses (and in this run); none for an empty mark."""

    def put(self, row: CallRow) -> None:
        """Add or replace a call."""

    def claimed(self, home: Home, place: Place) -> bool:
        """Whether the call was ever taken."""

    def claim(self, row: CallRow, approval: str | None) -> bool:
        """Take the call: an insert with a unique key. False when it was taken before, or its approval spent."""

    def take(self, given: Plain) -> Won | None:
        """Take a plain call at once, if nothing at all is known of it; else do nothing and give None: see `plain`."""

    def renew(self, home: Home, place: Place, mine: tuple[int, str], until: float) -> bool:
        """Give a started call, taken as this attempt by this executor, a new end of its lease; False where it is not so."""

    def doubtful(self, tenant: str | None) -> tuple[CallRow, ...]:
        """Actions that are written as started or unknown, oldest first."""

    def approved(self, before: float, limit: int) -> tuple[CallRow, ...]:
        """Held calls whose approval was given at this time or before, is not over, and which nobody has picked, oldest first."""

    def lost(self, limit: int) -> tuple[CallRow, ...]:
        """Started calls whose lease is over and which nobody has picked, oldest first."""

    def pick(self, home: Home, place: Place, until: float) -> None:
        """Keep a call from being picked by others until then."""

    def epoch(self) -> int:
        """The newest epoch of the store: 0 for one that was never restored."""

    def begin_epoch(self, number: int, why: str) -> None:
        """Keep a new epoch."""

    # approvals
    def asked(self, approval_id: str) -> Asked | None:
        """One approval as it was last written."""

    def alive(self, home: Home, place: Place, besides: str = "") -> tuple[Asked, ...]:
        """Approvals of one call that are written as pending or approved, besides those for this fingerprint."""

    def about(self, home: Home, fingerprint: str) -> tuple[Asked, ...]:
        """All approvals of a conversation for this fingerprint, oldest first."""

    def asked_in(self, home: Home, run: int) -> tuple[Asked, ...]:
        """Approvals that were asked for in this run."""

    def open_in(self, home: Home) -> tuple[Asked, ...]:
        """Approvals of a conversation that are written as pending."""

    def listed(self, wanted: Wanted) -> tuple[Asked, ...]:
        """Approvals as they were last written, oldest first."""

    def waiting(self, tenant: str, principal: str) -> int:
        """How many questions about calls of this person in this tenant are pending now."""

    def open(self, asked: Asked) -> None:
        """Add an approval; nobody has its id."""

    def close_asked(self, asked: Asked) -> None:
        """Keep an approval's new status."""

    def vote(self, approval: Approval, vote: Vote) -> None:
        """Add a vote about this approval; votes are never changed."""
