"""Late: an attempt ends after its call was written down as unknown, or as a person found. What it says is on record as what settled it, or as disagreeing.

The truth of the attempt itself settles an unknown call. A person's word that it took effect stands; that it did not is outranked by an end that is done, since
nobody may run it again for that. Shared by every store; may only ask the tables. Comes before `claims`.
"""

from __future__ import annotations

from collections.abc import Sequence

from guard.core.ports import CallRow, Event
from guard.core.reasons import Reason

_ENDS = frozenset({"done", "failed"})
_KIND = "call.reconciled"
_SETTLED = "the attempt itself ended after it had been given up"
_STANDS = "the attempt itself ended after it had been given up, and otherwise than a person found; what the person said stands"
_OUTRANKED = "the attempt itself ended after it had been given up: it was done, although a person found otherwise"


def mistaken(old: CallRow) -> bool:
    """Whether only a person's word says that the call did not happen: the tool's own end of it knows better."""
    return old.outcome is not None and old.outcome.reason is Reason.DID_NOT_HAPPEN


def truth(old: CallRow, new: CallRow, events: Sequence[Event], *, ends: bool) -> Event | None:
    """The record of an end that comes late; None where it does not, or where `events` say it already. `ends`: it changes what the ledger says."""
    if not new.attempt or new.status not in _ENDS or old.fingerprint != new.fingerprint or any(map(_settles, events)):
        return None
    if ends:
        outranked = mistaken(old)
        return (
            _record(new, _OUTRANKED if outranked else _SETTLED, not outranked) if outranked or old.status == "unknown" else None
        )
    return _record(new, _STANDS, False) if old.status in _ENDS and old.status != new.status else None


def _settles(event: Event) -> bool:
    return event.startswith(f'"kind":"{_KIND}"') if isinstance(event, str) else event.get("kind") == _KIND


def _record(row: CallRow, why: str, agrees: bool) -> Event:  # noqa: FBT001 - as above
    ref, happened = row.key.ref, row.status == "done"
    return {
        "kind": _KIND,
        "tenant": ref.tenant,
        "conversation": ref.conversation,
        "principal": ref.principal,
        "turn": row.key.turn,
        "position": row.key.position,
        "actor": {"type": "service"},
        "tool": {"name": row.call.tool},
        "approval": row.approval,
        "exec": {"status": "ok" if happened else "error", "attempt": row.attempt},
        "effect": {"observed": happened, "agrees": agrees},
        "reason": why,
    }
