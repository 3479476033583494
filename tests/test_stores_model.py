"""Every store gives the same answers: random sequences of commands on all of them at once, compared step by step."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable
from typing import Any

import postgres_kit
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from stores_kit import (
    CHILD,
    NEXT,
    OTHER,
    REF,
    Clock,
    asking,
    charge,
    claim,
    event,
    key,
    outcome,
    proposal,
    quota,
    records,
    row,
    turn,
    usage,
)

from guard.core.ports import FindTwins, LoadLedger, Sealed, Store, Won
from guard.core.reasons import Reason
from guard.errors import GuardError
from guard.stores import open_store
from guard.stores.chain import verify, verify_store

refs = st.sampled_from([REF, REF, CHILD, NEXT, OTHER])
keys = st.builds(key, st.integers(1, 3), st.integers(0, 1), refs)
prints = st.sampled_from(["f", "g", ""])
marks = st.sampled_from(["f", "g", ""])
runs = st.integers(0, 2)
statuses = st.sampled_from(["allowed", "held", "refused", "started", "done", "failed", "unknown", "alias"])
reasons = st.sampled_from([None, Reason.INTERRUPTED, Reason.NOT_AUTHORIZED])
charges = st.lists(
    st.builds(charge, st.sampled_from(["1", "2.50", "-1", "NaN"]), st.just(6), name=st.sampled_from(["calls", "sum:x"])),
    max_size=2,
)
names = st.sampled_from(["a1", "a2", "a3", "a4"])


def said(store: Store, do: Callable[[Store], Any]) -> Any:
    """The answer, or what kind of error it was and its text."""
    try:
        return do(store)
    except (GuardError, ValueError) as error:
        return type(error), str(error)


def without(record: Sealed, *names: str) -> dict[str, Any]:
    """What a record says, apart from its id, from who wrote it when by a process's own clock, from digests under a store's own secret, and from these."""
    own = ("id", "mono", "writer", "rows", *names)
    return {name: value for name, value in json.loads(record.body).items() if name not in own}


def without_place(record: Sealed) -> str:
    """What a record says, apart from where it stands."""
    return json.dumps(without(record, "chain", "seq"))


class Stores(RuleBasedStateMachine):
    """All stores side by side, on one clock."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.folder = tempfile.TemporaryDirectory()
        self.database = postgres_kit.database()
        self.urls = ["memory://", f"sqlite:///{self.folder.name}/guard.db", self.database.__enter__()]
        self.stores = [open_store(url, clock=self.clock) for url in self.urls]
        self.number = 0
        self.won: list[Any] = []

    def both(self, do: Callable[[Store], Any]) -> Any:
        first, *others = (said(store, do) for store in self.stores)
        assert others == [first, first]
        return first

    @rule(seconds=st.sampled_from([0.5, 20.0, 60.0]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def reopen(self) -> None:
        for number in (1, 2):
            self.stores[number].close()
            self.stores[number] = open_store(self.urls[number], clock=self.clock)

    @rule(ref=refs, text=st.text(max_size=3))
    def say(self, ref: Any, text: str) -> None:
        self.both(lambda store: store.say(ref, text, event("user.said")))

    @rule(
        ref=refs,
        digest=st.sampled_from(["d", "e"]),
        answered=st.sampled_from([None, 0, 1, 2]),
        extra=st.sampled_from([None, 0, 1, 3]),
        name=st.sampled_from(["", "", "k"]),
        cost=st.sampled_from(["0.10", None]),
        known=st.booleans(),
    )
    def open_turn(self, ref: Any, digest: str, answered: Any, extra: Any, name: str, cost: Any, known: bool) -> None:
        total = None if answered is None or extra is None else answered + extra
        told = lambda number: (event("call.proposed", turn=number),)
        how = {"answered": answered, "answered_all": total, "key": name, "usage": usage(3, cost, known=known), "told": told}
        self.both(lambda store: store.open_turn(turn(digest, ref, **how)))

    @rule(
        at=keys,
        status=statuses,
        fingerprint=prints,
        mark=marks,
        run=runs,
        tool=st.sampled_from(["pay", "read"]),
        settled=st.booleans(),
        why=reasons,
    )
    def record(self, at: Any, status: str, fingerprint: str, mark: str, run: int, tool: str, settled: bool, why: Any) -> None:
        self.number += 1
        shown = None if why is None else outcome(f"shown {self.number}", reason=why, status="refused")
        one = row(
            status, at, fingerprint=fingerprint, mark=mark, run=run, tool=tool, settled=settled, value=self.number, outcome=shown
        )
        self.both(lambda store: store.record([one], [event(f"n{self.number}")]))

    @rule(calls=st.lists(st.tuples(keys, charges.map(tuple)), max_size=3), whole=st.booleans())
    def take(self, calls: Any, whole: bool) -> None:
        self.both(lambda store: tuple(map(repr, store.take(quota(*calls, whole=whole)))))

    @rule(name=names, at=keys, fingerprint=prints, run=runs, window=st.sampled_from([10.0, 50.0]))
    def ask(self, name: str, at: Any, fingerprint: str, run: int, window: float) -> None:
        given = proposal(name, now=self.clock.now, at=at, fingerprint=fingerprint, window=window)
        self.both(lambda store: store.ask(asking(given, run)))

    @rule(name=names, status=st.sampled_from(["approved", "approved", "rejected"]))
    def vote(self, name: str, status: str) -> None:
        self.both(
            lambda store: store.vote(
                name, status=status, by="B", roles=("r", status), reason="r", event=event("approval.resolved")
            )
        )

    @rule(at=keys, fingerprint=prints, mark=marks, approval=st.none() | names, run=runs, repeat=st.booleans())
    def claim(self, at: Any, fingerprint: str, mark: str, approval: str | None, run: int, repeat: bool) -> None:
        given = claim(at, approval, fingerprint=fingerprint, mark=mark, run=run, repeat=repeat)
        answer = self.both(lambda store: store.claim(given))
        if isinstance(answer, Won):
            place = (at.ref.tenant, at.ref.conversation, at.turn, at.position)
            assert place not in self.won
            self.won.append(place)
            self.spent(approval)

    def spent(self, approval: str | None) -> None:
        if approval is not None:
            assert self.stores[0].approval(approval).status == "consumed"
            assert approval not in self.won
            self.won.append(approval)

    @rule(ref=refs, before=st.integers(1, 4), words=st.booleans(), tools=st.frozensets(st.sampled_from(["pay", "read"])))
    def look(self, ref: Any, before: int, words: bool, tools: frozenset[str]) -> None:
        self.both(lambda store: store.load_ledger(LoadLedger(ref=ref, tools=tools, before=before, words=words)))
        self.both(lambda store: store.find_twins(FindTwins(ref=ref, marks=("f", "g", ""))))
        self.both(lambda store: store.rows(ref))
        self.both(lambda store: store.rows(ref, turn=before))
        self.both(lambda store: (store.turn_of(ref, "d"), store.turn_of(ref, "z")))

    @rule(status=st.sampled_from([None, "pending", "expired"]), conversation=st.sampled_from([None, "conv-1"]))
    def approvals(self, status: str | None, conversation: str | None) -> None:
        self.both(lambda store: store.approvals(status=status, conversation=conversation, tenant="acme"))

    @invariant()
    def audits_tell_the_same(self) -> None:
        told = []
        for store in self.stores[:2]:
            assert verify(store.audit()).ok
            told.append(list(map(without, store.audit())))
        assert told[0] == told[1]

    def teardown(self) -> None:
        told = [Counter(map(without_place, records(store))) for store in self.stores]
        assert told[0] == told[1] == told[2]
        assert verify_store(self.stores[2]).ok
        for store in self.stores:
            store.close()
        self.database.__exit__(None, None, None)
        self.folder.cleanup()


Stores.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestStores = Stores.TestCase
TestStores.__doc__ = (
    """Whatever is done in whatever order, all stores answer alike, no call is won twice and no approval is spent twice."""
)
