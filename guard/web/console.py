"""Console: the routes of all pages, in the order in which they are tried: fixed paths before those with a name in them. Comes before the app."""

from __future__ import annotations

from starlette.routing import BaseRoute

from guard.web import audit_pages, pages, pages_acts, pages_batch, pages_grants, pages_kill, pages_unknown


def routes() -> list[BaseRoute]:
    """Every page and what its forms are sent to."""
    return [
        route
        for part in (pages_batch, pages, pages_acts, pages_grants, pages_unknown, pages_kill, audit_pages)
        for route in part.routes()
    ]
