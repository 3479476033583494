"""Reported failures about budgets, over windows: batches, conversations at once, and calls that failed or that nobody knows about."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from reports import BOTH, codes, start, states
from wire_helpers import message

GET = "tools: {get: {kind: read, allow: [staff]}}\nlimits: "
STORES = pytest.mark.parametrize("store", ["memory", "sqlite"])


def get(i: int) -> int:
    return i


def batch(count: int, first: int = 1) -> list[tuple[str, str, dict[str, int]]]:
    return [(f"c{number}", "get", {"i": number}) for number in range(first, first + count)]


@BOTH
@STORES
@pytest.mark.parametrize("per", ["10s", "24h", "366d"])
def test_a_batch_under_a_window_br_211d(tmp_path: Path, wire: str, store: str, per: str) -> None:
    """A limit over a window is reserved before anything starts, over turns, runs and conversations, and is free again afterwards."""
    desk = start(tmp_path, wire, GET + f"{{windows: [{{calls: 6, per: {per}}}]}}", {"get": get}, store=store)
    assert states(desk.propose(*batch(8))) == ["done"] * 6 + ["refused"] * 2
    desk.say()
    assert codes(desk.propose(*batch(1, 20))) == ["limit_reached"]
    chat = desk.guard.open(desk.chat.session, wire=wire, conversation="conv-2")
    chat.user("Please help.")
    assert states(desk.propose(*batch(1, 30), chat=chat)) == ["refused"]
    desk.clock.now += {"10s": 10, "24h": 86_400, "366d": 366 * 86_400}[per]
    assert states(desk.propose(*batch(7, 40))) == ["done"] * 6 + ["refused"]
    desk.closed()


@BOTH
@STORES
def test_all_or_none_under_a_window_br_211e(tmp_path: Path, wire: str, store: str) -> None:
    """A batch that is refused as a whole takes nothing from the window either."""
    desk = start(tmp_path, wire, GET + "{windows: [{calls: 6, per: 1h}], turn: {whole: true}}", {"get": get}, store=store)
    assert states(desk.propose(*batch(7))) == ["refused"] * 7
    assert states(desk.propose(*batch(6, 20))) == ["done"] * 6
    desk.closed()


@BOTH
def test_conversations_at_once_share_one_window_br_211f(tmp_path: Path, wire: str) -> None:
    """Twelve conversations of one person at the same time: exactly six calls run, and the sum never passes its limit."""
    policy = """
        tools:
          pay: {kind: action, allow: [staff], approve: never, limits: {sum: amount, at_most: 6, per: 24h}}
    """
    desk = start(tmp_path, wire, policy, {"pay": lambda amount: "paid"}, store="sqlite")

    def worker(number: int) -> str:
        chat = desk.guard.open(desk.chat.session, wire=wire, conversation=f"conv-{number + 10}")
        chat.user("Please help.")
        return str(chat.handle(message(wire, (f"w{number}", "pay", desk._spelled({"amount": 1})))).outcomes[0].status)

    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(worker, range(12)))
    assert sorted(found) == ["done"] * 6 + ["refused"] * 6
    assert len(desk.ran) == 6
    desk.closed()


@BOTH
@STORES
@pytest.mark.parametrize(("behaviour", "status", "left"), [("fail", "failed", "refused"), ("hang", "unknown", "refused")])
def test_failed_and_unknown_calls_count_in_a_window_br_214c(
    tmp_path: Path, wire: str, store: str, behaviour: str, status: str, left: str
) -> None:
    """A call that started counts; one that nobody knows about counts until somebody finds out, however long ago it was."""

    def act(n: int) -> str:
        if n == 1:
            time.sleep(1 if behaviour == "hang" else 0)
            raise RuntimeError
        return "done"

    limits = "limits: {calls: 1, per: 1h}"
    policy = f"tools: {{act: {{kind: action, allow: [staff], approve: never, timeout: 100ms, {limits}}}}}"
    desk = start(tmp_path, wire, policy, {"act": act}, store=store)
    assert states(desk.propose(("c1", "act", {"n": 1}))) == [status]
    assert states(desk.propose(("c2", "act", {"n": 2}))) == [left]
    desk.clock.now += 7_200
    assert states(desk.propose(("c3", "act", {"n": 3}))) == ["refused" if status == "unknown" else "done"]
    desk.closed()
