"""Questions: the approvals of a month out of their records: who asked, who answered and how fast, what came of it. Pure but for reading the log.

A question belongs to a month when it was asked or answered in it. They are read from what is filed; bodies only of edits and of votes that did not count. Comes after
`question`, before `month`.
"""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

from guard.auditing import uncounted
from guard.auditing.entry import Entry
from guard.auditing.log import Log, found
from guard.auditing.question import Given, Question, quick
from guard.core.searching import Sought
from guard.core.values import JsonObject
from guard.stores import filing

T = TypeVar("T")
MOST: Final = 1_000_000
"""Records that are read for the approvals of one month; of the questions that they are about, only what is counted and told is kept."""
_PAGE: Final = 5_000
_ASKED: Final = 200  # approvals whose calls are looked up at once
_AROUND: Final = 31 * 86400  # seconds around a month in which a question may begin or end
_VOTES: Final = ("approval.resolved", "approval.vote")
_ENDS: Final = {
    "approval.expired": "expired",
    "approval.cancelled": "cancelled",
    "approval.revoked": "revoked",
    "approval.superseded": "superseded",
    "approval.edited": "superseded",
}
_RAN: Final = {
    "call.begin": {"": "started"},
    "call.end": {"ok": "ended well", "": "failed"},
    "call.unknown": {"": "unknown"},
    "call.reconciled": {"ok": "took effect", "": "did not take effect"},
}
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


@dataclass(frozen=True, kw_only=True)
class Questions:
    """The questions of a month, oldest first. `cut`: there were more records than are read."""

    all: Sequence[Question]
    begin: int
    end: int
    cut: bool
    log: Log
    wide: Sought

    @cached_property
    def votes(self) -> list[tuple[Question, Given]]:
        """Votes of the month."""
        return [(one, vote) for one in self.all for vote in one.votes if self.begin <= vote.at < self.end]

    @cached_property
    def counted(self) -> list[tuple[Question, Given]]:
        """Those that counted."""
        return [(one, vote) for one, vote in self.votes if vote.status != "refused"]

    def totals(self) -> JsonObject:
        """Counts."""
        statuses = [one.status for one in self.all]
        names = ("approved", "rejected", "expired", "undecided", "cancelled", "revoked", "superseded")
        return {
            "asked": sum(self.begin <= one.asked_at < self.end for one in self.all),
            **{name: statuses.count(name) for name in names},
            "quick_votes": sum(quick(one, vote) for one, vote in self.counted),
            "own_votes_refused": sum(vote.wrong == "own" for _, vote in self.votes),
        }

    def lists(self, most: int) -> JsonObject:
        """Lists for the report."""
        fast = [pair for pair in self.counted if quick(*pair)]
        refused = [pair for pair in self.votes if pair[1].status == "refused"]
        never = [one for one in self.all if one.status in {"undecided", "expired"}]
        self._ran([*self.all[:most], *never[:most]])
        return {
            "approvals": _rows(self.all, _told, most),
            "approvals_cut": self.cut,
            "approvers": self._approvers(),
            "latency": self._latency(),
            "quick": _rows(fast, _vote, most),
            **{sort: _rows([pair for pair in refused if pair[1].wrong == sort], _vote, most) for sort in uncounted.TOLD},
            "never": _rows(never, _told, most),
        }

    def _ran(self, told: Sequence[Question]) -> None:
        """What became of the calls of these questions: of the others nobody is told."""
        by = {(one.tenant, one.name): one for one in told}
        names = list(dict.fromkeys(one.name for one in told))
        for start in range(0, len(names), _ASKED):
            wanted = replace(self.wide, asked=False, approval=tuple(names[start : start + _ASKED]), newest=False)
            for tenant, approval, kind, state in self.log.filed(wanted, ("tenant", "approval", "kind", "state")):
                if kind in _RAN and (question := by.get((tenant or "", approval))) is not None:
                    question.ran = _RAN[kind].get(state or "", _RAN[kind][""])

    def _approvers(self) -> list[JsonObject]:
        people: dict[str, list[tuple[Question, Given]]] = {}
        for one, vote in self.counted:
            people.setdefault(vote.by, []).append((one, vote))
        return [_approver(name, votes) for name, votes in sorted(people.items(), key=lambda pair: (-len(pair[1]), pair[0]))]

    def _latency(self) -> list[JsonObject]:
        took = [seconds for one, vote in self.counted if (seconds := one.seconds(vote)) is not None]
        edges = [most for most, _ in BUCKETS if most]
        counts = Counter(bisect_right(edges, seconds) for seconds in took)
        return [{"took": name, "count": counts[place]} for place, (_, name) in enumerate(BUCKETS)]


def _rows(all_of: Sequence[T], told: Callable[[T], JsonObject], most: int) -> JsonObject:
    return {"all": len(all_of), "rows": list(map(told, all_of[:most]))}


def _approver(name: str, votes: Sequence[tuple[Question, Given]]) -> JsonObject:
    took = [seconds for one, vote in votes if (seconds := one.seconds(vote)) is not None]
    return {
        "who": name,
        "approved": sum(vote.status == "approved" for _, vote in votes),
        "rejected": sum(vote.status == "rejected" for _, vote in votes),
        "median_seconds": round(statistics.median(took), 1) if took else None,
        "quick": sum(quick(one, vote) for one, vote in votes),
    }


def _vote(pair: tuple[Question, Given]) -> JsonObject:
    one, vote = pair
    seconds = one.seconds(vote)
    took = None if seconds is None else round(seconds, 1)
    return {
        "time": vote.time,
        "approval": one.name,
        "who": vote.by,
        "status": vote.status,
        "wanted": vote.wanted or vote.status,
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
        "by": one.by,
        "at": one.ended_at or (last.time if last else ""),
        "seconds": None if seconds is None else round(seconds, 1),
        "ran": one.ran,
    }


class _Row(NamedTuple):
    """What is filed about one record of an approval."""

    tenant: str
    approval: str
    kind: str
    at: int
    ts: str
    tool: str | None
    principal: str | None
    conversation: str | None
    turn: int | None
    position: int | None
    actor: str | None
    state: str | None
    chain: int
    seq: int


def of(log: Log, window: Sought, most: int = MOST) -> Questions:
    """The questions that were asked or answered in the window."""
    begin, end = (round((moment or 0) * 1_000_000) for moment in (window.since, window.until))
    wide = replace(window, since=max((window.since or 0) - _AROUND, 0), until=(window.until or 0) + _AROUND, asked=True)
    all_of: dict[tuple[str, str], Question] = {}
    number = 0
    for row in _filed(log, replace(wide, kinds=("approval.*",), newest=False), most):
        number += 1
        question = all_of.get((row.tenant, row.approval))
        if question is None:
            question = all_of[row.tenant, row.approval] = Question(row.approval)
        _add(question, row)
    for vote in found(log, replace(wide, kinds=("approval.vote",), state="refused", newest=False, limit=most)):
        _uncounted(all_of, vote)
    for edit in found(log, replace(wide, kinds=("approval.edited",), newest=False, limit=most)):
        _revised(all_of, edit)
    chosen = [one for one in all_of.values() if _within(one, begin, end)]
    ordered = sorted(chosen, key=lambda one: one.asked_at)
    return Questions(all=ordered, begin=begin, end=end, cut=number >= most, log=log, wide=wide)


def _filed(log: Log, sought: Sought, most: int) -> Iterator[_Row]:
    """What is filed about records, a page at a time."""
    while most > 0 and (page := log.filed(replace(sought, limit=min(_PAGE, most)), _Row._fields)):
        yield from map(_Row._make, page)
        most -= len(page)
        last = _Row._make(page[-1])
        sought = replace(sought, behind=(last.at, last.chain, last.seq))
        if len(page) < _PAGE:
            return


def _within(one: Question, begin: int, end: int) -> bool:
    return begin <= one.asked_at < end or any(begin <= vote.at < end for vote in one.votes)


def _add(question: Question, one: _Row) -> None:
    """Take in what is filed about one record."""
    kind = one.kind
    if not question.call:
        question.tool, question.principal, question.tenant = one.tool or "", one.principal or "", one.tenant or ""
        question.call = f"{one.conversation}/{one.turn}/{one.position}"
    if kind == "approval.requested":
        question.asked, question.asked_at = one.ts, one.at
    elif kind in _VOTES:
        _answered(question, one)
    elif kind in _ENDS:
        question.ended, question.ended_at, question.ended_by = _ENDS[kind], one.ts, one.actor or ""


def _answered(question: Question, one: _Row) -> None:
    """A vote; where it decided, two records may say so."""
    status, by = one.state, one.actor
    if not by or (status != "approved" and status != "rejected"):  # noqa: PLR1714 - so that its type is known
        return
    if one.kind == "approval.resolved":
        question.decided = status
    if not any(vote.by == by and vote.status == status for vote in question.votes):
        question.votes.append(Given(by, status, one.at, one.ts))


def _uncounted(all_of: Mapping[tuple[str, str], Question], one: Entry) -> None:
    """A vote that did not count: what was wanted and why it did not stand in the body alone."""
    question, by = all_of.get(_key(one, "approval")), one.text("actor", "ref")
    if question is None or not by:
        return
    time, wanted = one.text("ts"), one.text("approval_state", "wanted")
    question.votes.append(Given(by, "refused", filing.micros(time), time, wanted, uncounted.sort(one)))


def _revised(all_of: dict[tuple[str, str], Question], one: Entry) -> None:
    """The revision that an edit asks about: its name stands in the body of the edit alone, which is about the revision before."""
    key = _key(one, "approval_state", "by")
    if not key[1]:
        return
    texts = one.text("tool", "name"), one.text("principal"), one.text("tenant")
    question = all_of.setdefault(key, Question(key[1], *texts, _call(one)))
    question.asked, question.asked_at = one.text("ts"), filing.micros(one.text("ts"))


def _key(one: Entry, *path: str) -> tuple[Any, Any]:
    """Tenant and approval as they are filed."""
    return filing.cut(one.at("tenant")), filing.cut(one.at(*path))


def _call(one: Entry) -> str:
    return f"{one.text('conversation')}/{one.text('turn')}/{one.text('position')}"
