"""Migrations: at which version the database of a store is, and bringing it to this program's.

A file migrates itself when it is opened. A database that a fleet shares is migrated on purpose and once, before the new programs start: opening one
changes nothing. Comes after `schema` and the stores; used by the command line.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from guard.errors import StoreError
from guard.stores import needs_postgres, open_store, schema

LASTING = ("sqlite", "postgresql", "postgres")
"""The schemes of stores that outlast a program."""
NAME_ONE = "name a store that lasts: sqlite:///guard.db or postgresql://user@host/database"


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Of which version a database is or was (0: nothing of the guard), and of which this program needs it to be."""

    found: int
    needed: int = schema.VERSION

    @property
    def due(self) -> bool:
        """Whether there is something to migrate."""
        return self.found != self.needed


def look(url: str) -> Versions:
    """The version of the store that `url` names; changes nothing. Raises StoreError, also where it is newer than this program."""
    scheme, _, rest = url.partition("://")
    if scheme in {"postgresql", "postgres"}:
        return Versions(found=needs_postgres().version(url))
    if scheme == "sqlite":
        return Versions(found=_of_file(Path(rest.removeprefix("/"))))
    raise StoreError(NAME_ONE)


def migrate(url: str) -> Versions:
    """Bring the store to this program's version; gives what was found before. Two at once are as good as one. Raises StoreError."""
    scheme = url.partition("://")[0]
    if scheme in {"postgresql", "postgres"}:
        return Versions(found=needs_postgres().migrate(url)[0])
    before = look(url)
    open_store(url, locked=True).close()
    return before


def _of_file(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            if not connection.execute(schema.HAS_VERSION).fetchone()[0]:
                return 0
            found = int(connection.execute(schema.READ_VERSION).fetchone()[0] or 0)
    except (sqlite3.Error, ValueError):
        raise StoreError("the database failed: it cannot be read") from None
    if found > schema.VERSION:
        raise StoreError(schema.newer(found), code="version")
    return found
