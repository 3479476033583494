"""Endpoint: what a policy describes as an HTTP request, as a registered tool that sends it.

Says of an answer what it means: data, a failure, or nothing clear. Secrets of the environment are taken out of whatever comes back. Comes after
sending; before compose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from guard.core.endpoints import Endpoint
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject, encode, read_json
from guard.errors import OutcomeUnknownError, ToolError
from guard.tools.registry import RegisteredTool
from guard.tools.request import write
from guard.tools.secrets import Secrets
from guard.tools.sending import Answer, Sender

SECONDS = 30.0
_SAID = 1_000  # bytes of what a service says about a mistake
_GOOD, _REFUSED = range(200, 300), range(400, 500)


def offered_all(tools: Mapping[str, Tool], environment: Mapping[str, str]) -> tuple[dict[str, RegisteredTool], dict[str, str]]:
    """The tools that have an endpoint, ready to be called, and for those that lack a secret of the environment, which."""
    found, lacking = {}, {}
    for name, tool in tools.items():
        point = tool.endpoint
        if point is None:
            continue
        unusable = [needed for needed in point.secrets if not _usable(environment.get(needed, ""))]
        if unusable:
            lacking[name] = f"{name} needs {', '.join(unusable)} in the environment, in visible ASCII without line breaks"
        else:
            secrets = {needed: environment[needed] for needed in point.secrets}
            found[name] = offered(name, point, secrets, acts=tool.acts, seconds=tool.timeout or SECONDS)
    return found, lacking


def _usable(value: str) -> bool:
    return value != "" and all(" " <= char <= "~" for char in value)


def offered(name: str, endpoint: Endpoint, secrets: Mapping[str, str], *, acts: bool, seconds: float) -> RegisteredTool:
    """A tool that sends the request, with the secrets of the environment that it names."""
    sender = Sender(endpoint, acts=acts, seconds=seconds)
    hidden = Secrets(secrets.values())

    def run(arguments: JsonObject, key: str) -> Any:
        try:
            written = write(endpoint, arguments, secrets)
        except ValueError as error:
            raise ToolError(f"The request was not sent: {error}.") from None
        if acts:
            written = replace(written, headers=(*written.headers, ("Idempotency-Key", key)))
        try:
            return _meaning(sender.send(written), hidden, acts=acts)
        except ToolError as error:
            raise ToolError(hidden.out_of(str(error))) from None

    return RegisteredTool(
        name=name,
        description="",
        schema=None,
        parameters=None,
        accepts=None,
        origin=f"{endpoint.method} {endpoint.scheme}://{endpoint.host}",
        run=run,
        is_async=False,
        keyed=True,
    )


def _meaning(answer: Answer, hidden: Secrets, *, acts: bool) -> Json:
    """The data of an answer. Raises ToolError for a failure, OutcomeUnknownError where an action may have taken effect all the same."""
    if answer.status in _GOOD:
        return _data(answer, hidden, acts=acts)
    if acts and (answer.status not in _REFUSED or answer.status == HTTPStatus.REQUEST_TIMEOUT):
        raise OutcomeUnknownError
    raise ToolError(f"The service answered {_status(answer.status)}.{_said(answer, hidden)}")


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _said(answer: Answer, hidden: Secrets) -> str:
    """What the service says about a mistake in the request, where it says it in JSON and briefly."""
    if answer.status not in _REFUSED or not answer.whole or len(answer.body) > _SAID:
        return ""
    try:
        return f" It says: {encode(_json(answer.body, hidden))}" if _is_json(answer.kind) else ""
    except ValueError:
        return ""


def _data(answer: Answer, hidden: Secrets, *, acts: bool) -> Json:
    done = {"ok": True, "status": answer.status}
    if not answer.body and answer.whole:
        return done if acts else None
    try:
        if answer.whole and _is_json(answer.kind):
            return _json(answer.body, hidden)
        if answer.whole and (answer.kind.startswith("text/") or not answer.kind):
            return hidden.out_of(answer.body.decode("utf-8"))
    except ValueError:
        pass
    if acts:
        return {**done, "note": "The service accepted it; its answer could not be read."}
    raise ToolError("The service's answer is too large, or is neither JSON nor text.")


def _is_json(kind: str) -> bool:
    return kind == "application/json" or kind.endswith("+json")


def _json(body: bytes, hidden: Secrets) -> Json:
    """Exact numbers, no repeated keys, no secrets. Raises ValueError."""
    try:
        return hidden.out_of(read_json(body.decode("utf-8")))
    except RecursionError:
        raise ValueError from None
