"""Tables in SQL: every method of `Tables` as statements that SQLite and PostgreSQL both understand.

Only puts values into SQL and takes them out; what they mean is decided in `ledger` and behind it. How a transaction begins, which chain a record
belongs to and how the head of a chain is read are left to `sqlite` and `postgres`. Comes after `sql_grants` and `sql_log`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guard.core.model import ConversationRef
from guard.core.ports import CallRow, Event, Sealed, Vaulted, Won
from guard.core.replacing import replace
from guard.stores import rows, sql
from guard.stores.chain import GENESIS, write_all
from guard.stores.claims import FINISHED
from guard.stores.executors import gone
from guard.stores.locks import OPEN, Lock
from guard.stores.rows import Columns, name_of
from guard.stores.sql_grants import SqlGrants
from guard.stores.sql_kills import SqlKills
from guard.stores.sql_log import SqlLog
from guard.stores.sql_outbox import SqlOutbox
from guard.stores.sql_search import SqlSearch
from guard.stores.sql_unresolved import SqlUnresolved
from guard.stores.stamp import Stamps
from guard.stores.tables import Home, Mark, Place, Plain, Talk
from guard.stores.watermark import Head, Watermark

_ALL = 2**62  # LIMIT of no limit


class SqlTables(SqlOutbox, SqlGrants, SqlKills, SqlLog, SqlUnresolved, SqlSearch):
    """`Tables` on a connection that is in a transaction."""

    one_writer = False

    def __init__(
        self,
        connection: Any,
        now: float,
        stamps: Stamps,
        known: dict[Any, Any] | None = None,
        watermark: Watermark | None = None,
        lock: Lock = OPEN,
    ) -> None:
        super().__init__(connection, now, lock)
        self.stamps = stamps
        self._known = {} if known is None else known  # what nobody else can have changed since the transaction began
        self.watermark = watermark
        self.heads: dict[int, Head] = {}  # the newest record of each chain that this transaction adds to
        self._events: list[Event] = []  # appended, and not sealed yet

    # conversations and turns

    def owner(self, home: Home) -> str | None:
        """The principal that the conversation belongs to."""
        row = self._counters(home)
        return None if row is None else str(row[0])

    def create(self, ref: ConversationRef) -> None:
        """Add a conversation."""
        home = (ref.tenant, ref.conversation)
        self.run(sql.CREATE, name_of(home), *home, ref.principal)
        self._known.pop(home, None)

    def talk(self, home: Home) -> Talk:
        """The counters."""
        return rows.talk_row(home, self._counters(home))

    def save(self, talk: Talk) -> None:
        """Keep changed counters."""
        columns = rows.talk_columns(talk)
        self.run(sql.SAVE, *columns, name_of(talk.home))
        self._known[talk.home] = (talk.principal, *columns)

    def _counters(self, home: Home) -> Any:
        """The columns of `sql.TALK`; None where there is no such conversation."""
        row = self._known.get(home)
        if row is None:
            row = self._known[home] = self.one(sql.TALK, name_of(home))
        return row

    def say(self, home: Home, number: int, text: tuple[str, str]) -> None:
        """Keep the user's words."""
        name = name_of(home)
        payload = self.payload(f"words:{name}:{number}", "words", rows.dump(list(text)))
        self.run(sql.SAY, name, number, self.now, payload)

    def words(self, home: Home) -> tuple[str, ...]:
        """Everything that the user said."""
        return tuple(_words(rows.load(self.lock.open(name, body))) for name, body in self.all(sql.WORDS, (name_of(home),)))

    def newest(self, home: Home, branch: str, digest: str | None = None) -> Mark | None:
        """The newest turn of a branch."""
        values = (name_of(home), branch)
        return _mark(self.one(sql.NEWEST, *values) if digest is None else self.one(sql.NEWEST_DIGEST, *values, digest))

    def keyed(self, home: Home, key: str) -> Mark | None:
        """The turn of a key."""
        return _mark(self.one(sql.KEYED, name_of(home), key))

    def count(self, home: Home, branch: str, digest: str | None) -> int:
        """How many turns a branch has."""
        values = (name_of(home), branch)
        row = self.one(sql.COUNT, *values) if digest is None else self.one(sql.COUNT_DIGEST, *values, digest)
        return int(row[0])

    def before(self, home: Home, branch: str, turn: int) -> int:
        """How many turns a branch has before this one."""
        return int(self.one(sql.COUNT_BEFORE, name_of(home), branch, turn)[0])

    def opened(self, home: Home, after: int) -> tuple[Mark, ...]:
        """The turns after this one."""
        return tuple(Mark(*row) for row in self.all(sql.OPENED, (name_of(home), after)))

    def number(self, home: Home, branch: str, key: str, mark: Mark) -> None:
        """Keep a new turn."""
        self.run(sql.NUMBER, name_of(home), mark.turn, branch, key, mark.digest, mark.run, mark.at)

    # calls

    def foresee(self, calls: Sequence[CallRow], *, claim: bool = False) -> None:
        """Asking one thing after the other costs nothing in a file."""

    def row(self, home: Home, place: Place) -> CallRow | None:
        """One call."""
        found = self.one(sql.CALL, name_of(home), *place)
        return None if found is None else _alive(rows.call_row(found, self.lock))

    def rows(self, home: Home, turn: int | None) -> tuple[CallRow, ...]:
        """Calls in order."""
        name = name_of(home)
        return self._calls(sql.CALLS, name) if turn is None else self._calls(sql.CALLS_OF_TURN, name, turn)

    def unsettled(self, home: Home) -> tuple[CallRow, ...]:
        """Calls that were not told yet."""
        return self._calls(sql.UNSETTLED, name_of(home))

    def settle(self, home: Home, place: Place, status: str) -> None:
        """Mark a call as told."""
        self.run(sql.SETTLE, name_of(home), *place, status)

    def ledger(self, home: Home, tools: frozenset[str], before: int, statuses: frozenset[str]) -> tuple[CallRow, ...]:
        """Earlier calls of these tools."""
        name = name_of(home)
        found = [row for tool in tools for row in self.all(sql.CALLS_OF_TOOL, (name, tool, before))]
        calls = (rows.call_row(one, self.lock) for one in sorted(found, key=lambda row: (row[0], row[1])))
        return tuple(row for row in calls if row.status in statuses)

    def alike(self, home: Home, mark: str, statuses: frozenset[str], *, run: int | None = None) -> CallRow | None:
        """The newest call with this mark."""
        if not statuses:
            return None
        name, values = name_of(home), (() if run is None else (run,))
        statement = sql.alike(tuple(sorted(statuses)), in_run=run is not None)
        found = [place for place in self.one(statement, *(name, mark, *values) * len(statuses)) if place is not None]
        return self.row(home, max(map(rows.place, found))) if found else None

    def put(self, row: CallRow) -> None:
        """Add or replace a call."""
        name = name_of((row.key.ref.tenant, row.key.ref.conversation))
        payload = self.payload(f"call:{name}:{row.key.turn}:{row.key.position}", "call", rows.call_payload(row))
        self._write(row, (*rows.call_columns(row, name, payload), self.now if row.status in FINISHED else None))
        self._aim(row, name)

    def _write(self, row: CallRow, columns: Columns) -> None:  # noqa: ARG002 - what is quicker is special to one database
        """Write the columns of `sql.PUT`."""
        self.run(sql.PUT, *columns)

    def take(self, given: Plain) -> Won | None:  # noqa: ARG002 - what is quicker is special to one database
        """The rules are asked."""
        return None

    def claimed(self, home: Home, place: Place) -> bool:
        """Whether the call was ever taken."""
        return self.one(sql.CLAIMED, name_of(home), *place) is not None

    def claim(self, row: CallRow, approval: str | None) -> bool:
        """Take the call."""
        key = row.key
        name = name_of((key.ref.tenant, key.ref.conversation))
        return self.changed(sql.CLAIM, name, key.turn, key.position, row.fingerprint, approval, self.now) == 1

    def renew(self, home: Home, place: Place, mine: tuple[int, str], until: float) -> bool:
        """Move the end of a lease."""
        return self.changed(sql.RENEW, until, name_of(home), *place, *mine) == 1

    def doubtful(self, tenant: str | None) -> tuple[CallRow, ...]:
        """Started and unknown actions."""
        return self._calls(sql.DOUBTFUL) if tenant is None else self._calls(sql.DOUBTFUL_IN, tenant)

    def approved(self, before: float, limit: int) -> tuple[CallRow, ...]:
        """Held calls that may run."""
        return self._calls(sql.APPROVED, before, self.now, self.now, limit)

    def lost(self, limit: int) -> tuple[CallRow, ...]:
        """Started calls that nobody is at."""
        return self._calls(sql.LOST, self.now, self.now, limit)

    def pick(self, home: Home, place: Place, until: float) -> None:
        """Keep a call for one worker."""
        self.run(sql.PICK, until, name_of(home), *place)

    # the vault

    def seal_away(self, home: Home, one: Vaulted) -> None:
        """Keep the value behind a handle."""
        name = name_of(home)
        payload = f"handle:{name}:{one.handle}"
        self.run(sql.PAYLOAD_ONCE, payload, "handle", self.lock.shut(payload, rows.dump(one.value)))
        self.run(sql.SEAL_AWAY, name, one.handle, one.kind, one.digest, one.tool, one.path, self.now, payload)

    def behind(self, home: Home, handle: str, since: float) -> Vaulted | None:
        """What stands behind a handle."""
        found = self.one(sql.HANDLE, name_of(home), handle, since)
        return None if found is None else rows.vaulted((*found[:5], self.lock.open(f"handle:{name_of(home)}:{handle}", found[5])))

    def given_out(self, home: Home, newer: int) -> float | None:
        """When the handle was given out than which so many are newer."""
        found = self.one(sql.LAST_HANDLE, name_of(home), newer)
        return None if found is None else float(found[0])

    def forget_handles(self, home: Home, before: float) -> None:
        """Forget old handles."""
        values = (name_of(home), min(before, 1e300))
        self.run(sql.FORGET_PAYLOADS, *values)
        self.run(sql.FORGET_HANDLES, *values)

    def epoch(self) -> int:
        """The newest epoch."""
        return int(self.one(sql.EPOCH)[0] or 0)

    def begin_epoch(self, number: int, why: str) -> None:
        """Keep a new epoch."""
        self.run(sql.NEW_EPOCH, number, self.now, why)

    def _calls(self, statement: str, *values: Any) -> tuple[CallRow, ...]:
        return tuple(_alive(rows.call_row(one, self.lock)) for one in self.all(statement, values))

    # audit

    def append(self, event: Event) -> None:
        """Keep an event for the end of the work, where all are sealed together. The write lock is held, so nobody comes between."""
        self._events.append(event)

    def flush(self) -> None:
        """Seal and write what was appended behind the newest record."""
        if self._events:
            events, self._events = self.marks.told(self._events), []
            made = write_all(events, 0, self._newest(), self.stamps, self.now)
            self.connection.executemany(sql.APPEND, made)
            _, seq, _, own, _ = made[-1]
            self.standing(seq, own)

    def sealed(self, event: Event) -> tuple[int, str, str, str]:
        """Seq, prev, hash and body of what would be the next record."""
        self.flush()
        ((_, seq, prev, own, body),) = write_all((event,), 0, self._newest(), self.stamps, self.now)
        return seq, prev, own, body

    def _newest(self) -> Head:
        head: Head | None = self._known.get(sql.HEAD)
        if head is None:
            head = self.one(sql.HEAD, 0)
            if self.watermark is not None:
                self.watermark.check(0, head)
            head = self._known[sql.HEAD] = (0, GENESIS) if head is None else head
        return head

    def standing(self, seq: int, own: str) -> None:
        """A record stands: the newest one from here on."""
        self._known[sql.HEAD] = self.heads[0] = (seq, own)

    def audit(self, chain: int, after: int, limit: int | None) -> tuple[Sealed, ...]:
        """Records in order."""
        self.flush()
        found = self.all(sql.AUDIT, (chain, max(after, 0), _ALL if limit is None else max(limit, 0)))
        return tuple(Sealed(chain=c, seq=s, prev=p, hash=h, body=b) for c, s, p, h, b in found)


def _alive(row: CallRow) -> CallRow:
    """The row; one whose process is known to be gone has a lease that is over, however long it was given for."""
    return replace(row, lease=0.0) if row.status == "started" and row.executor and gone(row.executor) else row


def _mark(row: tuple[int, str, int, float] | None) -> Mark | None:
    return None if row is None else Mark(*row)


def _words(kept: Any) -> str:
    """The words of a payload: with their salt, or alone, as they were once kept."""
    return str(kept if isinstance(kept, str) else kept[0])
