"""Passing: what becomes of records that a sink did not take: when they are tried again, set aside, or passed over, and what is recorded of it.

Reads the outbox and changes nothing; a follower writes down what comes out. Comes after port and entry; before follower.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from guard.core.outbox import Advance, Letter, Outbox, SinkState
from guard.core.ports import Event, Sealed
from guard.sinks.entry import entry
from guard.sinks.port import Bounds, SinkError

_DOUBLINGS = 30
_LONGEST = 300  # characters of an error that are kept
_OWN = "sink."  # how kinds of records about sinks begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One attempt: the records that the sink is done with, the wanted ones among the rest, how many were sent, and what went wrong."""

    done: Sequence[Sealed]
    left: Sequence[Sealed] = ()
    sent: int = 0
    error: SinkError | None = None


def ends(records: Iterable[Sealed]) -> dict[int, int]:
    """The last number of each chain."""
    return {one.chain: one.seq for one in records}


def further(one: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    """For each chain the cursor that is further."""
    return {chain: max(one.get(chain, 0), other.get(chain, 0)) for chain in {*one, *other}}


def moved(cursors: Mapping[int, int], *others: Mapping[int, int]) -> dict[int, int]:
    """The cursors that others are further than."""
    found: dict[int, int] = {}
    for other in others:
        found = further(found, other)
    return {chain: seq for chain, seq in found.items() if seq > cursors.get(chain, 0)}


def pause(bounds: Bounds, failures: int, chance: float) -> float:
    """Seconds until the next try: doubled after each failure, up to a bound, and spread by `chance` (from 0 to 1) so that senders part."""
    return float(min(bounds.first * 2.0 ** min(failures - 1, _DOUBLINGS), bounds.longest) * (0.5 + chance / 2))


def settled(mine: SinkState, tried: Tried, bounds: Bounds, at: float, chance: float) -> Advance:
    """What is written down after an attempt."""
    error = tried.error
    if error is None:
        return Advance(sink=mine.sink, cursors=ends(tried.done), sent=tried.sent)
    failures = 1 if tried.sent or not error.retry else mine.failures + 1
    lost = _lost(tried.left, error, failures, bounds)
    why = str(error)[:_LONGEST]
    spooled = bounds.policy == "spool"
    letters = [Letter(chain=one.chain, seq=one.seq, tries=failures, why=why) for one in lost] if spooled else []
    events = [_failed(mine.sink, why)] if error.tell else []
    return Advance(
        sink=mine.sink,
        cursors=ends([*tried.done, *lost]),
        letters=letters,
        failures=failures,
        due=at + max(pause(bounds, failures, chance), min(error.after, bounds.longest)),
        error=why,
        sent=tried.sent,
        dropped=0 if spooled else len(lost),
        events=[*events, *passed(mine.sink, "spooled" if spooled else "dropped", lost, why)],
    )


def _lost(left: Sequence[Sealed], error: SinkError, failures: int, bounds: Bounds) -> Sequence[Sealed]:
    """The records that are not tried again for now."""
    if bounds.policy == "block":
        return ()
    if not error.retry:
        return left[:1]
    return left if failures >= bounds.attempts else ()


def passed(sink: str, what: str, records: Sequence[Sealed], why: str) -> list[Event]:
    """The record that says so; none where there was nothing but records about sinks: each would be followed by the next."""
    if all(entry(one).kind.startswith(_OWN) for one in records):
        return []
    return [_about(sink, what, {"why": why, "count": len(records), "records": _spans(ends(reversed(records)), ends(records))})]


def _spans(first: Mapping[int, int], last: Mapping[int, int]) -> dict[str, list[int]]:
    return {str(chain): [first[chain], last[chain]] for chain in sorted(last)}


def _failed(sink: str, why: str) -> Event:
    return _about(sink, "failed", {"why": why})


def _about(sink: str, what: str, facts: dict[str, object]) -> Event:
    return {"kind": f"{_OWN}{what}", "actor": {"type": "service", "ref": "sinks"}, "sink": {"name": sink, **facts}}


# -- what has waited too long ------------------------------------------------------------------------------------------


def overdue(outbox: Outbox, mine: SinkState, bounds: Bounds) -> Advance | None:
    """What a sink passes over before it sends, where more waits than it may: the oldest records, or the oldest letters."""
    if bounds.policy == "spool" and mine.letters > bounds.queue:
        return _old_letters(outbox, mine, bounds)
    if bounds.policy != "drop":
        return None
    cursors = _crowded(outbox.ends(), mine.cursors, bounds.queue)
    why = f"more than {bounds.queue} records waited"
    if not cursors and bounds.age is not None:
        old = [*takewhile(lambda one: _older(one, outbox.now() - (bounds.age or 0)), outbox.behind(mine.cursors, bounds.batch))]
        cursors, why = ends(old), f"they waited longer than {bounds.age:g} seconds"
    count = sum(seq - mine.cursors.get(chain, 0) for chain, seq in cursors.items())
    if not count:
        return None
    spans = _spans({chain: mine.cursors.get(chain, 0) + 1 for chain in cursors}, cursors)
    event = _about(mine.sink, "dropped", {"why": why, "count": count, "records": spans})
    return Advance(sink=mine.sink, cursors=cursors, dropped=count, events=(event,), error=why)


def _crowded(newest: Mapping[int, int], cursors: Mapping[int, int], queue: int) -> dict[int, int]:
    """New cursors that leave fewer than so many records waiting; the fullest chains give way first."""
    waiting = {chain: seq - cursors.get(chain, 0) for chain, seq in newest.items()}
    excess, found = _excess(sum(waiting.values()), queue), {}
    for chain in sorted(waiting, key=lambda one: -waiting[one]):
        skipped = min(max(excess, 0), waiting[chain])
        excess -= skipped
        if skipped:
            found[chain] = cursors.get(chain, 0) + skipped
    return found


def _excess(waiting: int, queue: int) -> int:
    """How many of those that wait are too many. A tenth is left free then: the record that says so waits as well."""
    return waiting - (queue - queue // 10) if waiting > queue else 0


def _older(one: Sealed, than: float) -> bool:
    try:
        return datetime.fromisoformat(entry(one).text("ts")).timestamp() < than
    except ValueError:
        return False


def _old_letters(outbox: Outbox, mine: SinkState, bounds: Bounds) -> Advance:
    """The oldest letters are given up, and counted."""
    over = outbox.letters(mine.sink, _excess(mine.letters, bounds.queue))
    why = f"more than {bounds.queue} records were set aside"
    event = _about(mine.sink, "dropped", {"why": why, "count": len(over)})
    return Advance(sink=mine.sink, delivered=over, dropped=len(over), events=(event,), error=why)
