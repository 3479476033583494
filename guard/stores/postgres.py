"""The PostgreSQL store: the tables in one database, shared by the processes of a fleet.

Says how a transaction begins, ends and is tried again, and what time it is: the server's, for all alike. The statements are in `sql_tables`, the
locks in `postgres_tables`. Comes after them and `postgres_pool`, before `open_store`, which imports it when it is needed: psycopg is an extra.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from guard.errors import StoreError
from guard.stores import locks, postgres_schema, postgres_sql, sql
from guard.stores.ledger import LedgerStore
from guard.stores.locks import Lock, registered
from guard.stores.payload_keys import Keyring
from guard.stores.postgres_errors import RETRIED, FailedError, store_error
from guard.stores.postgres_filer import MANY, Filer
from guard.stores.postgres_pool import Limits, Pool, StaleError
from guard.stores.postgres_tables import AgainError, Reading, Writing
from guard.stores.postgres_wait import Listener
from guard.stores.postgres_wire import Wire
from guard.stores.tables import T, Tables
from guard.stores.tail import Tail
from guard.stores.watermark import Watermark, older

TRIES = 8
_LONGEST_REST = 0.2  # seconds before the last try
_FRESH, _SOON = 60.0, 1.0  # seconds that the distance between two clocks is trusted, and until a failed look is repeated


class PostgresBackend:
    """The tables in one database. `clock` is for tests; without one, time is the server's."""

    blocking = True
    nul = False  # no text may hold one
    older = False  # found out when it connects: then nothing can be asked at all

    def __init__(self, url: str, *, clock: Callable[[], float] | None, limits: Limits, keys: Keyring | None = None) -> None:
        self.clock = clock or ServerClock(self._ask)
        self._given = clock is not None
        self.pool = Pool(url, limits)
        self.listener = Listener(url, limits)
        self.watermark = Watermark()
        self.filer = Filer(self._run)
        self.tail = Tail()
        self.pool.check = self._same
        try:
            self.secret = self._run(postgres_schema.secret)
            self.lock = Lock(keys, self._run(_key_ids))
            if self.lock.fresh is not None:
                self._run(partial(_register, self.lock, self.clock()))
        except BaseException:
            self.close()
            raise

    def read(self, work: Callable[[Tables], T]) -> T:
        """A transaction that sees one state of the database."""

        def whole(wire: Wire) -> T:
            wire.execute(postgres_sql.BEGIN_READ)
            tables = Reading(wire, self.clock() if self._given else None, self.lock)
            tables.tail, tables.marks.secret = self.tail, self.secret
            answer = work(tables)
            tables.finish()
            if self.tail.size > MANY:
                self.filer.wrote()  # somebody died before they were filed
            return answer

        return self._run(whole)

    def write(self, work: Callable[[Tables], T]) -> T:
        """A transaction that may write: tried again where it was in somebody's way, durable when it returns."""
        for number in range(TRIES):
            try:
                answer, wake = self._run(partial(self._written, work, self.clock(), number > 0))
            except AgainError:
                time.sleep(random.random() * _LONGEST_REST * (number + 1) / TRIES)  # noqa: S311 - only to part those who collided
                continue
            if wake:
                self._wake()
            return answer
        raise StoreError("the database failed: several writers were in each other's way, time and again", code="deadlock")

    def _written(self, work: Callable[[Tables], T], about: float, sure: bool, wire: Wire) -> tuple[T, bool]:  # noqa: FBT001 - bound
        try:
            wire.begin(postgres_sql.BEGIN_WRITE)
            tables = Writing(wire, self.clock() if self._given else None, self.lock, about=about, sure=sure)
            tables.marks.secret = self.secret
            answer = work(tables)
            tables.finish()
        except FailedError as failed:
            if failed.state in RETRIED:
                raise AgainError from None
            raise
        if tables.heads:
            self.watermark.keep(tables.heads)
            self.filer.wrote()
        return answer, tables.approved_one

    def _run(self, work: Callable[[Wire], T]) -> T:
        """What `work` gives. Connections that turn out to be stale before anything was done on them are replaced."""
        for _ in range(3):
            try:
                return self.pool.run(work)
            except StaleError:
                self.pool.forget()
            except FailedError as failed:
                raise store_error(failed) from None
        raise store_error(FailedError())

    def _ask(self) -> float:
        found = self._run(lambda wire: wire.execute(postgres_sql.START).first())
        return 0.0 if found is None else float(found[0])

    def _wake(self) -> None:
        """Tell those who wait, in a transaction of its own: a notice inside the audited one would make all commits wait for each other."""
        with suppress(StoreError):  # they look by themselves before long
            self._run(lambda wire: wire.execute(postgres_sql.NOTIFY).first())

    def _same(self, wire: Wire) -> None:
        """Raise StoreError (`restored`) where a new connection leads to a database that lacks what was committed before."""
        seen = self.watermark.seen()
        found = {chain: wire.execute(sql.HASH, (chain, seq)) for chain, (seq, _) in seen.items()}
        for chain, reply in found.items():
            row = reply.fetchone()
            if row is None or row[0] != seen[chain][1]:
                raise older()

    def accept(self) -> None:
        """A person has said that a backup was put back: what the database holds counts from here on."""
        self.watermark.forget()

    def catch_up(self) -> None:
        """File every record that is there."""
        self.filer.all()

    def wait(self, seconds: float) -> None:
        """Come back when something was approved, or after so many seconds."""
        self.listener.wait(seconds)

    def close(self) -> None:
        """File what is due, and close every connection."""
        self.filer.close()
        self.listener.close()
        self.pool.close()


def _key_ids(wire: Wire) -> list[str]:
    return [name for (name,) in wire.execute(locks.KEY_IDS).fetchall()]


def _register(lock: Lock, now: float, wire: Wire) -> None:
    """Write the key's id down; whoever is first also makes the database refuse what is plain."""
    wire.execute(postgres_sql.BEGIN_WRITE)
    wire.execute(postgres_sql.MIGRATING)
    registered(lock, wire.execute, now, locks.FORBID_POSTGRES, first=not _key_ids(wire))
    wire.commit()


class ServerClock:
    """The server's time, from its distance to a clock that never stands still or jumps. Asks the server once a minute."""

    def __init__(self, ask: Callable[[], float]) -> None:
        self._ask = ask
        self._distance = 0.0
        self._until = 0.0  # when the distance must be measured again

    def __call__(self) -> float:
        """Seconds since the epoch. Raises StoreError while the server was never reached."""
        now = time.monotonic()
        if now >= self._until:
            self._measure(now)
        return time.monotonic() + self._distance

    def _measure(self, before: float) -> None:
        try:
            now = self._ask()
        except StoreError:
            if not self._until:
                raise
            self._until = before + _SOON
            return
        after = time.monotonic()
        self._distance, self._until = now - (before + after) / 2, after + _FRESH


def postgres_store(
    url: str, *, clock: Callable[[], float] | None = None, limits: Limits | None = None, keys: Keyring | None = None
) -> LedgerStore:
    """Open a database that was migrated. Raises StoreError (code `version` where it was not)."""
    return LedgerStore(PostgresBackend(url, clock=clock, limits=limits or Limits(), keys=keys), chains=postgres_sql.CHAINS)


def migrate(url: str) -> tuple[int, int]:
    """Bring a database to this program's version; from which and to which. Raises StoreError."""
    return _alone(url, postgres_schema.migrate)


def version(url: str) -> int:
    """The version of a database, 0 where there is nothing of the guard in it. Raises StoreError."""
    return _alone(url, postgres_schema.version)


def _alone(url: str, work: Callable[[Wire], T]) -> T:
    """What `work` gives on a connection for it alone, which may take its time."""
    pool = Pool(url, Limits(statement=600.0, lock=600.0, idle=600.0))
    try:
        return pool.run(work)
    except FailedError as failed:
        raise store_error(failed) from None
    finally:
        pool.close()
