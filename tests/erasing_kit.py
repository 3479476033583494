"""What the tests of erasing share: whose values go, how long a day is, and who erases."""

from __future__ import annotations

from guard.core.ports import Store
from guard.redactors import REDACTOR
from guard.runner.erasing import Payloads

HOME = ("acme", "conv-1")
DAY = 86_400.0


def payloads(store: Store) -> Payloads:
    """The payloads of a store."""
    return Payloads(store, REDACTOR)
