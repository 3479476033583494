"""Pages: what a person at a browser reads: the approvals that they may see, one of them in full, and how to sign in. GET only; changes nothing.

    GET /approvals          what waits; filters status, tool, person
    GET /approvals/{id}     one in full, with what this person may do about it
    GET /approvals/state    how the list, or one approval (`id`), stands now, for a script that asks again
    GET /sign-in            the form for a token
    GET /static/{name}      style, script and icon

Everything about an approval is taken from `guard.core.briefing`. Comes after frame; beside pages_acts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from guard.core.approval import Approval
from guard.core.briefing import STATUSES, Briefing, briefing, ended
from guard.core.names import real
from guard.core.values import digest
from guard.core.wording import Ran
from guard.errors import ApprovalError
from guard.runner.approvals import View
from guard.runner.deciders import concerns, wrote
from guard.web import frame, giving, guarding, html, links
from guard.web.alike import alike
from guard.web.edits import fields_of
from guard.web.frame import Problem
from guard.web.people import Person
from guard.web.site import site

MOST = 200
"""Approvals on one page of the list; what is left out is counted and said."""
WAYS = {"program": "the host's program", "cli": "the command line", "api": "the API", "console": "this console"}
_KINDS = {"console.css": "text/css", "live.js": "text/javascript", "icon.svg": "image/svg+xml"}


def routes() -> list[BaseRoute]:
    """See the module."""
    return [
        Route("/", _home, methods=["GET"]),
        Route("/approvals", frame.reading(listed), methods=["GET"]),
        Route("/approvals/state", frame.reading(state), methods=["GET"]),
        Route("/approvals/{id}", frame.reading(one), methods=["GET"]),
        Route("/sign-in", sign_in, methods=["GET"]),
        Route("/static/{name}", static, methods=["GET"]),
    ]


async def _home(_: Request) -> Response:
    return RedirectResponse("/approvals", 303)


# -- one approval --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class May:
    """What a person may do about an approval, as far as a page offers it; whether it counts is judged again when they do."""

    vote: bool
    edit: bool
    cancel: bool
    revoke: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What a person had written into a form that is shown again."""

    reason: str = ""
    note: str = ""
    edit: bool = False


async def one(request: Request, person: Person) -> Response:
    """One approval in full."""
    return await shown(request, person, request.path_params["id"])


async def shown(
    request: Request,
    person: Person,
    approval_id: str,
    status: int = 200,
    problem: Problem | None = None,
    typed: Typed | None = None,
) -> Response:
    """The page of an approval as it stands now. Raises ApprovalError for one that this person may not see."""
    view = await site(request).guard.approvals.view(approval_id, person.session)
    problem = problem or await asyncio.to_thread(links.told, request, person, view.approval)
    await asyncio.to_thread(site(request).viewings.note, request, person, [view])
    told, acts = told_of(view, site(request).clock()), may(view, person)
    offers = await asyncio.to_thread(giving.offered, request, person, view) if acts.vote else []
    return frame.page(
        request,
        person,
        "approval.html",
        status,
        b=told,
        may=acts,
        offers=offers,
        given=await asyncio.to_thread(giving.from_here, request, person, view.approval),
        cannot=cannot(view, person),
        ended=ended(view.approval),
        ran=view.ran,
        fields=fields_of(view.approval),
        alike=await asyncio.to_thread(alike, request, view.approval) if view.entitled else None,
        problem=problem,
        typed=typed or Typed(),
        state=stands(view.approval, view.ran),
        ways=WAYS,
        private=view.entitled,
        whole="whole" in request.query_params,
    )


def told_of(view: View, now: float) -> Briefing:
    """The briefing of a view."""
    needs = view.needs if view.approval.status == "pending" else None
    return briefing(view.approval, view.document, view.presented, now, needs, view.gone)


def may(view: View, person: Person) -> May:
    """What to offer."""
    approval, votes = view.approval, "vote" in person.scopes
    open_, own = approval.status == "pending", owns(approval, person)
    decides = votes and view.entitled and not voted(approval, person)
    return May(
        vote=open_ and decides,
        edit=open_ and votes and view.entitled and bool(approval.editable),
        cancel=open_ and votes and (own or view.entitled),
        revoke=approval.status == "approved" and votes and (view.entitled or voted(approval, person)),
    )


def owns(approval: Approval, person: Person) -> bool:
    """Whether this person asked for it."""
    return concerns(approval, person.session)


def voted(approval: Approval, person: Person) -> bool:
    """Whether this person has voted already."""
    return any(person.session.means(vote.by) for vote in approval.votes)


def cannot(view: View, person: Person) -> str:
    """Why this person cannot vote, in words."""
    if voted(view.approval, person):
        return "You have voted. Another person must decide as well."
    if wrote(view.approval, person.session):
        return "You changed this call; another person must decide."
    if owns(view.approval, person) and not view.entitled:
        return "This was asked for you; another person must decide."
    return "You may read this and not decide about it." if view.entitled else "You may not decide about this."


def stands(approval: Approval, ran: Ran | None = None) -> str:
    """A mark that is another one whenever the approval was acted upon, or its call came further."""
    now = "" if ran is None else ran.status
    return digest("guard-page-v1", approval.id, approval.status, str(approval.revision), str(len(approval.votes)), now)[:16]


# -- the list ------------------------------------------------------------------------------------------------------------


async def listed(request: Request, person: Person) -> Response:
    """The approvals that this person may see, with filters."""
    query = request.query_params
    status = query.get("status", "pending")
    if status not in (*STATUSES, "all"):
        status = "pending"
    found = [row for row in await seen(request, person, status) if _wanted(row, query.get("tool", ""), query.get("person", ""))]
    return frame.page(
        request,
        person,
        "approvals.html",
        rows=[(row, site(request).approvals.entitled(row, person.session)) for row in found[:MOST]],
        total=len(found),
        wanted=status,
        statuses=STATUSES,
        tool=query.get("tool", ""),
        who=query.get("person", ""),
        now=site(request).clock(),
        me=person.session,
        state=_state_of(found),
    )


async def seen(request: Request, person: Person, status: str) -> list[Approval]:
    """Approvals that this person may decide about, asked for or edited: those that wait oldest first, all others newest first."""
    approvals, tenant = site(request).approvals, person.session.tenant
    given = await asyncio.to_thread(approvals.list, status=None if status == "all" else status, tenant=tenant)
    mine = [row for row in given if owns(row, person) or wrote(row, person.session) or approvals.entitled(row, person.session)]
    return mine if status == "pending" else mine[::-1]


def _wanted(row: Approval, tool: str, who: str) -> bool:
    people = (row.requester, row.decided_by or "", *(vote.by for vote in row.votes))
    return tool.casefold() in row.tool.casefold() and any(
        who.casefold() in real(name).casefold() or who == name for name in people
    )


def _state_of(rows: Iterable[Approval]) -> str:
    return digest("guard-list-v1", *map(stands, rows))[:16]


async def state(request: Request, person: Person) -> Response:
    """The mark of the list, or of one approval."""
    query = request.query_params
    if "id" in query:
        return JSONResponse({"state": await _state_of_one(request, person, query["id"])})
    rows = await seen(request, person, query.get("status", "pending"))
    found = _state_of(row for row in rows if _wanted(row, query.get("tool", ""), query.get("person", "")))
    return JSONResponse({"state": found})


async def _state_of_one(request: Request, person: Person, name: str) -> str:
    try:
        view = await site(request).guard.approvals.view(name, person.session)
    except ApprovalError:
        return ""
    return stands(view.approval, view.ran)


# -- signing in, and files -----------------------------------------------------------------------------------------------


async def sign_in(request: Request) -> Response:
    """The form for a token."""
    onward = guarding.local_path(request.query_params.get("next", ""))
    failed = "failed" in request.query_params
    provider = site(request).settings.provider is not None
    return frame.page(request, None, "sign_in.html", onward=onward, failed=failed, provider=provider)


async def static(request: Request) -> Response:
    """A file of the console, of the three that there are."""
    name = request.path_params["name"]
    if name not in _KINDS:
        return frame.refused(request, None, "There is no such file.", 404)
    return Response(_file(name), media_type=_KINDS[name])


@cache
def _file(name: str) -> bytes:
    return (html.HERE / "static" / name).read_bytes()
