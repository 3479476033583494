"""Segments: months of records that were closed and may have left, as the records themselves say.

A chain may begin later than with its first record only where a record says that all before it was closed, with the hash at which it goes on, and another one
that it was dropped. That somebody did not write both to hide something shows a signed checkpoint over them, and the export that they name. Standard library
only, since it is also a part of the verifier that runs without the guard. Comes after `chains` and before `checking`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from guard.proof.chains import Problem, Record

MARK = '"kind":"audit.segment_'
CLOSED, DROPPED = "audit.segment_closed", "audit.segment_dropped"
_CHAIN = 0  # such records belong to no conversation
_Heads = Mapping[int, tuple[int, str]]


class Closed(NamedTuple):
    """A closed month: behind which records it begins, with which it ends, and the SHA-256 of its export. `seq` is the record that says so."""

    number: int
    month: str
    records: int
    behind: _Heads
    last: _Heads
    digest: str
    seq: int
    when: str
    grants: Mapping[str, str]
    kills: Mapping[str, str] | None = None  # None: an older record, which does not say what was stopped


class Dropped(NamedTuple):
    """That the records of a closed month left: the record that says so, when, and who."""

    seq: int
    when: str
    who: str


class Gone(NamedTuple):
    """A month that was dropped and is not among what was checked. `before`: by chain the first record that is there; `covered`: by a signed checkpoint."""

    closed: Closed
    dropped: Dropped
    before: Mapping[int, int]
    covered: bool


class Segments:
    """What records say of closed months, as they come."""

    def __init__(self) -> None:
        self.closed: dict[int, Closed] = {}
        self.dropped: dict[int, Dropped] = {}

    def add(self, record: Record) -> None:
        """The next record. One that does not say what it should says nothing."""
        if record.chain != _CHAIN or not isinstance(record.body, str) or MARK not in record.body:
            return
        try:
            self._add(json.loads(record.body), record.seq)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return

    def _add(self, body: dict[str, Any], seq: int) -> None:
        told, when = body["segment"], str(body["ts"])
        number = told["number"]
        if type(number) is not int:
            return
        if body["kind"] == CLOSED and type(told["records"]) is int:
            heads = (_heads(told["behind"]), _heads(told["last"]))
            grants = {str(name): str(own) for name, own in told.get("grants", {}).items()}
            stops = told.get("kills")
            kills = {str(name): str(own) for name, own in stops.items()} if isinstance(stops, dict) else None
            names = str(told["month"]), told["records"], *heads, str(told["sha256"])
            self.closed.setdefault(number, Closed(number, *names, seq, when, grants, kills))
        elif body["kind"] == DROPPED and number in self.closed and told["sha256"] == self.closed[number].digest:
            self.dropped.setdefault(number, Dropped(seq, when, str(body["actor"].get("ref", ""))))

    def wanted(self) -> set[tuple[int, int]]:
        """The records whose hashes must be known to judge."""
        said: tuple[Closed | Dropped, ...] = (*self.closed.values(), *self.dropped.values())
        ends = {(chain, seq) for one in self.closed.values() for chain, (seq, _) in one.last.items()}
        return ends | {(_CHAIN, one.seq) for one in said}

    def starts(self) -> dict[int, int]:
        """By chain the last record with which it may begin."""
        found: dict[int, int] = {}
        for number in self.dropped:
            found.update({chain: max(seq, found.get(chain, 0)) for chain, (seq, _) in self.closed[number].last.items()})
        return found

    def problems(self, later: Mapping[int, int], hashes: Mapping[tuple[int, int], str]) -> list[Problem]:
        """What does not fit where chains begin later: `later` says with which record, `hashes` are of those that hold."""
        found = []
        for chain, first in sorted(later.items()):
            one = self._over(chain, first)
            if one is None:
                continue  # taken as a part, as it was asked for
            seq, own = one.last[chain]
            if hashes.get((chain, seq)) != own:
                what = f"it is not the record with which {one.month} was closed, so that what was before it is not what left"
                found.append(Problem("", what, chain, seq))
        return found

    def _over(self, chain: int, first: int) -> Closed | None:
        """The oldest dropped month that reaches as far as the first record that is there."""
        reach = [
            self.closed[number] for number in sorted(self.dropped) if self.closed[number].last.get(chain, (0, ""))[0] >= first
        ]
        return reach[0] if reach else None

    def gone(self, later: Mapping[int, int], covered: int) -> list[Gone]:
        """The months that are not among what was checked. `covered`: the last record of chain 0 that a signed checkpoint covers."""
        found = []
        for number in sorted(self.dropped):
            one = self.closed[number]
            before = {chain: later[chain] for chain in one.last if later.get(chain, 1) > one.behind.get(chain, (0, ""))[0] + 1}
            if before:
                found.append(Gone(one, self.dropped[number], before, one.seq <= covered))
        return found


def _heads(found: Any) -> dict[int, tuple[int, str]]:
    heads = {int(chain): (seq, own) for chain, (seq, own) in found.items()}
    if any(type(seq) is not int or not isinstance(own, str) for seq, own in heads.values()):
        raise ValueError("no numbers and hashes")
    return heads


def gone_line(gone: Gone) -> str:
    """One month that left, in words."""
    one, (_, when, who) = gone.closed, gone.dropped
    chain, first = next(iter(sorted(gone.before.items())))
    many = f" and of {len(gone.before) - 1} more chains" if len(gone.before) > 1 else ""
    return (
        f"records before record {first} of chain {chain}{many} were closed as {one.month} on {one.when} and dropped on {when} by {who or 'somebody'};"
        f" their export has the SHA-256 {one.digest}"
    )


def gone_plain(gone: Gone) -> dict[str, object]:
    """The same for a program."""
    one = gone.closed
    told = {"segment": one.number, "month": one.month, "records": one.records, "sha256": one.digest, "closed": one.when}
    return {
        **told,
        "dropped": gone.dropped.when,
        "by": gone.dropped.who,
        "first": {str(c): s for c, s in gone.before.items()},
        "covered": gone.covered,
    }
