"""Gone: finds the record that says when, by whom and why the arguments of an approval were erased. Reads only; used by `approvals`."""

from __future__ import annotations

import json

from guard.core import gone
from guard.core.approval import Approval
from guard.core.ports import Sought, Store

_MOST = 1000  # erasures of one conversation that are looked through


def erasure(store: Store, approval: Approval) -> str:
    """What is told instead of the arguments; empty for an approval that has its own."""
    if not gone.emptied(approval):
        return ""
    sought = Sought(tenant=approval.tenant, conversation=str(approval.conversation), kinds=("payload.erased",), limit=_MOST)
    bodies = (json.loads(one.body) for one in store.search(sought))
    return next((gone.told(body) for body in bodies if gone.names(body, approval.id)), gone.UNKNOWN)
