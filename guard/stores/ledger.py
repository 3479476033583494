"""The store that the drivers talk to: each method of the port is one transaction over one set of tables.

It holds no rule of its own; the rules are in `turns`, `budgets`, `approvals` and `claims`, written once for every store. Comes after them
and before `open_store`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guard.core.approval import BALLOT, Ballot, Ending
from guard.core.commands import Told
from guard.core.log import Sealed
from guard.core.model import Approval, CallKey, ConversationRef
from guard.core.ports import (
    AskApproval,
    CallRow,
    Charge,
    Claim,
    ClaimAnswer,
    Event,
    FindTwins,
    Lapse,
    Ledger,
    LoadHandles,
    LoadLedger,
    Opened,
    OpenTurn,
    Shadowed,
    Sought,
    TakeQuota,
    Vaulted,
)
from guard.core.searching import Filed
from guard.core.values import Json
from guard.errors import ApprovalError, StoreError
from guard.stores import approvals, budgets, claims, doubts, grant_ends, lookups, turns, vault, votes
from guard.stores.backend import Backend
from guard.stores.batch_store import BatchStore
from guard.stores.executors import me, process
from guard.stores.grant_ledger import GrantLedger
from guard.stores.kill_ledger import KillLedger
from guard.stores.outbox import StoreOutbox
from guard.stores.outright import OutrightLedger
from guard.stores.owners import home_of, own, visible
from guard.stores.plain import Taking, plain
from guard.stores.tables import Plain, Tables, Wanted
from guard.stores.watermark import older


class LedgerStore(OutrightLedger, GrantLedger, KillLedger, BatchStore):
    """The `Store` port over any `Backend`. StoreError comes from the tables; methods say what else they raise."""

    __slots__ = ("__weakref__", "_epoch", "_one_writer", "blocking", "outbox", "secret")

    def __init__(self, tables: Backend, *, chains: int = 1) -> None:
        super().__init__(tables, chains)
        self.blocking = tables.blocking
        self._one_writer = bool(getattr(tables, "one_writer", False))
        self.secret = tables.secret
        self._epoch = self._begun()
        self.outbox = StoreOutbox(tables, chains)

    @property
    def writer(self) -> Mapping[str, Any]:
        """What the audit says about this process."""
        return {**process(), "epoch": self._epoch}

    def open(self, ref: ConversationRef) -> None:
        """Create the conversation or check its owner. Raises ConversationError when it is somebody else's."""
        if not self._tables.read(lambda tables: visible(tables, ref)):
            self._tables.write(lambda tables: own(tables, ref))

    def say(self, ref: ConversationRef, text: str, event: Event, salt: str = "") -> None:
        """Record that the user spoke: a new run begins."""
        self._tables.write(lambda tables: turns.say(tables, ref, (text, salt), event))

    def open_turn(self, command: OpenTurn) -> Opened:
        """Number the turn, or recognise it as the newest one handled again."""
        return self._tables.write(lambda tables: turns.open_turn(tables, command))

    def load_ledger(self, command: LoadLedger) -> Ledger:
        """Calls of the tools asked for from earlier turns that are done, started, unknown or held; the caller filters by status."""
        return self._tables.read(lambda tables: lookups.ledger(tables, command))

    def find_twins(self, command: FindTwins) -> Mapping[str, CallRow]:
        """For each mark the newest call of the conversation that is held, started, unknown or done."""
        return self._tables.read(lambda tables: lookups.twins(tables, command))

    def take(self, command: TakeQuota) -> tuple[Charge | Shadowed | None, ...]:
        """Reserve quota call by call; None, the first exceeded charge, or what shadow limits would have refused."""
        if command.again and self._tables.read(lambda tables: budgets.held(tables, command)):
            return (None,) * len(command.calls)
        return self._tables.write(lambda tables: budgets.take(tables, command))

    def ask(self, command: AskApproval) -> Approval | None:
        """The approval that answers this proposal, or the proposal itself, pending from now on or yet to be opened; None: too many wait."""
        found = self._tables.read(lambda tables: approvals.answered(tables, command))
        if found is None and command.opens:
            return self._tables.write(lambda tables: approvals.ask(tables, command))
        return command.proposal if found is None else found

    def record(self, rows: Sequence[CallRow], events: Sequence[Event], handles: Sequence[Vaulted] = ()) -> CallRow | None:
        """Write rows, events and handles, durable when it returns; the row of a taken call as it stands, where the ledger knows better."""
        return self._tables.write(lambda tables: claims.record(tables, rows, events, handles))

    def handles(self, command: LoadHandles) -> Mapping[str, Vaulted]:
        """What stands behind these handles of the conversation."""
        return self._tables.read(lambda tables: vault.look(tables, command))

    def claim(self, command: Claim) -> ClaimAnswer:
        """Take the call and spend its approval, or say who has it."""
        given = plain(command, self._epoch, self._tables.lock) if self.blocking else None

        def alone(tables: Tables) -> ClaimAnswer:
            return self._claim(tables, command, given)

        return self._tables.write(alone if given is None else Taking(given, alone))

    def check_key(self) -> None:
        """Raise StoreError (`payload_key`) where the payloads are encrypted and no key was given: nothing could be decided or read."""
        self._tables.lock.check()

    @property
    def older(self) -> bool:
        """Whether the store was found to be older than what was written to it: a backup was put back, and nobody has said so."""
        return self._tables.older

    def _claim(self, tables: Tables, command: Claim, given: Plain | None) -> ClaimAnswer:
        if self._tables.older:
            raise older()
        won = None if given is None else tables.take(given)
        if won is not None:
            return won
        tables.foresee((command.row,), claim=True)
        if tables.epoch() != self._epoch:
            raise StoreError("a backup was put back since the store was opened; open it again", code="restored")
        return claims.claim(tables, command)

    def lapse(self, command: Lapse) -> CallRow:
        """Write down that a started call was lost, unless it is not; the row as it stands then."""
        return self._tables.write(lambda tables: doubts.lapse(tables, command))

    def renew(self, key: CallKey, attempt: int, lease: float, sign: str = "") -> bool:
        """Keep a started call for `lease` more seconds; False when this process no longer has this attempt."""
        home, place = home_of(key.ref), (key.turn, key.position)
        return self._tables.write(lambda tables: tables.renew(home, place, (attempt, me(sign)), tables.now + lease))

    def call(self, key: CallKey) -> CallRow | None:
        """One row."""
        home, place = home_of(key.ref), (key.turn, key.position)
        return self._tables.read(lambda tables: tables.row(home, place) if visible(tables, key.ref) else None)

    def rows(self, ref: ConversationRef, *, turn: int | None = None) -> tuple[CallRow, ...]:
        """Calls of one turn, or of the whole conversation, all branches, in order."""
        return self._tables.read(lambda tables: tables.rows(home_of(ref), turn) if visible(tables, ref) else ())

    def unsettled(self, ref: ConversationRef) -> tuple[CallRow, ...]:
        """Calls of the conversation whose outcome was not told yet, in order."""
        return self._tables.read(lambda tables: tables.unsettled(home_of(ref)) if visible(tables, ref) else ())

    def told(self, keys: Mapping[CallKey, str], events: Sequence[Event]) -> None:
        """Remember that these outcomes were told, each only where the call still has the status that was told."""
        self._tables.write(lambda tables: claims.told(tables, keys, events))

    def turn_of(self, ref: ConversationRef, digest: str) -> int | None:
        """The newest turn of this branch with these calls, turns with a key left out; None where there is none."""
        return self._tables.read(lambda tables: lookups.turn_of(tables, ref, digest))

    def approvals(
        self, *, tenant: str | None = None, status: str | None = None, conversation: str | None = None
    ) -> tuple[Approval, ...]:
        """Approvals, oldest first; expiry is judged now."""
        return self._looked_at(Wanted(tenant=tenant, status=status, conversation=conversation))

    def approval(self, approval_id: str) -> Approval | None:
        """One approval; expiry is judged now."""
        asked, due = self._tables.read(lambda tables: approvals.seen(tables, approval_id))
        return self._tables.write(lambda tables: approvals.looked(tables, approval_id)) if due else asked

    def due(self, most: int) -> tuple[str, ...]:
        """Approvals of which something has yet to be written down; nothing is written."""
        return self._tables.read(lambda tables: approvals.due(tables, most))

    def _looked_at(self, wanted: Wanted) -> tuple[Approval, ...]:
        found = self._tables.read(lambda tables: approvals.listable(tables, wanted))
        return self._tables.write(lambda tables: approvals.listed(tables, wanted)) if found is None else found

    def vote(
        self,
        approval_id: str,
        *,
        status: str,
        by: str,
        reason: str | None,
        event: Told,
        roles: tuple[str, ...] = (),
        ballot: Ballot = BALLOT,
    ) -> Approval:
        """Count a vote about a pending approval. Raises ApprovalError (`not_found`, `already_decided`, `expired`, `stale`, `voted`)."""
        given = votes.Given(status=status, by=by, roles=tuple(roles), reason=reason, event=event, ballot=ballot)
        return _or_raise(self._tables.write(lambda tables: votes.vote(tables, approval_id, given)))

    def doubtful(self, *, tenant: str | None = None) -> tuple[CallRow, ...]:
        """Actions that are unknown, or started and lost, oldest first."""
        return self._tables.read(lambda tables: doubts.doubtful(tables, tenant))

    def reconcile(self, row: CallRow, event: Event) -> CallRow:
        """Settle an unknown call by a person's word. Raises ApprovalError (`not_found`, `already_decided`) when it is not unknown."""
        answer = self._tables.write(lambda tables: doubts.reconcile(tables, row, event))
        if isinstance(answer, ApprovalError):
            raise answer
        return answer

    def pick(self, *, grace: float, lease: float, limit: int) -> tuple[CallRow, ...]:
        """Approved calls that nobody ran, lost ones, and held ones that a grant answers, for one worker."""
        found = self._tables.read(lambda tables: doubts.answered(tables, grace=grace, limit=limit))
        return self._tables.write(lambda tables: doubts.pick(tables, grace=grace, lease=lease, limit=limit, granted=found))

    def wait(self, seconds: float) -> None:
        """Come back when something may have been approved, or after so many seconds."""
        self._tables.wait(seconds)

    def restored(self, why: str, event: Event, doubt: doubts.Doubt) -> int:
        """Begin a new epoch after a backup was put back; how many calls are in doubt by that."""
        self._tables.accept()
        found = self._tables.write(lambda tables: doubts.restored(tables, why, event, doubt))
        self._epoch = self._tables.read(lambda tables: tables.epoch())
        return found

    def revise(
        self,
        approval_id: str,
        *,
        question: Approval,
        row: CallRow,
        charges: tuple[Charge, ...],
        event: Event,
        ballot: Ballot = BALLOT,
    ) -> Approval | Charge:
        """Put the question about a changed call in the place of a pending one; the charge that does not fit, and then nothing is written."""
        given = votes.Revised(question=question, row=row, charges=charges, event=event, ballot=ballot)
        try:
            return _or_raise(self._tables.write(lambda tables: votes.revise(tables, approval_id, given)))
        except votes.ExceededError as exceeded:
            return exceeded.charge

    def end(self, approval_id: str, *, status: Ending, by: str, event: Told) -> Approval:
        """Cancel an approval, or revoke one that was approved. Raises ApprovalError where it cannot be."""
        return _or_raise(
            self._tables.write(lambda tables: self._ended(tables, votes.end(tables, approval_id, status, by, event)))
        )

    @staticmethod
    def _ended(tables: Tables, answer: Approval | ApprovalError) -> Approval | ApprovalError:
        """What was given together with a yes that is taken back ends with it."""
        if isinstance(answer, Approval):
            grant_ends.withdrawn(tables, answer)
        return answer

    def search(self, sought: Sought) -> tuple[Sealed, ...]:
        """Audit records that meet `sought`, of all chains."""
        return self._tables.read(lambda tables: tables.search(sought))

    def tally(self, sought: Sought, by: tuple[str, ...]) -> tuple[tuple[tuple[Json, ...], int], ...]:
        """How many records meet `sought`, by these values."""
        return self._tables.read(lambda tables: tables.tally(sought, by))

    def filed(self, sought: Sought, names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
        """Columns of what is filed about the records that meet `sought`."""
        return self._tables.read(lambda tables: tables.filed(sought, names))

    def copies(self, *, chain: int = 0, after: int = 0, limit: int = 1000) -> tuple[Filed, ...]:
        """What is filed about the records of one chain behind `after`."""
        return self._tables.read(lambda tables: tables.copies(chain, after, limit))

    def catch_up(self) -> None:
        """File what is not filed yet now, for who reads the views; searches need it never. Raises StoreError."""
        self._tables.read(lambda _: None)  # what waits is written
        getattr(self._tables, "catch_up", _nothing)()

    def now(self) -> float:
        """Seconds since the epoch by the store's clock."""
        return self._tables.clock()


def _nothing() -> None:
    """This store files each record as it is written."""


def _or_raise(answer: Approval | ApprovalError) -> Approval:
    if isinstance(answer, ApprovalError):
        raise answer
    return answer
