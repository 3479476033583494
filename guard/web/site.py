"""Site: what every route of the server works with, found from a request. Holds things together and decides nothing.

Comes after people and settings; before the routes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from starlette.requests import Request

from guard.runner import Approvals
from guard.runner.doubts import Doubts
from guard.web.settings import Settings

if TYPE_CHECKING:
    from guard.compose import AsyncGuard
    from guard.web.events import Feed
    from guard.web.oidc import Oidc
    from guard.web.people import People
    from guard.web.repeats import Repeats
    from guard.web.viewing import Viewings


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One server: the guard, who is let in, and how it is reached. `clock` gives seconds since the epoch.

    `approvals`, `doubts` and `viewings` are synchronous: ask them in a thread (`asyncio.to_thread`).
    """

    guard: AsyncGuard
    people: People
    settings: Settings
    clock: Callable[[], float]
    approvals: Approvals
    doubts: Doubts
    repeats: Repeats
    feed: Feed
    viewings: Viewings
    oidc: Oidc | None = None
    link_keys: tuple[bytes, ...] = ()  # that sign links to approvals


def site(request: Request) -> Site:
    """The server that a request came to."""
    return cast("Site", request.app.state.site)
