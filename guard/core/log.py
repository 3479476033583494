"""Log: the audit log as everybody outside the stores sees it: sealed records, the heads of its chains, and checkpoints over them.

A checkpoint says, signed, how far each chain went and with which record it ended; kept elsewhere, it shows that what was before it is still what
it was. What a note looks like and who signs is decided in `guard.proof`. Comes after the commands and before the ports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from guard.core.commands import Event
from guard.core.values import Json

Head: TypeAlias = tuple[int, str]
"""The newest record of a chain: its seq and hash; seq 0 and 64 zeros where the chain has none."""

NOTHING: Head = (0, "0" * 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """One audit record as stored. `hash` covers chain, seq, prev and the exact bytes of `body`."""

    chain: int
    seq: int
    prev: str
    hash: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One signed checkpoint: its number from 1, when it was made, how many records it covers, and the text of its note."""

    number: int
    at: float
    records: int
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where the log stands at one moment: the head of every chain, the newest checkpoint, and the time by the store's clock."""

    heads: Mapping[int, Head]
    last: Checkpoint | None
    at: float

    @property
    def records(self) -> int:
        """How many records there are in all."""
        return sum(seq for seq, _ in self.heads.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """A row where the log has no place for one: in `table`, said to be of record `seq` of `chain` (whatever stands there in place of numbers)."""

    table: str
    chain: Any
    seq: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """A row as it stands in `table`: its columns, one of which may be an object of JSON (`detail`), and those among them that are times."""

    table: str
    columns: Mapping[str, Any]
    detail: Any = None
    times: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tabled:
    """What the tables say of an approval or a grant, apart from the log: its status, and in order what was voted and by whom (of a grant: who gave it).

    `says` holds its other facts by name, of those that records hold, too.
    """

    status: str
    votes: tuple[str, ...] = ()
    voters: tuple[str, ...] = ()
    says: Mapping[str, Any] = field(default_factory=dict)
    row: Columns | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rowed:
    """One call as its row has it, for who verifies: its status and attempt, whether it was ever taken, the digest of its outcome where that can be told, and what its tool does."""

    tenant: str
    conversation: str
    turn: int
    position: int
    status: str
    attempt: int
    claimed: bool
    digest: str | None = None
    kind: str = ""
    effect: str = ""
    tool: str | None = None
    says: Mapping[str, Any] = field(default_factory=dict)  # its other columns, times as records write them


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The counters of one conversation as its row has them: turns, messages of the user, and runs."""

    tenant: str
    conversation: str
    turns: int
    words: int
    runs: int
    says: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A month of records that was closed: its number from 1, until when its records are (exclusive), the SHA-256 of their export and where each chain ends.

    `ends` also names chains that had nothing new. `dropped` is when its records began to leave the store, but for the last one of each chain.
    """

    number: int
    month: str
    until: float
    digest: str
    ends: Mapping[int, Head]
    closed: float = 0.0
    dropped: float | None = None


def left(segments: Sequence[Segment]) -> dict[int, Head]:
    """By chain the end of the last segment that was dropped."""
    found: dict[int, Head] = {}
    for one in sorted(segments, key=lambda one: one.number):
        found |= dict(one.ends) if one.dropped is not None else {}
    return found


def numbered(heads: Mapping[int, Head]) -> dict[str, Json]:
    """Heads as a record or the first line of an export holds them."""
    return {str(chain): [seq, own] for chain, (seq, own) in sorted(heads.items()) if seq}


Signer: TypeAlias = Callable[[Standing], tuple[Checkpoint, Event] | None]
"""Makes the next checkpoint and its record, or None where none is due."""


class Verifiable(Protocol):
    """What is read of a log in order to verify it, of a file that nobody may write as well. Every record stands in exactly one of `chains` chains, numbered from 0."""

    chains: int

    def audit(self, *, chain: int = 0, after: int = 0, limit: int | None = None) -> tuple[Sealed, ...]:
        """Audit records of one chain in order of seq."""

    def heads(self) -> Mapping[int, Head]:
        """The newest record of each chain, of all chains, at one moment."""

    def strays(self) -> tuple[Stray, ...]:
        """For who verifies: some of the rows that stand where no record of the log can be, or that are about a record that there is not."""

    def tabled(self) -> Mapping[str, Tabled]:
        """For who verifies: what the tables say of each approval and each grant. Nothing where nobody but this program can change them."""

    def ledgered(
        self, after: tuple[Any, ...] = (), limit: int = 1000
    ) -> tuple[tuple[Any, ...], Sequence[Rowed], Mapping[int, Head]]:
        """For who verifies: calls behind a place, the place of the last one (empty: there are no more), and the heads of the chains at that moment."""

    def counted(self, after: str = "", limit: int = 1000) -> tuple[str, Sequence[Counted], Mapping[int, Head]]:
        """For who verifies: the counters of conversations behind one, likewise."""

    def overdrawn(self) -> tuple[str, ...]:
        """For who verifies: budgets whose total is not the sum of what calls hold of them, in words."""


class Log(Verifiable, Protocol):
    """What a store keeps of the audit."""

    @property
    def writer(self) -> Mapping[str, Any]:
        """What the audit says about this process: a short name of it, its number, the version of the guard and the epoch of the store."""

    def announce(self, events: Sequence[Event]) -> None:
        """Have these written with whatever is written next, at the latest when the store is closed; a crash before that loses them."""

    def checkpoint(self, sign: Signer) -> Checkpoint | None:
        """Make a checkpoint over all heads, in one transaction with its record; None where `sign` finds that none is due."""

    def checkpoints(self, *, unsent: bool = False) -> tuple[Checkpoint, ...]:
        """The checkpoints that were made, oldest first, or those of them that no place outside has taken yet."""

    def segments(self) -> tuple[Segment, ...]:
        """The months that were closed, oldest first."""

    def beginnings(self) -> Mapping[int, Head]:
        """By chain the record up to which records may have left with closed months; it is there itself."""

    def open_before(self, moment: float) -> tuple[str, ...]:
        """What began before this time and is not over: some of the approvals that are pending or may be used, and of the calls that are started or unknown."""

    def close_segment(self, one: Segment, event: Event) -> Segment | None:
        """Keep a new segment and its record, in one transaction; None where another one was closed meanwhile, or something in it is open."""

    def drop_segment(self, number: int, event: Event, *, most: int) -> int:
        """Delete some of the records that a segment covers, the oldest first; how many went. The first time `event` is written with it."""

    def sent(self, number: int) -> None:
        """Remember that the checkpoints up to this number were taken by every place outside."""
