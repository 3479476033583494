"""Entry: one record read back for a sink: its parsed body, looked at tolerantly. Never raises on what is in a body. Comes after port; pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from guard.core.ports import Sealed
from guard.core.values import Json, JsonObject, inside


@dataclass(frozen=True, slots=True)
class Entry:
    """One record with its parsed body; empty where the body cannot be read."""

    sealed: Sealed
    body: JsonObject

    @property
    def kind(self) -> str:
        """What the record is about; empty where it does not say."""
        return self.text("kind")

    @property
    def id(self) -> str:
        """The record's id; its place where the body does not say."""
        return self.text("id") or f"{self.sealed.chain}-{self.sealed.seq}"

    def at(self, *path: str) -> Json:
        """The value at `path`, or None."""
        return inside(self.body, path)

    def text(self, *path: str) -> str:
        """The text at `path`; empty where there is none."""
        found = self.at(*path)
        return found if isinstance(found, str) else ""

    def texts(self, *path: str) -> list[str]:
        """The texts of the list at `path`."""
        found = self.at(*path)
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def entry(sealed: Sealed) -> Entry:
    """Read a record."""
    try:
        found = json.loads(sealed.body, parse_float=Decimal)
    except (ValueError, RecursionError, ArithmeticError):
        found = {}
    return Entry(sealed, found if isinstance(found, dict) else {})


_GRAVE = frozenset({"audit.gap", "kill.set", "sink.dropped", "store.restored", "call.unknown", "approval.revalidation_failed"})


def grave(one: Entry) -> bool:
    """Whether a record is about something that somebody should look at, whatever was decided."""
    return bool(one.texts("spoof")) or one.kind in _GRAVE or one.text("verify", "verdict") == "broken"


def wanted(kind: str, kinds: Sequence[str]) -> bool:
    """Whether a kind is one of these; `approval.` stands for all that begin so."""
    return not kinds or any(kind == one or (one.endswith(".") and kind.startswith(one)) for one in kinds)
