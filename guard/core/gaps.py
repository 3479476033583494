"""Gaps: the record that says what is not in the log: calls refused while nothing could be written, records of look-ups lost with a process. Pure.

Comes before `context`; the counting is done in `runner.gaps` and `stores.batching`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

from guard.core.ports import Event
from guard.core.values import Json


class Gap(Protocol):
    """The record of what was refused for lack of a record, on its way."""

    def events(self) -> tuple[Event, ...]:
        """The record, the same whenever it is asked for."""

    def written(self) -> None:
        """It stands."""


class _Nothing:
    """Nothing was refused."""

    def events(self) -> tuple[Event, ...]:
        """No record."""
        return ()

    def written(self) -> None:
        """Nothing stands."""


NOTHING: Gap = _Nothing()


def gap(cause: str, refused: Mapping[str, int], since: float, until: float) -> Event:
    """Calls that were refused since their record could not be written, by the kind of their tool. Times are the store's, in seconds since the epoch."""
    return {
        "kind": "audit.gap",
        "actor": {"type": "service"},
        "gap": {"cause": cause, "since": moment(since), "until": moment(until), "refused": dict(sorted(refused.items()))},
    }


def lost(writer: str, within: float, since: float) -> Event:
    """A process that batched the records of look-ups ended without closing its store: of its last `within` seconds some may be missing."""
    found: dict[str, Json] = {
        "cause": "process_lost",
        "writer": writer,
        "since": moment(since),
        "within": within,
        "lost": "look-ups, if any",
    }
    return {"kind": "audit.gap", "actor": {"type": "service"}, "gap": found}


def moment(seconds: float) -> str:
    """A time as text, as records hold it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
