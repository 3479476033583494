"""Kill records: the audit's events about kills: set, cleared, and what ended by one. Like `audit`: already safe to store, pure.

The record of a kill names who set it, by which way, why (redacted) and how many approvals it ended; each of those has a record of its own, and so has the refusal
of its call. Comes after audit_votes and answer; used by the runner, which makes them in the transaction that writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guard.core import answer
from guard.core.actors import human
from guard.core.approval import Approval, Assurance, Via
from guard.core.audit import named
from guard.core.audit_votes import record
from guard.core.commitments import mark
from guard.core.kills import Kill, Stop, refusal
from guard.core.model import Session
from guard.core.ports import CallRow, Event, Redactor
from guard.core.replacing import replace
from guard.core.values import JsonObject, canonical


def told(kill: Kill, by: Session, redactor: Redactor, *, assurance: Assurance, via: Via) -> Event:
    """It was set, or cleared."""
    cleared = kill.cleared_at is not None
    state: JsonObject = {"id": kill.id, "status": kill.status}
    if not cleared:
        state |= {"cancelled": kill.cancelled, "revoked": kill.revoked}
    why = kill.cleared_why if cleared else kill.reason
    state |= {"reason": redactor.detect(None, why)[0]} if why else {}
    return {
        "kind": "kill.cleared" if cleared else "kill.set",
        **_where(kill.stop),
        "actor": human(by, redactor, assurance=assurance, via=via),
        "kill": state,
    }


def _where(stop: Stop) -> dict[str, Any]:
    """What it covers, where a record about a call says whose that is."""
    found = {"tenant": stop.tenant, "conversation": stop.conversation}
    tool = {} if stop.tool is None else {"tool": {"name": stop.tool}}
    return {name: value for name, value in found.items() if value is not None} | tool


def ending(after: Approval, stop: Stop, by: Session, redactor: Redactor, how: Mapping[str, Any]) -> Event:
    """An approval ended by a kill. `how`: `assurance` and `via` of whoever set it."""
    told = record(f"approval.{after.status}", after, by, redactor, {"status": after.status}, **how)
    return {**told, "kill": {"id": stop.id}} if isinstance(told, dict) else told


def ended(row: CallRow, approval: Approval, stop: Stop, redactor: Redactor) -> tuple[CallRow, tuple[Event, ...]]:
    """A held call whose approval a kill has ended: as it is refused, yet to be told, and the record of that.

    No walk is walked for it: the arguments stand as their digest, which is that of the question, whose record shows them.
    """
    why = replace(refusal(stop), extra={"approval": approval.id})
    outcome = answer.refused(row.call, row.key, why, row.arguments, redactor)
    ref, text = row.key.ref, canonical(approval.arguments)
    event: dict[str, Any] = {
        "kind": "call.decided",
        "tenant": ref.tenant,
        "conversation": ref.conversation,
        **({"branch": ref.branch} if ref.branch else {}),
        "principal": ref.principal,
        "turn": row.key.turn,
        "position": row.key.position,
        "actor": {"type": "policy"},
        "call_id": named(row.call.id, redactor),
        "tool": {"name": approval.tool, "definition": approval.definition, "kind": approval.kind},
        "approval": approval.id,
        "fingerprint": approval.fingerprint,
        "args": {"size": len(text), "digest": mark(text, redactor, row.salt)},
        "kill": {"id": stop.id},
        "decision": {
            "policy": approval.policy,
            "verdict": "refuse",
            "code": why.reason.value,
            "rules": list(why.rules),
            "note": why.note,
        },
    }
    return replace(row, status="refused", outcome=outcome, settled=False), (event,)
