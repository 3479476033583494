"""Approval rows: approvals as columns and back. The raw values stand in their payload, like those of calls; the rest may be shown.

A row that cannot be read is one approval less, never an outage of the others. May not touch a database. Comes after `rows` and before
`sql_approvals`.
"""

from __future__ import annotations

import logging
from typing import Any, get_args

from guard.core.model import Approval, ApprovalStatus
from guard.errors import StoreError
from guard.stores.rows import Columns, dump, load, whole
from guard.stores.sql import FAR
from guard.stores.tables import Asked

LOG = logging.getLogger("guard")
_DETAIL = ("tool", "definition", "kind", "origins", "show", "requester", "by", "by_self", "policy", "decided_roles")
_TUPLES = ("show", "by", "decided_roles")
_STATUSES = frozenset(get_args(ApprovalStatus))
_CLOSED = _STATUSES - {"pending", "approved"}


def approval_payload(approval: Approval) -> str:
    """The raw values of an approval: arguments, the provider's call id, the reason of the vote."""
    return dump([approval.arguments, approval.call_id, approval.reason])


def approval_detail(approval: Approval) -> str:
    """What of an approval needs no column of its own."""
    return dump({name: getattr(approval, name) for name in _DETAIL})


def approval_columns(asked: Asked, conversation: str, payload: str) -> Columns:
    """The columns of `sql.OPEN`."""
    approval = asked.approval
    return (
        approval.id,
        conversation,
        approval.fingerprint,
        approval.status,
        asked.run,
        asked.decided_run,
        approval.branch,
        approval.turn,
        approval.position,
        approval.requested_at,
        approval.expires_at,
        approval.decided_at,
        approval.decided_by,
        approval_detail(approval),
        payload,
    )


def asked_row(columns: Columns) -> Asked:
    """An approval from the columns of `sql.ASKED`. One that cannot be read has expired: it lets nothing run, and the others stay usable."""
    try:
        return _asked(columns)
    except StoreError:
        LOG.warning("the stored approval %s cannot be read: it counts as expired", ascii(columns[0]))
        return _unreadable(columns)


@whole
def _asked(columns: Columns) -> Asked:
    name, fingerprint, status, run, decided_run, branch, turn, position, requested_at, expires_at, *rest = columns
    decided_at, decided_by, detail, body, tenant, conversation = rest
    arguments, call_id, reason = load(body)
    fields: dict[str, Any] = {key: tuple(value) if key in _TUPLES else value for key, value in load(detail).items()}
    if status not in _STATUSES or not isinstance(arguments, dict):
        raise ValueError("a status or arguments of another form")
    approval = Approval(
        id=name,
        fingerprint=fingerprint,
        status=status,
        arguments=arguments,
        tenant=tenant,
        conversation=conversation,
        branch=branch,
        turn=turn,
        position=position,
        call_id=call_id,
        requested_at=_moment(requested_at),
        expires_at=_moment(expires_at),
        decided_by=decided_by,
        decided_at=None if decided_at is None else _moment(decided_at),
        reason=reason,
        **fields,
    )
    return Asked(approval=approval, run=run, decided_run=decided_run)


def _moment(value: Any) -> float:
    """A stored time; one that is none is long past."""
    return value if isinstance(value, int | float) and abs(value) < FAR else 0.0


def _unreadable(columns: Columns) -> Asked:
    """What of a damaged approval can be known: about which call it was, and that it was spent or rejected, if it was."""
    name, fingerprint, status, run, decided_run, branch, turn, position = columns[:8]
    tenant, conversation = columns[-2:]
    approval = Approval(
        id=name, fingerprint=fingerprint, status=status if status in _CLOSED else "expired", tool="", definition="", kind="action",
        arguments={}, origins={}, show=(), requester="", tenant=tenant, conversation=conversation, branch=branch, turn=turn,
        position=position, call_id="", by=(), by_self=False, policy="", requested_at=0.0, expires_at=0.0,
    )  # fmt: skip
    return Asked(approval=approval, run=run, decided_run=decided_run)
