"""Chains of an audit log: records read back from an export, and the check that those of a chain follow each other.

The hash of a record is SHA-256 over `guard-audit-v1`, a zero byte, its chain (with its length), its number, the hash before it and its body (with its
length); lengths and numbers are 8 bytes, big-endian. A line of an export is the body with "prev" and "hash" behind it, or an object with chain, seq, prev,
hash and the body as text. Standard library only, since it is also a part of the verifier that runs without the guard. Comes first here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ZEROS = "0" * 64
_PROOF = re.compile(r',"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"}\s*\Z')
_ESCAPE = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u([0-9a-f]{4})|\\.", re.DOTALL)


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


def record_hash(chain: int, seq: int, prev: str, body: str) -> str:
    """The hash of a record. Raises ValueError for what no record can be."""
    name, data = str(chain).encode(), body.encode()
    head = b"guard-audit-v1\0" + len(name).to_bytes(8, "big") + name + seq.to_bytes(8, "big") + bytes.fromhex(prev)
    return hashlib.sha256(head + len(data).to_bytes(8, "big") + data).hexdigest()


def read_line(line: str, where: str) -> Record | Begin:
    """One line of an export. Raises ValueError when it is no record and no beginning of a file."""
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    if found.get("guard") == "audit-export":
        return _begin(found, where)
    chain, seq, prev, own = (found.get(name) for name in ("chain", "seq", "prev", "hash"))
    if type(chain) is not int or type(seq) is not int or not isinstance(prev, str) or not isinstance(own, str):
        raise ValueError("it lacks chain, seq, prev or hash")
    if isinstance(found.get("body"), str):
        return Record(chain, seq, prev, own, found["body"], where)
    proof = _PROOF.search(line)
    if proof is None:
        raise ValueError("prev and hash do not stand at its end")
    body = line[: proof.start()] + "}"
    shown = _ESCAPE.sub(_character, body)  # a terminal's copy spells what cannot be seen; the record itself does not
    right = shown != body and changed(Record(chain, seq, prev, own, shown)) == ""
    return Record(chain, seq, prev, own, shown if right else body, where)


def _begin(found: dict[str, Any], where: str) -> Begin:
    number, after = found.get("file"), found.get("after")
    if found.get("v") != 1:
        raise ValueError("it begins a file of another version")
    if type(number) is not int or not isinstance(after, dict):
        raise ValueError("it does not say where the chains go on")
    heads = {int(chain): (pair[0], pair[1]) for chain, pair in after.items() if isinstance(pair, list) and len(pair) == 2}
    if len(heads) != len(after) or any(type(seq) is not int or not isinstance(own, str) for seq, own in heads.values()):
        raise ValueError("it does not say where the chains go on")
    return Begin(number, heads, where)


def _character(escape: re.Match[str]) -> str:
    if escape[1]:
        return bytes.fromhex(escape[1] + escape[2]).decode("utf-16-be")
    code = int(escape[3], 16) if escape[3] else 0
    return chr(code) if code >= 0x20 and not 0xD800 <= code <= 0xDFFF else escape[0]


def read_export(paths: Iterable[str], problems: list[Problem]) -> Iterator[Record | Begin]:
    """The records of files in their order, and where each file begins; lines that are neither are problems."""
    for path in paths:
        with Path(path).open("rb") as lines:
            for number, data in enumerate(lines, 1):
                where = f"{path}, line {number}"
                if not data.endswith(b"\n"):
                    problems.append(Problem(where, "the file ends within this line: it was cut"))
                try:
                    yield read_line(data.decode(), where)
                except (ValueError, RecursionError) as error:
                    problems.append(
                        Problem(where, f"this line is no record: {error if type(error) is ValueError else 'not JSON'}")
                    )


def changed(record: Record) -> str:
    """What is wrong with a record by itself: empty where nothing is."""
    try:
        right = record_hash(record.chain, record.seq, record.prev, record.body) == record.hash
        said = json.loads(record.body)
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
        return "the record cannot be read"
    if not right:
        return "the record was changed"
    agrees = isinstance(said, dict) and (said.get("v"), said.get("chain"), said.get("seq")) == (1, record.chain, record.seq)
    return "" if agrees and isinstance(said.get("kind"), str) else "the record's columns differ from its body"


class Chains:
    """Checks records as they come: of each chain in their order, chains in any. Remembers the hashes that checkpoints ask for."""

    def __init__(self, wanted: Iterable[tuple[int, int]] = (), *, partial: bool = False) -> None:
        self.good = 0
        self.heads: dict[int, tuple[int, str]] = {}
        self.broken: dict[int, Problem] = {}
        self.hashes: dict[tuple[int, int], str] = {}
        self.later: dict[int, int] = {}  # chains that begin later, and with which record
        self._wanted, self._partial = set(wanted), partial

    def begin(self, file: Begin) -> None:
        """Check that a file goes on where the records before it end; a chain that does not is broken there."""
        for chain, (seq, own) in file.after.items():
            last = self.heads.get(chain)
            if last is None and self._partial:
                self.heads[chain], self.later[chain] = (seq, own), seq + 1
            elif (last or (0, ZEROS)) != (seq, own) and chain not in self.broken:
                there = last[0] if last else 0
                what = f"file {file.number} goes on behind record {seq} of chain {chain}, and the files before it end at record {there}"
                self.broken[chain] = Problem(file.where, what, chain, min(there, seq) + 1)

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
        if self._partial and record.seq > 1:
            self.later[record.chain] = record.seq
            return record.seq - 1, record.prev
        return 0, ZEROS

    def _wrong(self, record: Record, last: tuple[int, str]) -> str:
        if record.seq != last[0] + 1:
            return f"record {record.seq} stands where number {last[0] + 1} must stand"
        return "" if record.prev == last[1] else "the record does not follow the one before it"
