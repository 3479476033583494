"""Grants: the standing permissions that a person may know of, spelled out, and the form that takes one back.

    GET  /grants                 those in force, or all of them (`status=all`)
    POST /grants/{id}/revoke     reason

Whether somebody may take one back is judged by `guard.grants`. None is given here. Comes after frame.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from guard.core.grants import Grant
from guard.errors import ApprovalError
from guard.runner.grants import Grants
from guard.web import frame, guarding
from guard.web.frame import Problem, words
from guard.web.people import Person
from guard.web.site import site

SAID = {
    "live": "in force",
    "proposed": "waits for another person",
    "spent": "used up",
    "expired": "over",
    "revoked": "taken back",
}


def routes() -> list[BaseRoute]:
    """See the module."""
    return [
        Route("/grants", frame.reading(listed), methods=["GET"]),
        Route("/grants/{id}/revoke", frame.changing(revoke), methods=["POST"]),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One grant, what it permits in sentences, how it stands, and whether today's policy bears it out."""

    grant: Grant
    words: tuple[str, ...]
    status: str
    stands: bool
    live: bool


async def listed(request: Request, person: Person) -> Response:
    """The grants that concern this person."""
    return await _page(request, person)


async def _page(request: Request, person: Person, status: int = 200, problem: Problem | None = None) -> Response:
    every = request.query_params.get("status") == "all"
    rows = await asyncio.to_thread(_rows, request, person, every=every)
    acts = "vote" in person.scopes
    return frame.page(request, person, "grants.html", status, rows=rows, every=every, acts=acts, said=SAID, problem=problem)


def _rows(request: Request, person: Person, *, every: bool) -> list[Row]:
    grants, now = Grants(site(request).guard), site(request).guard.store.now()
    found = []
    for one in grants.list(status=None, tenant=person.session.tenant):
        status = one.status(now)
        live = status in ("live", "proposed")
        if (every or live) and grants.concerns(one, person.session):
            found.append(Row(grant=one, words=grants.words(one), status=status, stands=grants.stands(one), live=live))
    return found


async def revoke(request: Request, person: Person) -> Response:
    """Take one back, for good."""
    reason = words(await guarding.form(request), "reason")
    if not reason:
        return await _page(request, person, 422, Problem(title="Nothing was taken back", text="Say why."))
    grants = Grants(site(request).guard)
    try:
        await asyncio.to_thread(grants.revoke, request.path_params["id"], by=person.session, reason=reason)
    except ApprovalError as error:
        if error.code == "not_found":
            raise
        return await _page(request, person, 409, Problem(title="It was over already", text=f"{error}."))
    return RedirectResponse("/grants", 303)
