"""Entry: one stored record with its body read. A body that cannot be read is empty; nothing is judged or changed. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal

from guard.core.log import Sealed
from guard.core.values import Json, JsonObject, inside


@dataclass(frozen=True, slots=True)
class Entry:
    """One record with its parsed body; empty where the body cannot be read."""

    sealed: Sealed
    body: JsonObject

    def at(self, *path: str) -> Json:
        """The value at `path`, or None."""
        return inside(self.body, path)

    def text(self, *path: str) -> str:
        """The text at `path`; empty where there is none."""
        found = self.at(*path)
        return "" if found is None else str(found)

    @property
    def number(self) -> str:
        """Where the record stands: its seq, with its chain where there are several."""
        return f"{self.sealed.chain}:{self.sealed.seq}" if self.sealed.chain else str(self.sealed.seq)


def entry(sealed: Sealed) -> Entry:
    """A record with its body read."""
    try:
        found = json.loads(sealed.body, parse_float=Decimal)
    except (ValueError, RecursionError):
        return Entry(sealed, {})
    return Entry(sealed, found if isinstance(found, dict) else {})
