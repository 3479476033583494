"""Signing: how a browser is signed in and out. The page with the form is among the pages; here is what its form is sent to.

    POST /sign-in     form `token` and `next`; gives the cookie of a login and leads on, or back to the page with `failed=1`
    POST /sign-out    ends the login
    GET  /sign-in/oidc, /sign-in/oidc/callback    to the OpenID provider and back

The forms only from a page of this server. Comes after guarding and oidc; before the app.
"""

from __future__ import annotations

import logging
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from guard.web import guarding
from guard.web.bodies import RequestError
from guard.web.logins import Login
from guard.web.oidc import MINUTES, SignInError
from guard.web.site import site

_MOST_BYTES = 16_384  # of a form that anybody may send
LOG = logging.getLogger("guard.web")


def routes() -> list[BaseRoute]:
    """See the module."""
    return [
        Route("/sign-in", sign_in, methods=["POST"]),
        Route("/sign-out", sign_out, methods=["POST"]),
        Route("/sign-in/oidc", to_provider, methods=["GET"]),
        Route("/sign-in/oidc/callback", from_provider, methods=["GET"]),
    ]


async def sign_in(request: Request) -> Response:
    """Sign in with a person's token. A program's token signs nobody in."""
    guarding.same_origin(request)
    here = site(request)
    address = here.settings.address(request)
    here.people.slowing.check(address)
    fields = await guarding.form(request, _MOST_BYTES)
    onward = guarding.local_path(fields.get("next", [""])[0])
    token = here.people.token(fields.get("token", [""])[0].strip())
    if token is None or token.kind != "human":
        await here.people.slowing.wrong(address)
        return RedirectResponse(f"/sign-in?failed=1&next={quote(onward, safe='')}", 303)
    return signed_in(request, here.people.login_of(token), onward)


def signed_in(request: Request, login: Login, onward: str) -> Response:
    """Lead on with a new login; the one that the browser had ends."""
    here, answer = site(request), RedirectResponse(onward, 303)
    _end(request)
    set_cookie(request, answer, here.settings.cookie, here.people.sign_in(login), int(here.settings.absolute))
    return answer


async def sign_out(request: Request) -> Response:
    """End the login of this browser."""
    guarding.same_origin(request)
    _end(request)
    answer = RedirectResponse("/sign-in", 303)
    set_cookie(request, answer, site(request).settings.cookie, "", 0)
    answer.headers["Clear-Site-Data"] = '"cache", "storage"'
    return answer


async def to_provider(request: Request) -> Response:
    """Send the browser to the provider."""
    here = site(request)
    if here.oidc is None:
        raise RequestError("nobody signs in by OpenID here", 404)
    onward = guarding.local_path(request.query_params.get("next", ""))
    try:
        url, cookie = await here.oidc.begin(onward, here.clock())
    except SignInError as error:
        return _failed(error, onward)
    answer = RedirectResponse(url, 303)
    set_cookie(request, answer, _waiting(request), cookie, MINUTES * 60)
    return answer


async def from_provider(request: Request) -> Response:
    """The browser is back with the provider's answer. It fits one sign-in of this browser, and fits once."""
    here = site(request)
    if here.oidc is None or here.settings.provider is None:
        raise RequestError("nobody signs in by OpenID here", 404)
    try:
        cookie = request.cookies.get(_waiting(request), "")
        session, onward = await here.oidc.finish(cookie, request.query_params, here.clock())
    except SignInError as error:
        answer = _failed(error, "/approvals")
    else:
        answer = signed_in(request, here.people.login(session, here.settings.provider.scopes, "oidc"), onward)
    set_cookie(request, answer, _waiting(request), "", 0)
    return answer


def _waiting(request: Request) -> str:
    return f"{site(request).settings.cookie}-oidc"


def _failed(error: SignInError, onward: str) -> Response:
    LOG.warning("nobody was signed in by OpenID: %s", error)
    return RedirectResponse(f"/sign-in?failed=oidc&next={quote(onward, safe='')}", 303)


def _end(request: Request) -> None:
    before = request.cookies.get(site(request).settings.cookie)
    if before:
        site(request).people.logins.end(before)


def set_cookie(request: Request, answer: Response, name: str, value: str, seconds: int) -> None:
    """A cookie that no script reads and no other site's form brings along."""
    answer.set_cookie(name, value, max_age=seconds, path="/", secure=site(request).settings.https, httponly=True, samesite="lax")
