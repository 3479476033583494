"""Asking: what every request of a person goes through before its route: who it is, whether they meant it, its body, and whether it was sent before.

What does not count is told with what is the case now: who lost a race hears who decided and when. Comes after people, guarding and repeats; before the
routes of the approvals' API.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from guard.core.values import JsonObject
from guard.errors import ApprovalError
from guard.web import bodies, guarding
from guard.web.answers import answer, problem
from guard.web.bodies import RequestError
from guard.web.desk import Desk
from guard.web.people import Person, who_may
from guard.web.site import site

LOG = logging.getLogger("guard.web")
STATUS = {"not_found": 404, "not_entitled": 403, "own": 403, "not_editable": 422, "refused": 422, "not_offered": 422}
"""HTTP's status for a word that does not count; everything else is a conflict with what happened meanwhile: 409."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request of a person who may make it; `body` is that of a POST."""

    request: Request
    person: Person
    body: JsonObject = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The name in the path."""
        return str(self.request.path_params["id"])


Handler = Callable[[Asked], Awaitable[Response]]


def asking(scope: str, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A route for whoever has the scope."""

    async def endpoint(request: Request) -> Response:
        try:
            person = await who_may(request, scope)
            if request.method in ("GET", "HEAD"):
                return await _told(Asked(request=request, person=person), handler)
            await guarding.checked(request, person)
            asked = Asked(request=request, person=person, body=await bodies.read_object(request))
            who = (person.session.tenant, person.session.principal, person.name)
            return await site(request).repeats.once(request, who, asked.body, lambda: _told(asked, handler))
        except RequestError as error:
            return problem(str(error), error.status)
        except Exception as error:  # noqa: BLE001 - whoever asked gets an answer and no text of an exception
            LOG.warning("a request failed: %s", type(error).__name__)
            return problem("the request could not be carried out", 503)

    return endpoint


async def _told(asked: Asked, handler: Handler) -> Response:
    """The handler's answer, or why it does not count."""
    try:
        return await handler(asked)
    except ApprovalError as error:
        status, told = await refused_of(asked, error, asked.request.path_params.get("id", ""))
        return answer(told, status)


async def refused_of(asked: Asked, error: ApprovalError, name: str) -> tuple[int, JsonObject]:
    """The status and the words for something that does not count, and how the approval stands now."""
    told: JsonObject = {"error": str(error), "code": error.code}
    status = STATUS.get(error.code, 409)
    if status == 409:
        told["now"] = await asyncio.to_thread(desk(asked).state, name)
    outcome = error.outcome
    if outcome is not None:
        told["refused"] = {"reason": outcome.reason, "content": outcome.content}
    return status, told


def desk(asked: Asked) -> Desk:
    """What this person may know of."""
    here = site(asked.request)
    return Desk(approvals=here.approvals, doubts=here.doubts, person=asked.person)
