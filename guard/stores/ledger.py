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
from guard.stores.tables import Tables, Wanted, home_of, own, visible


class LedgerStore:
    """The `Store` port over any `Tables`. StoreError comes from the tables; methods say what else they raise."""

    __slots__ = ("__weakref__", "_tables", "blocking")

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.blocking = tables.blocking

    def open(self, ref: ConversationRef) -> None:
        """Create the conversation or check its owner. Raises ConversationError when it is somebody else's."""
        with self._tables.read() as tables:
            known = visible(tables, ref)
        if not known:
            with self._tables.write() as tables:
                own(tables, ref)

    def say(self, ref: ConversationRef, text: str, event: Event) -> None:
        """Record that the user spoke: a new run begins."""
        with self._tables.write() as tables:
            turns.say(tables, ref, text, event)

    def open_turn(self, command: OpenTurn) -> Opened:
        """Number the turn, or recognise it as the newest one handled again."""
        with self._tables.write() as tables:
            return turns.open_turn(tables, command)

    def load_ledger(self, command: LoadLedger) -> Ledger:
        """Calls of the tools asked for from earlier turns that are done, started, unknown or held; the caller filters by status."""
        home = home_of(command.ref)
        with self._tables.read() as tables:
            if not visible(tables, command.ref):
                return Ledger()
            calls = tables.ledger(home, command.tools, command.before, claims.LEDGER) if command.tools else ()
            return Ledger(calls=calls, words=tables.words(home) if command.words else ())

    def find_twins(self, command: FindTwins) -> Mapping[str, CallRow]:
        """For each fingerprint the newest call of the conversation that is held, started, unknown or done."""
        home = home_of(command.ref)
        with self._tables.read() as tables:
            if not visible(tables, command.ref):
                return {}
            found = ((name, tables.alike(home, name, claims.LEDGER)) for name in command.fingerprints)
            return {name: row for name, row in found if row is not None}

    def take(self, command: TakeQuota) -> tuple[Charge | None, ...]:
        """Reserve quota call by call; None, or the first exceeded charge."""
        with self._tables.write() as tables:
            return budgets.take(tables, command)

    def ask(self, command: AskApproval) -> Approval:
        """The approval that answers this proposal, or the proposal itself, now pending."""
        with self._tables.write() as tables:
            return approvals.ask(tables, command)

    def record(self, rows: Sequence[CallRow], events: Sequence[Event]) -> None:
        """Write rows and events, durable when it returns."""
        with self._tables.write() as tables:
            claims.record(tables, rows, events)

    def claim(self, command: Claim) -> ClaimAnswer:
        """Take the call and spend its approval, or say who has it."""
        with self._tables.write() as tables:
            return claims.claim(tables, command)

    def rows(self, ref: ConversationRef, *, turn: int | None = None) -> tuple[CallRow, ...]:
        """Calls of one turn, or of the whole conversation, all branches, in order."""
        with self._tables.read() as tables:
            return tables.rows(home_of(ref), turn) if visible(tables, ref) else ()

    def approvals(
        self, *, tenant: str | None = None, status: str | None = None, conversation: str | None = None
    ) -> tuple[Approval, ...]:
        """Approvals, oldest first; expiry is judged now."""
        return self._looked_at(Wanted(tenant=tenant, status=status, conversation=conversation))

    def approval(self, approval_id: str) -> Approval | None:
        """One approval; expiry is judged now."""
        with self._tables.read() as tables:
            asked = tables.asked(approval_id)
            if asked is None or not approvals.is_due(asked, tables.now):
                return None if asked is None else asked.approval
        with self._tables.write() as tables:
            asked = tables.asked(approval_id)
            return None if asked is None else approvals.look(tables, asked).approval

    def _looked_at(self, wanted: Wanted) -> tuple[Approval, ...]:
        with self._tables.read() as tables:
            if not tables.listed(approvals.due(wanted, tables.now)):
                return tuple(asked.approval for asked in tables.listed(wanted))
        with self._tables.write() as tables:
            return approvals.listed(tables, wanted)

    def vote(self, approval_id: str, *, status: str, by: str, reason: str | None, event: Event) -> Approval:
        """Decide a pending approval. Raises ApprovalError (`not_found`, `already_decided`, `expired`) when it is not pending."""
        with self._tables.write() as tables:
            answer = approvals.vote(tables, approval_id, (status, by, reason, event))
        if isinstance(answer, ApprovalError):
            raise answer
        return answer

    def audit(self, *, after: int = 0, limit: int | None = None) -> tuple[Sealed, ...]:
        """Audit records behind `after`, in order of seq."""
        with self._tables.read() as tables:
            return tables.audit(after, limit)

    def now(self) -> float:
        """Seconds since the epoch by the store's clock."""
        return self._tables.clock()

    def close(self) -> None:
        """Give back what the store holds open."""
        self._tables.close()
