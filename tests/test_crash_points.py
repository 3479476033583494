"""The crash points C0 to C9: a process killed by SIGKILL exactly there, then a new one: what is on disk, what it does, what the model sees.

C10 to C14 are in `test_crash_points_disk`. Effects are counted outside of the store.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from crash import places, scene
from crash.point import GO, chat_of, guard_on, reply
from crash.seams import Wrapped
from crash_points_kit import Point, kinds, told_ends
from wire_helpers import answers

from guard import Guard, Session
from guard.core.ports import CallRow, Claim, ClaimAnswer
from guard.errors import ApprovalError
from guard.runner.worker import Worker

pytestmark = pytest.mark.slow
wires = pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
stores = pytest.mark.parametrize("store", places.NAMES)
by_class = pytest.mark.parametrize("tool", ["once", "same", "probed"])
BEGUN = ("claimed", "in the tool, before the effect", "in the tool, after the effect", "tool ended, outcome not recorded")
ACTED = BEGUN[2:]


class Late(Wrapped):
    """A store whose claim comes late: only once it is let through."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.reached, self.free = Event(), Event()

    def claim(self, command: Claim) -> ClaimAnswer:
        self.reached.set()
        assert self.free.wait(30)
        answer: ClaimAnswer = self._store.claim(command)
        return answer


def approve(guard: Guard) -> None:
    [asked] = guard.approvals.list()
    guard.approvals.approve(asked, approver=scene.BOSS)


@stores
@wires
@pytest.mark.parametrize(
    "where",
    [
        "before the turn is opened",
        "before the commit of open_turn",
        "turn opened",
        "decided, not recorded",
        "before the commit of record",
    ],
)
def test_c0_before_the_decision_commits(tmp_path: Path, store: str, wire: str, where: str) -> None:
    """Nothing about the call is on disk; the same turn handled again is decided afresh, and the model sees a first result."""
    point = Point(tmp_path, store, wire, "once")
    point.die(where)
    with point.after() as guard:
        assert (point.status(guard), set(kinds(guard)) - {"user.said", "call.proposed"}) == ("none", set())
        turn = point.handle(guard)
        assert [(outcome.status, outcome.replayed) for outcome in turn.outcomes] == [("done", False)]
        assert (point.told(turn.append), point.effects()) == ("done", 1)
        assert kinds(guard).count("call.proposed") == 1


@wires
@pytest.mark.parametrize(
    ("store", "where"),
    [
        *((store, where) for store in places.NAMES for where in ("decision recorded", "before the claim")),
        ("sqlite", "before the commit of claim"),  # on PostgreSQL the claim is one statement, sent or not
    ],
)
def test_c1_allowed_and_not_claimed(tmp_path: Path, store: str, wire: str, where: str) -> None:
    """The decision is on disk and nothing was taken; the walk is walked again, and the model sees the result."""
    point = Point(tmp_path, store, wire, "once")
    point.die(where)
    with point.after() as guard:
        assert (kinds(guard)[-1], point.status(guard), point.effects()) == ("call.decided", "none", 0)
        turn = point.handle(guard)
        assert (point.told(turn.append), point.effects(), point.status(guard)) == ("done", 1, "done")
        assert kinds(guard).count("call.begin") == 1


@stores
@wires
def test_c1_a_history_that_was_closed_stays_closed(tmp_path: Path, store: str, wire: str) -> None:
    """Once a resumed history says that the call did not run, it does not: not for a reply that a client sends again."""
    point = Point(tmp_path, store, wire, "once")
    point.die("decision recorded")
    with point.after() as guard:
        assert point.resumed(guard) == "interrupted"
        turn = point.handle(guard)
        assert (point.told(turn.append), point.resumed(guard), point.effects()) == ("interrupted", "interrupted", 0)
        new = chat_of(guard, wire).handle(reply(wire, "once", call_id="c2"), history=[GO, *turn.append])
        assert ([outcome.status for outcome in new.outcomes], point.effects()) == (["done"], 1)


@stores
@wires
def test_c1_a_history_that_is_closed_while_somebody_is_about_to_claim(tmp_path: Path, store: str, wire: str) -> None:
    """A process that is between decision and claim finds its call ended: both are told the same, and nothing runs."""
    point = Point(tmp_path, store, wire, "once")
    slow = guard_on(tmp_path, point.url)
    late = Late(slow.store)
    slow.store = slow.hands.store = late
    with point.after() as guard, ThreadPoolExecutor(1) as pool:
        walking = pool.submit(point.handle, slow)
        assert late.reached.wait(30)
        assert point.resumed(guard) == "interrupted"
        late.free.set()
        assert (point.told(walking.result().append), point.effects(), point.status(guard)) == ("interrupted", 0, "refused")
        slow.close()


@stores
@wires
@pytest.mark.parametrize("where", ["decided, not recorded", "before the commit of hold", "decision recorded"])
def test_c2_and_c3_held_and_not_returned(tmp_path: Path, store: str, wire: str, where: str) -> None:
    """The question is on disk together with the decision to hold, or neither is: the same call asks one person once, whenever it died.

    No notice is sent from here yet: notices come with the console. Whoever lists the approvals finds this one.
    """
    point = Point(tmp_path, store, wire, "once_asked")
    point.die(where)
    with point.after() as guard:
        before = [approval.id for approval in guard.approvals.list()]
        assert len(before) == kinds(guard).count("approval.requested") == (1 if where == "decision recorded" else 0)
        turn = point.handle(guard)
        [asked] = turn.pending
        assert before in ([], [asked.id])
        assert (point.told(turn.append), point.effects()) == ("held_for_approval", 0)
        assert [approval.id for approval in guard.approvals.list(status=None)] == [asked.id]
        assert kinds(guard).count("approval.requested") == 1


@stores
@pytest.mark.parametrize("where", ["before the commit of vote", "vote counted"])
def test_c4_a_vote_whose_reply_is_lost(tmp_path: Path, store: str, where: str) -> None:
    """Looking again shows the truth; the vote once more changes nothing, or counts for the first time where the first did not commit."""
    point = Point(tmp_path, store, "openai-chat", "once_asked")
    point.die("before the messages are saved")
    point.die(where, "vote")
    with point.after() as guard:
        counted = where == "vote counted"
        [asked] = guard.approvals.list(status=None)
        assert asked.status == ("approved" if counted else "pending")
        if counted:
            with pytest.raises(ApprovalError, match="already approved by B9") as error:
                guard.approvals.approve(asked, approver=scene.BOSS)
            assert error.value.code == "already_decided"
        else:
            guard.approvals.approve(asked, approver=scene.BOSS)
        assert guard.approvals.show(asked).status == "approved"
        assert (kinds(guard).count("approval.resolved"), point.effects()) == (1, 0)


def by_host(point: Point, guard: Guard) -> str:
    """The conversation's own program comes back: a follow-up."""
    [said] = chat_of(guard, point.wire).settled()
    return "done" if told_ends(said["content"]) == ["done"] else str(said)


def by_worker(point: Point, guard: Guard) -> str:
    """A worker finds it, with the session that the host's loader gives."""
    worker = Worker(guard, lambda principal, tenant: Session(principal=principal, tenant=tenant, roles=("employee",)), grace=0.0)
    [done] = worker.once()
    assert worker.once() == []
    return str(done.outcome and done.outcome.status)


@stores
@wires
@pytest.mark.parametrize("who", [by_host, by_worker])
def test_c5_approved_and_nobody_executes(tmp_path: Path, store: str, wire: str, who: Any) -> None:
    """The process that asked is gone: the host that comes back, or a worker, runs the call once."""
    point = Point(tmp_path, store, wire, "once_asked")
    point.die("before the messages are saved")
    with point.after() as guard:
        approve(guard)
        assert point.effects() == 0
        assert who(point, guard) == "done"
        assert (point.effects(), guard.approvals.list(status=None)[0].status) == (1, "consumed")
        turn = point.handle(guard)
        assert (point.told(turn.append), point.effects()) == ("done", 1)


@stores
@wires
@by_class
@pytest.mark.parametrize("where", BEGUN)
@pytest.mark.parametrize("how", ["handled again", "resumed"])
def test_c6_and_c7_claimed_and_no_outcome(tmp_path: Path, store: str, wire: str, tool: str, where: str, how: str) -> None:
    """Whether it had acted or not cannot be told: the class decides. `once` is unknown for good, the others go on and act once in all."""
    point = Point(tmp_path, store, wire, tool)
    point.die(where)
    with point.after() as guard:
        assert (point.status(guard), point.effects()) == ("started", int(where in ACTED))
        told = point.resumed(guard) if how == "resumed" else point.told(point.handle(guard).append)
        row = point.row(guard)
        assert row is not None
        if tool == "once":
            assert (told, row.status, row.attempt) == ("outcome_unknown", "unknown", 1)
            assert point.effects() == int(where in ACTED)
            assert "Do not repeat it" in str(row.outcome and row.outcome.content)
            assert len(guard.unknown.list()) == 1
        else:
            assert (told, row.status, point.effects()) == ("done", "done", 1)
            assert row.attempt == (1 if tool == "probed" and where in ACTED else 2)
        before = point.invocations()
        assert point.told(point.handle(guard).append) == told
        assert point.invocations() == before


@stores
@wires
def test_c7_looks_like_c6(tmp_path: Path, store: str, wire: str) -> None:
    """What the ledger holds after a crash before the effect and after it is the same, but for ids and times."""
    found: list[CallRow] = []
    for where in ("claimed", "in the tool, after the effect"):
        folder = tmp_path / where[:3]
        folder.mkdir()
        point = Point(folder, store, wire, "once")
        point.die(where)
        with point.after() as guard:
            row = point.row(guard)
            assert row is not None
            found.append(row)
    seen = [(row.status, row.attempt, row.effect, row.outcome, row.arguments, row.settled, row.run) for row in found]
    assert seen[0] == seen[1] == ("started", 1, "once", None, {"n": 1}, True, 1)


@stores
@wires
@by_class
@pytest.mark.parametrize("where", ["outcome recorded", "before the messages are saved"])
def test_c8_and_c9_recorded_and_not_returned_or_not_saved(tmp_path: Path, store: str, wire: str, tool: str, where: str) -> None:
    """The outcome is on disk: it is replayed, marked so, by handling again and by resuming alike, and nothing runs."""
    point = Point(tmp_path, store, wire, tool)
    point.die(where)
    with point.after() as guard:
        assert point.status(guard) == "done"
        turn = point.handle(guard)
        assert [(outcome.status, outcome.replayed) for outcome in turn.outcomes] == [("done", True)]
        assert (point.told(turn.append), point.resumed(guard)) == ("done", "done")
        assert (point.effects(), point.invocations()) == (1, 1)


@stores
@wires
def test_c9_a_follow_up_that_was_not_saved_is_told_once_more(tmp_path: Path, store: str, wire: str) -> None:
    """The outcome of a call that was held is told again to a history that lacks it, and once only."""
    point = Point(tmp_path, store, wire, "once_asked")
    with point.after() as guard:
        chat = chat_of(guard, wire)
        history = [chat.user("go")]
        history += chat.handle(reply(wire, "once_asked"), history=history).append
        approve(guard)
    point.die("before the messages are saved", "settle")
    with point.after() as guard:
        chat = chat_of(guard, wire)
        resumed = chat.resume(history)
        assert told_ends(resumed) == ["done"]
        assert (chat.resume(resumed), chat.settled(), point.effects()) == (resumed, [], 1)
        assert (point.told(resumed), len(answers(wire, resumed)), resumed[0]) == ("held_for_approval", 1, GO)
