"""Reported failures: budgets that are counted too late or for nothing, and calls that are repeated without end."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from reports import BOTH, Desk, codes, error, outcome, start, states
from wire_helpers import answers, message

GET = "tools: {get: {kind: read, allow: [staff]}}\nlimits: "
STORES = pytest.mark.parametrize("store", ["memory", "sqlite"])


def get(i: int) -> int:
    return i


def batch(count: int, first: int = 1) -> list[tuple[str, str, dict[str, int]]]:
    return [(f"c{number}", "get", {"i": number}) for number in range(first, first + count)]


@BOTH
@STORES
@pytest.mark.parametrize("scope", ["run: {calls: 6}", "turn: {calls: 6}", "conversation: {calls: 6}"])
def test_eight_parallel_calls_under_a_limit_of_six_br_211(tmp_path: Path, wire: str, store: str, scope: str) -> None:
    """The budget is reserved before anything starts: six run, in call order, two are refused, and all eight are answered."""
    desk = start(tmp_path, wire, GET + f"{{{scope}}}", {"get": get}, store=store)
    turn = desk.propose(*batch(8))
    assert states(turn) == ["done"] * 6 + ["refused"] * 2
    assert [arguments["i"] for _, arguments in desk.ran] == [1, 2, 3, 4, 5, 6]
    assert error(outcome(turn, "c7"))["code"] == "limit_reached"
    assert error(outcome(turn, "c8"))["retry"] is False
    assert [name for name, _ in answers(wire, turn.messages)] == [f"c{number}" for number in range(1, 9)]
    desk.closed()


@BOTH
@STORES
@pytest.mark.parametrize("count", [6, 7])
def test_all_or_none_br_211b(tmp_path: Path, wire: str, store: str, count: int) -> None:
    """Where the policy asks for it, a batch that does not fit as a whole does not run at all, and costs nothing."""
    desk = start(tmp_path, wire, GET + "{run: {calls: 6}, turn: {whole: true}}", {"get": get}, store=store)
    turn = desk.propose(*batch(count))
    assert states(turn) == (["done"] * 6 if count == 6 else ["refused"] * 7)
    if count == 7:
        assert states(desk.propose(*batch(6, 20))) == ["done"] * 6
    desk.closed()


@BOTH
def test_two_processes_share_one_budget_br_211c(tmp_path: Path, wire: str) -> None:
    """Conversations handled at the same time by several workers take from one budget: exactly six run."""
    policy = "tools: {get: {kind: read, allow: [staff]}}\nlimits: {conversation: {calls: 6}}"
    desk = start(tmp_path, wire, policy, {"get": get}, store="sqlite")

    def worker(number: int) -> str:
        chat = desk.guard.open(desk.chat.session, wire=wire, conversation="conv-1")
        turn = chat.handle(message(wire, (f"w{number}", "get", desk._spelled({"i": number}))), history=[])
        return str(turn.outcomes[0].status)

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(worker, range(12)))
    assert sorted(found) == ["done"] * 6 + ["refused"] * 6
    assert len(desk.ran) == 6
    desk.closed()


AB = "tools: {a: {kind: read, allow: [staff]}, b: {kind: read, allow: [staff]}}\nlimits: "
AB_TOOLS = {"a": lambda: "A", "b": lambda: "B"}


@BOTH
@STORES
def test_a_batch_over_the_limit_is_answered_br_213(tmp_path: Path, wire: str, store: str) -> None:
    """Each call of a batch that is refused as a whole has its result, and a later call that fits still runs."""
    desk = start(tmp_path, wire, AB + "{run: {calls: 1}, turn: {whole: true}}", AB_TOOLS, store=store)
    turn = desk.propose(("c1", "a", {}), ("c2", "b", {}))
    assert codes(turn) == ["limit_reached", "limit_reached"]
    assert not desk.ran
    assert states(desk.propose(("c3", "a", {}))) == ["done"]
    desk.closed()


@BOTH
@pytest.mark.parametrize("held", ["answer", "suspend"])
def test_the_run_ends_with_every_call_answered_br_213b(tmp_path: Path, wire: str, held: str) -> None:
    """When steps are used up, the whole turn is answered before the loop is told to stop, held calls of it included."""
    policy = "tools: {a: {kind: read, allow: [staff]}, pay: {kind: action, allow: [staff], approve: {by: [boss]}}}"
    desk = start(tmp_path, wire, policy + "\nlimits: {run: {steps: 1}}", {"a": lambda: "A", "pay": lambda: "paid"}, held=held)
    first = desk.propose(("c1", "a", {}))
    assert first.stop is None
    turn = desk.propose(("c2", "a", {}), ("c3", "pay", {}))
    assert (states(turn), turn.stop) == (["refused", "refused"], "limit")
    assert len(turn.messages) == (2 if wire == "openai-chat" else 1)
    assert not desk.pending()
    desk.closed()


@BOTH
@STORES
def test_refused_calls_cost_nothing_br_214(tmp_path: Path, wire: str, store: str) -> None:
    """A call that a limit, the schema or a rule refused takes nothing from the budget of the conversation."""
    policy = """
        tools: {a: {kind: read, allow: [staff], require: {n: {maximum: 9}}}}
        limits: {run: {calls: 1}, conversation: {calls: 3}}
    """

    def a(n: int) -> int:
        return n

    desk = start(tmp_path, wire, policy, {"a": a}, store=store)
    left = []
    for number in range(4):
        turn = desk.propose(
            (f"w{number}", "a", {"n": "x"}),
            (f"x{number}", "a", {"n": 10}),
            (f"y{number}", "a", {"n": 1}),
            (f"z{number}", "a", {"n": 2}),
        )
        left.append(states(turn))
        desk.say()
    assert left == [["refused", "refused", "done", "refused"]] * 3 + [["refused"] * 4]
    desk.closed()


@BOTH
@STORES
@pytest.mark.parametrize(("behaviour", "status"), [("fail", "failed"), ("hang", "unknown")])
def test_failed_and_unknown_calls_count_br_214b(tmp_path: Path, wire: str, store: str, behaviour: str, status: str) -> None:
    """A call that started counts, whether it failed or nobody knows."""

    def act(n: int) -> str:
        if n == 1:
            time.sleep(1 if behaviour == "hang" else 0)
            raise RuntimeError
        return "done"

    policy = "tools: {act: {kind: action, allow: [staff], approve: never, timeout: 100ms}}\nlimits: {run: {calls: 1}}"
    desk = start(tmp_path, wire, policy, {"act": act}, store=store)
    assert states(desk.propose(("c1", "act", {"n": 1}))) == [status]
    assert states(desk.propose(("c2", "act", {"n": 2}))) == ["refused"]
    desk.closed()


WIPE = "tools: {wipe: {kind: action, allow: [staff], approve: {by: [boss]}}}"


@BOTH
@STORES
@pytest.mark.parametrize("held", ["answer", "suspend"])
def test_a_rejected_call_again_br_215(tmp_path: Path, wire: str, store: str, held: str) -> None:
    """A repeat of what a person declined is refused in the run without asking again; once the user has spoken it may be asked anew."""
    desk = start(tmp_path, wire, WIPE, {"wipe": lambda db: "wiped"}, store=store, held=held)
    first = desk.propose(("c1", "wipe", {"db": "t"}))
    desk.reject(first, "c1")
    told = desk.settle() if held == "answer" else str(desk.propose(("c1", "wipe", {"db": "t"})).messages)
    assert "A person declined this call" in told
    assert "repeating it will be declined" in told
    for number in range(2, 5):
        turn = desk.propose((f"c{number}", "wipe", {"db": "t"}))
        assert codes(turn) == ["approval_rejected"]
        assert error(outcome(turn, f"c{number}"))["retry"] is False
    assert len(desk.audit("approval.requested")) == 1
    assert not desk.pending()
    desk.say("Do it now, please.")
    assert states(desk.propose(("c9", "wipe", {"db": "t"}))) == ["held"]
    assert not desk.ran
    desk.closed()


@BOTH
@pytest.mark.parametrize("reason", [None, "", "not while the shop is open"])
def test_a_rejection_always_says_so_br_216(tmp_path: Path, wire: str, reason: str | None) -> None:
    """With or without a reason the text says plainly that a person declined and that nothing was done."""
    desk = start(tmp_path, wire, WIPE, {"wipe": lambda db: "wiped"}, held="suspend")
    turn = desk.propose(("c1", "wipe", {"db": "t"}))
    desk.reject(turn, "c1", reason)
    again = desk.propose(("c1", "wipe", {"db": "t"}))
    told = error(outcome(again, "c1"))["message"]
    assert told.startswith("A person declined this call. It was not executed")
    assert (reason or "") in told
    desk.closed()


EQUAL = """
    tools:
      get:
        kind: read
        allow: [staff]
        schema:
          type: object
          properties:
            f: {type: object, properties: {city: {type: string}, unit: {type: string}, n: {type: number}}}
            tags: {type: array, items: {type: string}}
          required: [f]
    limits: {run: {equal: 3}}
"""
SAME = [
    '{"f":{"city":"P","unit":"c"},"tags":["a"]}',
    '{"tags":["a"],"f":{"unit":"c","city":"P"}}',
    '{ "f": {"unit":"c","city":"\\u0050"}, "tags": ["a"] }',
    '{"f":{"city":"P","unit":"c"},"tags":["a"]}',
]


@BOTH
@STORES
@pytest.mark.parametrize("together", [True, False])
def test_equal_calls_in_other_spellings_br_217(tmp_path: Path, wire: str, store: str, together: bool) -> None:
    """Key order, spaces and escapes at any depth make no other call: the fourth equal one is refused."""
    desk = start(tmp_path, wire, EQUAL, {"get": lambda f, tags=(): "sunny"}, store=store)
    calls = [(f"c{number}", "get", text) for number, text in enumerate(SAME, start=1)]
    found = states(desk.propose(*calls)) if together else [states(desk.propose(call))[0] for call in calls]
    assert found == ["done", "done", "done", "refused"]
    assert error(desk.seen[-1].outcomes[-1])["code"] == "repeated_call"
    desk.closed()


@BOTH
@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ('{"f":{},"tags":["a","b"]}', '{"f":{},"tags":["b","a"]}', False),
        ('{"f":{"n":1}}', '{"f":{"n":1.0}}', True),
        ('{"f":{"n":1e2}}', '{"f":{"n":100}}', True),
        ('{"f":{"n":1}}', '{"f":{"n":2}}', False),
        ('{"f":{"city":"1"}}', '{"f":{"n":1}}', False),
        ('{"f":{}}', '{"f":{},"tags":null}', True),
        ('{"f":{}}', '{"f":{},"tags":[]}', False),
    ],
)
def test_what_counts_as_equal_br_217b(tmp_path: Path, wire: str, one: str, other: str, equal: bool) -> None:
    """Numbers are equal by value, lists only in order, and an absent optional field is like a null one."""
    policy = EQUAL.replace("equal: 3", "equal: 1")
    desk = start(tmp_path, wire, policy, {"get": lambda f, tags=(): "sunny"})
    assert states(desk.propose(("c1", "get", one), ("c2", "get", other))) == ["done", "refused" if equal else "done"]
    desk.closed()


def many(desk: Desk, count: int) -> dict[str, Any]:
    return message(desk.wire, *((f"c{number}", "get", desk._spelled({"i": number})) for number in range(1, count + 1)))


@BOTH
@STORES
@pytest.mark.parametrize("count", [21, 128, 129, 200])
def test_two_hundred_calls_in_a_turn_br_219(tmp_path: Path, wire: str, store: str, count: int) -> None:
    """Twenty run; what is sent back is legal for the wire: proposal and results are trimmed together, and it is said."""
    desk = start(tmp_path, wire, GET + "{turn: {calls: 20}}", {"get": get}, store=store)
    reply = many(desk, count)
    turn = desk.chat.handle(reply, history=desk.history)
    desk.seen.append(turn)
    desk.history += turn.append
    desk.legal()
    assert states(turn) == ["done"] * 20 + ["refused"] * (count - 20)
    assert len(desk.ran) == 20
    stored = turn.append[0]
    calls = (
        stored["tool_calls"] if wire == "openai-chat" else [block for block in stored["content"] if block["type"] == "tool_use"]
    )
    assert len(calls) == len(answers(wire, turn.messages))
    if len(calls) < count:
        assert f"{count - len(calls)} further calls" in json.dumps(turn.messages)
    desk.closed()
