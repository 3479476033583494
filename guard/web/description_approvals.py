"""Description of the approvals' API in OpenAPI 3.1, held to its routes by a test. Pure data; used by `description`."""

from __future__ import annotations

from typing import Any

from guard.core.offers import SCOPES
from guard.core.values import JsonObject
from guard.web.desk import STATUSES
from guard.web.voting import DECISIONS, MOST_REVISION, MOST_TEXT, MOST_VOTES

TEXT: JsonObject = {"type": "string", "minLength": 1}
SOLID: JsonObject = {"type": "string", "minLength": 1, "maxLength": MOST_TEXT, "pattern": "\\S"}
MAYBE: JsonObject = {"type": ["string", "null"]}
TIME: JsonObject = {"type": ["string", "null"], "format": "date-time"}
_FLAG: JsonObject = {"type": "boolean"}
TEXTS: JsonObject = {"type": "array", "items": {"type": "string"}}


def shape(properties: JsonObject, *, closed: bool = True, optional: tuple[str, ...] = ()) -> JsonObject:
    """An object of these properties, all needed but the optional ones."""
    needed = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": properties,
        **({"required": needed} if needed else {}),
        **({"additionalProperties": False} if closed else {}),
    }


def ref(name: str) -> JsonObject:
    """One of the schemas below, by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


_SEEN: JsonObject = {
    "revision": {"type": "integer", "minimum": 1, "maximum": MOST_REVISION},
    "fingerprint": TEXT,
    "presented": {**TEXT, "description": "The digest of the document that the person was shown."},
}
_DECIDED: JsonObject = {
    **_SEEN,
    "decision": {"enum": [*DECISIONS]},
    "reason": {
        "type": ["string", "null"],
        "maxLength": MOST_TEXT,
        "description": "Needed for a rejection; the model may read it.",
    },
    "note": {"type": ["string", "null"], "maxLength": MOST_TEXT, "description": "Of a rejection; the model never reads it."},
}
_HOW = ("reason", "note")
_GRANT: JsonObject = {
    "type": ["object", "null"],
    "description": "A standing permission to give with a yes, as it was read among the offers: another one by now gives 409, and nothing is decided.",
    "properties": {
        "scope": {"enum": [*SCOPES]},
        "until": {**MAYBE, "format": "date-time", "description": "As it was read."},
        "presented": {**TEXT, "description": "The digest of the words that were read."},
    },
    "required": ["scope", "presented"],
    "additionalProperties": False,
}
_BODIES: dict[str, JsonObject] = {
    "Ballot": shape({**_DECIDED, "grant": _GRANT}, optional=(*_HOW, "grant")),
    "Ballots": shape(
        {
            "votes": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_VOTES,
                "items": shape({"approval": TEXT, **_DECIDED}, optional=_HOW),
            }
        }
    ),
    "Edit": shape(
        {
            **_SEEN,
            "changes": {
                "type": "object",
                "minProperties": 1,
                "propertyNames": TEXT,
                "description": "JSON pointer into the arguments → the new value; only where the policy lets an approver edit.",
            },
            "reason": SOLID,
        }
    ),
    "Why": shape({"reason": SOLID}),
    "Settled": shape({"happened": _FLAG, "reason": SOLID}),
}
_STATE: JsonObject = {
    "id": TEXT,
    "status": {"enum": [*STATUSES]},
    "revision": {"type": "integer"},
    "fingerprint": TEXT,
    "decided_by": MAYBE,
    "ended_by": MAYBE,
    "superseded_by": MAYBE,
    "decided_at": TIME,
}
_YOU: JsonObject = dict.fromkeys(("asked", "voted", "may_decide", "may_edit", "may_cancel", "may_revoke"), _FLAG)
_APPROVAL: JsonObject = {
    **_STATE,
    **{
        name: {"type": "string"}
        for name in ("tool", "kind", "effect", "requester", "tenant", "conversation", "branch", "call_id")
    },
    **{name: {"type": "integer"} for name in ("turn", "position", "need")},
    **dict.fromkeys(("requested_at", "expires_at", "use_by", "escalated_at"), TIME),
    "by": TEXTS,
    "by_self": _FLAG,
    "why": TEXTS,
    "editable": TEXTS,
    "policy": {"type": "string"},
    "reason": MAYBE,
    "supersedes": MAYBE,
    "edited_by": MAYBE,
    "edited_why": {"type": "string", "description": "The reason of who made this revision."},
    "votes": {"type": "array", "items": {"type": "object"}},
}
_RAN: JsonObject = {
    "description": "What became of the call; null while nothing was tried.",
    "anyOf": [
        shape(
            {
                "status": {"enum": ["started", "done", "failed", "unknown", "refused"]},
                "at": {**TIME, "description": "When it was taken, or refused."},
                "reason": MAYBE,
                "content": {**MAYBE, "description": "What went back to the model, redacted; null once it was erased."},
            }
        ),
        {"type": "null"},
    ],
}
_WORDS: JsonObject = {
    "description": "What the model wrote beside the call, to be shown below everything else and labelled by `note`. It was not checked and "
    "decides nothing. The document holds its digest.",
    "anyOf": [
        shape(
            {
                "note": TEXT,
                "text": {"type": "string", "description": "Redacted, and cut where it was long; empty once it was erased."},
                "size": {"type": "integer", "description": "How many characters the model wrote."},
                "digest": TEXT,
            }
        ),
        {"type": "null"},
    ],
}
_ANSWERS: dict[str, JsonObject] = {
    "Me": shape(
        {
            **{name: {"type": "string"} for name in ("principal", "tenant", "credential", "assurance")},
            "roles": TEXTS,
            "scopes": TEXTS,
            "form_token": {**MAYBE, "description": "What a script of a signed-in page sends as X-Form-Token."},
        },
        closed=False,
    ),
    "State": shape(_STATE, closed=False),
    "Approval": shape(_APPROVAL, closed=False),
    "Approvals": shape(
        {
            "approvals": {"type": "array", "items": {"allOf": [ref("Approval"), shape({"you": shape(_YOU)}, closed=False)]}},
            "next": {**MAYBE, "description": "`after` of the next page; null on the last one."},
        },
        closed=False,
    ),
    "Shown": shape(
        {
            "approval": ref("Approval"),
            "document": {
                "type": "object",
                "description": "Everything that an approver is shown: the call that will run, in full.",
            },
            **_SEEN,
            "needs": {"type": "integer", "description": "How many more people must say yes."},
            "you": shape(_YOU),
            "ran": _RAN,
            "erased": {**MAYBE, "description": "When, by whom and why the arguments were erased; null where they were not."},
            "words": _WORDS,
            "grant": {"type": "object", "description": "What was given with this vote, as `Grant`."},
        },
        closed=False,
        optional=("grant",),
    ),
    "Results": shape(
        {
            "results": {
                "type": "array",
                "items": shape({"approval": TEXT, "status": {"type": "integer"}}, closed=False),
            }
        },
        closed=False,
    ),
    "Unknown": shape({"id": TEXT, "tool": {"type": "string"}, "arguments": {"type": "object"}, "blocks": TEXT}, closed=False),
    "Unknowns": shape({"unknown": {"type": "array", "items": ref("Unknown")}}, closed=False),
    "Conflict": shape(
        {
            "error": {"type": "string"},
            "code": {"type": "string"},
            "now": {"anyOf": [ref("State"), {"type": "null"}], "description": "How it stands: who decided, and when."},
        },
        closed=False,
        optional=("code", "now"),
    ),
}
SCHEMAS = {**_BODIES, **_ANSWERS}
_PROBLEMS = {
    "400": "The request cannot be read, or a field is wrong",
    "401": "Nobody's credential",
    "403": "This credential, or this person, may not do this; or a page of somebody else sent it",
    "404": "There is nothing of this name that this person may know of",
    "408": "The body came too slowly",
    "409": "It is not as it was: decided, expired, ended, or another revision",
    "413": "The body is larger than the policy's ceilings.message_bytes",
    "415": "The body is not application/json",
    "422": "The policy refuses it, or the Idempotency-Key was used for something else",
    "429": "Too many wrong tokens came from there",
    "503": "It could not be carried out",
}
_READ = ("400", "401", "403", "404", "429", "503")
_FILTERS: dict[str, JsonObject] = {
    "status": {"enum": [*STATUSES, "all"], "default": "pending"},
    "tool": {"type": "string"},
    "requester": {"type": "string"},
    "conversation": {"type": "string"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
    "after": {"type": "string", "description": "`next` of the page before.", "pattern": "^[0-9]{1,15}(\\.[0-9]{1,9})?~"},
}
_KEY: JsonObject = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
    "description": "The same key and request again gets the same answer and is carried out once.",
}
ID: JsonObject = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "pattern": "^[0-9a-z_]+$"},
}


def _responses(answer: JsonObject, problems: tuple[str, ...]) -> JsonObject:
    wrong = {"application/json": {"schema": ref("Conflict")}}
    return {
        "200": {"description": "The answer", "content": answer},
        **{status: {"description": _PROBLEMS[status], "content": wrong} for status in problems},
    }


def reading(name: str, summary: str, answer: str, parameters: list[JsonObject] | None = None) -> JsonObject:
    """A GET."""
    found = {"application/json": {"schema": ref(answer)}}
    return {"operationId": name, "summary": summary, "parameters": parameters or [], "responses": _responses(found, _READ)}


def acting(name: str, summary: str, body: str, answer: str, parameters: list[JsonObject] | None = None) -> JsonObject:
    """A POST."""
    return {
        "operationId": name,
        "summary": summary,
        "parameters": [*(parameters or []), _KEY],
        "requestBody": {"required": True, "content": {"application/json": {"schema": ref(body)}}},
        "responses": _responses({"application/json": {"schema": ref(answer)}}, tuple(_PROBLEMS)),
    }


_QUERY = [{"name": name, "in": "query", "required": False, "schema": schema} for name, schema in _FILTERS.items()]
_LAST: JsonObject = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": "^[!-~]*$"},
}
PATHS: dict[str, Any] = {
    "/api/v1/me": {"get": reading("me", "Whose credential this is", "Me")},
    "/api/v1/approvals": {
        "get": reading("approvals", "The approvals that this person may see, oldest first", "Approvals", _QUERY)
    },
    "/api/v1/approvals/votes": {"post": acting("votes", "Several votes, each with its own result", "Ballots", "Results")},
    "/api/v1/approvals/{id}": {"get": reading("approval", "One approval in full, with what a vote must carry", "Shown", [ID])},
    "/api/v1/approvals/{id}/votes": {"post": acting("vote", "A yes or no to exactly what was shown", "Ballot", "Shown", [ID])},
    "/api/v1/approvals/{id}/edits": {"post": acting("edit", "Other arguments: a new revision", "Edit", "Shown", [ID])},
    "/api/v1/approvals/{id}/cancel": {"post": acting("cancel", "Withdraw the question", "Why", "Shown", [ID])},
    "/api/v1/approvals/{id}/revoke": {"post": acting("revoke", "Take back a yes that was not used", "Why", "Shown", [ID])},
    "/api/v1/unknown": {"get": reading("unknown", "Calls that were started and have no outcome", "Unknowns")},
    "/api/v1/unknown/{id}/resolve": {"post": acting("resolve", "Say what became of such a call", "Settled", "Unknown", [ID])},
    "/api/v1/events": {
        "get": {
            "operationId": "events",
            "summary": "What changes about the approvals that this person may see, as server-sent events",
            "parameters": [_LAST],
            "responses": _responses({"text/event-stream": {"schema": {"type": "string"}}}, _READ),
        }
    },
}
"""Every path of the approvals' API."""
