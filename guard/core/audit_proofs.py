"""Audit of the audit: that somebody verified the log, with which verdict, and that a month of it was closed or left the store. Pure.

Such a record concerns every tenant, so it names none: it stands in chain 0. Written behind what it is about, and never changes that. Used by the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from guard.core.log import Head, numbered
from guard.core.ports import Event
from guard.core.values import Json

VERIFIED: Final = "audit.verify"
Heads = Mapping[int, Head]
"""Number and hash of the last record of each chain."""


def verified(actor: Mapping[str, Json], heads: Heads, found: Mapping[str, Json]) -> Event:
    """Somebody verified the log up to these heads. `found`: the `verdict` (`whole`, `broken`), what that rests on (`proved`) and how many records."""
    return {"kind": VERIFIED, "actor": dict(actor), "verify": {**found, "heads": numbered(heads)}}
