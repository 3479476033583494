"""Unknown calls: those that were started and have no outcome, and a person's word on what became of them.

    GET  /unknown         what this person may settle or asked for
    POST /unknown/{id}    happened (yes or no), reason

Nothing here takes such a call for one that did not happen; whether somebody's word counts is judged by `guard.unknown`. Comes after frame.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from guard.core import facts
from guard.core.facts import Argument
from guard.core.presented import masked
from guard.core.values import JsonObject
from guard.errors import ApprovalError
from guard.web import frame, guarding
from guard.web.frame import Problem, field, words
from guard.web.people import Person
from guard.web.site import site

if TYPE_CHECKING:
    from guard.runner.doubts import Unknown


def routes() -> list[BaseRoute]:
    """See the module."""
    return [
        Route("/unknown", frame.reading(listed), methods=["GET"]),
        Route("/unknown/{id}", frame.changing(resolve), methods=["POST"]),
    ]


async def listed(request: Request, person: Person) -> Response:
    """Calls in doubt."""
    return await _page(request, person)


async def _page(request: Request, person: Person, status: int = 200, problem: Problem | None = None) -> Response:
    rows, others = await asyncio.to_thread(_rows, request, person)
    return frame.page(request, person, "unknown.html", status, rows=rows, others=others, problem=problem)


def _rows(request: Request, person: Person) -> tuple[list[tuple[Unknown, tuple[Argument, ...], bool]], int]:
    """Each call in doubt that this person may see, with its arguments, and whether they may settle it; how many are for others."""
    doubts, me = site(request).doubts, person.session
    found = []
    known = doubts.list(tenant=me.tenant)
    for one in known:
        settles = doubts.entitled(one, me)
        if settles or me.means(one.requester):
            found.append((one, facts.plain(_masked(request, one)), settles and "vote" in person.scopes))
    return found, len(known) - len(found)


def _masked(request: Request, one: Unknown) -> JsonObject:
    """The arguments as its approval may show them."""
    asked = site(request).guard.store.approval(one.approval) if one.approval else None
    return one.arguments if asked is None else masked(replace(asked, arguments=one.arguments)).arguments


async def resolve(request: Request, person: Person) -> Response:
    """Settle one."""
    form = await guarding.form(request)
    word, reason = field(form, "happened"), words(form, "reason")
    if word not in ("yes", "no") or not reason:
        text = "Say whether it happened, and how you found out."
        return await _page(request, person, 422, Problem(title="Nothing was settled", text=text))
    name, settle = request.path_params["id"], site(request).doubts.resolve
    try:
        await asyncio.to_thread(settle, name, happened=word == "yes", approver=person.session, reason=reason)
    except ApprovalError as error:
        if error.code == "not_found":
            raise
        return await _page(request, person, 409, Problem(title="It was not settled by you", text=f"{error}."))
    return RedirectResponse("/unknown", 303)
