"""Questions: the approvals of a month out of their records: who asked, who answered and how fast, what came of it. Pure but for reading the log.

A question belongs to a month when it was asked or answered in it. Comes after `entry` and `log`, before `month`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from guard.auditing.entry import Entry
from guard.auditing.log import Log, found
from guard.auditing.steps import step
from guard.core.searching import Sought
from guard.core.values import JsonObject
from guard.stores.filing import micros

QUICK: Final = 5.0
"""Seconds: who votes sooner cannot have read much."""
MOST: Final = 60_000
"""Records that are read for the approvals of one month."""
_AROUND: Final = 31 * 86400  # seconds around a month in which a question may begin or end
_ENDS: Final = {
    "approval.expired": "expired",
    "approval.cancelled": "cancelled",
    "approval.revoked": "revoked",
    "approval.superseded": "superseded",
}
_KINDS: Final = ("approval.*", "call.begin", "call.end", "call.unknown", "call.reconciled")
BUCKETS: Final = (
    (5, "under 5 s"),
    (60, "to 1 min"),
    (300, "to 5 min"),
    (1800, "to 30 min"),
    (7200, "to 2 h"),
    (28800, "to 8 h"),
    (86400, "to 24 h"),
    (0, "longer"),
)


@dataclass(frozen=True, slots=True)
class Given:
    """One vote that counted, or one that did not (`status` refused)."""

    by: str
    status: str
    at: int
    time: str
    how: str


@dataclass(slots=True)
class Question:
    """One approval."""

    name: str
    tool: str = ""
    principal: str = ""
    tenant: str = ""
    call: str = ""
    asked: str = ""
    votes: list[Given] = field(default_factory=list)
    ended: str = ""
    ended_at: str = ""
    ran: str = ""
    self_votes: int = 0

    def seconds(self, vote: Given) -> float | None:
        """How long a vote took."""
        return (vote.at - micros(self.asked)) / 1_000_000 if self.asked else None

    @property
    def status(self) -> str:
        """What became of the question."""
        last = next((vote.status for vote in reversed(self.votes) if vote.status in {"approved", "rejected"}), "")
        return self.ended or last or "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The questions of a month, oldest first. `cut`: there were more records than are read."""

    all: Sequence[Question]
    begin: int
    end: int
    cut: bool

    def votes(self) -> list[tuple[Question, Given]]:
        """Votes of the month."""
        return [(one, vote) for one in self.all for vote in one.votes if self.begin <= vote.at < self.end]

    def counted(self) -> list[tuple[Question, Given]]:
        """Those that counted."""
        return [(one, vote) for one, vote in self.votes() if vote.status != "refused"]

    def totals(self) -> JsonObject:
        """Counts."""
        statuses = [one.status for one in self.all]
        names = ("approved", "rejected", "expired", "undecided", "cancelled", "revoked")
        return {
            "asked": sum(self.begin <= micros(one.asked) < self.end for one in self.all),
            **{name: statuses.count(name) for name in names},
            "quick_votes": sum(quick(one, vote) for one, vote in self.counted()),
            "own_votes_refused": sum(_own(one, vote) for one, vote in self.votes()),
        }

    def lists(self, most: int) -> JsonObject:
        """Lists for the report."""
        votes = self.votes()
        return {
            "approvals": _rows(map(_told, self.all), most),
            "approvals_cut": self.cut,
            "approvers": self._approvers(),
            "latency": self._latency(),
            "quick": _rows((_vote(*pair) for pair in self.counted() if quick(*pair)), most),
            "own": _rows((_vote(*pair) for pair in votes if _own(*pair)), most),
            "not_entitled": _rows((_vote(*pair) for pair in votes if pair[1].status == "refused" and not _own(*pair)), most),
            "never": _rows((_told(one) for one in self.all if one.status in {"undecided", "expired"}), most),
        }

    def _approvers(self) -> list[JsonObject]:
        people: dict[str, list[tuple[Question, Given]]] = {}
        for one, vote in self.counted():
            people.setdefault(vote.by, []).append((one, vote))
        return [_approver(name, votes) for name, votes in sorted(people.items(), key=lambda pair: (-len(pair[1]), pair[0]))]

    def _latency(self) -> list[JsonObject]:
        took = [seconds for one, vote in self.counted() if (seconds := one.seconds(vote)) is not None]
        out, below = [], 0.0
        for most, name in BUCKETS:
            out.append({"took": name, "count": sum(below <= seconds < (most or float("inf")) for seconds in took)})
            below = most
        return out


def quick(one: Question, vote: Given) -> bool:
    """Whether a vote came sooner than somebody could have read the question."""
    seconds = one.seconds(vote)
    return seconds is not None and 0 <= seconds < QUICK


def _own(one: Question, vote: Given) -> bool:
    return vote.status == "refused" and vote.by == one.principal


def _rows(rows: Iterable[JsonObject], most: int) -> JsonObject:
    found = list(rows)
    return {"all": len(found), "rows": found[:most]}


def _approver(name: str, votes: Sequence[tuple[Question, Given]]) -> JsonObject:
    took = [seconds for one, vote in votes if (seconds := one.seconds(vote)) is not None]
    return {
        "who": name,
        "approved": sum(vote.status == "approved" for _, vote in votes),
        "rejected": sum(vote.status == "rejected" for _, vote in votes),
        "median_seconds": round(statistics.median(took), 1) if took else None,
        "quick": sum(quick(one, vote) for one, vote in votes),
    }


def _vote(one: Question, vote: Given) -> JsonObject:
    seconds = one.seconds(vote)
    took = None if seconds is None else round(seconds, 1)
    return {
        "time": vote.time,
        "approval": one.name,
        "who": vote.by,
        "status": vote.status,
        "tool": one.tool,
        "for": one.principal,
        "seconds": took,
    }


def _told(one: Question) -> JsonObject:
    last = next((vote for vote in reversed(one.votes) if vote.status != "refused"), None)
    seconds = None if last is None else one.seconds(last)
    return {
        "approval": one.name,
        "tool": one.tool,
        "for": one.principal,
        "tenant": one.tenant,
        "call": one.call,
        "asked": one.asked,
        "status": one.status,
        "by": ", ".join(dict.fromkeys(vote.how for vote in one.votes if vote.status == one.status)),
        "at": one.ended_at or (last.time if last else ""),
        "seconds": None if seconds is None else round(seconds, 1),
        "ran": one.ran,
    }


def of(log: Log, window: Sought) -> Questions:
    """The questions that were asked or answered in the window."""
    begin, end = (round((moment or 0) * 1_000_000) for moment in (window.since, window.until))
    wide = replace(
        window, since=max((window.since or 0) - _AROUND, 0), until=(window.until or 0) + _AROUND, asked=True, kinds=_KINDS
    )
    all_of: dict[tuple[str, str], Question] = {}
    count = 0
    for one in found(log, replace(wide, newest=False, limit=MOST)):
        count += 1
        _add(all_of.setdefault((one.text("tenant"), one.text("approval")), Question(one.text("approval"))), one)
    chosen = [one for one in all_of.values() if _within(one, begin, end)]
    return Questions(all=sorted(chosen, key=lambda one: one.asked), begin=begin, end=end, cut=count >= MOST)


def _within(one: Question, begin: int, end: int) -> bool:
    return any(begin <= at < end for at in (micros(one.asked), *(vote.at for vote in one.votes)))


def _add(question: Question, one: Entry) -> None:
    """Take in one record."""
    kind = one.text("kind")
    question.tool = question.tool or one.text("tool", "name")
    question.principal = question.principal or one.text("principal")
    question.tenant = question.tenant or one.text("tenant")
    question.call = question.call or f"{one.text('conversation')}/{one.text('turn')}/{one.text('position')}"
    if kind == "approval.requested":
        question.asked = question.asked or one.text("ts")
    elif kind in {"approval.vote", "approval.resolved"}:
        _answered(question, one)
    elif kind in _ENDS:
        question.ended, question.ended_at = _ENDS[kind], one.text("ts")
    elif kind.startswith("call."):
        question.ran = step(one).told


def _answered(question: Question, one: Entry) -> None:
    """A vote; where it decided, two records may say so."""
    status = one.text("approval_state", "decision") or one.text("approval_state", "status")
    by = one.text("actor", "ref")
    if status not in {"approved", "rejected", "refused"} or not by:
        return
    if status != "refused" and any(vote.by == by and vote.status == status for vote in question.votes):
        return
    question.votes.append(Given(by, status, micros(one.text("ts")), one.text("ts"), step(one).who))
