"""Tables on PostgreSQL: the shared statements on a wire, and the locks that let the shared rules go on as if nobody else wrote.

Whoever writes locks the row of a conversation when it first touches it, so everything in that conversation stands still; budgets, which reach over
conversations, are locked before their total is read; the heads of the audit's chains come last. Holds no rule. Comes after `sql_tables`, `postgres_wire`
and `postgres_chains`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from guard.core.approval import Approval, Vote
from guard.core.grants import Grant
from guard.core.model import ConversationRef
from guard.core.ports import CallRow, Won
from guard.errors import StoreError
from guard.stores import postgres_filing, postgres_sql, postgres_take, rows, sql
from guard.stores.budget_tables import ZERO, Budget
from guard.stores.locks import OPEN, Lock
from guard.stores.postgres_chains import seal
from guard.stores.postgres_kills import Heeding
from guard.stores.postgres_wire import Reply, Wire
from guard.stores.rows import name_of
from guard.stores.sql_approvals import given
from guard.stores.sql_tables import SqlTables
from guard.stores.tables import Asked, Home, Place, Plain, Talk, Wanted
from guard.stores.watermark import Head

Part: TypeAlias = tuple[Reply, int, int | None]
"""Some columns of the one row of a reply."""


class AgainError(Exception):
    """Somebody was faster: the same work must look again. Never leaves the stores."""


class Reading(SqlTables):
    """`Tables` in a transaction that reads. `now` is a clock's time, or None: the server's."""

    connection: Wire
    lying = postgres_filing.LYING
    sifts = False  # few records lie unfiled on a server: somebody files them after a moment, whoever writes
    by_days = False

    def __init__(self, wire: Wire, now: float | None, lock: Lock = OPEN) -> None:
        super().__init__(wire, 0.0, wire.stamps, lock=lock)
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
        """The server's time, and how it commits. Asked for at the first need: after waiting for a lock, where there is one."""
        if self._started is None:
            self._started = self.connection.execute(postgres_sql.START)
        return self._started

    def heads_now(self) -> dict[int, Head]:
        """The heads of all chains, as one statement sees them."""
        return {int(chain): (int(seq), str(own)) for chain, seq, own in self.all(postgres_sql.HEADS, ()) if seq}

    def flush(self) -> None:
        """Records are sealed at the end of the transaction, where heads are locked: see `Writing.finish`."""

    def finish(self) -> None:
        """End the transaction."""
        self.connection.commit()


class Writing(Heeding, Reading):
    """`Tables` in a transaction that writes. `sure`: every answer is waited for, since the quick way has failed. `about`: roughly what time it is."""

    def __init__(self, wire: Wire, now: float | None, lock: Lock = OPEN, *, about: float, sure: bool) -> None:
        super().__init__(wire, now, lock)
        self._about = about
        self.over = False  # whether it was committed already
        self.approved_one = False  # whether somebody may be waiting for what was written
        self._sure = sure
        self._locked: dict[str, Reply] = {}
        self._saved: set[str] = set()
        self._foreseen: dict[tuple[Any, ...], Part] = {}
        self._heeded: dict[Home, Reply] = {}
        self._held: dict[tuple[Any, ...], Reply] = {}

    def finish(self) -> None:
        """Seal the records and commit, in one round trip."""
        if self.over:
            return
        how = self._start().first()
        if how is None or how[1] == "off":
            raise StoreError("the database does not keep to synchronous_commit = on")
        sealed = seal(self.connection, self.marks.told(self._events), self.now) if self._events else []
        self.connection.commit()
        rows_of = [found for reply in sealed if (found := reply.first()) is not None]
        self.heads = {int(chain): (int(seq), str(own)) for chain, seq, own in rows_of}

    def one(self, statement: str, *values: Any) -> Any:
        """The first row, or None; fetched before where it was foreseen."""
        part = self._foreseen.pop((statement, *values), None)
        if part is None:
            return self.connection.execute(statement, values).fetchone()
        reply, begin, end = part
        found = (reply.first() or ())[begin:end]
        return None if not found or (found[0] is None and statement != sql.EPOCH) else found

    def _lock(self, home: Home, *, start: bool = True) -> Reply:
        """The conversation's row, locked from here on; then, where it is not asked otherwise, the time."""
        name = name_of(home)
        reply = self._locked.get(name)
        if reply is None:
            reply = self._locked[name] = self.connection.execute(postgres_sql.LOCK, (name,))
            if start:
                self._start()
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
            self._lock(home, start=not claim)
            if claim:
                self.heed(home)
            self._foreseen[sql.CALL, *place] = self.connection.execute(sql.CALL, place), 0, None
            if claim:
                self._foresee_claim(place, row)

    def _foresee_claim(self, place: tuple[str, int, int], row: CallRow) -> None:
        name, *at = place
        reply = self.connection.execute(postgres_sql.CLAIMABLE, (*at, name, row.mark, row.run))
        self._started = self._started or reply
        parts = {
            (sql.EPOCH,): (2, 3),
            (sql.CLAIMED, *place): (3, 4),
            (postgres_sql.ALIKE, name, row.mark, "started"): (4, 6),
            (postgres_sql.ALIKE, name, row.mark, "unknown"): (6, 8),
            (postgres_sql.ALIKE_IN_RUN, name, row.mark, "done", row.run): (8, 10),
        }
        self._foreseen.update({key: (reply, *span) for key, span in parts.items()})

    def _forget(self, name: str, place: Place) -> None:
        """What was foreseen is no longer so: this call is written."""
        stale = (sql.CLAIMED, postgres_sql.ALIKE, postgres_sql.ALIKE_IN_RUN)
        gone = [key for key in self._foreseen if key[0] in stale or key == (sql.CALL, name, *place)]
        for key in gone:
            del self._foreseen[key]

    def row(self, home: Home, place: Place) -> CallRow | None:
        """One call."""
        self._lock(home)
        return super().row(home, place)

    def alike(self, home: Home, mark: str, statuses: frozenset[str], *, run: int | None = None) -> CallRow | None:
        """The newest call with this mark."""
        statement, more = (postgres_sql.ALIKE, ()) if run is None else (postgres_sql.ALIKE_IN_RUN, (run,))
        found = [self.one(statement, name_of(home), mark, status, *more) for status in statuses]
        newest = max((place for place in found if place is not None), default=None)
        return None if newest is None else self.row(home, newest)

    def put(self, row: CallRow) -> None:
        """Add or replace a call."""
        self._forget(name_of((row.key.ref.tenant, row.key.ref.conversation)), (row.key.turn, row.key.position))
        super().put(row)

    def take(self, given: Plain) -> Won | None:
        """Take a plain call, which is a transaction of its own; where it cannot be taken so, this one begins for the rules."""
        if self._sure or self._events:  # what is written already is of this transaction
            return None
        found = postgres_take.take(self.connection, given, now=self._now, about=self._about)
        if found is None:
            self.connection.begin(postgres_sql.BEGIN_WRITE)
            return None
        won, chain, head = found
        self.heads, self.over = {chain: head}, True
        return won

    def claim(self, row: CallRow, approval: str | None) -> bool:
        """Take the call. It was seen to be free under its conversation's lock; were it not so, the transaction would fail and look again."""
        if self._sure:
            return super().claim(row, approval)
        key = row.key
        name = name_of((key.ref.tenant, key.ref.conversation))
        self.run(postgres_sql.CLAIM, name, key.turn, key.position, row.fingerprint, approval, self.now)
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

    def expect(self, budgets: Collection[Budget]) -> None:
        """Lock totals, always in the same order, in one round trip."""
        for budget in sorted(budgets, key=str):
            self.run(postgres_sql.NEW_TOTAL, budget)
            self._foreseen[postgres_sql.METER, budget] = self.connection.execute(postgres_sql.METER, (budget,)), 0, None

    def meter(self, budget: Budget) -> tuple[Decimal, float]:
        """What is drawn in all, and the budget's own time; they stay so until the transaction ends."""
        found = self.one(postgres_sql.METER, budget)
        return (ZERO, 0.0) if found is None else rows.meter(found)

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

    def vote(self, approval: Approval, vote: Vote) -> None:
        """Add a vote."""
        self.approved_one = approval.status == "approved"
        super().vote(approval, vote)

    # grants

    def granted(self, grant_id: str) -> Grant | None:
        """One grant; it stays so until the transaction ends."""
        self.run(postgres_sql.LOCK_GRANT, grant_id)
        return super().granted(grant_id)

    def waits(self, home: Home, place: Place) -> CallRow | None:
        """A held call, unless another worker is about to pick it."""
        return self._waits(postgres_sql.WAITS, home, place)
