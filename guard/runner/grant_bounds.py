"""Grant bounds: what a giver bounds further than the policy's offer does. Nothing here widens. Comes before grants."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import Any, Required, TypedDict

from guard.core.approval import Assurance
from guard.core.grants import amount
from guard.core.lasting import lasting
from guard.core.model import Session
from guard.core.offers import Offer, Scope
from guard.core.replacing import replace
from guard.errors import ApprovalError

Number = int | float | str | Decimal
Until = int | float | datetime


class Bounds(TypedDict, total=False):
    """Bounds of a giver's own, each no wider than what the policy offers. `until` is seconds since the epoch or a datetime with a zone."""

    uses: int | None
    until: Until | None
    at_most: Number | None
    sum: Number | None


class Giving(Bounds, total=False):
    """What a grant is given with: who gives which of the policy's offers and why, whose word it is who they are, and the digest of the words that were read."""

    by: Required[Session]
    scope: Required[Scope]
    reason: str | None
    assurance: Assurance
    shown: str | None


def bounded(bounds: Bounds) -> bool:
    """Whether there is any."""
    return any(value is not None for value in bounds.values())


def narrowed(offer: Offer, bounds: Bounds, now: float) -> Offer:
    """The offer with the giver's own bounds. Raises ApprovalError where one is wider than it, or belongs to another scope."""
    until = moment(bounds.get("until"))
    own: dict[str, Any] = {"uses": bounds.get("uses"), "until": None if until is None else until - now}
    own |= {"at_most": _number("at_most", bounds.get("at_most")), "sum": _number("sum", bounds.get("sum"))}
    uses = own["uses"]
    if uses is not None and (type(uses) is not int or uses < 1):
        raise ApprovalError("not_offered", "uses is a whole number from 1 up")
    for name, value in own.items():
        _check(offer, name, value)
    return replace(offer, **{name: value for name, value in own.items() if value is not None})


def moment(until: Until | None) -> float | None:
    """An end in seconds since the epoch. Raises ApprovalError for one that nobody can tell."""
    if isinstance(until, datetime):
        if until.tzinfo is None:
            raise ApprovalError("not_offered", "until: a datetime needs a zone, or nobody knows when it is")
        return until.timestamp()
    if until is None:
        return None
    if isinstance(until, bool) or not isinstance(until, int | float) or not isfinite(until):
        raise ApprovalError("not_offered", "until is a time: seconds since the epoch, or a datetime with a zone")
    return float(until)


def _check(offer: Offer, name: str, value: Any) -> None:
    most = getattr(offer, name)
    if value is None:
        return
    if name in ("at_most", "sum") and offer.scope != "amount":
        raise ApprovalError("not_offered", f"{name} belongs to an amount")
    if value <= 0:
        raise ApprovalError("not_offered", f"{name}: that permits nothing")
    if most is not None and value > most:
        shown = f"{lasting(float(most))} from now" if name == "until" else most
        raise ApprovalError("not_offered", f"{name}: the policy offers at most {shown}")


def _number(name: str, value: Number | None) -> Decimal | None:
    if value is None:
        return None
    try:
        found = Decimal(value) if isinstance(value, str) else amount(value)
    except ArithmeticError:
        found = None
    if found is None or not found.is_finite():
        raise ApprovalError("not_offered", f"{name} is a number")
    return found
