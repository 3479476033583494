"""Watermark: how much of the audit this process has seen committed, so that a store which a backup was put back into is noticed.

A chain only grows. Where it ends before a record that was committed, or holds another one in its place, the store is older than it was: what ran
since the backup is not in it, and no action may start on the strength of what is. For a file the newest record is noted beside it besides (the
name with `-mark`), for programs that begin after the backup was put back. The note is always behind the file, never ahead: it is written after
the commit. Comes after `chain` and before `sql_tables`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic

from guard.errors import StoreError

_EVERY = 1.0  # seconds between two notes
Head = tuple[int, str]


def older() -> StoreError:
    """What every write gets in a store that is older than what was seen of it."""
    return StoreError(
        "the store is older than what was written to it: a backup was put back (run: guard serve restored)", code="restored"
    )


class Watermark:
    """The newest record of each chain that this process has seen committed."""

    def __init__(self) -> None:
        self._heads: dict[int, Head] = {}

    def check(self, chain: int, head: Head | None) -> None:
        """Raise StoreError (`restored`) where the chain ends before what was seen of it, or with another record at that place."""
        seen = self._heads.get(chain)
        if seen is None:
            return
        if head is None or head[0] < seen[0] or (head[0] == seen[0] and head[1] != seen[1]):
            raise older()

    def keep(self, heads: Mapping[int, Head]) -> None:
        """These records were committed."""
        for chain, head in heads.items():
            seen = self._heads.get(chain)
            if seen is None or head[0] > seen[0]:
                self._heads[chain] = head

    def seen(self) -> dict[int, Head]:
        """The newest record of each chain."""
        return dict(self._heads)

    def forget(self) -> None:
        """From here on what the store holds counts."""
        self._heads.clear()


class Note:
    """The newest record of a file's one chain, noted beside it. `name` tells this store from another one that lies there later."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._due = 0.0

    def contradicts(self, hash_of: Callable[[int], str | None]) -> bool:
        """Whether the file lacks the record that is noted; `hash_of` gives the hash of a record by its seq."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            found = json.loads(self._path.read_text("utf-8"))
            return bool(found["store"] == self._name and found["seq"] and hash_of(int(found["seq"])) != found["hash"])
        return False  # no note, or one that was torn by a power loss

    def write(self, head: Head, *, now: bool = False) -> None:
        """Note this record, at most once a second. Not being able to is no failure: the note only ever tells more."""
        if not now and monotonic() < self._due:
            return
        self._due = monotonic() + _EVERY
        text = json.dumps({"store": self._name, "seq": head[0], "hash": head[1]})
        with suppress(OSError):
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.write(handle, text.encode())
            finally:
                os.close(handle)
