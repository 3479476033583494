"""Unasked: what a server tells the client, and what it asks of it, redacted on the way; whatever stands in no table does not pass.

Each question of the server gets one answer, unless it took the question back. Decides nothing about calls. Comes after desk; before relay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guard.core.values import Json, JsonObject
from guard.integrations.mcp import messages as m
from guard.integrations.mcp.desk import View
from guard.integrations.mcp.meta import cleared
from guard.integrations.mcp.passing import Mask
from guard.integrations.mcp.peer import GoneError, Peer


class Unasked:
    """One server's words to one client. `tokens` holds, by the client's own names of progress, the request that each belongs to."""

    def __init__(self, client: Peer, server: Peer, view: View, mask: Mask, tokens: Mapping[object, object]) -> None:
        self._client, self._server, self._view, self._mask, self._tokens = client, server, view, mask, tokens
        self._desk = view.desk

    async def tells(self, method: str, params: Json) -> None:
        """Take a notification of the server."""
        told = params if isinstance(params, dict) else {}
        if method == "notifications/cancelled":
            self._server.cancel(told.get("requestId"))
            return
        if method == "notifications/tools/list_changed":
            self._view.stale = True
        if method in m.TOLD_CLIENT:
            await self._pass_on(method, told)

    async def _pass_on(self, method: str, params: JsonObject) -> None:
        token = params.get("progressToken")
        own = m.is_id(token) and token in self._tokens  # the client's own word
        about = self._tokens[token] if own else None if m.is_id(token) else self._newest()
        try:
            hidden: Any = self._mask.message(params)
        except Exception as error:  # noqa: BLE001 - what cannot be looked at is not shown
            self._desk.say(f"{method} of the server {self._desk.server} was left out: {type(error).__name__}")
            return
        try:
            await self._client.tell(method, (hidden | {"progressToken": token} if own else hidden) or None, about)
        except GoneError:
            return

    def _newest(self) -> object:
        """The request that a message of the server most likely belongs to: the newest that is worked on."""
        return next(reversed(self._client.busy), None) if self._client.busy else None

    async def asks(self, number: object, method: str, message: JsonObject) -> None:
        """Carry a question of the server to the client, and the answer back."""
        try:
            reply = await self._answer(number, method, message.get("params"))
        finally:
            self._server.busy.pop(number, None)
            self._server.dropped.discard(number)
        try:
            await self._server.channel.send(reply)
        except GoneError:
            return

    async def _answer(self, number: object, method: str, params: Json) -> JsonObject:
        if method not in m.TO_CLIENT:
            return m.fault(number, m.NO_METHOD, "Method not found")
        try:
            hidden = self._mask.message(params)
            said = await self._client.ask(method, hidden, about=self._newest(), seconds=self._desk.seconds)
            return m.answer(number, cleared(said))
        except m.RemoteError as error:
            return {"jsonrpc": "2.0", "id": number, "error": error.error}
        except (GoneError, TimeoutError):
            return m.fault(number, m.GONE, "The client did not answer.")
        except Exception as error:  # noqa: BLE001 - what cannot be looked at is not shown
            self._desk.say(f"{method} of the server {self._desk.server} was refused: {type(error).__name__}")
            return m.fault(number, m.GONE, "Refused: the guard cannot judge this.")
