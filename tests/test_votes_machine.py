"""Votes, edits, ends, kills, time and crashes in any order: the store says what a plain model says, nothing runs but what was decided, and the record replays."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from stores_kit import STORES, url_of
from votes_kit import ANN, BOSSES, PAY, Office, code, replayed

from guard.core.reasons import Reason

MORE = ", need: 2, expires: 1h, use_within: 20m, edit: [amount], escalate: {after: 30m, to: [chief]}"
LIVE = {"pending", "approved"}
people = st.sampled_from(BOSSES)
picks = st.integers(0, 5)


@dataclass
class Asked:
    """What the model knows of one approval."""

    amount: int
    status: str
    decide_by: float
    use_by: float = 0.0
    yes: set[str] = field(default_factory=set)
    authors: set[str] = field(default_factory=set)
    revision: int = 1


class Votes(RuleBasedStateMachine):
    """One office against a dict. Subclasses name the store."""

    store = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        url = self.stack.enter_context(url_of(self.store, folder))
        self.desk = Office(folder, url, PAY.format(more=MORE))
        self.desk.say("Please pay.")
        self.known: dict[str, Asked] = {}
        self.ran: list[int] = []
        self.calls = 0
        self.kills: list[str] = []

    def pick(self, number: int) -> str:
        return list(self.known)[number % len(self.known)]

    def time_passed(self) -> None:
        """Every window ends by itself."""
        now = self.desk.clock.now
        for one in self.known.values():
            if (one.status == "pending" and now >= one.decide_by) or (one.status == "approved" and now >= one.use_by):
                one.status = "expired"

    # -- what people and programs do

    @precondition(lambda self: self.calls < 8)
    @rule()
    def propose(self) -> None:
        self.calls += 1
        outcome = self.desk.propose(self.calls, call=f"c{self.calls}").outcomes[0]
        assert (outcome.reason is Reason.KILLED) == bool(self.kills)
        if self.kills:
            return
        name = outcome.approval
        self.known[name] = Asked(self.calls, "pending", self.desk.clock.now + 3600)

    @precondition(lambda self: self.known)
    @rule(number=picks, who=people, yes=st.booleans(), looked=st.booleans())
    def vote(self, number: int, who: Any, yes: bool, looked: bool) -> None:
        name = self.pick(number)
        one = self.known[name]
        do = self.desk.approvals.approve if yes else self.desk.approvals.reject
        seen = self.desk.approvals.view(name, BOSSES[3]).seen if looked else None
        said = code(do, name, approver=who, seen=seen)
        expected = self.expected(one, who.principal)
        assert said == expected
        if said:
            return
        if not yes:
            one.status = "rejected"
            return
        one.yes.add(who.principal)
        if len(one.yes) == 2:
            one.status, one.use_by = "approved", self.desk.clock.now + 1200

    def expected(self, one: Asked, who: str) -> str:
        if who in one.authors:
            return "own"
        if one.status == "superseded":
            return "stale"
        if one.status == "expired":
            return "expired"
        if one.status != "pending":
            return "already_decided"
        return "voted" if who in one.yes else ""

    @precondition(lambda self: self.known)
    @rule(number=picks, who=people, more=st.integers(1, 3))
    def edit(self, number: int, who: Any, more: int) -> None:
        name = self.pick(number)
        one = self.known[name]
        amount = one.amount + more * 100
        if one.revision > 2:
            return
        made: list[Any] = []
        do = lambda: made.append(self.desk.approvals.edit(name, editor=who, changes={"/amount": amount}, reason="r"))
        said = code(do)
        if one.status != "pending":
            assert said in {"stale", "expired", "already_decided", "not_editable"}
            return
        assert said == ""
        new = made[0].id
        self.known[new] = Asked(
            amount, "pending", one.decide_by, authors=one.authors | {who.principal}, revision=one.revision + 1
        )
        one.status = "superseded"

    @precondition(lambda self: self.known)
    @rule(number=picks, who=st.sampled_from([ANN, BOSSES[0]]), revoke=st.booleans())
    def end(self, number: int, who: Any, revoke: bool) -> None:
        name = self.pick(number)
        one = self.known[name]
        said = code(self.desk.approvals.revoke if revoke else self.desk.approvals.cancel, name, by=who, reason="r")
        if who is ANN and revoke:
            assert said == "own"
        elif one.status == "pending" and revoke:
            assert said == "pending"
        elif one.status in LIVE:
            assert said == ""
            one.status = "revoked" if revoke else "cancelled"
        else:
            assert said in {"already_decided", "expired"}

    @precondition(lambda self: len(self.kills) < 2)
    @rule(scope=st.sampled_from([{"tool": "pay"}, {"conversation": "c"}, {"tenant": "default"}]), misses=st.booleans())
    def kill(self, scope: dict[str, str], misses: bool) -> None:
        where = {**scope, "tenant": "elsewhere"} if misses else scope
        made = self.desk.guard.kills.set(by=BOSSES[1], reason="r", **where)
        live = [] if misses else [one for one in self.known.values() if one.status in LIVE]
        assert made.cancelled + made.revoked == len(live)
        for one in live:
            one.status = "cancelled" if one.status == "pending" else "revoked"
        if not misses:
            self.kills.append(made.id)

    @precondition(lambda self: self.kills)
    @rule(number=picks)
    def clear(self, number: int) -> None:
        """What ended by it stays ended."""
        name = self.kills.pop(number % len(self.kills))
        assert self.desk.guard.kills.clear(name, by=BOSSES[2], reason="r").status == "cleared"
        assert code(self.desk.guard.kills.clear, name, by=BOSSES[2], reason="r") == "already_decided"

    @rule(seconds=st.sampled_from([1.0, 600.0, 1200.0, 1900.0]))
    def wait(self, seconds: float) -> None:
        self.desk.clock.now += seconds
        self.time_passed()

    @rule()
    def crash(self) -> None:
        """All that a process knew is gone."""
        self.desk.restart()

    @rule()
    def settle(self) -> None:
        self.desk.settle()
        for one in self.known.values():
            if one.status == "approved":
                one.status = "consumed"
                self.ran.append(one.amount)

    # -- what always holds

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        found = {one.id: one for one in self.desk.approvals.list(status=None)}
        assert {name: one.status for name, one in found.items()} == {name: one.status for name, one in self.known.items()}
        for name, one in self.known.items():
            stored = found[name]
            assert (stored.arguments["amount"], stored.revision) == (one.amount, one.revision)
            assert {vote.by for vote in stored.yes} == one.yes
            assert not one.yes & one.authors

    @invariant()
    def only_what_was_decided_ran_and_once(self) -> None:
        assert sorted(one["amount"] for one in self.desk.ran) == sorted(self.ran)

    @invariant()
    def the_store_has_these_kills(self) -> None:
        assert {one.id for one in self.desk.guard.kills.list(tenant="default")} == {*self.kills}

    @invariant()
    def the_record_replays(self) -> None:
        self.desk.approvals.list(status=None)  # whoever looks first writes down what time did
        assert replayed(self.desk.events()) == {name: one.status for name, one in self.known.items()}

    def teardown(self) -> None:
        self.desk.close()
        self.stack.close()


@pytest.mark.parametrize("store", [pytest.param(one, marks=[pytest.mark.slow] if one != "memory" else []) for one in STORES])
def test_votes_in_any_order(store: str) -> None:
    """On each store."""
    machine = type(f"Votes{store.title()}", (Votes,), {"store": store})
    examples = {"memory": 30, "sqlite": 10, "postgres": 4}[store]
    machine.TestCase.settings = settings(  # type: ignore[attr-defined]
        max_examples=examples,
        stateful_step_count=25,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    machine.TestCase("runTest").runTest()  # type: ignore[attr-defined]
