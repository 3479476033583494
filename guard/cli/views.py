"""Views: one approval as an approver must see it, as text or JSON. Built from what will run, never from what the model says about it.

Every argument stands in full with its origin. May not shorten or hide. Used by `approvals` and `demo`; pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from guard.cli import show
from guard.cli.tables import pairs
from guard.core.approval import Approval
from guard.core.briefing import LIVE, deciders, ended_at, enders, permits, status_of, utc
from guard.core.facts import ORIGINS, shown
from guard.core.lasting import lasting
from guard.core.legible import backwards, counted, disguised
from guard.core.names import real
from guard.core.pointers import pointer, within
from guard.core.presented import differences, document, masked, presented
from guard.core.values import Json, JsonObject

_COUNTED = (
    *("revision", "need", "use_within", "supersedes", "superseded_by", "edited_by", "edited_why", "effect", "on_message"),
    "ended_by",
)
_PLAIN = {one: one for one in ("pending", "approved", "rejected", "cancelled", "revoked")}
_VOTED = ("number", "decision", "by", "revision", "fingerprint", "presented", "assurance", "via", "reason")


def approval_lines(approval: Approval, *, indent: str = "", previous: Approval | None = None, gone: str = "") -> list[str]:
    """The whole view, the same facts as on the page; with the revision before it, what is different. `gone`: when and by whom it was erased."""
    approval, secret = masked(approval), len(approval.secret)
    hidden = show.count_unseen(approval.arguments)
    facts = [
        ("approval", approval.id),
        *_revision(approval),
        ("tool", f"{show.spell(approval.tool)} ({approval.kind})"),
        *((("effect", show.spell(approval.effect)),) if approval.effect else (("effect", gone),) if gone else ()),
        ("definition", approval.definition),
        ("fingerprint", approval.fingerprint),
        ("asked for by", f"{show.spell(approval.requester)}, tenant {show.spell(approval.tenant)}"),
        ("conversation", f"{show.spell(approval.conversation + approval.branch)}, turn {approval.turn}, call {_call(approval)}"),
        *(("held because", show.spell(why)) for why in approval.why),
        ("may decide" if approval.status == "pending" else "could decide", show.spell(deciders(approval))),
        *((("said yes", told_yes(approval)),) if approval.need > 1 or approval.votes else ()),
        *(("reason", f"{show.spell(vote.by)}: {show.spell(vote.reason)}") for vote in approval.yes if vote.reason),
        ("asked", utc(approval.requested_at)),
        *((("expires", utc(approval.expires_at)),) if approval.status == "pending" else ()),
        *_use(approval),
        *(("permits", told) for told in permits(approval) if approval.status in LIVE),
        ("policy", approval.policy),
        *(() if gone else _shown(approval, previous)),
        ("status", _status(approval)),
    ]
    warned = [
        f"arguments ({counted(hidden, 'character')} that cannot be seen {'is' if hidden == 1 else 'are'} spelled out)"
        if hidden
        else "arguments"
    ]
    warned[0] += f" ({secret} secret, masked)" if secret else ""
    arguments = dict(sorted(approval.arguments.items(), key=lambda one: not _first(approval, one[0])))
    given = [*argument_lines(arguments, approval.origins, secret=approval.secret), *_warned(approval, previous)]
    shown = ["arguments", f"  {gone}"] if gone else [*warned, *given, *difference_lines(previous, approval)]
    told = (*pairs(facts), *shown)
    return [indent + line for line in told]


def _shown(approval: Approval, previous: Approval | None) -> list[tuple[str, str]]:
    """The digest of this view, which a vote carries; not where a revision is shown without the one before it."""
    whole = approval.supersedes is None or previous is not None
    return [("this view", presented(approval, previous))] if whole else []


def _first(approval: Approval, name: str) -> bool:
    """Whether the policy shows the argument before others."""
    return name in {path.partition(".")[0].partition("[")[0] for path in approval.show}


def _warned(approval: Approval, previous: Approval | None) -> list[str]:
    """What looks like something else than it is, or stands otherwise in a terminal than it is stored."""
    known = (approval.effect, real(approval.requester), approval.tool, *shown(document(approval, previous)))
    told = dict.fromkeys(f"  ! {show.spell(word)} {what}" for text in known for word, what in disguised(text))
    if any(map(backwards, known)):
        told[
            "  ! letters that are written from right to left: a terminal may show them in another order than they are stored"
        ] = None
    return [*told]


def _revision(approval: Approval) -> list[tuple[str, str]]:
    """Which revision it is, where there is more than one."""
    if approval.supersedes is None and approval.superseded_by is None:
        return []
    why = f" ({show.spell(approval.edited_why)})" if approval.edited_why else ""
    by = f", changed by {show.spell(approval.edited_by)}{why}" if approval.edited_by else ""
    later = f"; {approval.superseded_by} stands in its place" if approval.superseded_by else ""
    return [("revision", f"{approval.revision}{by}{later}")]


def told_yes(approval: Approval) -> str:
    """How many of those who must say yes have, and who."""
    names = list(dict.fromkeys(show.spell(vote.by) for vote in approval.yes))
    return f"{len(names)} of {approval.need}" + (f" ({', '.join(names)})" if names else "")


def _use(approval: Approval) -> list[tuple[str, str]]:
    if approval.status == "approved":
        return [("use by", utc(approval.ends_at))]
    within = approval.use_within
    return [] if within is None or approval.status != "pending" else [("use within", f"{lasting(within)} of the yes")]


def difference_lines(previous: Approval | None, approval: Approval) -> list[str]:
    """What the arguments are now and were in the revision before."""
    if previous is None:
        return []
    found = [
        (show.spell(str(one["path"])), f"{_side(one, 'before')}  ->  {_side(one, 'after')}")
        for one in differences(previous, approval)
    ]
    return [f"changed since revision {previous.revision}", *(pairs(found, indent="  ") if found else ["  (nothing)"])]


def _side(one: JsonObject, side: str) -> str:
    return show.value(one[side]) if side in one else "(nothing)"


def argument_lines(
    arguments: JsonObject, origins: Mapping[str, str] | None, *, indent: str = "  ", secret: Collection[str] = ()
) -> list[str]:
    """One line for each argument: name, value in full, origin where it is known, and which of it a mask stands for."""
    if not arguments:
        return [f"{indent}(none)"]
    told = {name: show.value(value) for name, value in arguments.items()}
    if origins is None:
        return pairs([(show.spell(name), text) for name, text in told.items()], indent=indent)
    return pairs(
        [
            (show.spell(name), f"{text}   <- {ORIGINS.get(origins.get(name, 'model'), 'unknown')}{_masks(name, secret)}")
            for name, text in told.items()
        ],
        indent=indent,
    )


def _masks(name: str, secret: Collection[str]) -> str:
    """Where masks of the policy's stand in an argument; a text that only looks like one has none."""
    whole, inside = within(pointer([name]), secret), [one for one in secret if within(one, [pointer([name])])]
    if whole or not inside:
        return "; secret, masked" if whole else ""
    return f"; secret, masked at {', '.join(map(show.spell, inside))}"


def approval_json(approval: Approval) -> JsonObject:
    """The same facts for a program; a mask stands in the place of what is secret."""
    approval = masked(approval)
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
    found |= {name: getattr(approval, name) for name in _COUNTED}
    found |= {name: list(getattr(approval, name)) for name in ("editable", "authors", "secret", "why", "escalate_to")}
    found |= {name: _maybe(getattr(approval, name)) for name in ("use_by", "escalate_at", "escalated_at", "ended_at")}
    found["votes"] = [
        {name: getattr(vote, name) for name in _VOTED} | {"roles": list(vote.roles), "at": utc(vote.at)}
        for vote in approval.votes
    ]
    found |= {"decided_by": approval.decided_by, "decided_at": _maybe(approval.decided_at), "reason": approval.reason}
    return found


def _maybe(seconds: float | None) -> Json:
    return None if seconds is None else utc(seconds)


def _call(approval: Approval) -> str:
    return show.spell(approval.call_id) or f"number {approval.position + 1}"


def _status(approval: Approval) -> str:
    """How it stands, or how it ended: in a word, where that is plain, and by whom."""
    told = _PLAIN.get(approval.status, f"{approval.status}: {status_of(approval)}")
    who, when = enders(approval), ended_at(approval)
    if not who or when is None:
        return told
    why = f", reason: {show.spell(approval.reason)}" if approval.reason else ""
    return f"{told} ({show.spell(who)}, {utc(when)}{why})"


__all__ = ["approval_json", "approval_lines", "argument_lines", "deciders", "difference_lines", "told_yes", "utc"]
