"""What comes between a yes and its run, where the decision is written with the claim: the same refusals as step by step, and nothing is left half-way."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from holds_kit import ANN, BOSS, IDS, KINDS, POLICY, Apart, Around, Breaking, Place, a_place, tools
from wire_helpers import message

from guard import AsyncGuard, PolicyWarning
from guard.errors import AnsweredInterrupt
from guard.runner import claiming
from guard.runner.leases import elapsed


@pytest.fixture(params=KINDS, ids=IDS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Such a conversation on each store, once written at once and once step by step."""
    yield from a_place(request, tmp_path, monkeypatch)


def settled_with(place: Place, before: Callable[[], object] | None = None, behind: Callable[[], object] | None = None) -> str:
    """What the model is told where this happens around the claim, which was asked for once, in the way that the store takes calls."""
    store = place.guard.hands.store
    around: Any = Around(store, before, behind)
    place.guard.store = place.guard.hands.store = around
    told = str(place.chat.settled())
    place.guard.store = place.guard.hands.store = store
    assert around.asked == ["claim" if isinstance(store, Apart) else "begin"]
    return told


def test_a_yes_that_is_taken_back_right_before_the_claim(place: Place) -> None:
    """Nothing runs or begins, and the ledger says so; what it drew is free again."""
    asked = place.approved(1)
    told = settled_with(place, lambda: place.guard.approvals.revoke(asked, by=BOSS, reason="a mistake"))
    assert '"approval_invalid"' in told
    assert (place.ran, place.drawn(), place.kinds().count("call.begin")) == ([], 0, 0)
    assert place.guard.approvals.show(asked).status == "revoked"
    [row] = place.guard.store.rows(place.chat.ref)
    assert (row.status, row.attempt) == ("refused", 0)


def test_an_answer_of_somebody_who_was_faster(place: Place) -> None:
    """Another program runs it right before the claim: it runs once, and both are told how it ended."""
    place.approved(1)
    said: list[str] = []

    def faster() -> None:
        store = place.guard.store
        place.guard.store = place.guard.hands.store = store._store  # type: ignore[attr-defined]
        said.append(str(place.guard.open(ANN, wire="openai-chat", conversation="c").settled()))
        place.guard.store = place.guard.hands.store = store

    told = settled_with(place, faster)
    assert "done" in said[0]
    assert "done" in told
    assert (place.ran, place.drawn(), place.kinds().count("call.begin")) == ([1], 1, 1)


def test_a_target_that_came_into_doubt_after_the_yes(place: Place) -> None:
    """Refused where it is taken, as an unresolved call refuses: nothing runs, and its approval is not spent."""
    asked = place.approved(1, "free", to="a")

    def doubt() -> None:
        other = place.guard.open(ANN, wire="openai-chat", conversation="d")
        store = place.guard.store
        place.guard.store = place.guard.hands.store = store._store  # type: ignore[attr-defined]
        held = other.handle(message("openai-chat", ("x", "free", '{"n": 7, "to": "a"}')), history=[other.user("go")])
        place.guard.approvals.approve(held.pending[0], approver=BOSS)
        other.settled()
        place.guard.store = place.guard.hands.store = store

    told = settled_with(place, doubt)
    assert "earlier_unknown" in told
    assert place.ran == [7]
    assert place.guard.approvals.show(asked).status == "approved"
    [row] = place.guard.store.rows(place.chat.ref)
    assert row.status == "refused"


class Torn:
    """A store whose transactions fail when all is done and nothing committed, while one of these is asked for."""

    def __init__(self, store: Any, *names: str) -> None:
        self._store, self._names = store, names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in self._names:
            return found

        def torn(command: Any) -> Any:
            ledger = found.__self__
            tables, ledger._tables = ledger._tables, Breaking(ledger._tables)
            try:
                return found(command)
            finally:
                ledger._tables = tables

        return torn


def torn(place: Place, work: Callable[[], Any], *names: str) -> str:
    """What the model is told while that fails."""
    store = place.guard.hands.store
    place.guard.store = place.guard.hands.store = Torn(store, *names)  # type: ignore[assignment]
    told = str(work())
    place.guard.store = place.guard.hands.store = store
    return told


def test_a_question_that_cannot_be_written_down(place: Place) -> None:
    """Refused with its reason: nobody is asked, nothing is decided, and nothing is drawn where it is reserved with the question."""
    told = torn(place, lambda: place.propose(1).outcomes, "hold")
    assert "disk_full" in told
    assert {"approval.requested", "call.decided"}.isdisjoint(place.kinds())
    assert (place.guard.approvals.list(status=None), place.drawn()) == ((), int(isinstance(place.guard.store, Apart)))
    assert len(place.propose(2).pending) == 1


def test_a_claim_that_cannot_be_written_down(place: Place) -> None:
    """Refused with its reason: nothing begins, the yes stays what it was, and the call runs once when the store is back."""
    asked = place.approved(1)
    told = torn(place, place.chat.settled, "claim", "begin")
    assert "disk_full" in told
    assert (place.ran, place.kinds().count("call.begin"), place.drawn()) == ([], 0, 1)
    assert place.guard.approvals.show(asked).status == "approved"
    place.guard.hands.keeper.flush()
    assert [row.status for row in place.guard.store.rows(place.chat.ref)] == ["held"]
    assert "done" in str(place.chat.settled())
    assert (place.ran, place.kinds().count("call.begin"), place.drawn()) == ([1], 1, 1)


def interrupted() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("behind", [False, True], ids=["before it", "behind its commit"])
def test_ctrl_c_at_the_claim(place: Place, behind: bool) -> None:
    """It goes on up and nothing runs: a yes that was not spent stays, and what was taken is given back as not started."""
    asked = place.approved(1)
    store = place.guard.hands.store
    around: Any = Around(store, None, interrupted) if behind else Around(store, interrupted)
    place.guard.store = place.guard.hands.store = around
    with pytest.raises(KeyboardInterrupt):
        place.chat.settled()
    place.guard.store = place.guard.hands.store = store
    place.guard.hands.keeper.flush()
    [row] = place.guard.store.rows(place.chat.ref)
    assert (place.ran, row.status) == ([], "refused" if behind else "held")
    assert place.guard.approvals.show(asked).status == ("consumed" if behind else "approved")


def test_ctrl_c_before_the_claim_takes_nothing(place: Place) -> None:
    """Where the caller was interrupted before, nothing starts any more; the decision stands, and the ledger says that it was interrupted."""
    place.approved(1)
    store = place.guard.hands.store

    class Earlier(Around):
        def ask(self, command: Any) -> Any:
            raise AnsweredInterrupt(answer=self._store.ask(command), error=None)

    earlier: Any = Earlier(store)
    place.guard.store = place.guard.hands.store = earlier
    with pytest.raises(KeyboardInterrupt):
        place.chat.settled()
    place.guard.store = place.guard.hands.store = store
    [row] = place.guard.store.rows(place.chat.ref)
    assert (earlier.asked, place.ran, row.status) == ([], [], "refused")
    assert row.outcome is not None
    assert row.outcome.reason == "interrupted"
    assert [one["decision"]["verdict"] for one in place.records() if one["kind"] == "call.decided"] == ["hold", "allow"]


def test_a_claim_that_took_longer_than_its_lease(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease counts from before the store was asked: too late it is refused, nothing ran, and it may be proposed again."""
    place.approved(1)
    with monkeypatch.context() as late:
        late.setattr(claiming, "elapsed", lambda: elapsed() - 1_000)
        told = str(place.chat.settled())
    assert "lease_over" in told
    assert (place.ran, place.drawn()) == ([], 0)
    assert len(place.propose(1).pending) == 1


def test_cancelling_while_the_claim_is_written(tmp_path: Path) -> None:
    """Its end is awaited, what was taken is closed without running, and the cancellation goes on up."""
    (tmp_path / "tools.yaml").write_text(POLICY)
    ran: list[int] = []

    async def main() -> list[tuple[str, str]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            guard = AsyncGuard.load(tmp_path, tools=tools(ran), store=f"sqlite:///{tmp_path}/guard.db")
        chat = guard.open(ANN, wire="openai-chat", conversation="c")
        said = [await chat.user("go")]
        held = await chat.handle(message("openai-chat", ("c1", "pay", '{"n": 1}')), history=said)
        await guard.approvals.approve(held.pending[0], approver=BOSS)
        store, reached, go = guard.hands.store, threading.Event(), threading.Event()

        def slow() -> None:
            reached.set()
            go.wait(30)

        around: Any = Around(store, slow)
        guard.store = guard.hands.store = around
        task = asyncio.ensure_future(chat.settled())
        await asyncio.to_thread(reached.wait, 30)
        task.cancel()
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        guard.store = guard.hands.store = store
        assert around.asked == ["begin"]
        found = [(row.status, str(row.outcome and row.outcome.reason)) for row in guard.store.rows(chat.ref)]
        guard.close()
        return found

    assert asyncio.run(main()) == [("refused", "interrupted")]
    assert ran == []
