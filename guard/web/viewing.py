"""Viewing: the looks of the console and the API (`guard.runner.looks`): what somebody who may decide was shown in full is on record.

Not written besides: for a list, for a look with a credential that cannot vote, for HEAD. What a browser fetches ahead, or a preview, is not answered: it would
be shown later without another request. Comes after people; before the pages and the approvals' API.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from starlette.requests import Request

from guard.runner.approvals import View
from guard.runner.looks import KIND, Looks
from guard.web.bodies import RequestError
from guard.web.people import Person

_AHEAD = ("sec-purpose", "purpose", "x-purpose", "x-moz")


class Viewings(Looks):
    """The looks of one server."""

    def note(self, request: Request, person: Person, views: Iterable[View]) -> None:
        """Write down what this request shows. Raises StoreError; RequestError (503) for what is fetched ahead."""
        if ahead(request):
            raise RequestError("an approval is shown to whoever opens it, and not fetched ahead", 503)
        if request.method == "HEAD" or "vote" not in person.scopes:
            return
        self.look(views, person.session, assurance=cast("Any", person.assurance), via=cast("Any", person.via))


def ahead(request: Request) -> bool:
    """Whether the page is fetched before, or without, anybody looking at it, as browsers and previews say."""
    said = " ".join(request.headers.get(name, "") for name in _AHEAD).lower()
    return any(word in said for word in ("prefetch", "prerender", "preview"))


__all__ = ["KIND", "Viewings", "ahead"]
