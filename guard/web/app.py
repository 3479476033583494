"""App: the routes of the loops' API, of the approvals' API, of signing in and of the pages, as one application for the server.

What holds for every answer stands around them: `Headers` outermost, then `Gate`. Comes after all routes; before the server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from guard.runner import Approvals
from guard.runner.doubts import Doubts
from guard.web import approvals_api, audit_api, console, grants_api, kill_api, signing
from guard.web.answers import problem
from guard.web.api import Api
from guard.web.bodies import RequestError
from guard.web.events import Feed
from guard.web.gate import Gate
from guard.web.headers import Headers
from guard.web.oidc import Oidc, needs_authlib
from guard.web.people import People
from guard.web.remote import Remote
from guard.web.repeats import Repeats
from guard.web.settings import Settings
from guard.web.site import Site
from guard.web.tokens import Tokens
from guard.web.viewing import Viewings

if TYPE_CHECKING:
    from guard.compose import AsyncGuard

PAGES: tuple[Callable[[], list[BaseRoute]], ...] = (console.routes,)
"""What gives the routes of the pages; `site(request)` and `people.who_may(request, scope)` are all that they need."""


class Application:
    """What the server serves; `close` ends what has no end of its own."""

    def __init__(self, app: ASGIApp, feed: Feed) -> None:
        self._app, self._feed = app, feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        await self._app(scope, receive, send)

    async def close(self) -> None:
        """End the streams of events, so that a stop need not wait for them."""
        await self._feed.close()


def application(
    guard: AsyncGuard,
    remote: Remote,
    tokens: Tokens,
    *,
    clock: Callable[[], float],
    settings: Settings | None = None,
    link_keys: Sequence[bytes] = (),
) -> Application:
    """The application to serve. `clock` gives seconds since the epoch; `link_keys` sign links besides those of the settings."""
    known = settings or Settings()
    people = People(tokens=tokens, settings=known, clock=clock, known=lambda: guard.policy.people, secret=guard.store.secret)
    ours = [*Api(guard, remote, tokens, clock).routes(), *approvals_api.routes(), *grants_api.routes(), *kill_api.routes()]
    ours += audit_api.routes()
    ours += signing.routes()
    routes = [*ours, *(route for pages in PAGES for route in pages())]
    app = Starlette(routes=routes, exception_handlers={RequestError: _refused, HTTPException: _refused})
    app.router.redirect_slashes = False  # it would send people to whatever host they say they asked
    approvals = Approvals(guard)
    feed = Feed(approvals)
    app.state.site = Site(
        guard=guard,
        people=people,
        settings=known,
        clock=clock,
        approvals=approvals,
        doubts=Doubts(guard),
        repeats=Repeats(),
        feed=feed,
        viewings=Viewings(guard.store, guard.redactor),
        oidc=_oidc(known, guard.store.secret),
        link_keys=tuple(dict.fromkeys((*known.link_keys, *link_keys))),
    )
    return Application(Headers(Gate(app), https=known.https), feed)


def _oidc(settings: Settings, secret: bytes) -> Oidc | None:
    if settings.provider is None:
        return None
    needs_authlib()
    return Oidc(settings.provider, redirect=f"{settings.public_url}/sign-in/oidc/callback", secret=secret)


async def _refused(request: Request, error: Exception) -> Response:
    """A request that is not answered: as JSON to a program, in a line to a person."""
    ours = isinstance(error, RequestError)
    status = int(getattr(error, "status" if ours else "status_code", 500))
    said = str(error) if ours else str(getattr(error, "detail", ""))
    api = request.url.path.startswith("/api/")
    found = problem(said, status) if api else PlainTextResponse(f"{status}: {said}\n", status)
    found.headers.update(getattr(error, "headers", None) or {})
    return found
