"""Audit of exports: that records leave the store, where to, how many, and how far. A record names a sink or a person, never an address.

Written where a new sink begins, where a follower that sent something stops, and where somebody takes a report along. Whoever only reads a store
leaves no trace in it. Pure; used by the sinks and the console.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from guard.core.ports import Event
from guard.core.values import Json

KIND: Final = "audit.export"


def begins(sink: str, form: str, kinds: tuple[str, ...], behind: Mapping[int, int]) -> Event:
    """From here on records go to a sink that was none before: those behind these numbers, of these kinds (none: all)."""
    return _sinks({"step": "begin", "to": sink, "form": form, "kinds": list(kinds), "behind": _numbers(behind)})


def ends(sink: str, form: str, count: int, upto: Mapping[int, int]) -> Event:
    """A follower stops, having sent so many records; with the sink's cursors, up to which it is done with each chain."""
    return _sinks({"step": "end", "to": sink, "form": form, "count": count, "upto": _numbers(upto)})


def taken(what: str, name: str, sha256: str, actor: Mapping[str, Json], tenant: str) -> Event:
    """Somebody took a file along that was made from the records: `what` it is (`report`), its name and digest, and who."""
    export: Event = {"step": "taken", "to": "file", "form": what, "name": name, "sha256": sha256}
    return {"kind": KIND, "tenant": tenant, "actor": dict(actor), "export": export}


def _sinks(export: Mapping[str, Json]) -> Event:
    return {"kind": KIND, "actor": {"type": "service", "ref": "sinks"}, "export": dict(export)}


def _numbers(cursors: Mapping[int, int]) -> dict[str, Json]:
    return {str(chain): seq for chain, seq in sorted(cursors.items())}
