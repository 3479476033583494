"""Audit: what each room did, as events of record schema v1, already safe to store.

An event holds digests, redacted copies and origins, never a raw argument or result. The store adds version, id, time and chain. Used by
the pipeline after every room; pure.
"""

from __future__ import annotations

from guard.core.hiding import hide
from guard.core.model import Allow, Approval, AuthorizedCall, CallKey, Decision, Outcome, Refusal, Session, ToolCall
from guard.core.ports import Detect, Event, Executed
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject, canonical, digest, encode

_AGENT: JsonObject = {"type": "agent"}
_POLICY: JsonObject = {"type": "policy"}


def _event(kind: str, key: CallKey, call: ToolCall, actor: JsonObject) -> Event:
    ref = key.ref
    event: Event = {
        "kind": kind,
        "tenant": ref.tenant,
        "conversation": ref.conversation,
        "turn": key.turn,
        "position": key.position,
        "principal": ref.principal,
        "actor": actor,
        "call_id": call.id,
        "tool": {"name": call.tool},
    }
    if ref.branch:
        event["branch"] = ref.branch
    return event


def proposed(key: CallKey, call: ToolCall) -> Event:
    """A call as the model wrote it: size and digest only, since nothing is known about the text yet."""
    raw = call.arguments if isinstance(call.arguments, str) else "" if call.arguments is None else _text(call.arguments)
    event = _event("call.proposed", key, call, _AGENT)
    event["args"] = {"size": len(raw), "digest": digest(raw)}
    return event


def _text(arguments: Json) -> str:
    try:
        return canonical(arguments)
    except (TypeError, ValueError, ArithmeticError):
        return ""


def decided(key: CallKey, call: ToolCall, decision: Decision, last: object, policy: str, detect: Detect) -> Event:
    """What the rooms decided, by which rules, about which final arguments. `last` is the furthest proof that the call reached."""
    event = _event("call.decided", key, call, _POLICY)
    verdict: JsonObject = {"policy": policy}
    if isinstance(decision, Refusal):
        verdict |= {"verdict": "refuse", "code": str(decision.reason), "rules": list(decision.rules)}
        if decision.note:
            verdict["note"] = decision.note
    else:
        verdict |= {"verdict": "allow" if isinstance(decision, Allow) else "hold", "rules": list(decision.call.rules)}
        shadowed = decision.call.grounded.shadowed
        if shadowed:
            verdict["shadow"] = list(shadowed)
        if decision.approval is not None:
            event["approval"] = decision.approval.id
    event["decision"] = verdict
    _final(event, last, detect)
    return event


def _final(event: Event, last: object, detect: Detect) -> None:
    """Final arguments, their origins and what was spoofed, as far as the call got."""
    origins: JsonObject | None = None
    if isinstance(last, AuthorizedCall):
        origins = dict(last.grounded.origins)
        last = last.valid
    arguments, tool = getattr(last, "arguments", None), getattr(last, "tool", None)
    if not isinstance(tool, Tool) or not isinstance(arguments, dict):
        return
    event["tool"] = {"name": tool.name, "definition": tool.definition, "kind": tool.kind}
    text = getattr(last, "canonical", None)
    if isinstance(text, str):
        shown = hide(arguments, detect, set())
        event["args"] = {
            "size": len(text),
            "digest": digest(text),
            "shown": shown,
            "labels": origins or dict(getattr(last, "origins", {})),
        }
    if spoofed := getattr(last, "spoofed", ()):
        event["spoof"] = list(spoofed)


def requested(approval: Approval, key: CallKey, call: ToolCall) -> Event:
    """A person is asked."""
    event = _event("approval.requested", key, call, _POLICY)
    event["approval"] = approval.id
    event["approval_state"] = {"status": "pending", "need": 1, "have": 0, "by": list(approval.by), "self": approval.by_self}
    event["fingerprint"] = approval.fingerprint
    return event


def voted(approval: Approval, approver: Session, decision: str, reason: str | None, detect: Detect) -> Event:
    """A person decided; the identity is the one that the host authenticated."""
    return {
        "kind": "approval.resolved",
        "tenant": approval.tenant,
        "conversation": approval.conversation,
        "turn": approval.turn,
        "position": approval.position,
        "principal": approval.requester,
        "actor": {"type": "human", "ref": approver.principal, "assurance": "host"},
        "call_id": approval.call_id,
        "tool": {"name": approval.tool, "definition": approval.definition, "kind": approval.kind},
        "approval": approval.id,
        "fingerprint": approval.fingerprint,
        "approval_state": {"status": decision, "need": 1, "have": 1, "reason": detect(None, reason)[0] if reason else None},
    }


def began(key: CallKey, call: AuthorizedCall, approval: str | None, policy: str) -> Event:
    """The call was taken and is about to run: durable before the act."""
    event = _event("call.begin", key, call.valid.call, _POLICY)
    event["tool"] = {"name": call.valid.tool.name, "definition": call.valid.tool.definition, "kind": call.valid.tool.kind}
    event["args"] = {"digest": digest(call.valid.canonical)}
    event["decision"] = {"policy": policy}
    if approval:
        event["approval"] = approval
    return event


def ended(key: CallKey, call: ToolCall, outcome: Outcome, ran: Executed | None = None, labels: tuple[str, ...] = ()) -> Event:
    """How the call ended: a digest of what went back, what was hidden in it, and how long it took."""
    unclear = outcome.status == "unknown"
    event = _event("call.unknown" if unclear else "call.end", key, call, {"type": "service"})
    if outcome.approval:
        event["approval"] = outcome.approval
    status = {"done": "ok", "unknown": "unknown"}.get(outcome.status, "error")
    event["exec"] = {"status": status, "error": None if outcome.reason is None else str(outcome.reason)}
    if ran is not None:
        event["exec"]["ms"] = round(ran.ms, 3)
        if ran.error:
            event["exec"]["class"] = ran.error
    content = outcome.content if isinstance(outcome.content, str) else encode([str(block) for block in outcome.content])
    event["result"] = {"size": len(content), "digest": digest(content)}
    if labels:
        event["result"]["labels"] = list(labels)
    return event


def delivered(key: CallKey, call: ToolCall, outcome: Outcome) -> Event:
    """A recorded outcome went back once more."""
    event = _event("result.delivered", key, call, {"type": "service"})
    event["exec"] = {"status": outcome.status, "replayed": True}
    return event
