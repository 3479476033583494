"""What is stopped: a page on which an admin reads what is stopped in their tenant, stops a tool, a conversation or all of it, and lets it go on.

    GET  /kill               what is stopped, and a form
    POST /kill               tool, conversation, all, reason
    POST /kill/{id}/clear    reason

All of it takes the scope `admin`; what a kill does is in `guard.kills`. Comes after frame and kill_api, whose bounds it shares.
"""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from guard.core.kills import words
from guard.errors import ApprovalError, GuardError, StoreError
from guard.web import frame, guarding, kill_api
from guard.web.asking import Asked
from guard.web.frame import Problem, field
from guard.web.people import Person
from guard.web.site import site

_EMPTY = {"tool": "", "conversation": "", "reason": ""}
_SHOWN = 50
"""Cleared ones that are shown, the newest."""


def routes() -> list[BaseRoute]:
    """See the module."""
    return [
        Route("/kill", frame.administering(listed), methods=["GET"]),
        Route("/kill", frame.administering(stop, changes=True), methods=["POST"]),
        Route("/kill/{id}/clear", frame.administering(clear, changes=True), methods=["POST"]),
    ]


async def listed(request: Request, person: Person) -> Response:
    """What is stopped."""
    return await _page(request, person)


async def _page(
    request: Request, person: Person, status: int = 200, problem: Problem | None = None, typed: dict[str, str] | None = None
) -> Response:
    asked = Asked(request=request, person=person)
    found = await asyncio.to_thread(kill_api.seen, kill_api.kills_of(asked), person.session, None)
    live = [(one, words(one.stop), one.stop.tenant is not None) for one in found if one.cleared_at is None]
    over = [(one, words(one.stop)) for one in reversed(found) if one.cleared_at is not None][:_SHOWN]
    tools = sorted(site(request).guard.policy.tools)
    return frame.page(
        request,
        person,
        "kill.html",
        status,
        live=live,
        over=over,
        tools=tools,
        problem=problem,
        typed={**_EMPTY, **(typed or {})},
    )


async def stop(request: Request, person: Person) -> Response:
    """Stop what the form names."""
    form = await guarding.form(request)
    reason = frame.words(form, "reason")
    typed = {name: field(form, name) for name in ("tool", "conversation", "all")}
    tool, conversation = typed["tool"] or None, typed["conversation"].strip() or None
    if not reason:
        return await _page(request, person, 422, Problem(title="Nothing was stopped", text="Say why."), typed)
    if tool is None and conversation is None and typed["all"] != "yes":
        text = "Choose a tool, write a conversation, or tick that everything in the tenant stops."
        return await _page(request, person, 422, Problem(title="Nothing was stopped", text=text), {**typed, "reason": reason})
    asked = Asked(request=request, person=person)
    try:
        await asyncio.to_thread(kill_api.stop, asked, reason, tool=tool, conversation=conversation)
    except StoreError:
        raise
    except GuardError as error:
        return await _page(
            request, person, 422, Problem(title="Nothing was stopped", text=f"{error}."), {**typed, "reason": reason}
        )
    return RedirectResponse("/kill", 303)


async def clear(request: Request, person: Person) -> Response:
    """Let it go on."""
    form = await guarding.form(request)
    reason = frame.words(form, "reason")
    if not reason:
        return await _page(request, person, 422, Problem(title="It is still stopped", text="Say why it may go on."))
    name = request.path_params["id"]
    try:
        await asyncio.to_thread(kill_api.go_on, Asked(request=request, person=person), name, reason)
    except ApprovalError as error:
        if error.code == "already_decided":
            return await _page(request, person, 409, Problem(title="Somebody was faster", text=f"{error}."))
        raise
    return RedirectResponse("/kill", 303)
