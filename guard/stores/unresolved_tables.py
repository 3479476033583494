"""What the rules about unresolved calls need of a place that keeps data: the part of `Tables` about targets. No rule lives here. Comes before `tables`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from guard.core.ports import CallRow
from guard.core.targets import Aim


class UnresolvedTables(Protocol):
    """Calls by what they act on, over all conversations."""

    def aimed(self, aim: Aim) -> Sequence[CallRow]:
        """Calls with the aim's tag that are written as started or unknown, the unknown ones first."""

    def aimed_otherwise(self, aim: Aim, most: int) -> Sequence[CallRow]:
        """At most so many calls of the aim's tool and tenant, unknown or started with a lease that is over, whose tag is of another form or none."""
