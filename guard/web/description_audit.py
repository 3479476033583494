"""Description of the audit's API in OpenAPI 3.1, held to its routes by a test. Pure data; used by `description`."""

from __future__ import annotations

from typing import Any

from guard.auditing.moments import HOW
from guard.core.values import JsonObject
from guard.web import audit_api, audit_search
from guard.web.description_approvals import TEXT, TIME, reading, ref, shape

_TOLD: dict[str, str] = {
    "person": "A principal, or a personal value such as an e-mail address, found by its keyed hash.",
    "tool": "Records about this tool.",
    "reason": "The code of a refusal or a failure.",
    "approved_by": "Votes of this person for a call.",
    "conversation": "Records of this conversation.",
    "kind": "A kind of record, or the beginning of one before a `*`.",
    "since": f"{HOW[0].upper()}{HOW[1:]}.",
    "until": "The same; a day or a month is meant with its end.",
    "refused": "Refusals.",
    "held": "Decisions to ask a person.",
    "spoof": "Proposals that sent a field which belongs to the session.",
    "shadow": "Decisions that a shadow rule would have refused.",
}
_SCHEMAS: dict[str, JsonObject] = {
    **{name: {"type": "string", "maxLength": audit_search.LONGEST} for name in audit_api.FIELDS},
    **{name: {"enum": ["1"]} for name in audit_api.MARKS},
    "limit": {"type": "integer", "minimum": 1, "maximum": audit_api.MOST, "default": audit_api.SHOWN},
    "behind": {
        "type": "string",
        "pattern": "^[0-9]{1,17}\\.[0-9]{1,17}\\.[0-9]{1,17}$",
        "description": "`next` of the page before.",
    },
}
_QUERY: list[JsonObject] = [
    {"name": name, "in": "query", "required": False, "schema": schema, **({"description": _TOLD[name]} if name in _TOLD else {})}
    for name, schema in _SCHEMAS.items()
]
SCHEMAS: dict[str, JsonObject] = {
    "AuditRecord": {
        "type": "object",
        "description": "The body as it is stored, with the hash of the record before and its own.",
        "properties": {"prev": TEXT, "hash": TEXT},
        "required": ["prev", "hash"],
    },
    "AuditRecords": shape(
        {
            "records": {"type": "array", "items": ref("AuditRecord")},
            "next": {"type": ["string", "null"], "description": "What `behind` of the next page is; null at the end."},
            "left": {
                "type": "array",
                "description": "Months that were asked for and are not in the store any more.",
                "items": shape({"month": TEXT, "sha256": TEXT, "closed": TIME, "dropped": TIME, "told": TEXT}, closed=False),
            },
        },
        closed=False,
    ),
}
PATHS: dict[str, Any] = {
    "/api/v1/audit": {
        "get": reading(
            "audit", "Audit records of this tenant, newest first, that meet every filter (scope admin)", "AuditRecords", _QUERY
        )
    }
}
"""Every path of the audit's API."""
