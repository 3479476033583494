"""Refiling: makes the copies of audit records that have none yet, as in a file of an earlier version. Touches no record.

Runs inside the transaction of a migration. For many records it says how far it is, through the logger `guard.stores.filing`. Comes after
`filing_sql`, before `migrate`.
"""

from __future__ import annotations

import logging
import sqlite3
from typing import Final

from guard.stores import filing_sql

LOG = logging.getLogger("guard.stores.filing")
_PAGE: Final = 50_000  # records at a time


def fill(connection: sqlite3.Connection) -> None:
    """File every record behind the last one that is filed, chain by chain."""
    for chain, newest, filed in connection.execute(filing_sql.FILLED).fetchall():
        for start in range(filed, newest, _PAGE):
            end = min(start + _PAGE, newest)
            for statement in (filing_sql.FILL, filing_sql.FILL_TAGS):
                connection.execute(statement, (chain, start, end))
            if newest - filed > _PAGE:
                LOG.warning("making %d audit records findable: %d of %d", newest - filed, end - filed, newest - filed)
