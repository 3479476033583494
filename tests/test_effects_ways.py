"""Other ways to a lost call: a host's own key, a suspended turn, siblings, a child conversation, a caller that is interrupted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from life_kit import CLERK, DONE, LEASE, UNKNOWN, DiedError, Life, Mortal, a_life, lives, plain_lives, reply, said

from guard import ToolCall
from guard.errors import StoreError


@pytest.fixture(params=lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


plainly = pytest.mark.parametrize("life", plain_lives, indirect=True)


def call(life: Life, guard: Any, tool: str, arguments: str = '{"n": 1}', key: str | None = "k") -> tuple[str, str | None]:
    return said(life.run(guard.call(ToolCall("c1", tool, arguments), CLERK, conversation="c", key=key)))


@pytest.mark.parametrize(("tool", "end"), [("once", UNKNOWN), ("same", DONE), ("safe", DONE), ("ask", UNKNOWN)])
@pytest.mark.parametrize("arguments", ['{"n": 1}', '{"n":1}'], ids=["same text", "another spelling"])
def test_a_hosts_own_key_names_the_lost_call(life: Life, tool: str, end: Any, arguments: str) -> None:
    """The same key and content is that call, however it is spelled: its class decides; the answer stays the same then."""
    with pytest.raises(DiedError):
        call(life, life.process(Mortal(life.store)), tool)
    life.clock.now += LEASE + 1
    assert call(life, life.process(), tool, arguments) == end
    assert call(life, life.process(), tool, arguments) == end
    assert len(life.ran) == (end == DONE)


def test_other_content_under_the_key_of_a_lost_call_is_a_conflict(life: Life) -> None:
    """It is not run in the place of the lost one, and the lost one goes on as before."""
    with pytest.raises(DiedError):
        call(life, life.process(Mortal(life.store)), "same")
    life.clock.now += LEASE + 1
    assert call(life, life.process(), "same", '{"n": 2}') == ("refused", "conflict")
    assert life.ran == []
    assert call(life, life.process(), "same") == DONE


def test_a_suspended_turn_goes_on_where_it_was_lost(life: Life) -> None:
    """Handled again after the yes, its process dies; handled once more it runs under the same approval, and the result is the turn's."""
    guard = life.process()
    turn = life.run(life.chat(guard, held="suspend").handle(reply(("twice", 1)), history=[]))
    assert (turn.stop, turn.messages) == ("held", [])
    life.approve(guard)
    with pytest.raises(DiedError):
        life.run(life.chat(life.process(Mortal(life.store)), held="suspend").handle(reply(("twice", 1)), history=[]))
    life.clock.now += LEASE + 1
    turn = life.run(life.chat(life.process(), held="suspend").handle(reply(("twice", 1)), history=[]))
    assert (turn.stop, [said(one) for one in turn.outcomes]) == (None, [DONE])
    assert len(turn.messages) == 1
    assert (len(life.ran), life.settled(life.process())) == (1, "")


def test_siblings_of_a_lost_call_keep_what_they_have(life: Life) -> None:
    """The first call is done and stays so, the second was lost, the third was never taken: each is told as it is."""
    calls = (("once", 1), ("once", 2), ("same", 3))
    with pytest.raises(DiedError):
        life.propose(life.process(Mortal(life.store, 2)), *calls)
    life.clock.now += LEASE + 1
    turn = life.run(life.chat(life.process()).handle(reply(*calls), history=[]))
    assert [said(one) for one in turn.outcomes] == [DONE, UNKNOWN, DONE]
    assert [(name, n) for name, n, _ in life.ran] == [("once", 1), ("same", 3)]


@plainly
def test_a_call_that_was_lost_in_a_child_goes_on_from_its_parent(life: Life) -> None:
    """The parent proposes the equal call: one act, with the key that the child's attempt had."""
    with pytest.raises(DiedError):
        life.chat(life.process(Mortal(life.store))).child(name="helper").handle(reply(("same", 1)))
    life.clock.now += LEASE + 1
    before = life.rows()[0]
    assert said(life.propose(life.process(), ("same", 1), call_id="d")[0]) == DONE
    row = life.rows()[0]
    assert (row.status, row.attempt, row.idem, row.key.ref.branch) == ("done", 2, before.idem, "/helper")


@plainly
def test_ctrl_c_before_a_further_attempt_leaves_the_call_in_doubt(life: Life) -> None:
    """A sibling is interrupted, so nothing new starts: the lost call is not told to have been stopped before it ran."""

    def interrupted(n: int) -> None:
        raise KeyboardInterrupt

    life.dies("same")
    life.answers["look"] = interrupted
    with pytest.raises(KeyboardInterrupt):
        life.propose(life.process(), ("look", 1), ("same", 1), call_id="d")
    assert [row.status for row in life.rows() if row.call.tool == "same" and row.status == "refused"] == []
    assert len(life.ran) == 1
    life.answers.clear()
    assert said(life.propose(life.process(), ("same", 1), call_id="e")[0]) == DONE


@pytest.mark.parametrize("life", [pytest.param(("async, async tools", "sqlite"), id="async")], indirect=True)
def test_cancelling_under_the_claim_of_a_further_attempt(life: Life) -> None:
    """It was taken and not started, which says nothing of the first attempt: unknown, and free to be taken again."""
    life.dies("same")
    reached, go = threading.Event(), threading.Event()

    class Slow(Mortal):
        def claim(self, command: Any) -> Any:
            reached.set()
            go.wait(5)
            return self.inner.claim(command)

    async def main() -> None:
        chat = life.chat(life.process(Slow(life.store)))
        task = asyncio.ensure_future(chat.handle(reply(("same", 1))))
        await asyncio.to_thread(reached.wait, 5)
        task.cancel()
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert (life.rows()[0].status, life.rows()[0].attempt, life.ran) == ("unknown", 2, [])
    assert said(life.propose(life.process(), ("same", 1), call_id="d")[0]) == DONE


class Failing(Mortal):
    """A store that fails at one operation; with `after` the work was done and the answer is lost."""

    def __init__(self, inner: Any, operation: str, *, after: bool) -> None:
        super().__init__(inner)
        self.operation, self.after = operation, after

    def __getattribute__(self, name: str) -> Any:
        get = super().__getattribute__
        if name not in {"claim", "lapse", "find_twins", "take", "record", "call"} or name != get("operation"):
            return getattr(get("inner"), name) if name == "claim" else get(name)

        def fails(*given: Any, **more: Any) -> Any:
            if get("after"):
                getattr(get("inner"), name)(*given, **more)
            raise StoreError("down")

        return fails


@pytest.mark.parametrize("after", [False, True], ids=["before", "answer lost"])
@pytest.mark.parametrize("operation", ["claim", "lapse", "find_twins", "take", "record", "call"])
@pytest.mark.parametrize("tool", ["once", "same"])
def test_a_store_that_fails_leaves_a_lost_call_in_doubt(life: Life, tool: str, operation: str, after: bool) -> None:
    """Wherever it fails: unknown, never refused, as what was started may have taken effect. When it is back, the class decides."""
    life.dies(tool)
    one = life.propose(life.process(Failing(life.store, operation, after=after)), (tool, 1))[0]
    assert said(one) in {UNKNOWN, DONE}
    assert one.status == "unknown" or len(life.ran) == 1
    assert "refused" not in life.statuses()
    life.clock.now += LEASE + 1
    assert said(life.propose(life.process(), (tool, 1), call_id="d")[0]) == (DONE if tool == "same" else UNKNOWN)
    assert len(set(life.keys(tool))) <= 1
