"""Chains of an audit log: the check that records of a chain follow each other, and that files of them do.

The hash of a record is SHA-256 over `guard-audit-v1`, a zero byte, its chain (with its length), its number, the hash before it and its body (with its
length); lengths and numbers are 8 bytes, big-endian. Standard library only, since it is also a part of the verifier that runs without the guard. Comes first here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

ZEROS = "0" * 64


class Record(NamedTuple):
    """One record. `where` says where it was read, for messages."""

    chain: int
    seq: int
    prev: str
    hash: str
    body: str
    where: str = ""


class Begin(NamedTuple):
    """The first line of an exported file: its number, and behind which record of each chain it goes on."""

    number: int
    after: dict[int, tuple[int, str]]
    where: str = ""


class Problem(NamedTuple):
    """What does not hold, and where."""

    where: str
    what: str
    chain: int | None = None
    seq: int | None = None


def read_strictly(text: str) -> Any:
    """The value of a JSON text that every reader reads alike. Raises ValueError (RecursionError for what is too deep): a name that stands twice in an object is one, NaN another."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in it")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def record_hash(chain: int, seq: int, prev: str, body: str) -> str:
    """The hash of a record. Raises ValueError for what no record can be."""
    name, data = str(chain).encode(), body.encode()
    head = b"guard-audit-v1\0" + len(name).to_bytes(8, "big") + name + seq.to_bytes(8, "big") + bytes.fromhex(prev)
    return hashlib.sha256(head + len(data).to_bytes(8, "big") + data).hexdigest()


def changed(record: Record) -> str:
    """What is wrong with a record by itself: empty where nothing is."""
    try:
        right = record_hash(record.chain, record.seq, record.prev, record.body) == record.hash
        said = read_strictly(record.body)
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
        return "the record cannot be read"
    if not right:
        return "the record was changed"
    agrees = isinstance(said, dict) and (said.get("v"), said.get("chain"), said.get("seq")) == (1, record.chain, record.seq)
    return "" if agrees and isinstance(said.get("kind"), str) else "the record's columns differ from its body"


class Chains:
    """Checks records as they come: of each chain in their order, chains in any. Remembers the hashes that checkpoints ask for.

    `starts`: by chain the last record with which it may begin, since what was before it left.
    """

    def __init__(
        self, wanted: Iterable[tuple[int, int]] = (), *, partial: bool = False, starts: Mapping[int, int] | None = None
    ) -> None:
        self.good = 0
        self.heads: dict[int, tuple[int, str]] = {}
        self.broken: dict[int, Problem] = {}
        self.hashes: dict[tuple[int, int], str] = {}
        self.later: dict[int, int] = {}  # chains that begin later, and with which record
        self.file: int | None = None  # the number of the last file
        self.problems: list[Problem] = []  # with files, besides
        self._wanted, self._partial, self._starts = set(wanted), partial, starts or {}

    def begin(self, file: Begin) -> None:
        """Check that a file has the next number and goes on where the records before it end; a chain that does not is broken there."""
        first, self._partial = self.file is None and self._partial, False  # from here on files say where chains begin
        if first:
            self.heads.update(file.after)
            self.later.update({chain: seq + 1 for chain, (seq, _) in file.after.items() if seq})
        elif file.number != (self.file or 0) + 1:
            self.problems.append(Problem(file.where, self._odd(file.number)))
        self.file = file.number
        for chain in sorted({*file.after, *self.heads} - {*self.broken}):
            seq, there = file.after.get(chain, (0, ZEROS)), self.heads.get(chain, (0, ZEROS))
            if seq != there:
                what = f"file {file.number} goes on behind record {seq[0]} of chain {chain}, and the files before it end at record {there[0]}"
                self.broken[chain] = Problem(file.where, what, chain, min(there[0], seq[0]) + 1)

    def _odd(self, number: int) -> str:
        if number == self.file:
            return f"this is another file {number}: each number is there once"
        return f"file {number} stands where file {(self.file or 0) + 1} must stand: one is missing, or they are not in the order of their numbers"

    def add(self, record: Record, also: str = "") -> None:
        """Check the next record; `also` is what else is known to be wrong with it. Behind the first broken record of a chain nothing is checked."""
        if record.chain in self.broken:
            return
        last = self.heads.get(record.chain) or self._first(record)
        why = self._wrong(record, last) or changed(record) or also
        if why:
            self.broken[record.chain] = Problem(record.where, why, record.chain, record.seq)
            return
        self.good += 1
        self.heads[record.chain] = (record.seq, record.hash)
        if (record.chain, record.seq) in self._wanted:
            self.hashes[record.chain, record.seq] = record.hash

    def _first(self, record: Record) -> tuple[int, str]:
        """What is before the first record of a chain that comes."""
        if record.seq > 1 and (self._partial or record.seq <= self._starts.get(record.chain, 0)):
            self.later[record.chain] = record.seq
            return record.seq - 1, record.prev
        return 0, ZEROS

    def _wrong(self, record: Record, last: tuple[int, str]) -> str:
        if record.seq != last[0] + 1:
            return f"record {record.seq} stands where number {last[0] + 1} must stand"
        return "" if record.prev == last[1] else "the record does not follow the one before it"
