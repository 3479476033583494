"""Audit pages: what an auditor reads at a browser: a search in the records, the life of one call, a month with its charts. GET only; nothing changes but the record of a file taken along.

    GET /audit                 records, newest first, with filters
    GET /audit/report          a month; `month`
    GET /audit/report/file     the same as a file that needs nothing else
    GET /audit/style.css       how these pages look
    GET /audit/{id}            the life of one call, by any of its names

For people with the scope `admin`, and only the records of their own tenant. What is shown is made in `guard.auditing`. Comes after frame; beside pages.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from guard.auditing import left, lists, moments, page
from guard.auditing.blocks import sections
from guard.auditing.entry import Entry
from guard.auditing.month import report
from guard.auditing.timeline import candidates, life
from guard.core import audit_exports
from guard.core.actors import human
from guard.core.ports import Store
from guard.core.values import JsonObject
from guard.web import audit_search, frame
from guard.web.bodies import RequestError
from guard.web.people import Person
from guard.web.site import site
from guard.web.viewing import ahead

SHOWN = 100
"""Records of one page."""


def routes() -> list[BaseRoute]:
    """See the module."""
    return [
        Route("/audit", _for_auditors(searched), methods=["GET"]),
        Route("/audit/report", _for_auditors(month), methods=["GET"]),
        Route("/audit/report/file", _for_auditors(filed), methods=["GET"]),
        Route("/audit/style.css", style, methods=["GET"]),
        Route("/audit/{id:path}", _for_auditors(one), methods=["GET"]),
    ]


def _for_auditors(endpoint: frame.Endpoint) -> Callable[[Request], Any]:
    """A page for whoever runs the console: records are about everybody of a tenant."""

    async def entitled(request: Request, person: Person) -> Response:
        if "admin" not in person.scopes:
            raise RequestError("the audit is for people whose credential has the scope admin", 403)
        return await endpoint(request, person)

    return frame.reading(entitled)


def address(name: str) -> str:
    """Where a call, approval or record is shown."""
    return f"/audit/{quote(name, safe='/', errors='replace')}"


def _store(request: Request) -> Store:
    return site(request).guard.store


async def style(_: Request) -> Response:
    """The style of the blocks."""
    return Response(_STYLE, media_type="text/css")


# -- a search ----------------------------------------------------------------------------------------------------------


async def searched(request: Request, person: Person) -> Response:
    """Records that meet the filters."""
    query = {name: value.strip()[: audit_search.LONGEST] for name, value in request.query_params.items()}
    store = _store(request)
    problem = ""
    try:
        found = await asyncio.to_thread(audit_search.found, query, person.session.tenant, store, SHOWN + 1)
    except ValueError as error:
        problem, found = str(error), []
    more = _onward(query, found[SHOWN - 1]) if len(found) > SHOWN else ""
    if not more and not problem:
        gone = await asyncio.to_thread(audit_search.gone, query, person.session.tenant, store)
        problem = ". ".join(map(left.told, gone))
    return frame.page(
        request,
        person,
        "audit.html",
        body=Markup(lists.found(found[:SHOWN], address)) if found else "",  # noqa: S704 - made inert there
        fields=audit_search.FIELDS,
        marks=audit_search.MARKS,
        query=query,
        more=more,
        told=problem,
        open=any(query.values()),
    )


def _onward(query: dict[str, str], last: Entry) -> str:
    kept = {name: value for name, value in query.items() if value and name != "behind"}
    behind = audit_search.onward(last)
    return "/audit?" + "&".join(
        f"{quote(name)}={quote(value, errors='replace')}" for name, value in {**kept, "behind": behind}.items()
    )


# -- one call ----------------------------------------------------------------------------------------------------------


async def one(request: Request, person: Person) -> Response:
    """The life of one call, or the calls that a name may mean."""
    name, tenant, store = request.path_params["id"], person.session.tenant, _store(request)
    found = await asyncio.to_thread(candidates, store, name, tenant)
    if not found:
        raise RequestError("No record of yours is about it.", 404)
    if len(found) > 1:
        names = [lists.name(each) if isinstance(each, Entry) else each.name for each in found]
        return frame.page(request, person, "audit_names.html", called=name, names=[(each, address(each)) for each in names])
    told = await asyncio.to_thread(life, store, found[0])
    body = Markup(lists.told(told))  # noqa: S704 - made inert there
    return frame.page(request, person, "audit_one.html", body=body, called=told.place.name if told.place else name)


# -- a month -----------------------------------------------------------------------------------------------------------


async def _made(request: Request, person: Person) -> JsonObject:
    store = _store(request)
    name = request.query_params.get("month", "") or moments.month_of(store.now())
    try:
        return await asyncio.to_thread(report, store, name, tenant=person.session.tenant)
    except ValueError:
        raise RequestError("Write a month as 2026-11.", 404) from None


async def month(request: Request, person: Person) -> Response:
    """A month, with its charts."""
    made = await _made(request, person)
    body = Markup(page.preface(made) + sections(made, address))  # noqa: S704 - made inert there
    return frame.page(request, person, "audit_report.html", body=body, title=page.title(made), month=made["month"])


async def filed(request: Request, person: Person) -> Response:
    """The same as one file. That it was taken along, and by whom, is on record before it is sent."""
    if ahead(request):
        raise RequestError("A report is given to whoever asks for it, and not fetched ahead.", 503)
    made = await _made(request, person)
    name, data = f"audit-{made['month']}.html", page.whole(made).encode("utf-8", "replace")
    if request.method != "HEAD":
        actor = human(person.session, site(request).guard.redactor)
        event = audit_exports.taken("report", name, hashlib.sha256(data).hexdigest(), actor, person.session.tenant)
        await asyncio.to_thread(_store(request).record, (), [event])
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, headers=headers, media_type="text/html")


_STYLE = (
    page.BLOCKS_STYLE
    + """
main.audit-wide,main:has(.report){max-width:72rem}.report{background:none}
.audit-form{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,13rem),1fr));gap:.5rem 1rem;align-items:end}.audit-form fieldset{border:0;margin:0;padding:0;grid-column:1/-1;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem}
.audit-form label.mark{display:inline-flex;gap:.4rem;align-items:center;min-height:2.75rem}
.life{list-style:none;margin:1rem 0;padding:0}.life li{border-left:4px solid var(--line);padding:.1rem 0 .8rem 1rem;margin:0}.life h2{margin:0}
.life li.good{border-color:var(--yes)}.life li.bad{border-color:var(--no)}.life li.held{border-color:var(--warn-line)}.life code{font-size:.75rem;overflow-wrap:anywhere}
"""
)
