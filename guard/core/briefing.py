"""Briefing: everything that an approver is told about one approval, as of now, in the order in which it is shown.

A page, a terminal and a message write the same briefing by their own rules. Built only from the stored approval and the revision before it. Decides
nothing: whether somebody may vote is asked elsewhere. Pure; comes after `facts` and `presented`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from guard.core import facts, legible, wording
from guard.core.approval import Approval
from guard.core.facts import Argument
from guard.core.lasting import lasting
from guard.core.legible import Piece
from guard.core.names import real
from guard.core.values import JsonObject

STATUSES = {
    "pending": "waiting for a decision",
    "approved": "approved, has not run yet",
    "rejected": "rejected, does not run",
    "expired": "expired without a decision in time, does not run",
    "consumed": "approved and started",
    "cancelled": "cancelled, does not run",
    "revoked": "approval withdrawn before it ran",
    "superseded": "replaced by a newer revision",
}
LIVE = ("pending", "approved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What is told about one approval. `document` holds what was hashed; everything here is taken from it or says how the question stands now.

    `beside` is what is to be known of the model's words, which stand below all of this; `gone` when and by whom the arguments were erased.
    """

    approval: Approval
    presented: str
    status: str
    arguments: tuple[Argument, ...]
    warnings: tuple[str, ...]
    permits: tuple[str, ...]
    why: tuple[str, ...]
    may: str
    have: int
    beside: tuple[str, ...]
    left: float | None
    gone: str = ""

    @property
    def title(self) -> tuple[Piece, ...]:
        """The operator's one line, or the tool's name."""
        if self.gone:
            return legible.pieces(f"A call of {self.approval.tool}, of which the details were erased")
        return legible.pieces(self.approval.effect or f"Run {self.approval.tool}")

    @property
    def cut(self) -> str:
        """That the model wrote more than is kept."""
        return wording.cut(self.approval.words)

    @property
    def changed(self) -> tuple[Argument, ...]:
        """Arguments that differ from the last revision."""
        return tuple(one for one in self.arguments if one.changed)


def briefing(
    approval: Approval, document: JsonObject, presented: str, now: float, needs: int | None = None, gone: str = ""
) -> Briefing:
    """The briefing at `now`, by the store's clock. `document` and `presented` are those of `guard.core.presented`.

    `needs` is how many more people must say yes where that is known better than from the stored votes.
    """
    own = [real(approval.requester), approval.tool, *facts.shown(document)]
    return Briefing(
        approval=approval,
        presented=presented,
        status=status_of(approval),
        arguments=tuple(sorted(facts.arguments(document), key=lambda one: not one.first)),
        warnings=facts.warnings(own, approval.effect),
        permits=permits(approval) if approval.status in LIVE else (),
        why=approval.why or ("the policy asks a person before this call runs",),
        may=deciders(approval),
        have=len(approval.yes) if needs is None else approval.need - needs,
        beside=wording.notes(approval.words),
        left=approval.ends_at - now if approval.status in LIVE else None,
        gone=gone,
    )


def permits(approval: Approval) -> tuple[str, ...]:
    """What a yes means, in sentences."""
    within = lasting(approval.use_within) if approval.use_within is not None else ""
    until = f"within {within} of the last yes" if within else "before the time at which it expires"
    told = [f"This one call may run once, with exactly these arguments, {until}. Nothing else is permitted."]
    if approval.need > 1:
        told.append(f"{approval.need} different people must say yes; one no ends it.")
    told.append("A yes runs nothing by itself. The policy in force judges the call once more right before it runs.")
    return tuple(told)


def deciders(approval: Approval) -> str:
    """Who may decide, in words."""
    roles = " or ".join(approval.by)
    others = f"{roles}, other than {real(approval.requester)}" if roles else ""
    own = real(approval.requester) if approval.by_self else ""
    return "; ".join(filter(None, (own, others)))


def status_of(approval: Approval) -> str:
    """How it stands, in words."""
    unused = approval.status == "expired" and approval.use_by is not None
    return "approved and not used in time, does not run" if unused else STATUSES[approval.status]


def ended(approval: Approval) -> str:
    """Who decided or ended it, when and why, in words; nothing while it waits."""
    if approval.status == "pending":
        return ""
    told, who, when = status_of(approval).capitalize(), enders(approval), ended_at(approval)
    since = f", {utc(when)}" if when is not None else ""
    used = " The yes was used for this one run and permits nothing more." if approval.status == "consumed" else ""
    why = f" Reason: {approval.reason}" if approval.reason else ""
    return f"{told}{f' (by {who}{since})' if who else ''}.{used}{why}"


def enders(approval: Approval) -> str:
    """Who ended it or, where nobody did, everybody who said yes, or whoever said no; empty where only time did."""
    if approval.ended_by or approval.status == "rejected":
        return real(approval.ended_by or approval.decided_by or "")
    agreed = list(dict.fromkeys(real(vote.by) for vote in approval.yes)) if approval.decided_by else []
    return " and ".join(filter(None, (", ".join(agreed[:-1]), *agreed[-1:]))) or real(approval.decided_by or "")


def ended_at(approval: Approval) -> float | None:
    """When that was."""
    return approval.ended_at if approval.ended_by else approval.decided_at


def utc(seconds: float) -> str:
    """Seconds since the epoch as UTC text."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


__all__ = ["LIVE", "STATUSES", "Briefing", "briefing", "deciders", "ended", "ended_at", "enders", "permits", "status_of", "utc"]
