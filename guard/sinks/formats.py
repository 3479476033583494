"""Formats: the forms that a record can have elsewhere. One row each.

    record        the body as it is stored, with `prev` and `hash` behind it
    cloudevents   CloudEvents 1.0, the body as its data
    ocsf          OCSF 1.6.0: see `ocsf`

Comes after entry; before whoever sends or writes records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from guard.core.values import JsonObject
from guard.sinks.cloudevents import cloudevent
from guard.sinks.entry import Entry
from guard.sinks.ocsf import ocsf


@dataclass(frozen=True, slots=True)
class Format:
    """One form: the object for a record, and the media type of a JSON list of them."""

    of: Callable[[Entry], JsonObject]
    kind: str


def record(one: Entry) -> JsonObject:
    """The body with what proves its place."""
    return {**one.body, "prev": one.sealed.prev, "hash": one.sealed.hash}


FORMATS: dict[str, Format] = {
    "record": Format(record, "application/json"),
    "cloudevents": Format(cloudevent, "application/cloudevents-batch+json"),
    "ocsf": Format(ocsf, "application/json"),
}
