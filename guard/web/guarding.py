"""Guarding: whether a request that changes something was meant by the person whose browser sent it.

A browser sends cookies along with whatever page told it to; so a request on the strength of one must come from a page of this server (Sec-Fetch-Site,
Origin) and carry the token that only this login's pages hold. A bearer token is never sent unasked and needs neither. Comes after people; before
the routes.
"""

from __future__ import annotations

import hmac
import re
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from guard.web.bodies import RequestError, read
from guard.web.people import Person
from guard.web.site import site

FORM_FIELD = "form_token"
"""The field of a form that holds `Person.form_token`."""
FORM_HEADER = "x-form-token"
"""The header that a script sends it in."""
_MOST_FIELDS = 2_000
_FORM = "application/x-www-form-urlencoded"
_LOCAL = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")


async def checked(request: Request, person: Person) -> None:
    """Check a request that changes something. Raises RequestError (403) for one that a page of somebody else may have caused."""
    if not person.ambient:
        return
    same_origin(request)
    given = request.headers.get(FORM_HEADER)
    if given is None and _type(request) == _FORM:
        sent = (await form(request)).get(FORM_FIELD, [])
        given = sent[0] if len(sent) == 1 else ""  # two are none: which of them is meant is not guessed
    if not given or not hmac.compare_digest(given.encode(), person.form_token.encode()):
        raise RequestError("the page is of another login: load it again", 403)


def same_origin(request: Request) -> None:
    """Check that a page of this server sent the request. Raises RequestError (403); without any header that says so, too."""
    site_header, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site_header is not None and site_header != "same-origin":
        raise RequestError("the request came from a page of another site", 403)
    if origin is not None and origin not in _origins(request):
        raise RequestError("the request came from a page of another origin; is public_url of the console right?", 403)
    if site_header is None and origin is None:
        raise RequestError("nothing says which page the request came from; programs send a bearer token", 403)


def _origins(request: Request) -> set[str]:
    """The origins of this server's own pages: its public URL, or else the host that was asked."""
    public = site(request).settings.public_url
    if public:
        parts = urlsplit(public)
        return {f"{parts.scheme}://{parts.netloc}"}
    host = request.headers.getlist("host")
    return {f"{request.url.scheme}://{host[0]}"} if len(host) == 1 else set()


async def form(request: Request, most: int | None = None) -> dict[str, list[str]]:
    """The fields of a form, read within the bounds of every body, or `most` bytes. Raises RequestError. May be asked for more than once."""
    if not hasattr(request.state, "form"):
        if _type(request) != _FORM:
            raise RequestError(f"send Content-Type: {_FORM}", 415)
        try:
            pairs = parse_qsl(
                (await read(request, most)).decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
            )
        except ValueError:
            raise RequestError("the form cannot be read") from None
        found: dict[str, list[str]] = {}
        for name, value in pairs:
            found.setdefault(name, []).append(value)
        request.state.form = found
    return request.state.form  # type: ignore[no-any-return]  # a state holds anything


def local_path(text: str, otherwise: str = "/approvals") -> str:
    """`text` where it is a path on this server; nobody is sent elsewhere by a link."""
    return text if _LOCAL.fullmatch(text) else otherwise


def _type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
