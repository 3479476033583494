"""Files: checks exported files of an audit the way a store's chains are checked, over the bytes that were stored.

Files are checked in the order of their own numbers, however they are named. Found: changed, missing, added and reordered records and lines, a file
that is missing between others or that does not follow the one before. Not found: that the newest lines or files were cut off; a signed checkpoint
says how far it goes (`heads`). Comes after chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from guard.core.exported import read_first, read_record
from guard.core.ports import Sealed
from guard.core.replacing import replace
from guard.stores.chain import GENESIS, verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """What a check of files found: how many records held, behind what they begin and how far they go, and where the first bad line is and why."""

    ok: bool
    records: int
    files: int = 0
    after: dict[int, tuple[int, str]] = field(default_factory=dict)  # number and hash that each chain begins behind
    heads: dict[int, tuple[int, str]] = field(default_factory=dict)  # of the last record of each chain that held
    file: str = ""
    line: int | None = None
    first_bad_seq: int | None = None
    chain: int | None = None
    why: str = ""


class _BadError(Exception):
    """A file that does not hold: where, which record, and why."""

    def __init__(self, path: Path, why: str, line: int, record: Sealed | None = None) -> None:
        super().__init__(why)
        self.path, self.line, self.record = path, line, record


def verify_files(paths: Iterable[Path]) -> Filed:
    """Check exported files, together. Reads line by line. Raises OSError for a file that cannot be read."""
    check = _Check()
    try:
        for number, after, path in sorted(((*_first(one), one) for one in paths), key=lambda one: one[0]):
            check.file(path, number, after)
    except _BadError as bad:
        return check.found(bad)
    return check.found(None)


def _first(path: Path) -> tuple[int, dict[int, tuple[int, str]]]:
    with path.open("rb") as file:
        try:
            return read_first(file.readline().decode())
        except ValueError as error:
            raise _BadError(path, str(error), 1) from None


class _Check:
    """How far the check of several files has come."""

    def __init__(self) -> None:
        self.records = self.files = 0
        self.number: int | None = None
        self.after: dict[int, tuple[int, str]] = {}
        self.heads: dict[int, tuple[int, str]] = {}

    def file(self, path: Path, number: int, after: dict[int, tuple[int, str]]) -> None:
        """Check the next file. Raises _BadError."""
        if self.number is not None and number != self.number + 1:
            why = (
                "there are two files of this number" if number == self.number else f"file {self.number + 1} is missing before it"
            )
            raise _BadError(path, why, 1)
        if self.number is not None and after != self.heads:
            raise _BadError(path, "the file does not begin where the one before it ends", 1)
        if self.number is None:
            self.after, self.heads = dict(after), dict(after)
        self.number = number
        for line, record in _lines(path):
            self._record(path, line, record)
        self.files += 1

    def found(self, bad: _BadError | None) -> Filed:
        """What the check found."""
        whole = Filed(ok=bad is None, records=self.records, files=self.files, after=self.after, heads=self.heads)
        if bad is None:
            return whole
        one = bad.record
        place = (None, None) if one is None else (one.chain, one.seq)
        return replace(whole, file=str(bad.path), line=bad.line, why=str(bad), chain=place[0], first_bad_seq=place[1])

    def _record(self, path: Path, line: int, record: Sealed) -> None:
        seq, own = self.heads.get(record.chain, (0, GENESIS))
        before = Sealed(chain=record.chain, seq=seq, prev="", hash=own, body="")
        found = verify([record], after=before)
        if not found.ok:
            raise _BadError(path, found.why, line, record)
        self.heads[record.chain] = (record.seq, record.hash)
        self.records += 1


def _lines(path: Path) -> Iterator[tuple[int, Sealed]]:
    """The records of a file with their lines."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if number == 1:
                continue
            if not line.endswith(b"\n"):
                raise _BadError(path, "the line is cut off", number)
            try:
                yield number, read_record(line[:-1].decode())
            except ValueError as error:
                raise _BadError(path, str(error), number) from None


def order(paths: Sequence[Path]) -> list[Path]:
    """Files in the order of their numbers; those that are no exports come last, by name."""

    def key(path: Path) -> tuple[int, int, str]:
        try:
            return 0, _first(path)[0], str(path)
        except _BadError:
            return 1, 0, str(path)

    return sorted(paths, key=key)
