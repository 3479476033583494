"""Signing: how a browser is signed in and out. The page with the form is among the pages; here is what its form is sent to.

    POST /sign-in     form `token` and `next`; gives the cookie of a login and leads on, or back to the page with `failed=1`
    POST /sign-out    ends the login

Both only from a page of this server. Comes after guarding; before the app.
"""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from guard.web import guarding
from guard.web.logins import Login
from guard.web.site import site


def routes() -> list[BaseRoute]:
    """See the module."""
    return [
        Route("/sign-in", sign_in, methods=["POST"]),
        Route("/sign-out", sign_out, methods=["POST"]),
    ]


async def sign_in(request: Request) -> Response:
    """Sign in with a person's token. A program's token signs nobody in."""
    guarding.same_origin(request)
    here = site(request)
    address = here.settings.address(request)
    here.people.slowing.check(address)
    fields = await guarding.form(request)
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


def _end(request: Request) -> None:
    before = request.cookies.get(site(request).settings.cookie)
    if before:
        site(request).people.logins.end(before)


def set_cookie(request: Request, answer: Response, name: str, value: str, seconds: int) -> None:
    """A cookie that no script reads and no other site's form brings along."""
    answer.set_cookie(name, value, max_age=seconds, path="/", secure=site(request).settings.https, httponly=True, samesite="lax")
