"""Grants API: standing permissions over HTTP: what could be given from an approval, giving it, listing, taking back.

    GET  /api/v1/grants                       those that this person may see
    GET  /api/v1/approvals/{id}/offers        what this person could give from an approval, in words, and what a vote carries of it
    POST /api/v1/grants                       give one, within what the policy offers; with `presented` only what was read
    POST /api/v1/grants/{id}/revoke           take one back

What may be given, and by whom, is judged by `guard.grants`. Comes after asking; before the app.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any, cast

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from guard.core.grants import Grant, shown
from guard.core.offers import SCOPES
from guard.core.presented import mask
from guard.core.values import JsonObject, is_number
from guard.errors import ApprovalError
from guard.runner.grants import Grants
from guard.web import bodies, giving, shapes, voting
from guard.web.answers import answer
from guard.web.asking import Asked, asking
from guard.web.bodies import RequestError
from guard.web.site import site

STATUSES = ("proposed", "live", "spent", "expired", "revoked")
_FILTERS = ("status", "principal", "conversation", "approval")
_PLAIN = (
    "id",
    "tenant",
    "principal",
    "conversation",
    "branch",
    "tool",
    "definition",
    "kind",
    "need",
    "scope",
    "uses",
    "policy",
    "approval",
    "reason",
    "revoked_by",
    "used",
    "summed",
)


def routes() -> list[BaseRoute]:
    """See the module."""
    return [
        Route("/api/v1/grants", asking("read", listed), methods=["GET"]),
        Route("/api/v1/grants", asking("vote", give), methods=["POST"]),
        Route("/api/v1/grants/{id}/revoke", asking("vote", revoke), methods=["POST"]),
        Route("/api/v1/approvals/{id}/offers", asking("read", offers), methods=["GET"]),
    ]


def _grants(asked: Asked) -> Grants:
    return Grants(site(asked.request).guard)


async def listed(asked: Asked) -> Response:
    """The grants that this person gave, may take back, or whose calls they cover; live ones unless another status is asked for."""
    given = asked.request.query_params
    if not {*given} <= {*_FILTERS} or len(given.multi_items()) > len({*given}):
        raise RequestError(f"filters, each once: {', '.join(_FILTERS)}")
    status = given.get("status", "live")
    if status not in (*STATUSES, "all"):
        raise RequestError(f"status must be {', '.join(STATUSES)} or all")

    def work() -> list[JsonObject]:
        grants, me = _grants(asked), asked.person.session
        exact: dict[str, Any] = {name: given.get(name) for name in _FILTERS if name != "status"}
        found = grants.list(status=None if status == "all" else cast("Any", status), tenant=me.tenant, **exact)
        return [told(asked, grants, one) for one in found if grants.concerns(one, me)]

    return answer({"grants": await asyncio.to_thread(work)})


async def offers(asked: Asked) -> Response:
    """What could be given from an approval."""

    def work() -> list[JsonObject]:
        found = _grants(asked).choices(asked.id, by=asked.person.session, assurance=cast("Any", asked.person.assurance))
        return [giving.told(one) for one in found]

    return answer({"offers": await asyncio.to_thread(work)})


async def give(asked: Asked) -> Response:
    """Give one: what it permits stands in the answer, in words."""
    bodies.fields(asked.body, ("approval", "scope"), ("reason", "presented", "uses", "until", "at_most", "sum"))
    name, scope = bodies.text(asked.body["approval"], "approval"), asked.body["scope"]
    if scope not in SCOPES:
        raise RequestError(f"scope must be {', '.join(SCOPES)}")
    reason = voting.why(asked.body) if asked.body.get("reason") is not None else None
    read = asked.body.get("presented")
    shown = None if read is None else bodies.text(read, "presented")
    bounds = {key: _bound(asked.body, key) for key in ("uses", "until", "at_most", "sum")}

    def work() -> JsonObject:
        grants = _grants(asked)
        made = grants.give(
            name,
            by=asked.person.session,
            scope=cast("Any", scope),
            reason=reason,
            assurance=cast("Any", asked.person.assurance),
            shown=shown,
            **cast("Any", bounds),
        )
        return told(asked, grants, made)

    return answer(await asyncio.to_thread(work))


async def revoke(asked: Asked) -> Response:
    """Take one back."""
    bodies.fields(asked.body, ("reason",))
    reason = voting.why(asked.body)

    def work() -> JsonObject:
        grants = _grants(asked)
        if grants.show(asked.id).tenant != asked.person.session.tenant:
            raise ApprovalError("not_found", f"there is no grant {asked.id} that this person may see")
        return told(asked, grants, grants.revoke(asked.id, by=asked.person.session, reason=reason))

    return answer(await asyncio.to_thread(work))


def _bound(body: JsonObject, name: str) -> Any:
    """A bound of the giver's own: a whole number, an amount, or a moment as RFC 3339 text."""
    value = body.get(name)
    if value is None:
        return None
    if name == "until":
        return giving.moment(value)
    if not is_number(value) or isinstance(value, bool) or (name == "uses" and not isinstance(value, int)):
        raise RequestError(f"{name} must be a {'whole ' if name == 'uses' else ''}number")
    return value if isinstance(value, int) else Decimal(value)


def told(asked: Asked, grants: Grants, grant: Grant) -> JsonObject:
    """A grant as JSON, with what it permits in words."""
    plain: JsonObject = {name: getattr(grant, name) for name in _PLAIN}
    return {
        **plain,
        "status": grant.status(site(asked.request).guard.store.now()),
        "stands": grants.stands(grant),
        "sum": grant.sum,
        "constraint": shown(grant, mask),
        "words": list(grants.words(grant)),
        "givers": [{"by": one.by, "at": shapes.moment(one.at), "assurance": one.assurance} for one in grant.givers],
        "given_at": shapes.moment(grant.at),
        "until": shapes.moment(grant.until),
        "revoked_at": shapes.moment(grant.revoked_at),
    }
