"""API: what a loop in another language asks: which tools there are, whether a call may run, how it ended. JSON in, JSON out.

    POST /api/v1/tools    the tools that a session may see
    POST /api/v1/said     what the user said, so that a value may be grounded in it
    POST /api/v1/decide   one proposed call: its outcome, or a ticket with the arguments to run it with
    POST /api/v1/report   how a call with a ticket ended: its outcome

The walk is the same as everywhere; this only carries words. Comes after remote, bodies and tokens; before the server.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from guard.core.model import Image, Outcome, Session
from guard.core.telling import told
from guard.core.values import Json, JsonObject
from guard.errors import ConversationError, GuardError
from guard.runner.tracing import within
from guard.web import bodies
from guard.web.answers import answer, problem
from guard.web.bodies import RequestError
from guard.web.description import described
from guard.web.remote import ContradictedError, Remote, SettledError, Ticket
from guard.web.site import site
from guard.web.tokens import Token, Tokens
from guard.wires import wire as wire_named

if TYPE_CHECKING:
    from guard.compose import AsyncGuard

LOG = logging.getLogger("guard.web")
_WIRES = ("openai-chat", "anthropic")
Verb = Callable[["Api", JsonObject, Token], Awaitable[JsonObject]]


class Api:
    """The verbs, over one guard."""

    def __init__(self, guard: AsyncGuard, remote: Remote, tokens: Tokens, clock: Callable[[], float]) -> None:
        self.guard, self.remote, self.tokens, self._clock = guard, remote, tokens, clock

    def routes(self) -> list[BaseRoute]:
        """The verbs, and what describes them."""
        routes = [Route(f"/api/v1/{name}", self._endpoint(verb), methods=["POST"]) for name, verb in VERBS.items()]
        return [*routes, Route("/api/v1/openapi.json", self._description, methods=["GET"])]

    async def _description(self, _: Request) -> Response:
        return answer(described())

    def _endpoint(self, verb: Verb) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                token = await self._token(request)
                with within(request.headers.get("traceparent")):
                    return answer(await verb(self, await bodies.read_object(request), token))
            except RequestError as error:
                return problem(str(error), error.status)
            except ConversationError:
                return problem("the conversation belongs to somebody else", 403)
            except OverflowError as error:
                return problem(str(error), 503)
            except Exception as error:  # noqa: BLE001 - the loop gets an answer and no text of an exception
                LOG.warning("a request failed: %s", type(error).__name__)
                return problem("the request could not be carried out", 503)

        return endpoint

    async def _token(self, request: Request) -> Token:
        """Whose request it is. Raises RequestError where nobody's."""
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        try:
            found = self.tokens.whose(secret.strip(), self._clock()) if scheme.lower() == "bearer" else None
        except GuardError:
            raise RequestError("the file of tokens cannot be read", 503) from None
        if found is None:
            if scheme:
                await site(request).people.slowing.wrong(site(request).settings.address(request))
            raise RequestError("send Authorization: Bearer TOKEN; make one with guard serve token add NAME", 401)
        if "propose" not in found.scopes:
            raise RequestError("this token may not propose calls", 403)
        return found

    def session(self, body: JsonObject, token: Token) -> Session:
        """The session of a request, where the token may bring it."""
        found = bodies.session(body["session"])
        if token.tenant and found.tenant != token.tenant:
            raise RequestError(f"this token is for the tenant {token.tenant}", 403)
        return found


# -- the verbs -----------------------------------------------------------------------------------------------------------


async def tools(api: Api, body: JsonObject, token: Token) -> JsonObject:
    """The tools that the session may see, in the form of a wire; bound fields are not among their arguments."""
    bodies.fields(body, ("session",), ("wire",))
    session, wire = api.session(body, token), body.get("wire", _WIRES[0])
    if wire not in _WIRES:
        raise RequestError(f"wire must be {' or '.join(_WIRES)}")
    now = api.guard.in_force
    names = now.visible(session)
    return {"tools": wire_named(wire).tools([told(tool) for name, tool in now.policy.tools.items() if name in names])}


async def said(api: Api, body: JsonObject, token: Token) -> JsonObject:
    """Register what the user said."""
    bodies.fields(body, ("session", "conversation", "text"))
    chat = api.guard.open(
        api.session(body, token), wire=_WIRES[0], conversation=bodies.text(body["conversation"], "conversation")
    )
    await chat.user(bodies.text(body["text"], "text"))
    return {"registered": True}


async def decide(api: Api, body: JsonObject, token: Token) -> JsonObject:
    """Walk one call: its outcome, or a ticket where the loop is to run it now."""
    bodies.fields(body, ("session", "conversation", "call"), ("key", "words"))
    session, call = api.session(body, token), bodies.call(body["call"])
    conversation = bodies.text(body["conversation"], "conversation")
    key = None if body.get("key") is None else bodies.text(body["key"], "key")
    words = _words(body.get("words"))
    tool = api.guard.policy.tools.get(call.tool)
    found = await api.remote.propose(
        lambda: api.guard.call(call, session, conversation=conversation, key=key, words=words),
        token.name,
        None if tool is None else tool.timeout,
    )
    if isinstance(found, Outcome):
        return {"decision": _DECISIONS.get(found.status, "answer"), **_told(found)}
    return _run(found)


def _words(given: Json) -> str:
    return "" if given is None else bodies.text(given, "words", empty=True)


async def report(api: Api, body: JsonObject, token: Token) -> JsonObject:
    """Say how a call ended and get what the model may see of it."""
    bodies.fields(body, ("ticket", "status"), ("result", "message"))
    try:
        found = await api.remote.report(bodies.text(body["ticket"], "ticket"), bodies.report(body), token.name)
    except SettledError:
        said = "a person has settled this call otherwise: that stands, and this report is on record as disagreeing"
        raise RequestError(said, 409) from None
    except ContradictedError:
        raise RequestError("this call was reported already, and otherwise: the first report counts", 409) from None
    if found is None:
        raise RequestError(
            "no call waits under this ticket: it was given up or the server was started again; an action is unknown: do not run it "
            "again, keep what it returned, and let a person settle it (guard approvals unknown)",
            404,
        )
    return _told(found)


VERBS: dict[str, Verb] = {"tools": tools, "said": said, "decide": decide, "report": report}
_DECISIONS = {"refused": "refuse", "held": "hold"}


def _run(ticket: Ticket) -> JsonObject:
    given = {"ticket": ticket.token, "arguments": ticket.arguments, "idempotency_key": ticket.key, "timeout": ticket.timeout}
    return {"decision": "allow", **given}


def _told(outcome: Outcome) -> JsonObject:
    """An outcome as the loop gets it; `content` is what goes back to the model."""
    content: Any = outcome.content
    if not isinstance(content, str):
        content = [_block(block) for block in content]
    return {
        "call_id": outcome.call_id,
        "tool": outcome.tool,
        "status": outcome.status,
        "reason": outcome.reason,
        "content": content,
        "error": outcome.error,
        "replayed": outcome.replayed,
        "approval": outcome.approval,
    }


def _block(block: str | Image) -> JsonObject:
    return (
        {"type": "text", "text": block}
        if isinstance(block, str)
        else {"type": "document" if block.document else "image", "media_type": block.media_type, "data": block.data}
    )
