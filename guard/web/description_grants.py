"""Description of the grants' API in OpenAPI 3.1, held to its routes by a test. Pure data; used by `description`."""

from __future__ import annotations

from typing import Any

from guard.core.offers import SCOPES
from guard.core.values import JsonObject
from guard.web.description_approvals import ID, MAYBE, SOLID, TEXT, TEXTS, TIME, acting, reading, ref, shape

STATUSES = ("proposed", "live", "spent", "expired", "revoked")
_AMOUNT: JsonObject = {"type": ["number", "null"]}
_COUNT: JsonObject = {"type": ["integer", "null"]}
_BOUNDS: JsonObject = {
    "uses": {**_COUNT, "description": "How many calls at most."},
    "until": {**MAYBE, "format": "date-time", "description": "With its zone."},
    "at_most": {**_AMOUNT, "description": "The most of one call."},
    "sum": {**_AMOUNT, "description": "The most of all calls together."},
}
_READ: JsonObject = {
    **TEXT,
    "type": ["string", "null"],
    "description": "The digest of the words that were read: only that is given.",
}
_DRAFT: JsonObject = {
    "type": ["object", "null"],
    "description": "The grant as it would stand; `presented` is the digest of its words.",
    "properties": {"words": TEXTS, "until": TIME, "presented": TEXT},
}
SCHEMAS: dict[str, JsonObject] = {
    "Giving": shape(
        {
            "approval": TEXT,
            "scope": {"enum": [*SCOPES]},
            "reason": {**SOLID, "type": ["string", "null"]},
            "presented": _READ,
            **_BOUNDS,
        },
        optional=("reason", "presented", *_BOUNDS),
    ),
    "Grant": shape(
        {
            **{
                name: {"type": "string"}
                for name in ("id", "tenant", "principal", "tool", "definition", "kind", "policy", "approval")
            },
            "conversation": MAYBE,
            "scope": {"enum": [*SCOPES]},
            "status": {"enum": [*STATUSES]},
            "stands": {"type": "boolean", "description": "Whether today's policy would let it be given still."},
            "words": {**TEXTS, "description": "What it permits."},
            "constraint": {"type": "object"},
            "uses": _COUNT,
            "used": {"type": "integer"},
            "sum": _AMOUNT,
            "summed": {"type": "number"},
            "until": TIME,
            "given_at": TIME,
            "givers": {"type": "array", "items": {"type": "object"}},
            "revoked_by": MAYBE,
        },
        closed=False,
    ),
    "Grants": shape({"grants": {"type": "array", "items": ref("Grant")}}, closed=False),
    "Offers": shape(
        {
            "offers": {
                "type": "array",
                "items": shape(
                    {"scope": {"enum": [*SCOPES]}, "words": {"type": "string"}, "grant": _DRAFT, "why_not": MAYBE}, closed=False
                ),
            }
        },
        closed=False,
    ),
}
_FILTERS = {
    "status": {"enum": [*STATUSES, "all"], "default": "live"},
    **dict.fromkeys(("principal", "conversation", "approval"), TEXT),
}
_QUERY = [{"name": name, "in": "query", "required": False, "schema": schema} for name, schema in _FILTERS.items()]
PATHS: dict[str, Any] = {
    "/api/v1/grants": {
        "get": reading("grants", "Standing permissions that this person may see", "Grants", _QUERY),
        "post": acting("give", "Let further calls run without a question, within what the policy offers", "Giving", "Grant"),
    },
    "/api/v1/grants/{id}/revoke": {"post": acting("takeBack", "Take a standing permission back", "Why", "Grant", [ID])},
    "/api/v1/approvals/{id}/offers": {"get": reading("offers", "What could be given from an approval", "Offers", [ID])},
}
"""Every path of the grants' API."""
