"""Budgets of people: one person has one budget, under whatever names they stand in the store.

A conversation keeps the name under which it began, so that a person may have some under the plain name and some under a reference. Each draws on the budget
of its own name and counts what lies under the others. Comes after persons and before quotas; pure.
"""

from __future__ import annotations

from guard.core.model import ConversationRef, Session
from guard.core.persons import names
from guard.core.ports import Charge, Redactor
from guard.core.replacing import replace
from guard.core.values import canonical

_SHADOW = "shadow of "


def person_scope(tenant: str, principal: str) -> str:
    """The scope of everything that one person of a tenant draws on."""
    return f"person of {canonical([tenant, principal])}"


def others(redactor: Redactor, session: Session, ref: ConversationRef) -> tuple[str, ...]:
    """The names that stand for this person besides the one of the conversation."""
    return tuple(str(name) for name in names(redactor, session.tenant, session.principal) if name != ref.principal)


def shared(charges: tuple[Charge, ...], redactor: Redactor, session: Session, ref: ConversationRef) -> tuple[Charge, ...]:
    """The same charges; those on a budget of the person count what was drawn under the person's other names, too."""
    if not any(charge.own for charge in charges):
        return charges
    found, own = others(redactor, session, ref), person_scope(ref.tenant, ref.principal)
    return tuple(_with(charge, own, ref.tenant, found) for charge in charges)


def _with(charge: Charge, own: str, tenant: str, other: tuple[str, ...]) -> Charge:
    if charge.scope.removeprefix(_SHADOW) != own:
        return charge
    mark = _SHADOW if charge.scope != own else ""
    return replace(charge, also=tuple(mark + person_scope(tenant, name) for name in other))
