"""Frame: what every page of the console has around it: who is signed in, where one can go, and what is said when a request is not answered.

A page that nobody is signed in for leads to the sign-in page; every other problem is a page that says it. Comes after people and html; before the
pages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from guard.errors import ApprovalError, StoreError
from guard.web import guarding, html
from guard.web.bodies import RequestError
from guard.web.people import Person, who_may
from guard.web.site import site

PLACES = (
    ("/approvals", "Approvals"),
    ("/grants", "Grants"),
    ("/unknown", "Unknown calls"),
    ("/kill", "Kill switch"),
    ("/audit", "Audit"),
)
_ADMIN = ("/kill", "/audit")
_HEADINGS = {
    403: "You may not do this",
    404: "There is nothing here for you",
    409: "It is not as you saw it",
    429: "Too many attempts",
    503: "It cannot be answered now",
}
Endpoint = Callable[[Request, Person], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is said at the top of a page, and where to go on."""

    title: str
    text: str
    link: str = ""
    link_text: str = ""


def page(request: Request, person: Person | None, name: str, status: int = 200, **values: object) -> Response:
    """A page inside the frame."""
    here = next((where for where, _ in PLACES if request.url.path.startswith(where)), "")
    out = person is not None and site(request).settings.cookie in request.cookies
    values = {"state": "", "problem": None, **values}
    form_token = person.form_token if person else ""
    places = [place for place in PLACES if place[0] not in _ADMIN or (person is not None and "admin" in person.scopes)]
    return html.page(name, status, person=person, token=form_token, places=places, here=here, out=out, **values)


def reading(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """A page for whoever may read."""
    return _framed(endpoint, "read", changes=False)


def changing(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """What a form of a page is sent to, from whoever may vote; only with the token that this person's pages hold."""
    return _framed(endpoint, "vote", changes=True)


def administering(endpoint: Endpoint, *, changes: bool = False) -> Callable[[Request], Awaitable[Response]]:
    """A page for whoever runs the console, or what a form of one is sent to (`changes`)."""
    return _framed(endpoint, "admin", changes=changes)


def _framed(endpoint: Endpoint, scope: str, *, changes: bool) -> Callable[[Request], Awaitable[Response]]:
    @wraps(endpoint)
    async def framed(request: Request) -> Response:
        person = None
        try:
            person = await who_may(request, scope)
            if changes:
                await guarding.checked(request, person)
            return await endpoint(request, person)
        except RequestError as error:
            return _to_sign_in(request) if error.status == 401 else refused(request, person, str(error), error.status)
        except ApprovalError as error:
            return refused(request, person, str(error), 404 if error.code == "not_found" else 403)
        except StoreError:
            return refused(request, person, "The store cannot be reached. Nothing was changed; try again.", 503)

    return framed


def refused(request: Request, person: Person | None, text: str, status: int) -> Response:
    """A page that says what is wrong."""
    found = Problem(title=_HEADINGS.get(status, "It could not be done"), text=text)
    return page(request, person, "problem.html", status, problem=found)


def _to_sign_in(request: Request) -> Response:
    """Where to sign in, and back to this page afterwards; what was about to be sent is not sent again."""
    query = f"?{request.url.query}" if request.url.query and request.method == "GET" else ""
    back = request.url.path + query if request.method == "GET" else "/approvals"
    return RedirectResponse(f"/sign-in?next={quote(back, safe='')}", 303)


def field(fields: dict[str, list[str]], name: str) -> str:
    """One field of a form; line ends as they are outside of forms. Raises RequestError where it is there twice."""
    given = fields.get(name, [])
    if len(given) > 1:
        raise RequestError(f"the form has two fields {name}")
    return given[0].replace("\r\n", "\n") if given else ""


LONGEST = 2_000
"""Characters of a reason or a note."""


def words(fields: dict[str, list[str]], name: str) -> str | None:
    """What a person wrote into a field; None for nothing. Raises RequestError (413) for more than fits."""
    found = field(fields, name).strip()
    if len(found) > LONGEST:
        raise RequestError(f"{name} is longer than {LONGEST} characters", 413)
    return found or None
