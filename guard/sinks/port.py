"""The port of sinks: what a place that records are sent to must be able to do, and the bounds that a follower keeps for it.

Comes before every other file of this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from guard.core.ports import Sealed

Policy: TypeAlias = Literal["block", "spool", "drop"]
POLICIES: tuple[Policy, ...] = ("block", "spool", "drop")
"""What happens to records that a sink does not take: it stands still until it does; they are set aside as letters; they are passed over for good."""


class SinkError(Exception):
    """A sink did not take a batch. The text holds no data and no secret: it is shown and stored.

    `sent` records of the batch arrived all the same. `retry` is False where the next one will never be taken as it is. `tell`: it goes on
    record, since something was lost or changed that a person should know of. `after`: seconds for which the receiver asks to be left alone.
    """

    def __init__(self, message: str, *, retry: bool = True, sent: int = 0, tell: bool = False, after: float = 0.0) -> None:
        super().__init__(message)
        self.retry, self.sent, self.tell, self.after = retry, sent, tell, after


class Sink(Protocol):
    """A place that records are sent to."""

    name: str

    def send(self, batch: Sequence[Sealed]) -> None:
        """Send records, in their order; when it returns they have arrived. Raises SinkError. Called by one thread at a time."""

    def close(self) -> None:
        """Give back what is held open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How a follower treats its sink. Times are in seconds.

    `kinds` are the kinds of records that are sent (`approval.` stands for all that begin so; none: every kind). `queue` bounds the records that
    may wait: beyond it a sink that blocks is unhealthy, one that spools loses its oldest letters, one that drops passes over the oldest records.
    """

    policy: Policy = "spool"
    kinds: tuple[str, ...] = ()
    batch: int = 100
    queue: int = 100_000
    age: float | None = None  # with `drop`: older records are passed over
    timeout: float = 10.0  # of one attempt
    attempts: int = 8  # in a row, before records are set aside or dropped
    first: float = 1.0  # the wait after the first failure, about doubled after each further one
    longest: float = 300.0  # wait, whatever the receiver asks for
    newest: bool = False  # a new sink begins behind what is in the log already
