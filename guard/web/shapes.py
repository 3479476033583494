"""Shapes: an approval and a call in doubt as JSON for a program. Arguments stand in the document that is presented, and nowhere else. Pure."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

from guard.core.approval import Approval, Vote
from guard.core.values import JsonObject
from guard.core.wording import HEADING, Ran
from guard.runner.doubts import Unknown

_PLAIN = (
    "id",
    "status",
    "revision",
    "fingerprint",
    "tool",
    "kind",
    "effect",
    "requester",
    "tenant",
    "conversation",
    "branch",
    "turn",
    "position",
    "call_id",
    "need",
    "by_self",
    "policy",
    "decided_by",
    "reason",
    "supersedes",
    "superseded_by",
    "edited_by",
    "edited_why",
    "ended_by",
)
_TIMES = ("requested_at", "expires_at", "use_by", "decided_at", "escalated_at")


def moment(seconds: float | None) -> str | None:
    """Seconds since the epoch as RFC 3339 text in UTC."""
    return (
        None
        if seconds is None
        else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def approval(found: Approval) -> JsonObject:
    """What is known of an approval, without arguments."""
    plain: JsonObject = {name: getattr(found, name) for name in _PLAIN}
    times: JsonObject = {name: moment(getattr(found, name)) for name in _TIMES}
    return {
        **plain,
        **times,
        "by": list(found.by),
        "why": list(found.why),
        "editable": list(found.editable),
        "votes": [_vote(one) for one in found.votes],
    }


def _vote(vote: Vote) -> JsonObject:
    """A vote without its private note."""
    names = ("number", "decision", "by", "revision", "fingerprint", "presented", "assurance", "via", "reason")
    return {**{name: getattr(vote, name) for name in names}, "at": moment(vote.at)}


def beside(found: Approval) -> JsonObject | None:
    """What the model wrote beside the call; None where it wrote nothing."""
    words = found.words
    return {"note": HEADING, "text": words.text, "size": words.size, "digest": words.digest} if words.digest else None


def ended(ran: Ran | None) -> JsonObject | None:
    """What became of the call; None while nothing was tried."""
    if ran is None:
        return None
    content = None if ran.erased else ran.text
    return {"status": ran.status, "at": moment(ran.at), "reason": ran.code or None, "content": content}


def state(found: Approval) -> JsonObject:
    """How an approval stands: what whoever lost a race is told."""
    names = ("id", "status", "revision", "fingerprint", "decided_by", "ended_by", "superseded_by")
    return {**{name: getattr(found, name) for name in names}, "decided_at": moment(found.decided_at)}


def unknown(found: Unknown) -> JsonObject:
    """A call in doubt, with its arguments: who settles it has to look where their effect would show."""
    return {**asdict(found), "since": moment(found.since)}
