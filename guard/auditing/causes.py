"""Causes: which record of a call's life led to each of its others.

A record is written in the transaction of what it is about, before the ids of its neighbours are given, so no body holds another's id; what led to what
follows from their kinds and their order, which the chain keeps: it is the newest record before of a kind that can have led there. Comes after `steps`; pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from guard.auditing.steps import Step

_ASKED: Final = ("approval.edited", "approval.requested")
_YES: Final = ("approval.resolved", *_ASKED)
_DECIDED: Final = ("call.decided",)
LED_TO: Final[dict[str, tuple[str, ...]]] = {
    "call.decided": (
        *("approval.resolved", "approval.expired", "approval.cancelled", "approval.revoked", "approval.superseded"),
        *("approval.revalidation_failed", *_ASKED, "call.proposed"),
    ),
    "approval.requested": ("call.proposed",),
    "approval.viewed": _ASKED,
    "approval.vote": _ASKED,
    "approval.resolved": _ASKED,
    "approval.edited": _ASKED,
    "approval.escalated": _ASKED,
    "approval.expired": _YES,
    "approval.cancelled": ("grant.used", *_YES),
    "approval.revoked": ("approval.resolved",),
    "approval.superseded": _YES,
    "approval.revalidation_failed": ("approval.resolved",),
    "grant.used": _DECIDED,
    "call.begin": _DECIDED,
    "call.end": ("call.begin", *_DECIDED),
    "call.unknown": ("call.begin", *_DECIDED),
    "call.reconciled": ("call.unknown", "call.begin"),
    "result.delivered": ("call.end", "call.unknown", "call.reconciled", *_DECIDED),
}
"""Kind → kinds that can have led to it; what led to others (`call.proposed`: the model) stands outside of the log."""


def causes(steps: Sequence[Step]) -> tuple[str | None, ...]:
    """The id of the record that led to each of these, which are one call's records in order; None where none of them did."""
    return tuple(_cause(steps[:index], one.kind) for index, one in enumerate(steps))


def _cause(before: Sequence[Step], kind: str) -> str | None:
    wanted = LED_TO.get(kind, ())
    return next((one.id for one in reversed(before) if one.kind in wanted), None) or None
