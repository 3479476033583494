"""Approvals API: what a program or script of a person sees of approvals and does about them. JSON in, JSON out.

    GET  /api/v1/me                          whose credential this is
    GET  /api/v1/approvals                   those that this person may see
    GET  /api/v1/approvals/{id}              one in full, with what a vote must carry
    POST /api/v1/approvals/{id}/votes        a yes or no to exactly what was shown, a yes with a grant that was read
    POST /api/v1/approvals/votes             several, each with its own result
    POST /api/v1/approvals/{id}/edits        other arguments: a new revision
    POST /api/v1/approvals/{id}/cancel, /revoke
    GET  /api/v1/unknown, POST /api/v1/unknown/{id}/resolve
    GET  /api/v1/events                      what changes, as it changes

A credential's scopes bound what is asked here; whether somebody's word counts is judged by `guard.approvals` where it is written down. A program's token
gets 403. Comes after people, guarding and desk; before the app.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from guard.core.grants import Grant
from guard.core.values import JsonObject
from guard.errors import ApprovalError
from guard.runner.grants import Grants
from guard.web import bodies, giving, grants_api, voting
from guard.web.answers import answer
from guard.web.asking import Asked, asking, desk, refused_of
from guard.web.bodies import RequestError
from guard.web.desk import STATUSES, Wanted
from guard.web.events import events
from guard.web.site import site

_FILTERS = ("status", "tool", "requester", "conversation", "limit", "after")
MOST_LISTED = 200
"""Approvals of one page."""


def routes() -> list[BaseRoute]:
    """See the module."""
    place = "/api/v1/approvals"
    return [
        Route("/api/v1/me", asking("read", me), methods=["GET"]),
        Route(place, asking("read", listed), methods=["GET"]),
        Route(f"{place}/votes", asking("vote", batch), methods=["POST"]),
        Route(f"{place}/{{id}}", asking("read", one), methods=["GET"]),
        Route(f"{place}/{{id}}/votes", asking("vote", vote), methods=["POST"]),
        Route(f"{place}/{{id}}/edits", asking("vote", edit), methods=["POST"]),
        Route(f"{place}/{{id}}/cancel", asking("vote", cancel), methods=["POST"]),
        Route(f"{place}/{{id}}/revoke", asking("vote", revoke), methods=["POST"]),
        Route("/api/v1/unknown", asking("read", doubts), methods=["GET"]),
        Route("/api/v1/unknown/{id}/resolve", asking("vote", resolve), methods=["POST"]),
        Route("/api/v1/events", asking("read", events), methods=["GET"]),
    ]


async def me(asked: Asked) -> Response:
    """Whose credential this is."""
    person = asked.person
    return answer(
        {
            "principal": person.session.principal,
            "tenant": person.session.tenant,
            "roles": list(person.session.roles),
            "scopes": sorted(person.scopes),
            "credential": person.name,
            "assurance": person.assurance,
            "form_token": person.form_token or None,
        }
    )


async def listed(asked: Asked) -> Response:
    """A page of approvals."""
    wanted = _wanted(asked.request)
    return answer(await asyncio.to_thread(desk(asked).page, wanted))


def _wanted(request: Request) -> Wanted:
    """The filters of a list. Raises RequestError for one that means nothing: a list that is not what was asked for misleads."""
    given = request.query_params
    names = [name for name, _ in given.multi_items()]
    if not {*names} <= {*_FILTERS} or len({*names}) < len(names):
        raise RequestError(f"filters, each once: {', '.join(_FILTERS)}")
    status, limit = given.get("status", "pending"), given.get("limit", "50")
    if status not in (*STATUSES, "all"):
        raise RequestError(f"status must be {', '.join(STATUSES)} or all")
    if not (limit.isascii() and limit.isdecimal()) or not 0 < int(limit[:9]) <= MOST_LISTED:
        raise RequestError(f"limit must be 1 to {MOST_LISTED}")
    exact = {name: given.get(name) for name in ("tool", "requester", "conversation")}
    after = _after(given["after"]) if "after" in given else None
    return Wanted(status=None if status == "all" else status, limit=int(limit), after=after, **exact)


def _after(text: str) -> tuple[float, str]:
    when, sign, name = text.partition("~")
    try:
        found = float(when)
    except ValueError:
        found, sign = 0.0, ""
    if not sign or found != found:  # noqa: PLR0124 - not a number is no place in a list
        raise RequestError("after must be the next of an earlier page")
    return found, name


async def one(asked: Asked) -> Response:
    """One approval in full."""

    def work() -> JsonObject:
        mine = desk(asked)
        view = mine.approvals.view(asked.id, mine.me)
        site(asked.request).viewings.note(asked.request, asked.person, [view])
        return mine.told(view)

    return answer(await asyncio.to_thread(work))


async def vote(asked: Asked) -> Response:
    """A yes or no."""
    cast = voting.vote(asked.body)

    def work() -> JsonObject:
        grant = _cast(asked, asked.id, cast)
        more = {} if grant is None else {"grant": grants_api.told(asked, Grants(site(asked.request).guard), grant)}
        return {**desk(asked).shown(asked.id), **more}

    return answer(await asyncio.to_thread(work))


async def batch(asked: Asked) -> Response:
    """Several votes, in the order given; each counts or not by itself."""
    results: list[JsonObject] = []
    for name, cast in voting.votes(asked.body):
        try:
            await asyncio.to_thread(_cast, asked, name, cast)
            state = await asyncio.to_thread(desk(asked).state, name)
            results.append({"approval": name, "status": 200, "now": state})
        except ApprovalError as error:
            status, told = await refused_of(asked, error, name)
            results.append({"approval": name, "status": status, **told})
    return answer({"results": results})


def _cast(asked: Asked, name: str, cast: voting.Cast) -> Grant | None:
    """Hand a vote to where it is judged; the grant that was given with it."""
    approvals, how = site(asked.request).approvals, {"seen": cast.seen, **_how(asked)}
    if cast.grant is not None:
        return giving.approve(asked.request, asked.person, name, cast.grant, {"reason": cast.reason, **how})[1]
    if cast.decision == "approved":
        approvals.approve(name, approver=asked.person.session, reason=cast.reason, **how)
    else:
        approvals.reject(name, approver=asked.person.session, reason=cast.reason, note=cast.note, **how)
    return None


def _how(asked: Asked) -> dict[str, Any]:
    return {"via": asked.person.via, "assurance": asked.person.assurance}


def _act(asked: Asked, verb: str, **how: Any) -> Any:
    return getattr(site(asked.request).approvals, verb)(asked.id, **how, **_how(asked))


async def edit(asked: Asked) -> Response:
    """Other arguments: the new revision, which somebody else decides about."""
    seen, changes, reason = voting.edit(asked.body)

    def work() -> JsonObject:
        made = _act(asked, "edit", editor=asked.person.session, changes=changes, reason=reason, seen=seen)
        return desk(asked).shown(made.id)

    return answer(await asyncio.to_thread(work))


async def cancel(asked: Asked) -> Response:
    """Withdraw a question."""
    return await _end(asked, "cancel")


async def revoke(asked: Asked) -> Response:
    """Take back a yes that was not used yet."""
    return await _end(asked, "revoke")


async def _end(asked: Asked, verb: str) -> Response:
    bodies.fields(asked.body, ("reason",))
    reason = voting.why(asked.body)

    def work() -> JsonObject:
        _act(asked, verb, by=asked.person.session, reason=reason)
        return desk(asked).shown(asked.id)

    return answer(await asyncio.to_thread(work))


async def doubts(asked: Asked) -> Response:
    """The calls in doubt."""

    def work() -> list[JsonObject]:
        here = desk(asked)
        return [here.doubt(one) for one in here.unknown()]

    return answer({"unknown": await asyncio.to_thread(work)})


async def resolve(asked: Asked) -> Response:
    """Settle a call in doubt by this person's word."""
    bodies.fields(asked.body, ("happened", "reason"))
    happened, reason = asked.body["happened"], voting.why(asked.body)
    if not isinstance(happened, bool):
        raise RequestError("happened must be true or false")

    def work() -> JsonObject:
        here = desk(asked)
        found = next((one for one in here.unknown() if one.id == asked.id), None)
        if found is None:
            raise ApprovalError("not_found", "there is no such call in doubt that this person may settle")
        settled = here.doubts.resolve(found, happened=happened, approver=asked.person.session, reason=reason)
        return {**here.doubt(settled), "happened": happened}

    return answer(await asyncio.to_thread(work))
