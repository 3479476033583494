"""Targets: where the effects happen, outside of the guarded store, and how they are counted.

`log` is an append-only file, one line for each invocation and for each effect of a target that cannot tell a repetition. `Deduping` is a file of
its own with a unique key, as a payment provider has it: it applies an act once, however often it is told.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from pathlib import Path


def write(folder: Path, *words: object) -> None:
    """Append one line; atomic, whoever else writes."""
    handle = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, (" ".join(map(str, words)) + "\n").encode())
    finally:
        os.close(handle)


def lines(folder: Path, word: str) -> list[list[str]]:
    """The words behind `word` of the lines that begin with it."""
    path = folder / "log"
    text = path.read_text() if path.exists() else ""
    return [line.split()[1:] for line in text.splitlines() if line.startswith(f"{word} ")]


class Deduping:
    """A target that honours the key it is given. One object a process."""

    def __init__(self, folder: Path) -> None:
        self._file = sqlite3.connect(folder / "target.db", timeout=30, isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA synchronous = OFF")  # no power fails here
        self._file.execute("CREATE TABLE IF NOT EXISTS acts (key TEXT PRIMARY KEY, number INTEGER NOT NULL)")

    def act(self, key: str, number: int) -> None:
        """Apply the act, unless one with this key was applied before."""
        self._file.execute("INSERT OR IGNORE INTO acts (key, number) VALUES (?, ?)", (key, number))

    def knows(self, key: str) -> bool:
        """Whether an act with this key was applied."""
        return self._file.execute("SELECT 1 FROM acts WHERE key = ?", (key,)).fetchone() is not None

    def counts(self) -> Counter[int]:
        """How many acts were applied for each number."""
        return Counter(number for (number,) in self._file.execute("SELECT number FROM acts"))
