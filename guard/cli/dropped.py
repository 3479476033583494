"""Dropped: the exports of months that left a store, read before the records that are there, so that both are checked as one log. Used by `audit_verify`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from guard.core.log import Verifiable
from guard.proof.chains import Problem, Record
from guard.proof.closing import file_digest
from guard.proof.exports import read_export
from guard.proof.segments import Segments
from guard.proof.tables import Carried


class Earlier:
    """Records of files that are not in the store any more. Raises OSError where a file cannot be read, ValueError where it is none."""

    def __init__(self, store: Verifiable, paths: Sequence[str]) -> None:
        self._paths = paths
        self._firsts = _firsts(store) if paths else {}
        self._wrong: list[Problem] = []

    def records(self) -> Iterator[tuple[Record, str]]:
        """Each record that stands before the first one of its chain in the store."""
        found: list[Problem] = []
        for one in read_export(self._paths, found):
            if isinstance(one, Record) and one.seq < self._firsts.get(one.chain, 1 << 63):
                yield one, ""
        self._wrong = found  # each time the same

    def problems(self, segments: Segments) -> list[Problem]:
        """What is wrong with the files: each must be, byte by byte, what some month was closed with."""
        known = {one.digest for one in segments.closed.values()}
        others = [path for path in self._paths if file_digest(path)[0] not in known]
        return [
            *self._wrong,
            *(Problem(path, "no record names the digest of this file: it is no export of a closed month") for path in others),
        ]


def _firsts(store: Verifiable) -> dict[int, int]:
    """The first record of each chain that is there."""
    pages = {number: store.audit(chain=number, limit=1) for number in range(store.chains)}
    return {number: page[0].seq for number, page in pages.items() if page}


def carried(segments: Segments) -> Carried:
    """The grants and kills that stood when the last of the dropped months was closed, with their digests."""
    if not segments.dropped:
        return Carried()
    last = segments.closed[max(segments.dropped)]
    return Carried(last.grants, last.kills)
