"""Opening: the names under which a session's calls are kept: who, and in which conversation.

A name in which the detectors find something is kept as a reference (`core.persons`); what an older program wrote under the name itself stays under that.
Decides nothing about calls. Used by the guard, which opens conversations with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from guard.core.model import Approval, ConversationRef, Session
from guard.core.persons import names, opaque
from guard.core.ports import Flow, Redactor, Store, ask
from guard.errors import ConversationError, GuardError, StoreError
from guard.runner.hands import Consult

if TYPE_CHECKING:
    from guard.runner.guard import GuardBase

_MOST = 10_000
"""Conversations of which it is remembered under which names they are kept."""


def ref_of(guard: GuardBase, session: Session, conversation: str) -> ConversationRef:
    """Which conversation that is. Raises GuardError for what cannot be one."""
    if not isinstance(session, Session):
        raise GuardError("open a conversation with a Session: Session(principal=…, roles=(…,))")
    if not isinstance(conversation, str) or not conversation:
        raise GuardError("a conversation is named by a text that is not empty")
    for what, text in (("principal", session.principal), ("tenant", session.tenant), ("name of the conversation", conversation)):
        keepable(what, text, guard.store)
    _check(guard.redactor, session.tenant)
    found = names(guard.redactor, session.tenant, session.principal)
    name = opaque(guard.redactor, "conversation", conversation)
    ref = ConversationRef(tenant=session.tenant, principal=found[0], conversation=name)
    if name == conversation and found[0] == session.principal:
        return ref
    place = (session.tenant, session.principal, conversation)
    if place not in guard.places:
        try:
            made = _before(guard.store, ref, found, conversation)
        except StoreError:
            return ref
        if len(guard.places) >= _MOST:
            guard.places.clear()
        guard.places[place] = made
    return guard.places[place]


def keepable(what: str, text: str, store: Store) -> None:
    """Raise GuardError for a name of the host's that this store cannot keep, and so no call under it could ever be on record."""
    try:
        if not text.isascii():
            text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise GuardError(
            f"the {what} has half a character (a lone surrogate) at position {error.start}: no record can hold it; decode it to whole characters"
        ) from None
    if "\0" in text and getattr(store, "nul", True) is False:
        raise GuardError(
            f"the {what} has a NUL character at position {text.index(chr(0))}: a PostgreSQL store holds none; use a name without it"
        )


def opened(guard: GuardBase, session: Session, conversation: str) -> ConversationRef:
    """The conversation, created or found. A store that is down is no reason to fail yet: each call will be refused."""
    ref = ref_of(guard, session, conversation)
    try:
        guard.store.open(ref)
    except StoreError:
        return ref
    except ConversationError:
        return _other(guard, ref, session)
    return ref


def _other(guard: GuardBase, ref: ConversationRef, session: Session) -> ConversationRef:
    """The same conversation under whatever else stands for this person. Raises ConversationError where it is somebody else's."""
    for name in names(guard.redactor, session.tenant, session.principal)[1:]:
        if name != ref.principal:
            other = replace(ref, principal=name)
            guard.store.open(other)
            return other
    raise ConversationError("this conversation belongs to somebody else")


def _before(store: Store, ref: ConversationRef, found: Sequence[str], conversation: str) -> ConversationRef:
    """The conversation as an older program wrote it, where one did: it stays under those names, and so do its calls. Raises StoreError."""
    for name in dict.fromkeys((conversation, ref.conversation)):
        for principal in found:
            one = replace(ref, principal=principal, conversation=name)
            if one != ref and _there(store, one):
                return one
    return ref


def _there(store: Store, ref: ConversationRef) -> bool:
    try:
        return bool(store.rows(ref, turn=1))
    except ConversationError:
        return False


def listed(guard: GuardBase, *, status: str | None, tenant: str | None, conversation: str | None) -> tuple[Approval, ...]:
    """Approvals, oldest first; of a conversation under whichever name it is kept."""
    made = conversation and opaque(guard.redactor, "conversation", conversation)
    found = guard.store.approvals(status=status, tenant=tenant, conversation=made)
    if made == conversation:
        return found
    older = guard.store.approvals(status=status, tenant=tenant, conversation=conversation)
    return tuple(sorted((*older, *found), key=lambda one: (one.requested_at, one.id)))


@lru_cache(maxsize=1024)
def _check(redactor: Redactor, tenant: str) -> None:
    """Raise GuardError for a tenant's name that would have to be hidden: it stands in every record, and policies name it."""
    found, kinds = redactor.detect(None, tenant)
    if found != tenant:
        raise GuardError(
            f"the tenant's name holds what must be hidden ({', '.join(kinds)}) and would stand in every record: use an opaque id for it"
        )


def kept_key(key: str, ref: ConversationRef, redactor: Redactor, store: Store) -> Flow[str]:
    """A host's own key for a call as it is kept: as it stands where an older program wrote it so. Raises GuardError for what cannot be kept."""
    keepable("key", key, store)
    made = opaque(redactor, "key", key)
    if made == key:
        return key
    try:
        rows = yield from ask(Consult(question=lambda store: store.rows(ref)))
    except (StoreError, ConversationError):
        return made
    return key if any(row.key.key == key for row in rows) else made
