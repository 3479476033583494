"""Owners: whose a conversation is, asked before anything in it is touched. Shared by every store. Comes after `tables` and before `budgets`."""

from __future__ import annotations

from collections.abc import Sequence

from guard.core.model import ConversationRef
from guard.errors import ConversationError
from guard.stores.tables import Home, Tables


def home_of(ref: ConversationRef) -> Home:
    """The conversation that a reference names, whatever its branch."""
    return ref.tenant, ref.conversation


def visible(tables: Tables, ref: ConversationRef) -> bool:
    """Whether the conversation exists. Raises ConversationError when it belongs to somebody else."""
    owner = tables.owner((ref.tenant, ref.conversation))
    if owner is None:
        return False
    if owner != ref.principal:
        raise ConversationError("this conversation belongs to somebody else")
    return True


def own(tables: Tables, ref: ConversationRef) -> Home:
    """Make sure that the conversation exists and is this principal's. Raises ConversationError when it is somebody else's."""
    if not visible(tables, ref):
        tables.create(ref)
        visible(tables, ref)  # somebody else may have been faster
    return ref.tenant, ref.conversation


def owned(tables: Tables, refs: Sequence[ConversationRef]) -> None:
    """`own` for many references, each distinct one once."""
    last: ConversationRef | None = None
    for ref in refs:
        if ref is not last:
            own(tables, ref)
            last = ref
