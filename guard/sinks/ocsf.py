"""OCSF: a record as an event of OCSF 1.6.0, class API Activity (6003), profile `security_control`. Comes after entry; pure.

The version is pinned, since meanings moved between versions. What the class has no place for stands in `unmapped.guard`: the record's whole body, its
chain, number and hashes. `action_id` says what was decided about a call, `disposition_id` what became of it, `status_id` how a run ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from guard.core.values import JsonObject, is_number
from guard.sinks.entry import Entry, grave

VERSION = "1.6.0"
_CATEGORY, _CLASS = 6, 6003
_READ, _OTHER = 2, 99
_ALLOWED, _DENIED = (1, "Allowed"), (2, "Denied")
_VERDICTS = {"allow": (_ALLOWED, (1, "Allowed")), "refuse": (_DENIED, (2, "Blocked")), "hold": ((99, "Held"), (14, "Delayed"))}
_STATES = {
    "approved": (_ALLOWED, (8, "Approved")),
    "rejected": (_DENIED, (25, "Rejected")),
    "revoked": (_DENIED, (24, "Access Revoked")),
    "refused": (_DENIED, (26, "Unauthorized")),
    "expired": (_DENIED, (2, "Blocked")),
    "cancelled": (_DENIED, (2, "Blocked")),
}
_STATUS = {"ok": (1, "Success"), "error": (2, "Failure"), "unknown": (0, "Unknown")}
_LONG = 2**31  # milliseconds that the attribute can hold
_INFORMATIONAL, _LOW, _MEDIUM = (1, "Informational"), (2, "Low"), (3, "Medium")


def ocsf(one: Entry) -> JsonObject:
    """The event of a record."""
    activity = _READ if one.text("tool", "kind") == "read" and one.kind.startswith("call.") else _OTHER
    severity = _severity(one)
    return {
        "category_uid": _CATEGORY,
        "category_name": "Application Activity",
        "class_uid": _CLASS,
        "class_name": "API Activity",
        "activity_id": activity,
        "activity_name": "Read" if activity == _READ else one.kind or "unreadable",
        "type_uid": _CLASS * 100 + activity,
        "time": _milliseconds(one),
        "severity_id": severity[0],
        "severity": severity[1],
        "message": " ".join(filter(None, (one.kind, one.text("tool", "name"), one.text("decision", "verdict")))),
        **_decided(one),
        **_ended(one),
        "metadata": _metadata(one),
        "actor": _actor(one),
        "api": {
            "operation": one.text("tool", "name") or one.kind or "unreadable",
            "request": {"uid": one.text("call_id") or one.id},
            **({"service": {"name": one.text("tool", "server")}} if one.text("tool", "server") else {}),
        },
        "src_endpoint": {"name": one.text("writer", "process") or "guard"},
        "unmapped": {"guard": {"chain": one.sealed.chain, "seq": one.sealed.seq, **_proof(one), "body": one.body}},
    }


def _proof(one: Entry) -> JsonObject:
    return {"prev": one.sealed.prev, "hash": one.sealed.hash}


def _milliseconds(one: Entry) -> int:
    try:
        return int(datetime.fromisoformat(one.text("ts")).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def _severity(one: Entry) -> tuple[int, str]:
    if grave(one):
        return _MEDIUM
    return _LOW if one.text("decision", "verdict") == "refuse" else _INFORMATIONAL


def _decided(one: Entry) -> JsonObject:
    """What was decided, where the record is about a decision."""
    found = _VERDICTS.get(one.text("decision", "verdict"))
    if found is None and one.kind.startswith("approval."):
        found = _STATES.get(one.text("approval_state", "status"))
    if found is None:
        return {}
    (action, named), (disposition, called) = found
    rules = one.texts("decision", "rules")
    version = one.text("decision", "policy")
    policy: dict[str, Any] = {"policy": {"name": "; ".join(rules) or "guard", "version": version}} if version else {}
    code = one.text("decision", "code")
    why = {"status_detail": code} if code else {}
    return {"action_id": action, "action": named, "disposition_id": disposition, "disposition": called, **policy, **why}


def _ended(one: Entry) -> JsonObject:
    status = _STATUS.get(one.text("exec", "status"))
    if status is None:
        return {}
    error, ms = one.text("exec", "error"), one.at("exec", "ms")
    took = {"duration": int(ms)} if is_number(ms) and 0 <= ms < _LONG else {}
    return {"status_id": status[0], "status": status[1], **({"status_code": error} if error else {}), **took}


def _metadata(one: Entry) -> JsonObject:
    related = one.text("approval") or one.text("conversation")
    tenant = one.text("tenant")
    return {
        "version": VERSION,
        "product": {"name": "guard", "vendor_name": "guard-middleware"},
        "profiles": ["security_control"],
        "uid": one.id,
        "log_name": "guard-audit",
        "event_code": one.kind or "unreadable",
        "sequence": one.sealed.seq,
        **({"correlation_uid": related} if related else {}),
        **({"tenant_uid": tenant} if tenant else {}),
    }


def _actor(one: Entry) -> JsonObject:
    """Whoever caused the record; and for an agent, the person that it acted for."""
    kind, name = one.text("actor", "type"), one.text("actor", "ref")
    who = one.text("principal") if kind in ("agent", "") else name
    user: Mapping[str, Any] = {"user": {"uid": who, "type_id": 1 if kind in ("agent", "human", "") else 4}} if who else {}
    return {"app_name": "guard", **user, **({"invoked_by": kind} if kind else {})}
