"""Giving: the standing permissions that may be given with a yes: read on a page or by a program, and carried back with the vote.

A form carries of each its scope, its end and the digest of the words that stood there; what is given then is that, or nothing is decided. What may be
given, and by whom, is judged by `guard.grants`. Comes after voting's bodies and before the routes; asks the store: use it in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any, cast

from starlette.requests import Request

from guard.core.approval import Approval
from guard.core.grant_words import words
from guard.core.grants import Grant
from guard.core.offers import SCOPES
from guard.core.values import Json, JsonObject
from guard.errors import ApprovalError
from guard.review.grant_changes import spelled
from guard.runner.approvals import View
from guard.runner.giving import Choice, Read
from guard.runner.grants import Grants
from guard.web import bodies, shapes
from guard.web.bodies import RequestError
from guard.web.people import Person
from guard.web.site import site

TITLES = {
    "same_call": "Yes: exactly this call again",
    "tool_here": "Yes: any call of this tool in this conversation",
    "amount": "Yes: calls up to an amount",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One that may be chosen on a page: what the form carries, a title, and its words: what it is for, each bound, and what ends it."""

    value: str
    title: str
    first: str
    bounds: tuple[str, ...]
    last: str


def offered(request: Request, person: Person, view: View) -> list[Offered]:
    """What this person may give with a yes; nothing where they cannot vote."""
    grants = Grants(site(request).guard)
    try:
        found = grants.choices(view.approval.id, by=person.session, assurance=cast("Any", person.assurance))
    except ApprovalError:
        return []
    return [_offered(one.grant) for one in found if one.grant is not None]


def _offered(grant: Grant) -> Offered:
    first, *bounds, last = words(grant)
    read = Read.of(grant)
    return Offered(
        value=f"{read.scope}:{'' if read.until is None else repr(read.until)}:{read.shown}",
        title=TITLES[grant.scope],
        first=first,
        bounds=tuple(one.removeprefix("- ") for one in bounds),
        last=last,
    )


def read_of(value: str) -> Read | None:
    """What a form carries; None for nothing. Raises RequestError for what no page wrote."""
    if not value:
        return None
    parts = value.split(":")
    if len(parts) != 3 or parts[0] not in SCOPES or not parts[2]:
        raise RequestError("the form does not say which permission was read: load the page again")
    return Read(scope=cast("Any", parts[0]), until=_seconds(parts[1]), shown=parts[2])


def _seconds(text: str) -> float | None:
    if not text:
        return None
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not isfinite(found):
        raise RequestError("the form does not say until when: load the page again")
    return found


def read_in(value: Json) -> Read | None:
    """The `grant` of a vote's body; None where there is none."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise RequestError("grant must be an object")
    body = dict(value)
    bodies.fields(body, ("scope", "presented"), ("until",), "grant.")
    if body["scope"] not in SCOPES:
        raise RequestError(f"grant.scope must be {', '.join(SCOPES)}")
    until = None if body.get("until") is None else moment(body["until"], "grant.until").timestamp()
    return Read(scope=cast("Any", body["scope"]), until=until, shown=bodies.text(body["presented"], "grant.presented"))


def moment(value: Any, what: str = "until") -> datetime:
    """A moment with its zone. Raises RequestError."""
    try:
        found = datetime.fromisoformat(bodies.text(value, what))
        found.timestamp()
    except (ValueError, OverflowError):
        raise RequestError(f"{what} must be a time with its zone, 2026-12-04T12:00:00Z") from None
    if found.tzinfo is None:
        raise RequestError(f"{what} needs a zone, 2026-12-04T12:00:00Z")
    return found


def told(choice: Choice) -> JsonObject:
    """An offer as JSON, with the grant as it would stand and what a vote must carry of it."""
    offer, grant = choice.offer, choice.grant
    read = None if grant is None else Read.of(grant)
    return {
        "scope": offer.scope,
        "words": spelled(offer),
        "field": None if offer.field is None else str(offer.field),
        "at_most": offer.at_most,
        "sum": offer.sum,
        "same": [str(path) for path in offer.same],
        "uses": offer.uses,
        "for_seconds": offer.until,
        "grant": None
        if grant is None or read is None
        else {"words": list(words(grant)), "until": shapes.moment(read.until), "presented": read.shown},
        "why_not": choice.why or None,
    }


def approve(request: Request, person: Person, name: str, read: Read, given: Mapping[str, Any]) -> tuple[Approval, Grant]:
    """A yes with a grant. Raises ApprovalError where it does not count."""
    return Grants(site(request).guard).approve(name, read, approver=person.session, **given)


def from_here(request: Request, person: Person, approval: Approval) -> list[Grant]:
    """The grants that were given from an approval, for whom they concern."""
    grants = Grants(site(request).guard)
    found = grants.list(status=None, tenant=person.session.tenant, approval=approval.id)
    return [one for one in found if grants.concerns(one, person.session)]
