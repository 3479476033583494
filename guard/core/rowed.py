"""Rowed: what a record says of the row that stands beside it, so that whoever verifies can hold the one against the other.

Of each column there is a digest that tells nothing: what it is made with comes from the store's secret, and from nothing that stands in a record. A table decides
what may run, and whoever may write it need not touch the log; by these digests an edit of it is named with its column. Comes after `commands`; pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from typing import Any, Final

from guard.core.commands import CallRow, Event
from guard.core.values import encode, keyed, keyed_each, quote, sha

_DIGITS: Final = 16
_KEY: Final = 32
NUL: Final = "\0"
EMPTY: Final[Mapping[str, str]] = {"target": "", "name": "", "owned": "[]"}
"""Columns that a record says nothing of where they hold this."""


def of_column(key: str, column: str, value: str) -> str:
    """What stands in a record for a column. `key` is known to nobody who has only records."""
    return sha(f"guard-row-v1{NUL}{key}{NUL}{column}{NUL}{value}")[:_DIGITS]


def key_of(mark: str, fingerprint: str, turn: int, position: int) -> str:
    """What the digests of a call's row are made with: its mark is a keyed digest itself, and equal calls get others."""
    return f"{mark or fingerprint}{NUL}{turn}{NUL}{position}"


def columns_of(row: CallRow, executor: str) -> dict[str, str]:
    """The columns of a row that decide what becomes of its call once it has begun, and that no record shows as they are."""
    owned = encode(sorted(row.owned)) if row.owned else "[]"
    found = {"mark": row.mark, "fingerprint": row.fingerprint, "executor": executor}
    return found | {"target": row.target, "name": row.key.key, "owned": owned}


def begun(event: Event, row: CallRow, executor: str) -> Event:
    """The record of a call that begins, with what it says of the row that is written with it; `executor` is who takes it."""
    key = key_of(row.mark, row.fingerprint, row.key.turn, row.key.position)
    found = {name: of_column(key, name, value) for name, value in columns_of(row, executor).items() if value != EMPTY.get(name)}
    if isinstance(event, str):
        digests = "".join(f',"{name}":"{one}"' for name, one in found.items())
        return f'{event},"row":{{"run":{row.run}{digests}}}'
    return {**event, "row": {"run": row.run, **found}}


def key_shown(key: str) -> str:
    """What stands in a record for the idempotency key that a tool is given."""
    return sha(key)[:_KEY]


# -- rows of any table, by the store's secret ------------------------------------------------------------------------------------

MISSING: Final = "-"
"""The text of what cannot be a column's value; no JSON."""


def mark(secret: bytes, table: str, name: str, column: str, text: str) -> str:
    """The digest of one column of one row."""
    return keyed(secret, NUL.join(("guard-row-v1", table, name, column, text)))[:_DIGITS]


def marks(secret: bytes, table: str, name: str, columns: Mapping[str, str]) -> dict[str, str]:
    """`mark` of each of these columns of one row."""
    found = keyed_each(secret, NUL.join(("guard-row-v1", table, name, "")), map(NUL.join, columns.items()))
    return {column: one[:_DIGITS] for column, one in zip(columns, found, strict=True)}


_TEXTS: Final[Mapping[type, Callable[[Any], str]]] = {
    str: quote,
    int: repr,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
}
"""How nearly all columns are written: a row has dozens, which are compared and marked whenever it changes."""
_NUMBERS: Final = (float, Decimal)


def text_of(value: Any) -> str:
    """A column's value as one text, the same whichever database gives it back."""
    plain = _TEXTS.get(type(value))
    if plain is not None:
        return plain(value)
    if isinstance(value, _NUMBERS):
        return repr(float(value))
    if isinstance(value, str):
        return encode(str(value))
    return encode(value) if value is None or isinstance(value, bool | int | list | dict) else MISSING


def time_of(value: Any) -> str:
    """A time: an integer in the place of the number that a database makes of it."""
    return repr(float(value)) if type(value) in (int, float, Decimal) else text_of(value)


def said(columns: Mapping[str, Any], detail: Any, times: Collection[str]) -> dict[str, str]:
    """Columns by name, and a detail (a JSON object in a column) by its parts, as texts. A detail that cannot be read says nothing."""
    try:
        parts: Any = json.loads(detail)
    except (ValueError, TypeError, RecursionError):
        parts = {}
    found = {name: (time_of if name in times else text_of)(value) for name, value in columns.items()}
    return found | {f"detail.{name}": text_of(value) for name, value in (parts if isinstance(parts, dict) else {}).items()}
