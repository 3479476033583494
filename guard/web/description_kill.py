"""Description of the kill switch's API in OpenAPI 3.1, held to its routes by a test. Pure data; used by `description`."""

from __future__ import annotations

from typing import Any

from guard.core.values import JsonObject
from guard.web.description_approvals import ID, MAYBE, SOLID, TEXT, TIME, acting, reading, ref, shape

_NAME: JsonObject = {**TEXT, "type": ["string", "null"]}
_COUNT: JsonObject = {"type": "integer", "minimum": 0}
SCHEMAS: dict[str, JsonObject] = {
    "Stopping": shape(
        {
            "reason": {**SOLID, "description": "For people; no model reads it."},
            "tool": {**_NAME, "description": "Calls of this tool of the policy."},
            "conversation": {
                **_NAME,
                "description": "Calls of this conversation. Without tool and conversation: all of the tenant.",
            },
        },
        optional=("tool", "conversation"),
    ),
    "Kill": shape(
        {
            "id": TEXT,
            "status": {"enum": ["set", "cleared"]},
            "tool": MAYBE,
            "conversation": MAYBE,
            "tenant": {**MAYBE, "description": "null: every tenant."},
            "words": {"type": "string", "description": "What it covers."},
            "by": {"type": "string"},
            "at": TIME,
            "reason": {"type": "string"},
            "cancelled": {**_COUNT, "description": "Questions that ended by it."},
            "revoked": {**_COUNT, "description": "Unused yeses that ended by it."},
            "cleared_by": MAYBE,
            "cleared_at": TIME,
            "cleared_why": MAYBE,
        },
        closed=False,
    ),
    "Kills": shape({"kills": {"type": "array", "items": ref("Kill")}}, closed=False),
}
_QUERY: list[JsonObject] = [
    {"name": "status", "in": "query", "required": False, "schema": {"enum": ["set", "cleared", "all"], "default": "set"}}
]
PATHS: dict[str, Any] = {
    "/api/v1/kill": {
        "get": reading("kills", "What is stopped and may cover calls of this tenant (scope admin)", "Kills", _QUERY),
        "post": acting("kill", "Stop new calls of a tool, a conversation or this tenant (scope admin)", "Stopping", "Kill"),
    },
    "/api/v1/kill/{id}/clear": {"post": acting("clearKill", "Let new calls go on (scope admin)", "Why", "Kill", [ID])},
}
"""Every path of the kill switch's API."""
