"""Faults: what a failure of SQLite is called, and which of its versions can damage a file.

A StoreError's text holds no data: neither SQL nor values nor paths. Opens nothing. Comes before `file`.
"""

from __future__ import annotations

import logging
import sqlite3
from threading import Lock
from typing import Final

from guard.errors import StoreError

CAUGHT: Final = (sqlite3.Error, OSError, UnicodeError, OverflowError)
"""What SQLite, the file system and values that no column takes may raise."""

_CAUSES: Final = (
    ("SQLITE_BUSY", "locked", "another process keeps it locked"),
    ("SQLITE_LOCKED", "locked", "another process keeps it locked"),
    ("SQLITE_READONLY", "read_only", "it is read-only"),
    ("SQLITE_CORRUPT", "damaged", "it is damaged"),
    ("SQLITE_NOTADB", "damaged", "it is not a database"),
    ("SQLITE_FULL", "disk_full", "the disk is full"),
    ("SQLITE_CANTOPEN", "unavailable", "it cannot be opened"),
    ("SQLITE_CONSTRAINT_TRIGGER", "payload_key", "its payloads are encrypted, and this program has no key"),
    ("SQLITE_IOERR", "io_error", "the disk reports an error"),
    (
        "FileNotFoundError",
        "unavailable",
        "its file or folder is not there (make the folder, or name another place with the store's URL)",
    ),
    ("NotADirectoryError", "unavailable", "its place is no folder (name another one with the store's URL)"),
    ("PermissionError", "unavailable", "this user may not open it (see who owns its folder)"),
)
LOGGER: Final = "guard.sqlite"
"""The logger of the warning about a version, so that it can be silenced alone."""
_FIXED: Final = {44: 6, 50: 7}  # 3.x: the release that the cure was carried back to
_logged = Lock()  # never released: once a process


def store_error(error: BaseException) -> StoreError:
    """A StoreError for what went wrong below, without the data that it was about."""
    if isinstance(error, StoreError):
        return error
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    for prefix, code, text in _CAUSES:
        if name.startswith(prefix):
            return StoreError(f"the database failed: {text}", code=code)
    return StoreError(f"the database failed: it answered {name}")


def closed() -> StoreError:
    """What every call of a closed store gets."""
    return StoreError("the store is closed", code="closed")


def has_reset_fault(version: tuple[int, int, int]) -> bool:
    """Whether this SQLite has the WAL-reset fault: 3.7.0 to 3.51.2, cured in 3.44.6, 3.50.7 and 3.51.3 (sqlite.org/wal.html)."""
    _, minor, patch = version
    return (3, 7, 0) <= version < (3, 51, 3) and patch < _FIXED.get(minor, patch + 1)


def warn_of_version() -> None:
    """One line in the log, once a process, when the SQLite of this Python has the fault.

    In guard only the writer makes checkpoints, and keeps every other writer out meanwhile; another program that writes the same file does not.
    """
    if has_reset_fault(sqlite3.sqlite_version_info) and _logged.acquire(blocking=False):
        logging.getLogger(LOGGER).warning(
            "SQLite %s has a rare fault that can damage a database file when other programs than guard write to it, too; SQLite 3.51.3 or"
            " newer has the cure (to silence this line: logging.getLogger(%r).setLevel('ERROR'))",
            sqlite3.sqlite_version,
            LOGGER,
        )
