"""Follower: takes the records of an audit to one sink, at least once and in the order of each chain.

One `step` reads a batch behind the cursors, sends it within its time, and writes down how far it got, with what was set aside or passed over.
While there is nothing to send it writes nothing. Nothing that decides ever waits for it. Comes after limited and passing; before relay.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from secrets import token_hex

from guard.core import audit_exports
from guard.core.outbox import Advance, Outbox, SinkState
from guard.core.ports import Sealed
from guard.sinks import passing
from guard.sinks.entry import entry, wanted
from guard.sinks.limited import Limited
from guard.sinks.passing import Tried
from guard.sinks.port import Bounds, Sink, SinkError

MARGIN = 5.0
"""Seconds of a lease beyond the time that sending may take."""
POLL = 0.5
_KEPT = 30.0  # seconds after which it is written down that nothing but records of other kinds came


@dataclass(frozen=True, slots=True)
class Step:
    """What one step did: `idle` (nothing to send), `sent`, `failed`, `waiting` (until the next try) or `elsewhere` (another process sends).

    `wait` says after how many seconds the next step makes sense.
    """

    did: str
    wait: float = 0.0
    sent: int = 0
    error: str = ""


class Follower:
    """Follows the audit for one sink."""

    def __init__(self, outbox: Outbox, sink: Sink, bounds: Bounds | None = None) -> None:
        self.sink, self.bounds = sink, bounds or Bounds()
        self._outbox = outbox
        self._sign = token_hex(8)
        self._limited = Limited(sink.name)
        self._first = 0  # the chain that is asked first: each has its turn
        self._ahead: dict[int, int] = {}  # how far only records of other kinds came, where that is not written down yet
        self._kept = 0.0
        self._count = 0  # records that were sent, besides those about exports

    def begin(self) -> None:
        """Write down where a new sink begins, so that `newest` means from here on, and put it on record. Raises StoreError."""
        if self._outbox.standing(self.sink.name) is None and (mine := self._seize()) is not None:
            event = audit_exports.begins(mine.sink, type(self.sink).__name__, self.bounds.kinds, mine.cursors)
            self._keep(Advance(sink=mine.sink, events=(event,)))

    def end(self) -> None:
        """Put on record how many records were sent since this follower was made. Raises StoreError."""
        if self._count and (mine := self._seize()) is not None:
            event = audit_exports.ends(mine.sink, type(self.sink).__name__, self._count, mine.cursors)
            self._keep(Advance(sink=mine.sink, failures=mine.failures, due=mine.due, error=mine.error, events=(event,)))
            self._count = 0

    def step(self) -> Step:
        """Send one batch, if there is one. Raises StoreError."""
        known = self._outbox.standing(self.sink.name)
        if known is not None:
            batch = self._batch(known)
            if not any(map(self._wants, batch)):
                return self._nothing(batch)
            if (left := known.due - self._outbox.now()) > 0:
                return Step("waiting", left, error=known.error)
        mine = self._seize()
        return Step("elsewhere", POLL) if mine is None else self._send(mine)

    def retry(self) -> Step:
        """Send a batch of what was set aside. Raises StoreError."""
        mine = self._seize()
        if mine is None:
            return Step("elsewhere", POLL)
        letters = self._outbox.letters(mine.sink, self.bounds.batch)
        found = [(letter, record) for letter in letters if (record := self._outbox.record(letter)) is not None]
        records = [record for _, record in found]
        tried = self._try(records, records)
        gone = [letter for letter in letters if letter not in [one for one, _ in found]]
        arrived = [letter for letter, _ in found[: tried.sent]]
        why = "" if tried.error is None else str(tried.error)
        again = [replace(letter, tries=letter.tries + 1, why=why) for letter, _ in found[tried.sent :]]
        self._keep(Advance(sink=mine.sink, letters=again, delivered=[*arrived, *gone], sent=tried.sent, error=why))
        return Step("failed" if why else "sent" if letters else "idle", sent=tried.sent, error=why)

    def besides(self, records: Sequence[Sealed]) -> Step:
        """Send records that stand before the cursors, once; the cursors stay. Raises StoreError."""
        mine = self._seize()
        if mine is None:
            return Step("elsewhere", error="another process is sending; try again")
        tried = self._try(records, records)
        why = "" if tried.error is None else str(tried.error)
        self._keep(Advance(sink=mine.sink, sent=tried.sent, failures=mine.failures, due=mine.due, error=why or mine.error))
        return Step("failed" if why else "sent", sent=tried.sent, error=why)

    def hangs(self) -> bool:
        """Whether an attempt has not ended although its time is over."""
        return self._limited.hangs(0)

    def close(self) -> None:
        """Close the sink, waiting for it no longer than one attempt may take."""
        with suppress(SinkError):
            self._limited.run(self.sink.close, self.bounds.timeout)

    def _wants(self, one: Sealed) -> bool:
        return wanted(entry(one).kind, self.bounds.kinds)

    def _batch(self, standing: SinkState) -> tuple[Sealed, ...]:
        return self._outbox.behind(passing.further(standing.cursors, self._ahead), self.bounds.batch, self._first)

    def _nothing(self, batch: Sequence[Sealed]) -> Step:
        """Nothing of these kinds: it is remembered here, and written down now and then."""
        self._ahead.update(passing.ends(batch))
        full = len(batch) == self.bounds.batch
        if self._ahead and self._outbox.now() - self._kept > _KEPT and (mine := self._seize()) is not None:
            self._keep(Advance(sink=mine.sink, cursors=passing.moved(mine.cursors, self._ahead), due=mine.due, error=mine.error))
        return Step("idle", 0.0 if full else POLL)

    def _seize(self) -> SinkState | None:
        lease = 2 * self.bounds.timeout + MARGIN
        return self._outbox.seize(self.sink.name, self._sign, lease, newest=self.bounds.newest)

    def _keep(self, change: Advance) -> None:
        if self._outbox.advance(self._sign, change):
            self._kept, self._ahead = self._outbox.now(), {}

    def _send(self, mine: SinkState) -> Step:
        over = passing.overdue(self._outbox, mine, self.bounds)
        if over is not None:
            self._keep(over)
            return Step("sent", error=over.error)
        batch = self._batch(mine)
        self._first = (batch[-1].chain + 1) % self._outbox.chains if batch else 0
        skipped = dict(self._ahead)
        tried = self._try(batch, [one for one in batch if self._wants(one)])
        change = passing.settled(mine, tried, self.bounds, self._outbox.now(), random.random())  # noqa: S311 - only parts senders
        self._keep(replace(change, cursors=passing.moved(mine.cursors, skipped, change.cursors)))
        if tried.error is None:
            return Step("sent", sent=tried.sent)
        return Step("failed", change.due - self._outbox.now(), tried.sent, change.error)

    def _try(self, batch: Sequence[Sealed], chosen: Sequence[Sealed]) -> Tried:
        """Send what was chosen of a batch."""
        try:
            if chosen:
                self._limited.run(lambda: self.sink.send(chosen), self.bounds.timeout)
        except SinkError as error:
            sent = max(0, min(error.sent, len(chosen) - 1))
            self._counted(chosen[:sent])
            done = batch[: batch.index(chosen[sent])]
            return Tried(done=done, left=chosen[sent:], sent=sent, error=error)
        self._counted(chosen)
        return Tried(done=batch, sent=len(chosen))

    def _counted(self, sent: Sequence[Sealed]) -> None:
        """Records about exports are not counted: else each run would have sent something, the record of the last one."""
        self._count += sum(entry(one).kind != audit_exports.KIND for one in sent)
