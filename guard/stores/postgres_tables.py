"""Tables on PostgreSQL: the shared statements on a wire, and the locks that let the shared rules go on as if nobody else wrote.

Whoever writes locks the row of a conversation when it first touches it, so everything in that conversation stands still; budgets, which reach over
conversations, are locked before their total is read; the heads of the audit's chains come last. Holds no rule. Comes after `sql_tables`, `postgres_wire`
and `postgres_chains`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from guard.core.model import Approval, ConversationRef
from guard.core.ports import CallRow, Event
from guard.errors import StoreError
from guard.stores import postgres_sql, rows, sql
from guard.stores.claims import OPEN_ENDED
from guard.stores.postgres_chains import seal
from guard.stores.postgres_wire import Reply, Wire
from guard.stores.sql_approvals import given, name_of
from guard.stores.sql_tables import SqlTables
from guard.stores.tables import ZERO, Asked, Budget, Home, Place, Talk, Wanted


class AgainError(Exception):
    """Somebody was faster: the same work must look again. Never leaves the stores."""


class Reading(SqlTables):
    """`Tables` in a transaction that reads. `now` is a clock's time, or None: the server's."""

    connection: Wire

    def __init__(self, wire: Wire, now: float | None) -> None:
        super().__init__(wire, 0.0, wire.stamps)
        self._now = now
        self._started: Reply | None = None

    @property
    def now(self) -> float:
        """The time of the transaction."""
        if self._now is None:
            started = self._start().first()
            self._now = 0.0 if started is None else float(started[0])
        return self._now

    @now.setter
    def now(self, _: float) -> None:
        """The base sets what is known later here."""

    def _start(self) -> Reply:
        """The server's time, and how it commits."""
        if self._started is None:
            self._started = self.connection.execute(postgres_sql.START)
        return self._started

    def finish(self) -> None:
        """End the transaction."""
        self.connection.commit()


class Writing(Reading):
    """`Tables` in a transaction that writes. `sure`: every answer is waited for, since the quick way has failed."""

    def __init__(self, wire: Wire, now: float | None, *, sure: bool) -> None:
        super().__init__(wire, now)
        self.approved_one = False  # whether somebody may be waiting for what was written
        self._sure = sure
        self._locked: dict[str, Reply] = {}
        self._saved: set[str] = set()
        self._foreseen: dict[tuple[Any, ...], Reply] = {}
        self._claims: list[Reply] = []
        self._events: list[Event] = []

    def finish(self) -> None:
        """Seal the records and commit. Raises AgainError where a claim was lost after all."""
        started = self._start()
        if self._events:
            seal(self.connection, self._events, self.now)
        if any(reply.rowcount != 1 for reply in self._claims):
            raise AgainError
        how = started.first()
        if how is None or how[1] == "off":
            raise StoreError("the database does not keep to synchronous_commit = on")
        self.connection.commit()

    def one(self, statement: str, *values: Any) -> Any:
        """The first row, or None; fetched before where it was foreseen."""
        reply = self._foreseen.pop((statement, *values), None)
        return (self.connection.execute(statement, values) if reply is None else reply).fetchone()

    def _foresee(self, statement: str, *values: Any) -> None:
        self._foreseen[statement, *values] = self.connection.execute(statement, values)

    def _lock(self, home: Home) -> Reply:
        """The conversation's row, locked from here on."""
        name = name_of(home)
        reply = self._locked.get(name)
        if reply is None:
            reply = self._locked[name] = self.connection.execute(postgres_sql.LOCK, (name,))
            self._start()  # behind the lock: the time after waiting for it
        return reply

    # conversations

    def owner(self, home: Home) -> str | None:
        """The principal that the conversation belongs to."""
        found = self._lock(home).first()
        return None if found is None else str(found[0])

    def create(self, ref: ConversationRef) -> None:
        """Add a conversation, unless somebody else just did."""
        home = (ref.tenant, ref.conversation)
        name = name_of(home)
        self.connection.execute(postgres_sql.CREATE, (name, *home, ref.principal))
        del self._locked[name]
        self._foreseen.clear()  # it was asked before there was a row to lock
        self._lock(home)

    def talk(self, home: Home) -> Talk:
        """The counters."""
        found = self._lock(home).first()
        if found is None or name_of(home) in self._saved:
            return super().talk(home)
        return rows.talk_row(home, found)

    def save(self, talk: Talk) -> None:
        """Keep changed counters."""
        self._saved.add(name_of(talk.home))
        super().save(talk)

    # calls

    def foresee(self, calls: Sequence[CallRow], *, claim: bool = False) -> None:
        """Queue what the rules will ask about these calls, so that all of it costs one round trip."""
        for row in calls:
            home = (row.key.ref.tenant, row.key.ref.conversation)
            place = (name_of(home), row.key.turn, row.key.position)
            self._lock(home)
            self._foresee(sql.CALL, *place)
            if claim:
                self._foresee(sql.EPOCH)
                self._foresee(sql.CLAIMED, *place)
                self._foresee_twins(name_of(home), row)

    def _foresee_twins(self, name: str, row: CallRow) -> None:
        if row.mark:
            for status in OPEN_ENDED:
                self._foresee(sql.ALIKE, name, row.mark, status)
            if not row.repeat:
                self._foresee(sql.ALIKE_IN_RUN, name, row.mark, "done", row.run)

    def _forget(self, name: str, place: Place) -> None:
        """What was foreseen is no longer so: this call is written."""
        kept = {key: reply for key, reply in self._foreseen.items() if key[0] is sql.CALL and key[1:] != (name, *place)}
        self._foreseen = kept

    def row(self, home: Home, place: Place) -> CallRow | None:
        """One call."""
        self._lock(home)
        return super().row(home, place)

    def put(self, row: CallRow) -> None:
        """Add or replace a call."""
        self._forget(name_of((row.key.ref.tenant, row.key.ref.conversation)), (row.key.turn, row.key.position))
        super().put(row)

    def claim(self, row: CallRow, approval: str | None) -> bool:
        """Take the call. It was seen to be free under its conversation's lock, so the answer is looked at before the COMMIT only."""
        if self._sure:
            return super().claim(row, approval)
        key = row.key
        name = name_of((key.ref.tenant, key.ref.conversation))
        values = (name, key.turn, key.position, row.fingerprint, approval, self.now)
        self._claims.append(self.connection.execute(sql.CLAIM, values))
        return True

    def renew(self, home: Home, place: Place, mine: tuple[int, str], until: float) -> bool:
        """Move the end of a lease."""
        self._lock(home)
        return super().renew(home, place, mine, until)

    def approved(self, before: float, limit: int) -> tuple[CallRow, ...]:
        """Held calls that may run, without those that another worker is about to pick."""
        return self._calls(postgres_sql.APPROVED, before, self.now, self.now, limit)

    def lost(self, limit: int) -> tuple[CallRow, ...]:
        """Started calls that nobody is at, likewise."""
        return self._calls(postgres_sql.LOST, self.now, self.now, limit)

    def begin_epoch(self, number: int, why: str) -> None:
        """Keep a new epoch once every other writer has ended: each of them saw the old one."""
        self.connection.execute(postgres_sql.LOCK_ALL)
        super().begin_epoch(number, why)

    # budgets

    def total(self, budget: Budget) -> Decimal:
        """What is drawn in all; it stays so until the transaction ends."""
        found = self.one(postgres_sql.TOTAL, budget)
        if found is None:
            self.run(postgres_sql.NEW_TOTAL, budget)
            found = self.one(postgres_sql.TOTAL, budget)
        return ZERO if found is None else rows.number(found[0])

    # approvals

    def asked(self, approval_id: str) -> Asked | None:
        """One approval; its conversation is locked first."""
        self.connection.execute(postgres_sql.LOCK_ASKED, (approval_id,))
        return super().asked(approval_id)

    def listed(self, wanted: Wanted) -> tuple[Asked, ...]:
        """Approvals that meet every field. Those whose end is to be written down are locked first."""
        if wanted.due is not None:
            used = given(wanted)
            self.run(postgres_sql.lock_due(tuple(used)), *used.values())
        return super().listed(wanted)

    def vote(self, approval: Approval) -> None:
        """Add a vote."""
        self.approved_one = approval.status == "approved"
        super().vote(approval)

    # audit

    def append(self, event: Event) -> None:
        """Keep an event for the end of the transaction, where heads are locked."""
        self._events.append(event)
