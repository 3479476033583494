"""Kill API: what is stopped in a person's tenant, over HTTP: listing, stopping, letting go on. All of it takes the scope `admin`.

    GET  /api/v1/kill                  what is stopped and may cover calls of this tenant
    POST /api/v1/kill                  stop a tool, a conversation, or what is both, within this tenant; without either, all of the tenant
    POST /api/v1/kill/{id}/clear       let new calls go on; what was stopped for every tenant is cleared at the store, with `guard kill`

Nobody reaches beyond the tenant of their credential. What a kill does is in `guard.kills`. Comes after asking; before the app.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from guard.core.kills import Kill, plain
from guard.core.model import Session
from guard.core.values import Json
from guard.errors import ApprovalError, GuardError, StoreError
from guard.runner.kills import Kills
from guard.web import bodies, shapes, voting
from guard.web.answers import answer
from guard.web.asking import Asked, asking
from guard.web.bodies import RequestError
from guard.web.site import site

STATUSES = ("set", "cleared", "all")


def routes() -> list[BaseRoute]:
    """See the module."""
    return [
        Route("/api/v1/kill", asking("admin", listed), methods=["GET"]),
        Route("/api/v1/kill", asking("admin", set_), methods=["POST"]),
        Route("/api/v1/kill/{id}/clear", asking("admin", clear), methods=["POST"]),
    ]


def kills_of(asked: Asked) -> Kills:
    """The kills of the server's store."""
    return Kills(site(asked.request).guard)


async def listed(asked: Asked) -> Response:
    """Those in force, unless another status is asked for."""
    given = asked.request.query_params
    status = given.get("status", "set")
    if not {*given} <= {"status"} or len(given.multi_items()) > 1 or status not in STATUSES:
        raise RequestError(f"filters, each once: status ({', '.join(STATUSES)})")
    found = await asyncio.to_thread(seen, kills_of(asked), asked.person.session, None if status == "all" else status)
    return answer({"kills": [plain(one, shapes.moment) for one in found]})


def seen(kills: Kills, me: Session, status: str | None) -> tuple[Kill, ...]:
    """What may cover calls of this person's tenant."""
    return kills.list(status=cast("Any", status), tenant=me.tenant)


async def set_(asked: Asked) -> Response:
    """Stop a tool, a conversation, or the tenant."""
    bodies.fields(asked.body, ("reason",), ("tool", "conversation"))
    reason = voting.why(asked.body)
    scope = {name: _name(asked.body.get(name), name) for name in ("tool", "conversation")}
    try:
        made = await asyncio.to_thread(stop, asked, reason, **scope)
    except ApprovalError as error:
        if error.code == "unknown_tool":
            raise RequestError(str(error), 422) from None
        raise
    except StoreError:
        raise
    except GuardError as error:  # a text that no store can keep
        raise RequestError(str(error)) from None
    return answer(plain(made, shapes.moment))


def stop(asked: Asked, reason: str, *, tool: str | None, conversation: str | None) -> Kill:
    """Set a kill within the tenant of whoever asks."""
    me, how = asked.person.session, _how(asked)
    return kills_of(asked).set(by=me, reason=reason, tool=tool, conversation=conversation, tenant=me.tenant, **how)


async def clear(asked: Asked) -> Response:
    """Let new calls go on."""
    bodies.fields(asked.body, ("reason",))
    reason = voting.why(asked.body)
    try:
        return answer(plain(await asyncio.to_thread(go_on, asked, asked.id, reason), shapes.moment))
    except ApprovalError as error:
        if error.code != "already_decided":
            raise
        now = await asyncio.to_thread(kills_of(asked).show, asked.id)
        return answer({"error": str(error), "code": error.code, "now": plain(now, shapes.moment)}, 409)


def go_on(asked: Asked, name: str, reason: str) -> Kill:
    """Clear a kill of the tenant of whoever asks. Raises ApprovalError."""
    kills, me = kills_of(asked), asked.person.session
    found = next((one for one in seen(kills, me, None) if one.id == name), None)
    if found is None:
        raise ApprovalError("not_found", f"there is no kill {name} that this person may clear")
    if found.stop.tenant is None:
        raise ApprovalError("not_entitled", "this stop holds for every tenant: it is cleared at the store, with guard kill clear")
    return kills.clear(found, by=me, reason=reason, **_how(asked))


def _how(asked: Asked) -> dict[str, Any]:
    return {"via": asked.person.via, "assurance": asked.person.assurance}


def _name(value: Json, what: str) -> str | None:
    return None if value is None else bodies.text(value, what)
