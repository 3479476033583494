"""Grant records: the audit's events about grants: given, used, revoked.

Terms are shown with hidden what must be; a use says what is left. Comes after audit; pure.
"""

from __future__ import annotations

from guard.core.actors import human
from guard.core.approval import Assurance
from guard.core.grants import Grant, shown
from guard.core.hiding import hide
from guard.core.model import CallKey, Session
from guard.core.ports import Event, Redactor
from guard.core.values import Json, JsonObject


def terms(grant: Grant, redactor: Redactor) -> JsonObject:
    """What a grant permits, as a record may hold it."""
    constraint = {key: value for key, value in grant.constraint.items() if key not in ("arguments", "where")}
    if "where" in grant.constraint:
        constraint["where"] = hide(shown(grant, _secret)["where"], redactor, set())
    return {"id": grant.id, "scope": grant.scope, "terms": grant.terms, **constraint, "uses": grant.uses, "until": grant.until}


def _secret(_: Json, _key: str) -> Json:
    """Records leave the house: not even a digest of what nobody is shown stands there."""
    return "[secret]"


def given(grant: Grant, by: Session, assurance: Assurance | None, redactor: Redactor) -> Event:
    """Somebody gave it, or agreed to it."""
    have = len(grant.givers)
    state: JsonObject = {
        **terms(grant, redactor),
        "need": grant.need,
        "have": have,
        "status": "live" if have >= grant.need else "proposed",
    }
    if grant.reason:
        state["reason"] = redactor.detect(None, grant.reason)[0]
    return _event("grant.created", grant, human(by, redactor, assurance=assurance), state)


def revoked(grant: Grant, by: Session, redactor: Redactor) -> Event:
    """Somebody took it back."""
    state: JsonObject = {"id": grant.id, "status": "revoked", "used": grant.used, "summed": grant.summed}
    if grant.revoked_why:
        state["reason"] = redactor.detect(None, grant.revoked_why)[0]
    return _event("grant.revoked", grant, human(by, redactor), state)


def used(key: CallKey, call_id: str, grant: Grant) -> Event:
    """A call drew on it: what is left."""
    left: JsonObject = {"used": grant.used, "left": None if grant.uses is None else grant.uses - grant.used}
    if grant.sum is not None:
        left |= {"summed": grant.summed, "sum_left": grant.sum - grant.summed}
    event = _event("grant.used", grant, {"type": "policy"}, {"id": grant.id, "scope": grant.scope, **left})
    ref = key.ref
    place: JsonObject = {"conversation": ref.conversation, "turn": key.turn, "position": key.position, "call_id": call_id}
    return {**event, **place, **({"branch": ref.branch} if ref.branch else {})}


def _event(kind: str, grant: Grant, actor: JsonObject, state: JsonObject) -> dict[str, Json]:
    where = {} if grant.conversation is None else {"conversation": grant.conversation}
    return {
        "kind": kind,
        "tenant": grant.tenant,
        **where,
        "principal": grant.principal,
        "actor": actor,
        "approval": grant.approval,
        "tool": {"name": grant.tool, "definition": grant.definition, "kind": grant.kind},
        "grant": state,
        "decision": {"policy": grant.policy},
    }
