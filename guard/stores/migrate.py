"""Migration: takes a database file step by step from whatever version it has to this program's. Comes after `schema`, before `file`."""

from __future__ import annotations

import sqlite3
from secrets import token_hex
from typing import Any

from guard.errors import StoreError
from guard.stores import schema
from guard.stores.refiling import fill


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema up to date in one transaction. Raises StoreError when it is newer than this program."""
    if _version(connection) == schema.VERSION:
        return
    connection.execute(schema.BEGIN_WRITE)
    try:
        _steps(connection, _version(connection))  # asked again: another process may have been first
        fill(connection)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _steps(connection: sqlite3.Connection, found: int | None) -> None:
    if found is None:
        connection.execute(schema.CREATE_VERSION)
        connection.execute(schema.CREATE_KEY)
        connection.execute(schema.WRITE_KEY, (token_hex(schema.KEY_BYTES),))
    for number in range(found or 0, schema.VERSION):
        for statement in (*schema.STEPS[number], *schema.FILES.get(number, ())):
            connection.execute(statement)
        connection.execute(schema.WRITE_VERSION, (number + 1,))


def _version(connection: sqlite3.Connection) -> int | None:
    """The version of the schema found, or None."""
    if not connection.execute(schema.HAS_VERSION).fetchone()[0]:
        return None
    found: Any = connection.execute(schema.READ_VERSION).fetchone()[0] or 0
    if not isinstance(found, int) or found > schema.VERSION:
        raise StoreError(f"the database is of version {found}, newer than this program's {schema.VERSION}; update the program")
    return found
