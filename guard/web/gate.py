"""Gate: what no request may do, whatever route it is for: hold a secret in its URL, or bring an application down.

Around the routes, inside the headers. What went wrong is told by its kind only, to the log and not to whoever asked.
"""

from __future__ import annotations

import logging
from urllib.parse import parse_qsl, unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guard.web.answers import problem
from guard.web.tokens import MARK

LOG = logging.getLogger("guard.web")
_NAMES = frozenset({"token", "access_token", "secret", "api_key", "apikey", "password"})


class Gate:
    """An application behind the gate."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        if scope["type"] != "http":
            return
        if _holds_secret(scope):
            await problem("a token never goes into a URL: whoever logs it has it", 400)(scope, receive, send)
            return
        begun = False

        async def told(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, told)
        except Exception as error:  # noqa: BLE001 - whoever asked gets an answer and no text of an exception
            LOG.warning("a request failed: %s", type(error).__name__)
            if not begun:
                await problem("the request could not be carried out", 503)(scope, receive, send)


def _holds_secret(scope: Scope) -> bool:
    query = scope["query_string"].decode("latin-1")
    named = any(name.lower() in _NAMES for name, _ in parse_qsl(query, keep_blank_values=True))
    return named or MARK in unquote(query) or MARK in scope["path"]
