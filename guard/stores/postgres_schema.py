"""The version of a PostgreSQL database, and the steps that bring it to this program's. Opening one never changes it.

Steps run in one transaction behind an advisory lock, so two migrators at once are as good as one. Comes after `schema` and `postgres_wire`.
"""

from __future__ import annotations

from secrets import token_hex

from guard.errors import StoreError
from guard.stores import postgres_sql, rows, schema
from guard.stores.postgres_wire import Wire

CURE = "run `guard serve migrate --store postgresql://…`"


def version(wire: Wire) -> int:
    """The version of the database: 0 where there is nothing of the guard. Raises StoreError when it is newer than this program."""
    has = wire.execute(postgres_sql.HAS_VERSION).fetchone()
    if has is None or not has[0]:
        return 0
    read = wire.execute(schema.READ_VERSION).fetchone()
    found = 0 if read is None or read[0] is None else int(read[0])
    if found > schema.VERSION:
        raise StoreError(schema.newer(found), code="version")
    return found


def secret(wire: Wire) -> bytes:
    """The database's own key. Raises StoreError when the database is not at this program's version."""
    found = version(wire)
    if found != schema.VERSION:
        state = f"is of version {found}" if found else "has no tables of the guard"
        raise StoreError(f"the database {state}, this program needs version {schema.VERSION}: {CURE}", code="version")
    key = wire.execute(schema.READ_KEY).fetchone()
    return rows.key(None if key is None else key[0], schema.KEY_BYTES)


def migrate(wire: Wire) -> tuple[int, int]:
    """Bring the database to this program's version; from which and to which."""
    wire.execute(postgres_sql.BEGIN_WRITE)
    wire.execute(postgres_sql.MIGRATING)
    wire.settle()
    before = version(wire)
    if before == 0:
        wire.execute(schema.CREATE_VERSION)
        wire.execute(schema.CREATE_KEY)
        wire.settle()
        wire.execute(schema.WRITE_KEY, (token_hex(schema.KEY_BYTES),))
    for number in range(before, schema.VERSION):
        for statement in (*schema.STEPS[number], *postgres_sql.EXTRAS.get(number, ())):
            wire.execute(_dialect(statement))
            wire.settle()
        wire.execute(schema.WRITE_VERSION, (number + 1,))
    wire.commit()
    return before, schema.VERSION


def _dialect(statement: str) -> str:
    """A step as PostgreSQL needs it: tables without a row id are SQLite's; what is looked for by its beginning is compared by its bytes."""
    return statement.replace(" WITHOUT ROWID", "").replace("/*C*/", 'COLLATE "C"')
