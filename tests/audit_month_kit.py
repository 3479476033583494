"""A month of records as a company's assistants leave them, made from a seed: calls, refusals, spoofs, votes quick and slow, expiries, doubts, changes.

`month` gives (time, event) in order of time. Used by the tests of searching and reporting, and by tests/bench/audit_query.py.
"""

from __future__ import annotations

import calendar
import hashlib
import heapq
import itertools
import random
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from guard.stores import open_store

READS = (
    "queryExpense",
    "queryTravelPolicy",
    "order_status",
    "search_customers",
    "get_invoice",
    "list_bookings",
    "weather",
    "find_flights",
)
ACTIONS = ("createExpenseSupplement", "refund", "cancel_order", "send_mail", "update_contact", "book_flight")
REASONS = {
    "invalid_arguments": 30, "not_grounded": 24, "not_authorized": 16, "rule_refused": 9, "limit_reached": 8, "prerequisite_missing": 6,
    "unknown_tool": 4, "repeated_call": 3, "handle_not_allowed": 2, "fact_unavailable": 1, "policy_failed": 1,
}  # fmt: skip
BOSSES = {"m.okafor": 70, "j.lindqvist": 55, "a.ferrari": 30, "d.nguyen": 12, "s.becker": 5}
Event = dict[str, Any]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def begin_of(month: str) -> float:
    year, number = map(int, month.split("-"))
    return datetime(year, number, 1, tzinfo=UTC).timestamp()


@dataclass
class Maker:
    """Makes the records of one conversation after the other."""

    rng: random.Random
    people: int = 400
    tenants: tuple[str, ...] = ("acme", "acme", "acme", "globex")

    def conversation(self, number: int, at: float) -> Iterator[tuple[float, Event]]:
        """What one conversation leaves: a word of the user, one to five calls."""
        rng = self.rng
        person = f"E{10000 + int(rng.paretovariate(0.9)) % self.people}"
        where = {"tenant": rng.choice(self.tenants), "conversation": f"conv-{number:06d}", "principal": person}
        yield (
            at,
            {
                "kind": "user.said",
                **where,
                "actor": {"type": "human", "ref": person},
                "args": {"size": 42, "digest": digest(f"w{number}")},
            },
        )
        for turn in range(1, rng.choice((1, 1, 2, 2, 3, 5)) + 1):
            at += rng.uniform(2, 40)
            yield from self.call(at, where, turn, number)

    def call(self, at: float, where: Event, turn: int, number: int) -> Iterator[tuple[float, Event]]:
        """One call from proposal to its end."""
        rng = self.rng
        action = rng.random() < 0.16
        name = rng.choice(ACTIONS if action else READS)
        tool = {"name": name, "definition": digest(name), "kind": "action" if action else "read"}
        base = {**where, "turn": turn, "position": 0, "call_id": f"call_{number}_{turn}", "tool": tool}
        shown = {"id": f"A-{number}", "amount": rng.randrange(1, 9000) / 100} if action else {"id": f"A-{number}"}
        tag = digest(f"mail{where['principal']}")[:32]
        args = {
            "size": 60,
            "digest": digest(f"{number}/{turn}"),
            "shown": shown,
            "labels": dict.fromkeys(shown, "model"),
            "hmac": {"/email": tag},
        }
        yield (
            at,
            {
                "kind": "call.proposed",
                **base,
                "actor": {"type": "agent"},
                "args": {"size": 60, "digest": digest(f"p{number}/{turn}")},
            },
        )
        policy = {"type": "policy"}
        spoof = {"spoof": ["user_id"]} if rng.random() < 0.004 else {}
        decided = {"kind": "call.decided", **base, "actor": policy, "args": args, "session": {"roles": ["employee"]}, **spoof}
        draw = rng.random()
        if draw < 0.055 or (spoof and draw < 0.4):
            code = rng.choices(list(REASONS), list(REASONS.values()))[0]
            rules = [f"{name}.refuse[0]"] if code == "rule_refused" else []
            yield at + 0.01, {**decided, "decision": {"policy": "p-2026-11-a", "verdict": "refuse", "code": code, "rules": rules}}
            return
        allow = {"policy": "p-2026-11-a", "rules": [f"p, employee, *, {name}, call, allow"]}
        if action and rng.random() < 0.35:
            yield from self.held(at, base, decided, allow, f"{number:06x}{turn}")
            return
        yield at + 0.01, {**decided, "decision": {**allow, "verdict": "allow"}}
        yield from self.run(at + 0.02, base, action=action)

    def run(self, at: float, base: Event, *, action: bool, approval: str | None = None) -> Iterator[tuple[float, Event]]:
        """The call is started, and ends well, badly, or nobody knows how."""
        rng = self.rng
        held = {"approval": approval} if approval else {}
        if action:
            yield at, {"kind": "call.begin", **base, **held, "actor": {"type": "policy"}, "exec": {"class": "once", "attempt": 1}}
        took = rng.lognormvariate(5, 1)
        service = {"actor": {"type": "service"}}
        if action and rng.random() < 0.012:
            lost = {
                "kind": "call.unknown",
                **base,
                **held,
                **service,
                "exec": {"status": "unknown", "error": "outcome_unknown", "ms": 30000},
            }
            yield at + 30, lost
            if rng.random() < 0.8:
                boss = {"type": "human", "ref": rng.choice(list(BOSSES)), "assurance": "oidc"}
                happened = rng.random() < 0.6
                yield at + rng.uniform(600, 90000), {
                    "kind": "call.reconciled", **base, **held, "actor": boss, "exec": {"status": "ok" if happened else "error"},
                    "effect": {"observed": happened}, "reason": "looked it up at the bank",
                }  # fmt: skip
            return
        error = {"error": rng.choice(("tool_failed", "tool_timed_out"))} if rng.random() < 0.02 else {}
        status = {"status": "error" if error else "ok", "ms": round(took, 3), **error}
        result = {"size": 310, "digest": digest(f"r{base['call_id']}"), "labels": ["email"]}
        yield at + took / 1000, {"kind": "call.end", **base, **held, **service, "exec": status, "result": result}

    def held(self, at: float, base: Event, decided: Event, allow: Event, name: str) -> Iterator[tuple[float, Event]]:
        """A person is asked."""
        rng = self.rng
        approval = f"ap_{digest(name)[:16]}"
        base = {**base, "approval": approval, "fingerprint": digest(name + "f")}
        policy = {"actor": {"type": "policy"}}
        yield at + 0.01, {**decided, "approval": approval, "decision": {**allow, "verdict": "hold"}}
        yield (
            at + 0.01,
            {
                "kind": "approval.requested",
                **base,
                **policy,
                "approval_state": {"status": "pending", "need": 1, "have": 0, "by": ["supervisor"]},
            },
        )
        draw = rng.random()
        if draw < 0.03:
            own = {"type": "human", "ref": base["principal"], "assurance": "oidc", "via": "console"}
            yield (
                at + 20,
                {"kind": "approval.vote", **base, "actor": own, "approval_state": {"status": "refused", "wanted": "approved"}},
            )
        if draw > 0.93:
            yield (
                at + 86400,
                {"kind": "approval.expired", **base, "actor": {"type": "clock"}, "approval_state": {"status": "expired"}},
            )
            return
        if draw > 0.91:
            return  # nobody has decided yet
        wait = rng.uniform(1, 4.9) if rng.random() < 0.05 else rng.lognormvariate(6.6, 1.5)
        boss = {
            "type": "human",
            "ref": rng.choices(list(BOSSES), list(BOSSES.values()))[0],
            "assurance": "oidc",
            "via": "console",
        }
        said = "approved" if rng.random() < 0.86 else "rejected"
        yield (
            at + wait,
            {"kind": "approval.resolved", **base, "actor": boss, "approval_state": {"status": said, "need": 1, "have": 1}},
        )
        if said == "approved":
            yield from self.run(
                at + wait + rng.uniform(0.2, 30),
                {k: v for k, v in base.items() if k != "fingerprint"},
                action=True,
                approval=approval,
            )


def _changes(begin: float) -> Iterator[tuple[float, Event]]:
    service, admin = {"type": "service"}, {"type": "human", "ref": "r.admin", "assurance": "os-user"}
    day = 86400.0
    yield begin + 2 * day + 32000, {"kind": "policy.loaded", "actor": service, "decision": {"policy": "p-2026-11-a"}}
    yield (
        begin + 11 * day + 36400,
        {"kind": "policy.loaded", "actor": service, "decision": {"policy": "p-2026-11-b"}, "reason": "limit of refunds lowered"},
    )
    yield begin + 13 * day + 40000, {"kind": "role.changed", "actor": admin, "reason": "d.nguyen is a supervisor now"}
    yield begin + 17 * day + 5000, {"kind": "audit.gap", "actor": service, "reason": "disk full", "counts": {"refused": 12}}
    yield begin + 21 * day + 50000, {"kind": "store.restored", "actor": admin, "reason": "backup of the night before"}
    yield begin + 24 * day + 1000, {"kind": "payload.erased", "actor": admin, "reason": "request of a customer"}


def month(name: str = "2026-11", conversations: int = 2000, seed: int = 1) -> Iterator[tuple[float, Event]]:
    """Everything of one month, in order of time; what a conversation leads to later may lie behind its end. Holds little at a time."""
    rng = random.Random(seed)
    maker = Maker(rng)
    begin = begin_of(name)
    days = calendar.monthrange(*map(int, name.split("-")))[1]
    weights = [1.0 if datetime.fromtimestamp(begin + day * 86400, UTC).weekday() < 5 else 0.22 for day in range(days)]
    drawn = rng.choices(range(days), weights, k=conversations)
    starts = sorted(begin + day * 86400 + min(max(rng.gauss(13, 3), 0), 23.9) * 3600 for day in drawn)
    count = itertools.count()
    waiting = [(at, next(count), event) for at, event in _changes(begin)]
    heapq.heapify(waiting)
    for number, start in enumerate(starts):
        while waiting and waiting[0][0] < start:
            at, _, event = heapq.heappop(waiting)
            yield at, event
        for at, event in maker.conversation(number, start):
            heapq.heappush(waiting, (at, next(count), event))
    while waiting:
        at, _, event = heapq.heappop(waiting)
        yield at, event


class Dial:
    """A clock that stands where it was put."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def write(store: Any, events: Iterable[tuple[float, Event]], clock: Dial, *, page: int = 500) -> int:
    """Seal events through the store's own tables, many in one transaction, each at its own time; how many."""
    count = 0
    events = iter(events)
    while batch := list(itertools.islice(events, page)):

        def put(tables: Any, batch: list[tuple[float, Event]] = batch) -> None:
            for at, event in batch:
                tables.now = at
                tables.append(event)

        clock.now = batch[-1][0]
        store._tables.write(put)
        count += len(batch)
    return count


def fill(path: Path, name: str = "2026-11", conversations: int = 60, seed: int = 1) -> int:
    """Write a month into a new file; how many records."""
    clock = Dial(0.0)
    with closing(open_store(f"sqlite:///{path}", clock=clock)) as store:
        return write(store, month(name, conversations, seed), clock)
