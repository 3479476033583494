"""Left: closed months whose records were dropped from the store, so that nobody takes what is missing for what never happened. Only reads.

The store's list of segments says which they are; that a month left as it says is for `guard audit verify` to prove. Comes after `log`, before `month` and `timeline`.
"""

from __future__ import annotations

from guard.auditing import moments
from guard.auditing.log import Log
from guard.core.briefing import utc
from guard.core.log import Segment
from guard.core.values import JsonObject


def left(log: Log, since: float | None = None, until: float | None = None) -> tuple[Segment, ...]:
    """The dropped months that had records of this time, oldest first."""
    found, begin = [], 0.0
    for one in log.segments():
        if one.dropped is not None and (since is None or since < one.until) and (until is None or until > begin):
            found.append(one)
        begin = one.until
    return tuple(found)


def told(one: Segment) -> str:
    """One of them in a line."""
    return (
        f"{one.month} was closed on {utc(one.closed)} and its records left on {utc(one.dropped or 0.0)}; "
        f"they are in a file with SHA-256 {one.digest}"
    )


def plain(one: Segment) -> JsonObject:
    """The same for a program."""
    times = {"closed": utc(one.closed), "dropped": utc(one.dropped or 0.0)}
    return {"month": one.month, "sha256": one.digest, **times, "told": told(one)}


def before(log: Log) -> str:
    """Up to when records left with closed months; empty where none did."""
    gone = left(log)
    return f"records before {moments.day_of(gone[-1].until)} left with closed months" if gone else ""
