"""Description: the API in OpenAPI 3.1, written once beside the verbs and held to them by a test. Pure data."""

from __future__ import annotations

from typing import Any

from guard.core.reasons import Reason
from guard.core.values import JsonObject
from guard.web import description_approvals, description_audit, description_grants, description_kill

_TEXT = {"type": "string", "minLength": 1}
_SESSION = {
    "type": "object",
    "description": "Who is signed in, as the host of the loop knows it; never from the model.",
    "properties": {
        "principal": _TEXT,
        "tenant": {**_TEXT, "default": "default"},
        "roles": {"type": "array", "items": _TEXT},
        "attributes": {"type": "object"},
    },
    "required": ["principal"],
    "additionalProperties": False,
}
_CALL = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "The provider's call id, as it is."},
        "tool": {"type": "string"},
        "arguments": {
            "description": "The text that the model wrote, or the object that the wire delivers.",
            "anyOf": [{"type": "string"}, {"type": "object"}, {"type": "null"}],
        },
    },
    "required": ["tool", "arguments"],
    "additionalProperties": False,
}
_OUTCOME = {
    "type": "object",
    "properties": {
        "call_id": {"type": "string"},
        "tool": {"type": "string"},
        "status": {"type": "string"},
        "reason": {"anyOf": [{"enum": [reason.value for reason in Reason]}, {"type": "null"}]},
        "content": {
            "description": "What goes back to the model: a text, or blocks.",
            "anyOf": [{"type": "string"}, {"type": "array"}],
        },
        "error": {"type": "boolean", "description": "Whether the provider's error flag is to be set."},
        "replayed": {"type": "boolean"},
        "approval": {"type": ["string", "null"], "description": "The approval that the call waits for, or ran under."},
    },
    "required": ["call_id", "tool", "status", "reason", "content", "error", "replayed", "approval"],
}
_DECISION = {
    "oneOf": [
        {
            "type": "object",
            "description": "Run the tool now, once, with exactly these arguments, and report.",
            "properties": {
                "decision": {"const": "allow"},
                "ticket": _TEXT,
                "arguments": {"type": "object"},
                "idempotency_key": {"type": "string", "description": "Hand it to the service behind the tool."},
                "timeout": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "description": "Seconds from now by which the tool must have ended and been reported: then the call is given up, "
                    "and an action is unknown.",
                },
            },
            "required": ["decision", "ticket", "arguments", "idempotency_key", "timeout"],
        },
        {
            "allOf": [
                {"$ref": "#/components/schemas/Outcome"},
                {"properties": {"decision": {"enum": ["refuse", "hold", "answer"]}}, "required": ["decision"]},
            ]
        },
    ]
}
_REPORT = {
    "type": "object",
    "properties": {
        "ticket": _TEXT,
        "status": {"enum": ["done", "failed", "unknown"], "description": "unknown: it may or may not have taken effect"},
        "result": {"description": "With done: what the tool returned, any JSON."},
        "message": {"type": "string", "description": "With failed: a text that the model may read."},
    },
    "required": ["ticket", "status"],
    "additionalProperties": False,
}
_BODIES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "tools": (
        "The tools that a session may see",
        {
            "properties": {"session": _SESSION, "wire": {"enum": ["openai-chat", "anthropic"], "default": "openai-chat"}},
            "required": ["session"],
        },
        {"type": "object", "properties": {"tools": {"type": "array", "items": {"type": "object"}}}, "required": ["tools"]},
    ),
    "said": (
        "Register what the user said",
        {
            "properties": {"session": _SESSION, "conversation": _TEXT, "text": _TEXT},
            "required": ["session", "conversation", "text"],
        },
        {"type": "object", "properties": {"registered": {"const": True}}, "required": ["registered"]},
    ),
    "decide": (
        "Decide about one proposed call",
        {
            "properties": {
                "session": _SESSION,
                "conversation": _TEXT,
                "call": _CALL,
                "key": {
                    "anyOf": [_TEXT, {"type": "null"}],
                    "description": "The loop's own: the same key and call gives the recorded outcome.",
                },
                "words": {
                    "type": ["string", "null"],
                    "description": "What the model wrote beside the call, reasoning left out. Shown to who decides about a held call, below "
                    "everything else; nothing is judged by it.",
                },
            },
            "required": ["session", "conversation", "call"],
        },
        {"$ref": "#/components/schemas/Decision"},
    ),
    "report": (
        "Report how a call ended",
        {key: value for key, value in _REPORT.items() if key != "type"},
        {"$ref": "#/components/schemas/Outcome"},
    ),
}
_PROBLEMS = {
    "400": "The body cannot be read, or a field is wrong",
    "401": "No token, or a wrong one",
    "403": "The token or the session may not do this",
    "404": "No call waits under this ticket",
    "409": "The call was reported already, and otherwise; or a person has settled it otherwise",
    "408": "The body came too slowly",
    "413": "The body is larger than the policy's ceilings.message_bytes",
    "415": "The body is not application/json",
    "429": "Too many wrong tokens came from there",
    "503": "It could not be carried out; nothing runs",
}


def described() -> JsonObject:
    """The whole description."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "guard",
            "version": "1",
            "description": "A policy layer between a proposed tool call and its execution. A program's token proposes calls; a person's sees "
            "and decides approvals.",
        },
        "security": [{"token": []}],
        "paths": {
            **{f"/api/v1/{name}": {"post": _operation(name, *one)} for name, one in _BODIES.items()},
            **description_approvals.PATHS,
            **description_grants.PATHS,
            **description_kill.PATHS,
            **description_audit.PATHS,
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Outcome": _OUTCOME,
                "Decision": _DECISION,
                **description_approvals.SCHEMAS,
                **description_grants.SCHEMAS,
                **description_kill.SCHEMAS,
                **description_audit.SCHEMAS,
                "Problem": {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]},
            },
        },
    }


def _operation(name: str, summary: str, body: dict[str, Any], answer: JsonObject) -> JsonObject:
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        "operationId": name,
        "summary": summary,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"type": "object", "additionalProperties": False, **body}}},
        },
        "responses": {
            "200": {"description": "The answer", "content": {"application/json": {"schema": answer}}},
            **{status: {"description": text, "content": problem} for status, text in _PROBLEMS.items()},
        },
    }
