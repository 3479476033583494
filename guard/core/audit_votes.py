"""What people did about approvals, as records: looked, voted, edited, cancelled, revoked. Like `audit`: already safe to store, pure.

The identity is the one that the host authenticated, with whose word it is and by which way it came. A private note is digested, never
copied. Comes after audit; used by the runner, which makes them in the transaction that changes the approval.
"""

from __future__ import annotations

from typing import Any

from guard.core.actors import human
from guard.core.approval import Approval, Assurance, Via
from guard.core.commitments import mark
from guard.core.model import Session
from guard.core.names import distinct
from guard.core.ports import Event, Redactor
from guard.core.values import JsonObject

_NOTE = "guard-note-v1\0"  # a note is never taken for arguments or a result, whose digests are under the same salt
_LONGEST = 200  # characters of a call id that a record keeps


def record(
    kind: str, approval: Approval, who: Session, redactor: Redactor, state: JsonObject, *, assurance: Assurance, via: Via
) -> Event:
    """One record about an approval, caused by a person."""
    return {
        "kind": kind,
        "tenant": approval.tenant,
        "conversation": approval.conversation,
        "principal": approval.requester,
        "turn": approval.turn,
        "position": approval.position,
        "actor": human(who, redactor, assurance=assurance, via=via),
        "call_id": redactor.detect(None, approval.call_id[:_LONGEST])[0],
        "tool": {"name": approval.tool, "definition": approval.definition, "kind": approval.kind},
        "approval": approval.id,
        "fingerprint": approval.fingerprint,
        "approval_state": {**state, "revision": approval.revision},
    }


def counted(after: Approval, decision: str) -> tuple[str, JsonObject]:
    """Which record a vote that counts is, and what it says of the approval behind it."""
    kind = "approval.vote" if after.status == "pending" else "approval.resolved"
    yes = distinct(vote.by for vote in after.yes)
    state: JsonObject = {"status": after.status, "decision": decision, "need": after.need, "have": yes}
    if after.use_by is not None:
        state["use_by"] = after.use_by
    return kind, state


def words(reason: str | None, note: str | None, redactor: Redactor, salt: str = "") -> JsonObject:
    """What a person wrote: the reason redacted, of the private note a digest under the call's salt, which is erased with the note."""
    found: dict[str, Any] = {"reason": redactor.detect(None, reason)[0]} if reason else {}
    return found | ({"note": {"size": len(note), "digest": mark(f"{_NOTE}{note}", redactor, salt)}} if note else {})
