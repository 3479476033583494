"""What the model is told of an action is what is known of it: by the ledger, by the tool's own late end, by nobody."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stores_kit import STORES, url_of
from wire_helpers import message

from guard import Guard, PolicyWarning, Session
from guard.errors import StoreError

POLICY = """
tools:
  pay: {kind: action, allow: [staff], approve: never, timeout: 200ms}
  book: {kind: action, allow: [staff], approve: never, effect: {compensate: cancel}}
  cancel: {kind: action, allow: [staff], approve: {by: [boss]}}
  ask: {kind: action, allow: [staff], approve: never, effect: probe}
limits: {run: {calls: 50}}
"""
ANN, BOSS = Session(principal="u1", roles=("staff",)), Session(principal="b1", roles=("boss",))


class Broken:
    """A store of which some methods fail, while `failing` names them."""

    def __init__(self, store: Any) -> None:
        self._store, self.failing, self.asked = store, frozenset[str](), list[str]()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def called(*given: Any, **more: Any) -> Any:
            self.asked.append(name)
            if name in self.failing:
                raise StoreError("down", code="locked")
            return found(*given, **more)

        return called


class Desk:
    """A guard, its chat, and what ran. `does` is what each tool does with its number."""

    def __init__(self, folder: Path, url: str, does: dict[str, Callable[[int], Any]]) -> None:
        (folder / "tools.yaml").write_text(POLICY)
        self.ran: list[str] = []
        self.found: Any = None
        tools = {name: self._tool(name, does.get(name, lambda n: {"n": n})) for name in ("pay", "book", "cancel", "ask")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            self.guard = Guard.load(folder, tools=tools, store=url, probes={"ask": lambda _: self.found})
        self.store = Broken(self.guard.store)
        self.guard.store = self.guard.hands.store = self.guard.hands.keeper._store = self.store
        self.chat = self.guard.open(ANN, wire="openai-chat", conversation="c")
        self.history: list[Any] = [self.chat.user("go")]

    def _tool(self, name: str, does: Callable[[int], Any]) -> Callable[..., Any]:
        def tool(n: int) -> Any:
            self.ran.append(f"{name} {n}")
            return does(n)

        return tool

    def handle(self, *calls: tuple[str, int], chat: Any = None) -> list[tuple[str, Any]]:
        """How each call of one message ended."""
        reply = message("openai-chat", *((f"c{i}", name, f'{{"n": {n}}}') for i, (name, n) in enumerate(calls)))
        turn = (chat or self.chat).handle(reply, history=self.history)
        return [(one.status, one.reason and str(one.reason)) for one in turn.outcomes]

    def status(self, place: int = 0) -> str:
        """What the ledger says of a call, in order."""
        return str(self.store.rows(self.chat.ref)[place].status)


@pytest.fixture(params=STORES)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Makes a desk on each store."""
    made: list[Desk] = []
    with url_of(request.param, tmp_path) as url:

        def make(**does: Callable[[int], Any]) -> Desk:
            made.append(Desk(tmp_path, url, does))
            return made[-1]

        yield make
        for one in made:
            one.store.failing = frozenset()
            one.guard.close()


def test_a_message_handled_again_while_the_store_cannot_write_keeps_its_outcome(desk: Any) -> None:
    """What it did is read, not denied; a message that is new is refused, in words that deny no earlier attempt."""
    here = desk()
    assert here.handle(("book", 1)) == [("done", None)]
    here.store.failing = frozenset({"open_turn"})
    assert here.handle(("book", 1)) == [("done", None)]
    assert here.handle(("book", 2)) == [("refused", "store_unavailable")]
    assert here.ran == ["book 1"]


def test_an_overtaken_attempt_tells_the_end_that_stands(desk: Any) -> None:
    """While the tool ran, a person said that it happened; that the tool then raised changes neither the ledger nor what is told."""

    def settles(n: int) -> None:
        row = here.store.rows(here.chat.ref)[0]
        here.store.record((row_with(row, "unknown"),), ())
        [doubt] = here.guard.unknown.list()
        here.guard.unknown.resolve(doubt, happened=True, approver=BOSS if doubt.tool == "cancel" else ANN, reason="seen")
        raise ValueError(n)

    here = desk(book=settles)
    assert here.handle(("book", 1)) == [("done", None)]
    assert here.status() == "done"


def row_with(row: Any, status: str) -> Any:
    """A row with another status."""
    from dataclasses import replace

    return replace(row, status=status)


def test_a_store_that_broke_behind_one_action_is_not_waited_for_by_the_next(desk: Any) -> None:
    """The first is unknown and kept; the others are refused at once, without asking the store to take or record them."""
    here = desk(book=lambda n: setattr(here.store, "failing", frozenset({"record", "claim"})) or n)
    told = here.handle(("book", 1), ("book", 2), ("book", 3))
    assert told == [("unknown", "outcome_unknown"), *[("refused", "store_unavailable")] * 2]
    assert (here.ran, here.store.asked.count("claim")) == (["book 1"], 1)


def test_a_late_end_outranks_a_persons_mistaken_word(desk: Any) -> None:
    """A person said that it did not happen while the tool was still at it: done, told so, and an equal call is that one."""
    go = threading.Event()
    here = desk(pay=lambda n: go.wait(20) and n)
    assert here.handle(("pay", 1)) == [("unknown", "outcome_unknown")]
    here.guard.unknown.resolve(here.guard.unknown.list()[0], happened=False, approver=ANN, reason="nothing there yet")
    assert here.status() == "failed"
    go.set()
    for _ in range(200):
        if here.status() == "done":
            break
        time.sleep(0.02)
    assert "pay (call c0): done" in str(here.chat.settled())
    assert here.handle(("pay", 1)) == [("done", None)]
    assert here.ran == ["pay 1"]


def test_an_approved_compensation_is_withdrawn_when_there_is_nothing_to_take_back(desk: Any) -> None:
    """A yes that was not used runs nothing once a person has found that the call did not happen."""
    here = desk(book=TimeoutError)
    assert here.handle(("book", 1)) == [("unknown", "outcome_unknown")]
    [asked] = here.guard.approvals.list()
    here.guard.approvals.approve(asked, approver=BOSS)
    here.guard.unknown.resolve(here.guard.unknown.list()[0], happened=False, approver=ANN, reason="no booking")
    told = str(here.chat.settled())
    assert (here.guard.approvals.show(asked).status, here.ran) == ("cancelled", ["book 1"])
    assert "did_not_happen" in told


def breaking(n: int) -> Any:
    yield n
    raise ConnectionResetError


ENDS: dict[str, Callable[[int], Any]] = {
    "a time-out returned": TimeoutError,
    "a generator that breaks": breaking,
    "a future": lambda n: concurrent.futures.Future(),
    "a cancellation": concurrent.futures.CancelledError,
    "an end of file": EOFError,
}


@pytest.mark.parametrize("end", ENDS)
def test_an_end_that_tells_nothing_is_unknown(desk: Any, end: str) -> None:
    """Whatever form the missing answer has, it is neither done nor failed."""
    assert desk(book=ENDS[end]).handle(("book", 1)) == [("unknown", "outcome_unknown")]


@pytest.mark.parametrize("found", [{"ok": False}, ValueError("x"), NotImplemented, 0, [], "", {}], ids=repr)
def test_an_odd_answer_of_a_probe_is_none(desk: Any, found: Any) -> None:
    """Only True or a result says that the act took place."""
    here = desk(ask=TimeoutError)
    here.found = found
    assert here.handle(("ask", 1)) == [("unknown", "outcome_unknown")]
    here.history.append(here.chat.user("and now?"))
    assert here.handle(("ask", 1)) == [("unknown", "outcome_unknown")]
    here.found = {"id": 7}
    assert here.handle(("ask", 1))[0][0] in {"done", "unknown"}
    assert here.ran == ["ask 1"]


def test_what_ends_after_its_caller_was_cancelled_is_written_down(tmp_path: Path) -> None:
    """The thread goes on: its end settles the call as after a time-out."""
    from guard import AsyncGuard

    (tmp_path / "tools.yaml").write_text(
        "tools: {slow: {kind: action, allow: [staff], approve: never, timeout: 5s}}\nlimits: {run: {calls: 5}}\n"
    )
    go = threading.Event()

    def slow(n: int) -> int:
        go.wait(20)
        return n

    async def main() -> str:
        guard = AsyncGuard.load(tmp_path, tools=[slow], store="memory://")
        chat = guard.open(ANN, wire="openai-chat", conversation="c")
        task = asyncio.create_task(chat.handle(message("openai-chat", ("c0", "slow", '{"n": 1}'))))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert guard.store.rows(chat.ref)[0].status == "unknown"
        go.set()
        for _ in range(200):
            if guard.store.rows(chat.ref)[0].status == "done":
                break
            await asyncio.sleep(0.02)
        return str(guard.store.rows(chat.ref)[0].status)

    assert asyncio.run(main()) == "done"
