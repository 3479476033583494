"""Views: one approval as an approver must see it, as text or JSON. Built from what will run, never from what the model says about it.

Every argument stands in full with its origin. May not shorten or hide. Used by `approvals` and `demo`; pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from guard.cli import show
from guard.cli.tables import pairs
from guard.core.model import Approval
from guard.core.values import Json, JsonObject

ORIGINS = {
    "model": "written by the model",
    "session": "from the session",
    "default": "the schema's default",
    "result": "from an earlier result",
    "bounded": "written by the model, within what an earlier result says",
    "handle": "put back in the place of a handle",
    "user": "from the user's words",
}


def approval_lines(approval: Approval, *, indent: str = "") -> list[str]:
    """The whole view."""
    hidden = show.count_unseen(approval.arguments)
    facts = [
        ("approval", approval.id),
        ("tool", f"{show.spell(approval.tool)} ({approval.kind})"),
        ("definition", approval.definition),
        ("fingerprint", approval.fingerprint),
        ("asked for by", f"{show.spell(approval.requester)}, tenant {show.spell(approval.tenant)}"),
        ("conversation", f"{show.spell(approval.conversation + approval.branch)}, turn {approval.turn}, call {_call(approval)}"),
        ("may decide", show.spell(deciders(approval))),
        ("asked", utc(approval.requested_at)),
        ("expires", utc(approval.expires_at)),
        ("status", _status(approval)),
    ]
    warned = [f"arguments ({hidden} characters that cannot be seen are spelled out)" if hidden else "arguments"]
    return [indent + line for line in (*pairs(facts), *warned, *argument_lines(approval.arguments, approval.origins))]


def argument_lines(arguments: JsonObject, origins: Mapping[str, str] | None, *, indent: str = "  ") -> list[str]:
    """One line for each argument: name, value in full, origin where it is known."""
    if not arguments:
        return [f"{indent}(none)"]
    shown = {name: show.value(value) for name, value in arguments.items()}
    if origins is None:
        return pairs([(show.spell(name), text) for name, text in shown.items()], indent=indent)
    return pairs(
        [(show.spell(name), f"{text}   <- {ORIGINS.get(origins.get(name, 'model'), 'unknown')}") for name, text in shown.items()],
        indent=indent,
    )


def approval_json(approval: Approval) -> JsonObject:
    """The same facts for a program."""
    found: JsonObject = {
        name: getattr(approval, name)
        for name in ("id", "status", "tool", "kind", "definition", "fingerprint", "arguments", "requester", "tenant")
    }
    found |= {name: getattr(approval, name) for name in ("conversation", "branch", "turn", "position", "call_id", "policy")}
    found |= {
        "origins": dict(approval.origins),
        "show": list(approval.show),
        "by": list(approval.by),
        "by_self": approval.by_self,
    }
    found |= {"requested_at": utc(approval.requested_at), "expires_at": utc(approval.expires_at)}
    found |= {"decided_by": approval.decided_by, "decided_at": _maybe(approval.decided_at), "reason": approval.reason}
    return found


def deciders(approval: Approval) -> str:
    """Who may decide, in words."""
    roles = " or ".join(approval.by)
    others = f"{roles}, other than {approval.requester}" if roles else ""
    own = approval.requester if approval.by_self else ""
    return "; ".join(filter(None, (own, others)))


def utc(seconds: float) -> str:
    """Seconds since the epoch as UTC text."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _maybe(seconds: float | None) -> Json:
    return None if seconds is None else utc(seconds)


def _call(approval: Approval) -> str:
    return show.spell(approval.call_id) or f"number {approval.position + 1}"


def _status(approval: Approval) -> str:
    if approval.decided_by is None or approval.decided_at is None:
        return approval.status
    why = f", reason: {show.spell(approval.reason)}" if approval.reason else ""
    return f"{approval.status} ({show.spell(approval.decided_by)}, {utc(approval.decided_at)}{why})"
