"""Reading: a connection to a file of somebody else's that can only read, also where the file lies on a medium that nobody can write.

SQLite keeps a shared index beside a file with a write-ahead log, and cannot read the file where it can neither find nor make one. A file without such a log is
whole by itself: then it is read as one that nobody changes. Comes before `log`.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

_CANNOT = ("SQLITE_CANTOPEN", "SQLITE_READONLY")


def to_read(path: Path, busy: float = 5.0) -> sqlite3.Connection:
    """A connection that can only read. Raises sqlite3.Error where what lies there is no database or cannot be read."""
    try:
        return _opened(path, "mode=ro", busy)
    except sqlite3.OperationalError as error:
        alone = not Path(f"{path}-wal").exists()
        if not (alone and path.is_file() and error.sqlite_errorname.startswith(_CANNOT)):
            raise
        return _opened(path, "mode=ro&immutable=1", busy)


def _opened(path: Path, how: str, busy: float) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=busy, isolation_level=None)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
