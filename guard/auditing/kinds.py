"""Kinds: the kinds of audit record that this version writes, and whether a word that somebody looks for can be one. Pure; comes before the filters.

A store may hold others, of another version: whoever refuses a word asks the store first.
"""

from __future__ import annotations

from typing import Final

KINDS: Final = (
    *("call.proposed", "call.decided", "call.begin", "call.end", "call.unknown", "call.reconciled", "result.delivered"),
    *("approval.requested", "approval.viewed", "approval.vote", "approval.resolved", "approval.edited", "approval.escalated"),
    *("approval.expired", "approval.cancelled", "approval.revoked", "approval.superseded", "approval.revalidation_failed"),
    *("grant.created", "grant.used", "grant.revoked", "kill.set", "kill.cleared", "tool.refused", "user.said", "payload.erased"),
    *("policy.loaded", "role.changed", "config.changed", "store.restored"),
    *("audit.checkpoint", "audit.gap", "audit.export", "audit.verify", "audit.segment_closed", "audit.segment_dropped"),
    *("sink.spooled", "sink.dropped", "sink.failed"),
)


def known(word: str) -> bool:
    """Whether a kind, or the beginning of one before a `*`, is among them."""
    return any(kind.startswith(word[:-1]) for kind in KINDS) if word.endswith("*") else word in KINDS
