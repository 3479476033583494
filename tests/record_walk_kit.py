"""One walk through everything that a guard does, on any store and wire: a record of every kind, for tests of what each of them says."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from typing import Any

from record_kit import fitting
from stores_kit import Clock, records
from wire_helpers import message, spelled

from guard import Guard, OutcomeUnknownError, PolicyWarning, Session
from guard.core import audit, audit_exports, audit_proofs, audit_votes
from guard.core.gaps import gap
from guard.core.outbox import SinkState
from guard.core.ways import Way
from guard.proof import closing, keys, making
from guard.runner.doubts import restored
from guard.runner.erasing import Payloads
from guard.runner.tracing import within
from guard.sinks import passing
from guard.sinks.port import Bounds, SinkError

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WAY = Way(assurance="token", via="api", addr="192.0.2.7")
CLERK = Session(principal="E1", roles=("clerk",))
BOSS, CHIEF = (Session(principal=name, roles=("boss",), way=WAY) for name in ("B1", "B2"))
POLICY = """
    tools:
      look: {kind: read, allow: [clerk]}
      pay:
        kind: action
        allow: [clerk]
        repeat: allow
        approve: {by: [boss], expires: 1h, use_within: 30m, edit: [n], grants: [{scope: tool_here, uses: 2}]}
      both: {kind: action, allow: [clerk], approve: {by: [boss], need: 2, expires: 1h, escalate: {after: 10m, to: [chief]}}}
      book: {kind: action, allow: [clerk], approve: never, timeout: 20s}
    limits: {run: {calls: 100000}}
"""
PEOPLE = "people:\n  ann: {principal: B1, roles: [boss]}\n  bob: {principal: B2, roles: [boss]}\n"
STRICTER = POLICY.replace(
    "approve: {by: [boss], expires: 1h, use_within: 30m", "approve: {by: [chief], expires: 1h, use_within: 30m"
)


def look(n: int) -> dict[str, int]:
    """A look-up."""
    return {"n": n}


def pay(n: int) -> str:
    """An action that a person is asked about."""
    return f"paid {n}"


def both(n: int) -> str:
    """One that two people are asked about."""
    return f"both {n}"


def book(n: int) -> str:
    """An action that nobody is asked about, and that may not know how it ended."""
    if n < 0:
        raise OutcomeUnknownError
    return f"booked {n}"


@dataclass
class Walk:
    """A guard on a store, and what it was asked to do."""

    folder: Path
    wire: str
    clock: Clock
    guard: Any
    chat: Any
    history: list[Any]
    asked: int = 0

    @classmethod
    def begin(cls, tmp_path: Path, url: str, wire: str = "openai-chat", **given: Any) -> Walk:
        """The guard of a fresh folder, whose user has spoken once."""
        folder, clock = tmp_path / "policies", Clock()
        folder.mkdir(exist_ok=True)
        (folder / "tools.yaml").write_text(dedent(POLICY))
        (folder / "people.yaml").write_text(PEOPLE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            guard = Guard.load(folder, tools=[look, pay, both, book], store=url, clock=clock, **given)
        chat = guard.open(CLERK, wire=wire, conversation="c")
        return cls(folder, wire, clock, guard, chat, [chat.user("please")])

    def propose(self, tool: str, n: int) -> Any:
        """One call in a message of its own; its outcome."""
        self.asked += 1
        call = (f"call_{self.asked}", tool, spelled(self.wire, {"n": n}))
        with within(TRACE):
            turn = self.chat.handle(message(self.wire, call), history=self.history)
        self.history += turn.append
        return turn.outcomes[0]

    def settle(self) -> None:
        """Run what was approved."""
        self.history += self.chat.settled()

    def reload(self, text: str) -> None:
        """Another policy is in force."""
        (self.folder / "tools.yaml").write_text(dedent(text))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            self.guard.reload()

    def bodies(self, kind: str | None = None, **fields: Any) -> list[Mapping[str, Any]]:
        """Records in order, each of the form that ships."""
        found = [fitting(one.body) for one in records(self.guard.store)]
        return [
            one
            for one in found
            if (kind is None or one["kind"] == kind) and all(one.get(name) == value for name, value in fields.items())
        ]


def everything(walk: Walk) -> None:
    """Have a record of every kind written, each by what writes it; those of servers and followers by their own function."""
    _calls(walk)
    _votes(walk)
    _ends(walk)
    _grants(walk)
    _rest(walk)
    _log(walk)


def _calls(walk: Walk) -> None:
    walk.propose("look", 1)
    walk.propose("nothing", 1)
    walk.propose("book", 1)
    walk.propose("book", -1)
    [doubt] = walk.guard.unknown.list()
    walk.guard.unknown.resolve(doubt, happened=True, approver=replace(CLERK, way=WAY), reason="seen in the ledger")


def _votes(walk: Walk) -> None:
    approvals = walk.guard.approvals
    asked = walk.propose("both", 2).approval
    view = approvals.view(asked, BOSS)
    state = {"presented": view.presented}
    walk.guard.store.record(
        (),
        (
            audit_votes.record(
                "approval.viewed", view.approval, BOSS, walk.guard.redactor, state, assurance="token", via="console"
            ),
        ),
    )
    approvals.approve(asked, approver=BOSS, seen=view.seen, reason="fine", via="api", assurance="token")
    approvals.approve(asked, approver=CHIEF, via="cli", assurance="os-user")
    walk.settle()
    edited = approvals.edit(walk.propose("pay", 3).approval, editor=BOSS, changes={"/n": 4}, reason="less", via="api")
    approvals.reject(edited.id, approver=CHIEF, reason="no", note="not that one")


def _ends(walk: Walk) -> None:
    approvals = walk.guard.approvals
    approvals.cancel(walk.propose("pay", 5).approval, by=BOSS, reason="over")
    taken = walk.propose("pay", 6).approval
    approvals.approve(taken, approver=BOSS)
    approvals.revoke(taken, by=BOSS, reason="wrong one")
    walk.propose("both", 7)
    walk.clock.now += 700
    approvals.list()
    walk.clock.now += 4000
    approvals.list()
    late = walk.propose("pay", 8).approval
    approvals.approve(late, approver=BOSS)
    (walk.folder / "people.yaml").write_text(f"{PEOPLE}  cy: {{principal: E7, roles: [clerk]}}\n")
    walk.reload(STRICTER)
    walk.settle()
    walk.reload(POLICY)


def _grants(walk: Walk) -> None:
    asked = walk.propose("pay", 9).approval
    walk.guard.approvals.approve(asked, approver=BOSS)
    given = walk.guard.grants.give(asked, by=BOSS, scope="tool_here")
    walk.settle()
    walk.chat.user("once more")
    walk.propose("pay", 10)
    walk.guard.grants.revoke(given.id, by=BOSS, reason="enough")


def _rest(walk: Walk) -> None:
    store = walk.guard.store
    store.record((), (gap("store_unavailable", {"read": 1}, walk.clock.now, walk.clock.now + 1),))
    actor = {"type": "human", "ref": "B1", "assurance": "token", "via": "console"}
    store.record((), (audit_exports.taken("report", "audit.html", "0" * 64, actor, "default"),))
    Payloads(store, walk.guard.redactor).erase(("default", "c"), who="B1", reason="asked for", calls=[(1, 0)])


def _log(walk: Walk) -> None:
    """What operators do: stop calls and let them go on, verify, close months, sign, put a backup back; and what sinks say."""
    store, redactor = walk.guard.store, walk.guard.redactor
    walk.propose("both", 11)
    given = walk.propose("both", 12).approval
    for who in (BOSS, CHIEF):
        walk.guard.approvals.approve(given, approver=who, seen=walk.guard.approvals.view(given, who).seen, reason="fine")
    kill = walk.guard.kills.set(by=BOSS, tool="both", reason="wrong amounts")
    walk.propose("both", 13)
    walk.guard.kills.clear(kill.id, by=BOSS, reason="mended")
    actor = {"type": "human", "ref": "B1", "assurance": "os-user", "via": "cli"}
    heads = store.heads()
    store.record((), (audit_proofs.verified(actor, heads, {"verdict": "whole", "proved": "chain", "records": 9}),))
    closed = closing.Segment(number=1, behind={}, first=dict(heads), last=dict(heads), records=9, size=900, digest="0" * 64)
    store.record((), (closing.closed(closed, "2026-12", walk.clock.now, actor, {}),))
    store.record((), (closing.dropped(1, "2026-12", "0" * 64, heads, actor),))
    store.checkpoint(making.signer(keys.make(walk.folder / "key"), "0" * 16))
    lost = records(store)[:2]
    for what in ("spooled", "dropped"):
        store.record((), passing.passed("archive", what, lost, "the disk is full"))
    failed = passing.Tried(done=(), left=lost, error=SinkError("a file is gone", tell=True))
    store.record((), passing.settled(SinkState(sink="archive"), failed, Bounds(), walk.clock.now, 0.5).events)
    store.record((), (audit.drifted(walk.chat.ref, "files", "read_file", "changed", redactor),))
    restored(store, redactor, "backup of the night before", "B1")
