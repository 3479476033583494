"""Taking a plain call on PostgreSQL: one statement that is a transaction by itself, one round trip.

Holds no rule: see `plain`; what the statement does is in `postgres_functions`. Comes after `postgres_chains` and `plain`, before `postgres_tables`.
"""

from __future__ import annotations

from typing import Final

from guard.core.ports import Won
from guard.stores.chain import around, storable
from guard.stores.postgres_chains import chain_of
from guard.stores.postgres_functions import TAKE
from guard.stores.postgres_wire import Wire
from guard.stores.tables import Plain
from guard.stores.watermark import Head

_NOW: Final = "#"  # where the time goes in front of a record: a letter that no id holds


def take(wire: Wire, given: Plain, *, now: float | None, about: float) -> tuple[Won, int, Head] | None:
    """Take the call and commit, or do nothing and give None. Raises as `write` of `chain` does, and FailedError.

    `now` is the time of the transaction where it is not the server's; `about` is what its time may be, for the record's id.
    """
    chain = chain_of(given.event)
    before, behind = around(given.event, chain, (_NOW, wire.stamps.name(about)), wire.stamps.beside())
    found = wire.alone(TAKE, (*given.columns, chain, before, storable(behind), now)).first()
    if found is None:
        return None
    at, seq, own = found
    return given.won(at), chain, (seq, own)
