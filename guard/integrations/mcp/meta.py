"""Meta: what goes along beside a request, an answer or a notification (`_meta`), in both directions.

What a client writes there is judged by nobody, so the server gets of it only what changes nothing about the request: the name of
the progress, and the place in a trace in the form that W3C gives it. `baggage` may name users and stays behind, as that standard allows.
What a server writes beside its result is hidden as everything else of it; keys under `guard/` are the guard's own. Pure. Comes after
passing; before calls, ways and relay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import is_

from guard.core.values import Json, JsonObject
from guard.integrations.mcp.messages import VERSIONS, RemoteError, is_id
from guard.integrations.mcp.passing import Mask

_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_STATE = re.compile(r"[a-z0-9][a-z0-9_*/@-]{0,255}=[!-+\--<>-~]{1,256}")
_MOST = 512  # characters of a trace's state
_OWN = "guard/"
_HOLDERS = ("content", "contents", "messages", "resource", "roots")
"""Where a client's messages hold what may have a `_meta` of its own: blocks, embedded resources, roots."""
_DEEPEST = 12
_VERSION = "io.modelcontextprotocol/protocolVersion"
_NO_VERSION = -32022


def known_version(method: str, params: Mapping[str, Json]) -> None:
    """Raises RemoteError where a request is of a revision that is not spoken: its answer would be in a form that the client cannot read."""
    meta = params.get("_meta")
    version = meta.get(_VERSION) if isinstance(meta, dict) and method != "initialize" else None
    if version is not None and version not in VERSIONS:
        data: JsonObject = {"supported": list(VERSIONS), "requested": version if isinstance(version, str) else ""}
        message = "Unsupported protocol version; begin with initialize. Nothing was executed."
        raise RemoteError({"code": _NO_VERSION, "message": message, "data": data})


def token_of(params: Mapping[str, Json]) -> object:
    """The name under which the client wants to hear of progress, if it gave one."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if is_id(token) else None


def of_client(params: Mapping[str, Json]) -> JsonObject:
    """What of the `_meta` of a client's message the server gets."""
    meta, token = params.get("_meta"), token_of(params)
    found: JsonObject = {}
    if type(token) is str or type(token) is int:
        found["progressToken"] = token
    parent, state = (meta.get("traceparent"), meta.get("tracestate")) if isinstance(meta, dict) else (None, None)
    if isinstance(parent, str) and _PARENT.fullmatch(parent):
        found["traceparent"] = parent
        if isinstance(state, str) and _is_state(state):
            found["tracestate"] = state
    return found


def cleared(said: Json) -> Json:
    """A client's parameters or result, with nothing beside them, nor beside the blocks and roots in them, but what the server gets of it."""
    if not isinstance(said, dict):
        return said
    inner = _bare(said, _DEEPEST)
    if "_meta" not in said:
        return inner
    found = of_client(said)
    return {**inner, **({"_meta": found} if found else {})}


def _bare(said: Json, depth: int) -> Json:
    """The same without any `_meta` in it, where a message may have one; what is nested deeper than any message is left out."""
    if isinstance(said, list):
        items = [_bare(item, depth - 1) for item in said] if depth else []
        return said if len(items) == len(said) and all(map(is_, items, said)) else items
    if not isinstance(said, dict):
        return said
    held = {name: _bare(said[name], depth - 1) if depth else None for name in _HOLDERS if name in said}
    if "_meta" not in said and all(item is said[name] for name, item in held.items()):
        return said
    return {name: held.get(name, item) for name, item in said.items() if name != "_meta"}


def _is_state(state: str) -> bool:
    return len(state) <= _MOST and all(_STATE.fullmatch(one.strip(" \t")) for one in state.split(","))


def of_server(result: Mapping[str, Json]) -> JsonObject:
    """The `_meta` of a result, as it came."""
    meta = result.get("_meta")
    return meta if isinstance(meta, dict) else {}


def shown(said: JsonObject, mask: Mask) -> JsonObject:
    """The server's `_meta` as the client may see it. Raises UnfitError for what is nested too deeply."""
    found = mask.message(said)
    return {name: item for name, item in found.items() if not name.startswith(_OWN)} if isinstance(found, dict) else {}


def passed(result: Json, mask: Mask) -> Json:
    """A result of the server that the guard does not judge, as the client may see it: nothing in it speaks in the guard's name. Raises as `shown`."""
    found = mask.message(result)
    meta = of_server(result) if isinstance(result, dict) else {}
    return {**found, "_meta": shown(meta, mask)} if meta and isinstance(found, dict) else found
