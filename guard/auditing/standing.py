"""Standing: the calls of a month that ran under a standing grant, by grant. Only reads.

Comes after `log`, before `month`.
"""

from __future__ import annotations

from typing import Any, Final

from guard.auditing.entry import Entry
from guard.auditing.log import Log, found
from guard.core.searching import Sought
from guard.core.values import JsonObject

KINDS: Final = ("grant.used",)
"""What is on record of each call that a grant answered."""
MOST: Final = 20_000
"""Uses that are read for the list of one month."""


def grants(log: Log, window: Sought, most: int) -> JsonObject:
    """Each grant that was used in the window (whose kinds are `KINDS`), the most used first: its scope, tool, person and approval, and how often."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    read = 0
    for one in found(log, window):
        read += 1
        row = rows.setdefault((one.text("tenant"), one.text("grant", "id")), {**_of(one), "uses": 0})
        row["uses"] += 1
        row |= {"last": one.text("ts"), "left": one.at("grant", "left")}
    ordered = sorted(rows.values(), key=lambda row: (-row["uses"], row["grant"]))
    return {"all": len(ordered), "rows": [*ordered[:most]], "cut": window.limit is not None and read >= window.limit}


def _of(one: Entry) -> JsonObject:
    return {
        "grant": one.text("grant", "id"),
        "scope": one.text("grant", "scope"),
        "tool": one.text("tool", "name"),
        "for": one.text("principal"),
        "tenant": one.text("tenant"),
        "approval": one.text("approval"),
        "first": one.text("ts"),
    }
