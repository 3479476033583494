"""Headers: what every answer tells the browser, in one place: nothing is kept, framed, guessed at or sent on.

Applied around the whole application, so that no route can forget it. Comes after the routes; knows none of them but that the API's answers load nothing.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PAGE = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; font-src 'none'; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
ALWAYS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex, nofollow",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
_YEAR = "max-age=31536000"


class Headers:
    """An application with these headers on every answer, whoever made it. `https`: whether people reach it by https only."""

    def __init__(self, app: ASGIApp, *, https: bool = False) -> None:
        self._app, self._https = app, https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._tell(MutableHeaders(raw=message.setdefault("headers", [])), scope["path"])
            await send(message)

        await self._app(scope, receive, told if scope["type"] == "http" else send)

    def _tell(self, headers: MutableHeaders, path: str) -> None:
        for name, value in ALWAYS.items():
            headers[name] = value
        headers["Content-Security-Policy"] = _NOTHING if path.startswith("/api/") else _PAGE
        if self._https:
            headers["Strict-Transport-Security"] = _YEAR
