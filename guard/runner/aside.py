"""Aside: what the records of a walk say beside what the rooms did: how long it took so far, the caller's trace, and the key of the raw values.

Likewise whether the store writes several steps at once. All of it is read here, at the edge, and none of it is read by a room. Comes after tracing and before chat.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import TypedDict

from guard.core.ports import Store
from guard.runner.tracing import current


class Aside(TypedDict):
    """Fields of `Context`."""

    took: partial[float]
    trace: str
    priv: str
    at_once: bool


def aside(store: Store) -> Aside:
    """What a walk that begins now is given."""
    trace = current()
    return {
        "took": partial(_since, perf_counter()),
        "trace": f',"trace":"{trace}"' if trace else "",
        "priv": key_of(store),
        "at_once": getattr(store, "at_once", False),  # another store than ours may not know the word
    }


def key_of(store: Store) -> str:
    """What a record says of the key under which raw values are written; nothing where there is none, or a store does not say."""
    key = getattr(store, "payload_key", "")
    return f',"priv":{{"key":"{key}"}}' if key else ""


def _since(begun: float) -> float:
    return (perf_counter() - begun) * 1000
