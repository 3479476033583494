"""Batch: several approvals on one page, each in full, each with its own checkbox; every vote is bound to what was shown of its own item.

    GET  /approvals/batch     what waits for this person, in full
    POST /approvals/batch     item (once for each marked one), seen:{id}, decision, reason, note: a result for each

There is no box that marks all. A vote that does not count leaves the others as they are. Comes after pages_acts.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from guard.core.approval import Approval
from guard.core.briefing import Briefing
from guard.errors import ApprovalError
from guard.runner.approvals import View
from guard.web import frame, guarding
from guard.web.bodies import RequestError
from guard.web.frame import Problem, field, words
from guard.web.pages import WAYS, Typed, may, seen, told_of
from guard.web.pages_acts import Fields, cast, decided, lacks, seen_of, told
from guard.web.people import Person
from guard.web.site import site

MOST = 25
"""Items on one page, since each stands there in full; what is left out is counted and said."""


def routes() -> list[BaseRoute]:
    """See the module."""
    return [
        Route("/approvals/batch", frame.reading(shown), methods=["GET"]),
        Route("/approvals/batch", frame.changing(vote), methods=["POST"]),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one marked item."""

    id: str
    approval: Approval | None
    counted: bool
    text: str


async def shown(request: Request, person: Person) -> Response:
    """Everything that waits for this person."""
    return await _page(request, person)


async def _page(
    request: Request, person: Person, status: int = 200, problem: Problem | None = None, form: Fields | None = None
) -> Response:
    items, more = await asyncio.to_thread(_items, request, person, await seen(request, person, "pending"))
    typed = Typed(reason=words(form, "reason") or "", note=words(form, "note") or "") if form else Typed()
    marks = {*(form or {}).get("item", ())}
    return frame.page(
        request,
        person,
        "batch.html",
        status,
        items=items,
        more=more,
        marks=marks,
        typed=typed,
        ways=WAYS,
        private=True,
        problem=problem,
        whole="whole" in request.query_params,
    )


def _items(request: Request, person: Person, rows: list[Approval]) -> tuple[list[Briefing], int]:
    here, found, more = site(request), list[View](), 0
    for row in rows:
        if not here.approvals.entitled(row, person.session):
            continue
        if len(found) == MOST:
            more += 1
            continue
        view = here.approvals.view(row.id, person.session)
        if may(view, person).vote:
            found.append(view)
    here.viewings.note(request, person, found)
    return [told_of(view, here.clock()) for view in found], more


async def vote(request: Request, person: Person) -> Response:
    """Decide about every marked item, each by itself."""
    form = await guarding.form(request)
    marked, yes = [*dict.fromkeys(form.get("item", ()))], decided(form)
    typed = Typed(reason=words(form, "reason") or "", note=words(form, "note") or "")
    lacking = lacks(yes, typed) if marked else Problem(title="Nothing is marked", text="Mark each one that you want to decide.")
    if lacking is not None:
        return await _page(request, person, 422, lacking, form)
    results = [await _vote(request, person, name, form, yes, typed) for name in marked]
    status = 200 if all(one.counted for one in results) else 409
    return frame.page(request, person, "batch_done.html", status, results=results, yes=yes)


async def _vote(request: Request, person: Person, name: str, form: Fields, yes: bool, typed: Typed) -> Result:  # noqa: FBT001 - the decision
    try:
        seen_there = seen_of(field(form, f"seen:{name}").split(" "))
        found = await cast(request, person, name, yes=yes, typed=typed, seen=seen_there)
    except RequestError as error:
        return Result(id=name, approval=None, counted=False, text=str(error))
    except ApprovalError as error:
        return await asyncio.to_thread(_failed, request, person, name, error)
    return Result(id=name, approval=found, counted=True, text=f"Your {'yes' if yes else 'no'} counts; it is {found.status} now.")


def _failed(request: Request, person: Person, name: str, error: ApprovalError) -> Result:
    if error.code == "not_found":
        return Result(id=name, approval=None, counted=False, text=str(error))
    now = site(request).approvals.show(name)
    said = told(error, now, person)
    return Result(id=name, approval=now, counted=False, text=f"{said.title}: {said.text}")
