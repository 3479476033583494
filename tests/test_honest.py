"""Honest results: nothing, failure, time-out and doubt each say what they are, and amounts keep every digit, on every wire."""

from __future__ import annotations

import asyncio
import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from reports import EVERY, U1, error, outcome, start, states, write
from wire_helpers import OBJECTS, answers, failures, message

from guard import AsyncGuard, OutcomeUnknownError, ToolError
from guard.core.budget import left
from guard.core.reasons import SENTENCE, Reason
from guard.core.views import Room
from guard.errors import StoreError

POLICY = """
tools:
  look: {kind: read, allow: [staff], timeout: 100ms, result: {empty: no order of this customer}}
  bare: {kind: read, allow: [staff]}
  act: {kind: action, allow: [staff], approve: never, timeout: 100ms}
limits: {run: {steps: 99}}
"""


def slow() -> str:
    time.sleep(0.4)
    return "late"


def raising(failure: Exception) -> Any:
    def tool() -> Any:
        raise failure

    return tool


ENDINGS: dict[str, tuple[Any, str, str, str, str]] = {
    # what the tool does, the look-up's status and code, the action's status and code
    "nothing": (lambda: None, "done", "", "done", ""),
    "an empty list": (lambda: (), "done", "", "done", ""),
    "JSON of nothing": (lambda: " [\n] ", "done", "", "done", ""),
    "a null in a block": (lambda: {"content": [{"type": "text", "text": "null"}]}, "done", "", "done", ""),
    "signs that nobody sees": (lambda: "\u200b\ufeff \u2060", "done", "", "done", ""),
    "fails": (raising(ValueError("FAKE-PW")), "failed", "tool_failed", "failed", "tool_failed"),
    "says why": (raising(ToolError("no such customer")), "failed", "tool_failed", "failed", "tool_failed"),
    "says so itself": (lambda: {"ok": False, "error": "closed"}, "failed", "", "failed", ""),
    "too late": (slow, "failed", "tool_timed_out", "unknown", "outcome_unknown"),
    "cannot tell": (raising(OutcomeUnknownError()), "failed", "tool_failed", "unknown", "outcome_unknown"),
    "was cut off": (raising(ConnectionResetError()), "failed", "tool_failed", "unknown", "outcome_unknown"),
}


@EVERY
@pytest.mark.parametrize("name", ENDINGS)
def test_each_ending_says_what_it_is(tmp_path: Path, wire: str, name: str) -> None:
    """A failure has `ok: false` and the wire's mark, a time-out names itself, an action that may have happened is unknown, nothing has words."""
    does, *expected = ENDINGS[name]
    desk = start(tmp_path, wire, POLICY, {"look": does, "bare": does, "act": does})
    turn = desk.propose(("c1", "look", {}), ("c2", "act", {}))
    assert states(turn) == [expected[0], expected[2]]
    for call, status, code in (("c1", *expected[:2]), ("c2", *expected[2:])):
        text = desk.result(call)
        if code:
            told = error(outcome(turn, call))
            assert told["code"] == code
            assert told["message"].startswith(SENTENCE[Reason(code)][:30])
        if status != "done":
            assert json.loads(text)["ok"] is False
    assert failures(wire, turn.messages) == [status != "done" for status in (expected[0], expected[2])]
    if expected[0] == "done":
        assert desk.result("c1") == "no order of this customer"
        assert desk.result("c2") == "Done; the tool gave no output."
        desk.propose(("c3", "bare", {}))
        assert desk.result("c3") == "Nothing found."
    assert "FAKE-PW" not in desk.everything()
    desk.closed()


MONEY = """
tools:
  price: {kind: read, allow: [staff], result: {keep: [rows], units: {'rows[*].amount': CNY}, schema: {type: object}}}
  pay:
    kind: action
    allow: [staff]
    approve: never
    repeat: allow
    ground: {amount: {returned_by: 'price.rows[*].amount'}}
    schema: {type: object, properties: {amount: {type: number, multipleOf: 0.01}}, required: [amount]}
limits: {run: {steps: 99}, turn: {result_bytes: 100000}}
"""
AMOUNTS = ["1.10", "0.10", "3860.00", "12345678901234567890.12", "0.3", "100", "-5.50", "1E+2"]


@EVERY
@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("amount", AMOUNTS)
def test_an_amount_keeps_its_digits(tmp_path: Path, wire: str, store: str, amount: str) -> None:
    """From the tool to the model, from the ledger, from the model to the tool and back: Decimal all the way, with the digits that it had."""
    got: list[Any] = []

    def price() -> Any:
        return {"rows": [{"amount": Decimal(amount)}], "hidden": 1}

    def pay(amount: Decimal) -> Any:
        got.append(amount)
        return {"paid": amount, "twice": [amount]}

    desk = start(tmp_path, wire, MONEY, {"price": price, "pay": pay}, store=store)
    desk.propose(("c1", "price", {}))
    assert desk.result("c1") == f'{{"rows":[{{"amount":{amount}}}]}}'
    if store == "sqlite":
        desk.restart()
    sent: Any = {"amount": Decimal(amount)} if wire in OBJECTS else f'{{"amount": {amount}}}'
    reply = message(wire, ("c2", "pay", sent))
    turn = desk.chat.handle(reply, history=desk.history)
    assert states(turn) == ["done"]
    assert [(type(one), str(one)) for one in got] == [(Decimal, amount)]
    told = next(content for name, content in answers(wire, turn.messages) if name == "c2")
    assert told == f'{{"paid":{amount},"twice":[{amount}]}}'
    again = desk.chat.handle(reply, history=desk.history)
    assert next(content for name, content in answers(wire, again.messages) if name == "c2") == told
    assert len(got) == 1
    desk.guard.close()


@EVERY
def test_async_callers_have_all_of_it(tmp_path: Path, wire: str) -> None:
    """Schema, room, marks, trim: the same in an asyncio loop; `trim` needs no await."""

    async def page(n: int) -> Any:
        return {"text": "words " * n, "n": n}

    async def look() -> Any:
        return "<html>"

    text = """
        tools:
          page: {kind: read, allow: [staff], trust: untrusted, result: {max_bytes: 900}}
          look: {kind: read, allow: [staff], result: {schema: {type: object}}}
        limits: {run: {steps: 9}, turn: {result_bytes: 1200}, conversation: {result_bytes: 5000}}
    """

    async def go() -> None:
        guard = AsyncGuard.load(write(tmp_path, text), tools=[page, look], store="memory://")
        chat = guard.open(U1, wire=wire, conversation="c")
        history = [chat.user("Go.")]
        for _ in range(2):
            calls = (("c1", "page", {"n": 500}), ("c2", "page", {"n": 400}), ("c3", "look", {}))
            turn = await chat.handle(message(wire, *calls), history=history)
            assert states(turn) == ["done", "done", "failed"]
            assert sum(len(str(one.content)) for one in turn.outcomes) <= 1_200
            assert all(json.loads(str(one.content))["begin"] for one in turn.outcomes[:2])
            history += turn.append
        assert len(json.dumps(chat.trim(history, max_bytes=10))) < len(json.dumps(history))
        guard.close()

    asyncio.run(go())


def test_what_cannot_be_measured_is_used_up(tmp_path: Path) -> None:
    """A store that cannot say what was shown leaves no room, rather than any."""
    text = POLICY.replace("limits: {", "limits: {conversation: {result_bytes: 5000}, ")
    desk = start(tmp_path, "openai-chat", text, {"look": lambda: [1] * 500, "bare": lambda: 1, "act": lambda: 1})
    flow = desk.chat.measured()
    next(flow)
    with pytest.raises(StopIteration) as end:
        flow.throw(StoreError("down"))
    context = end.value.value
    assert left(Room(), context.policy.limits.conversation_room, context.spent) == Room(bytes=0)


CASES = """
sessions: {ann: {principal: E1, roles: [staff]}}
cases:
  - name: a page is a list of rows, and shown as data
    session: ann
    call: page
    returns: [1, 2]
    expect: allow
    result: [1, 2]
  - name: what is no list is no page
    session: ann
    call: page
    returns: <html>
    expect: allow
    reason: result_invalid
  - name: nobody can tell what the payment did
    session: ann
    call: pay
    returns: <html>
    expect: allow
    reason: result_invalid
    says: may or may not have taken effect
  - name: a long page is cut in what is left
    session: ann
    history: [{call: page, returns: [1, 2]}]
    call: page
    returns: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30]
    expect: allow
    result: [{"[cut]": 0 of 30 shown}]
"""
TESTED = """
tools:
  page: {kind: read, allow: [staff], trust: untrusted, result: {schema: {type: array}}}
  pay: {kind: action, allow: [staff], approve: never, result: {schema: {type: object}}}
limits: {run: {steps: 3}, conversation: {result_bytes: 250}}
"""


def test_a_policys_own_cases_can_say_all_of_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Form, marks and room are played as they will be; taking a schema away is noticed."""
    from guard.cli.main import main

    (tmp_path / "tools.yaml").write_text(TESTED)
    (tmp_path / "cases.yaml").write_text(CASES)
    code = main(["test", "--policy", str(tmp_path), "--mutate"])
    told = capfd.readouterr().out
    assert "result.schema" not in told, told
    assert "4 cases, 4 passed, 0 failed" in told, told
    assert code == 1, "the other rules are noticed by no case here"
