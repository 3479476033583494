"""The store that the drivers talk to: each method of the port is one transaction over one set of tables.

It holds no rule of its own; the rules are in `turns`, `budgets`, `approvals` and `claims`, written once for every store. Comes after them
and before `open_store`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from guard.core.model import Approval, ConversationRef
from guard.core.ports import (
    AskApproval,
    CallRow,
    Charge,
    Claim,
    ClaimAnswer,
    Event,
    FindTwins,
    Ledger,
    LoadLedger,
    Opened,
    OpenTurn,
    Sealed,
    TakeQuota,
)
from guard.errors import ApprovalError
from guard.stores import approvals, budgets, claims, turns
from guard.stores.tables import Backend, Tables, Wanted, home_of, own, visible


class LedgerStore:
    """The `Store` port over any `Backend`. StoreError comes from the tables; methods say what else they raise."""

    __slots__ = ("__weakref__", "_tables", "blocking", "secret")

    def __init__(self, tables: Backend) -> None:
        self._tables = tables
        self.blocking = tables.blocking
        self.secret = tables.secret

    def open(self, ref: ConversationRef) -> None:
        """Create the conversation or check its owner. Raises ConversationError when it is somebody else's."""
        if not self._tables.read(lambda tables: visible(tables, ref)):
            self._tables.write(lambda tables: own(tables, ref))

    def say(self, ref: ConversationRef, text: str, event: Event) -> None:
        """Record that the user spoke: a new run begins."""
        self._tables.write(lambda tables: turns.say(tables, ref, text, event))

    def open_turn(self, command: OpenTurn) -> Opened:
        """Number the turn, or recognise it as the newest one handled again."""
        return self._tables.write(lambda tables: turns.open_turn(tables, command))

    def load_ledger(self, command: LoadLedger) -> Ledger:
        """Calls of the tools asked for from earlier turns that are done, started, unknown or held; the caller filters by status."""
        return self._tables.read(lambda tables: _ledger(tables, command))

    def find_twins(self, command: FindTwins) -> Mapping[str, CallRow]:
        """For each mark the newest call of the conversation that is held, started, unknown or done."""
        return self._tables.read(lambda tables: _twins(tables, command))

    def take(self, command: TakeQuota) -> tuple[Charge | None, ...]:
        """Reserve quota call by call; None, or the first exceeded charge."""
        return self._tables.write(lambda tables: budgets.take(tables, command))

    def ask(self, command: AskApproval) -> Approval:
        """The approval that answers this proposal, or the proposal itself, now pending."""
        return self._tables.write(lambda tables: approvals.ask(tables, command))

    def record(self, rows: Sequence[CallRow], events: Sequence[Event]) -> None:
        """Write rows and events, durable when it returns."""
        self._tables.write(lambda tables: claims.record(tables, rows, events))

    def claim(self, command: Claim) -> ClaimAnswer:
        """Take the call and spend its approval, or say who has it."""
        return self._tables.write(lambda tables: claims.claim(tables, command))

    def rows(self, ref: ConversationRef, *, turn: int | None = None) -> tuple[CallRow, ...]:
        """Calls of one turn, or of the whole conversation, all branches, in order."""
        return self._tables.read(lambda tables: tables.rows(home_of(ref), turn) if visible(tables, ref) else ())

    def turn_of(self, ref: ConversationRef, digest: str) -> int | None:
        """The newest turn of this branch with these calls, turns with a key left out; None where there is none."""
        return self._tables.read(lambda tables: _turn_of(tables, ref, digest))

    def approvals(
        self, *, tenant: str | None = None, status: str | None = None, conversation: str | None = None
    ) -> tuple[Approval, ...]:
        """Approvals, oldest first; expiry is judged now."""
        return self._looked_at(Wanted(tenant=tenant, status=status, conversation=conversation))

    def approval(self, approval_id: str) -> Approval | None:
        """One approval; expiry is judged now."""
        asked, due = self._tables.read(lambda tables: approvals.seen(tables, approval_id))
        return self._tables.write(lambda tables: approvals.looked(tables, approval_id)) if due else asked

    def _looked_at(self, wanted: Wanted) -> tuple[Approval, ...]:
        found = self._tables.read(lambda tables: approvals.listable(tables, wanted))
        return self._tables.write(lambda tables: approvals.listed(tables, wanted)) if found is None else found

    def vote(
        self, approval_id: str, *, status: str, by: str, reason: str | None, event: Event, roles: tuple[str, ...] = ()
    ) -> Approval:
        """Decide a pending approval. Raises ApprovalError (`not_found`, `already_decided`, `expired`) when it is not pending."""
        given = approvals.Vote(status=status, by=by, roles=tuple(roles), reason=reason, event=event)
        answer = self._tables.write(lambda tables: approvals.vote(tables, approval_id, given))
        if isinstance(answer, ApprovalError):
            raise answer
        return answer

    def audit(self, *, after: int = 0, limit: int | None = None) -> tuple[Sealed, ...]:
        """Audit records behind `after`, in order of seq."""
        return self._tables.read(lambda tables: tables.audit(after, limit))

    def now(self) -> float:
        """Seconds since the epoch by the store's clock."""
        return self._tables.clock()

    def close(self) -> None:
        """Give back what the store holds open."""
        self._tables.close()


def _ledger(tables: Tables, command: LoadLedger) -> Ledger:
    if not visible(tables, command.ref):
        return Ledger()
    home = home_of(command.ref)
    calls = tables.ledger(home, command.tools, command.before, claims.LEDGER) if command.tools else ()
    return Ledger(calls=calls, words=tables.words(home) if command.words else ())


def _twins(tables: Tables, command: FindTwins) -> dict[str, CallRow]:
    if not visible(tables, command.ref):
        return {}
    found = ((mark, tables.alike(home_of(command.ref), mark, claims.LEDGER)) for mark in command.marks)
    return {mark: row for mark, row in found if row is not None}


def _turn_of(tables: Tables, ref: ConversationRef, digest: str) -> int | None:
    mark = tables.newest(home_of(ref), ref.branch, digest) if visible(tables, ref) else None
    return None if mark is None else mark.turn
