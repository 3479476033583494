"""Gaps: what was refused because its record could not be written, counted until a record can say so.

One line in the log when the store goes and one when it is back; then one record, `audit.gap`, in the transaction that opens the next turn: since when,
why, how many calls of which kind. What a process counted and never got to write is lost with it. Decides nothing. Used by `chat`.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Mapping

from guard.core.gaps import NOTHING, Gap, gap
from guard.core.model import Outcome
from guard.core.ports import Event
from guard.core.reasons import Reason
from guard.core.rules import Tool

LOG = logging.getLogger("guard")
_DOWN = frozenset({Reason.STORE_UNAVAILABLE, Reason.STORE_RESTORED})


class Gaps:
    """What one guard has refused since its store was last written."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._refused: Counter[str] = Counter()
        self._since = self._until = 0.0

    def note(self, outcomes: Iterable[Outcome], tools: Mapping[str, Tool], now: float) -> None:
        """Count what of a turn was refused for lack of a record."""
        kinds = [_kind(one, tools) for one in outcomes if one.reason in _DOWN]
        if not kinds:
            return
        with self._lock:
            first = not self._refused
            self._since, self._until = (now if first else self._since), now
            self._refused.update(kinds)
        if first:
            LOG.warning("the record of a call could not be written: calls are refused until the store is back")

    def offer(self) -> Gap:
        """What is to be put on record with the next turn: nothing, nearly always."""
        return Offer(self) if self._refused else NOTHING

    def settle(self, offered: Gap) -> None:
        """The turn is over; see `Offer.settle`."""
        if isinstance(offered, Offer):
            offered.settle()

    def take(self) -> tuple[Counter[str], float, float]:
        """What was counted, from now on somebody else's to write."""
        with self._lock:
            found, self._refused = self._refused, Counter()
        return found, self._since, self._until

    def back(self, counted: Counter[str], since: float) -> None:
        """It could not be written."""
        with self._lock:
            self._since = since
            self._refused.update(counted)


class Offer:
    """The record of a gap on its way."""

    def __init__(self, gaps: Gaps) -> None:
        self._gaps = gaps
        self._taken: tuple[Counter[str], float, float] | None = None
        self._written = False

    def events(self) -> tuple[Event, ...]:
        """The record; the same one where it is asked for again, since a transaction may be tried again."""
        self._taken = self._taken or self._gaps.take()
        counted, since, until = self._taken
        return (gap("store_unavailable", dict(counted), since, until),) if counted else ()

    def written(self) -> None:
        """It stands."""
        self._written = self._taken is not None

    def settle(self) -> None:
        """The turn is over: what does not stand is kept for the next one."""
        if self._taken is None:
            return
        (counted, since, _), self._taken = self._taken, None
        if self._written:
            LOG.warning("the store is back; %d calls were refused for lack of a record", counted.total())
        else:
            self._gaps.back(counted, since)


def _kind(outcome: Outcome, tools: Mapping[str, Tool]) -> str:
    tool = tools.get(outcome.tool)
    return "unlisted" if tool is None else tool.kind
