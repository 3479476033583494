"""Reported failures: argument text that readers understand differently, or that stops the loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reports import BOTH, U1, error, outcome, problems, start, states

from guard import ToolCall

READS = """
    tools:
      ping: {kind: read, allow: [staff]}
      search: {kind: read, allow: [staff]}
"""


def ping() -> str:
    return "pong"


def search(q: str) -> str:
    return q


@pytest.mark.parametrize("blank", ["", "  \n", None])
def test_blank_arguments_mean_none_br_021(tmp_path: Path, blank: str | None) -> None:
    """Blank text is an empty object: enough for a tool without parameters, a named missing field for another."""
    policy = """
        tools:
          ping: {kind: read, allow: [staff]}
          open_case: {kind: action, allow: [staff], approve: never}
    """

    def open_case(title: str) -> str:
        return title

    desk = start(tmp_path, "openai-chat", policy, {"ping": ping, "open_case": open_case}, store="sqlite")
    calls = [
        {"id": name, "type": "function", "function": {"name": tool, "arguments": blank}}
        for name, tool in (("c1", "ping"), ("c2", "open_case"))
    ]
    turn = desk.chat.handle({"role": "assistant", "content": None, "tool_calls": calls}, history=desk.history)
    desk.seen.append(turn)
    assert states(turn) == ["done", "refused"]
    assert problems(outcome(turn, "c2"))["title"]["rule"] == "required"
    assert desk.ran == [("ping", {})]
    desk.closed()


@BOTH
def test_empty_object_for_a_tool_with_fields_br_021b(tmp_path: Path, wire: str) -> None:
    """An object without the required field never lets a tool run on defaults."""
    desk = start(tmp_path, wire, READS, {"ping": ping, "search": search})
    turn = desk.propose(("c1", "search", {}), ("c2", "ping", {}))
    assert states(turn) == ["refused", "done"]
    assert problems(outcome(turn, "c1"))["q"]["rule"] == "required"
    desk.closed()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param('{"q": ', "character 6", id="cut-after-a-key"),
        pytest.param('{"q": "abc', "character 6", id="cut-inside-a-string"),
        pytest.param('{"q": "a"}{"q": "b"}', "character 10", id="two-objects-glued"),
        pytest.param("{'q': 'a'}", "character 1", id="single-quotes"),
        pytest.param('{"q": "a",}', "character", id="trailing-comma"),
        pytest.param('```json\n{"q": "a"}\n```', "character 0", id="fenced"),
    ],
)
def test_broken_text_costs_its_own_call_only_br_023(tmp_path: Path, text: str, says: str) -> None:
    """Text that is not JSON is refused with tool and position; siblings run and the loop goes on."""
    desk = start(tmp_path, "openai-chat", READS, {"ping": ping, "search": search})
    turn = desk.propose(("c1", "search", text), ("c2", "ping", "{}"))
    assert states(turn) == ["refused", "done"]
    told = error(outcome(turn, "c1"))
    assert told["code"] == "malformed_arguments"
    assert told["retry"] is True
    assert "search" in told["message"]
    assert says in told["message"]
    assert "Traceback" not in desk.everything()
    assert desk.ran == [("ping", {})]
    assert states(desk.propose(("c3", "search", '{"q": "a"}'))) == ["done"]
    desk.closed()


SALES = """
    tools:
      sales:
        kind: read
        allow: [staff]
        require: {shop: A}
"""


def sales(shop: str) -> str:
    return f"sales of {shop}"


@BOTH
@pytest.mark.parametrize("value", ['{"shop": "A"}', "[]", 'say "A"', '"{}"'])
def test_double_encoded_arguments_br_024(tmp_path: Path, wire: str, value: str) -> None:
    """A text in place of the object is refused, with a word about it, on every wire; the tool never sees text."""
    desk = start(tmp_path, wire, SALES, {"sales": sales})
    turn = desk.propose(("c1", "sales", json.dumps(value)))
    assert states(turn) == ["refused"]
    assert error(outcome(turn, "c1"))["code"] == "malformed_arguments"
    assert "object" in error(outcome(turn, "c1"))["message"]
    assert not desk.ran
    desk.closed()


@BOTH
@pytest.mark.parametrize(
    ("value", "status"),
    [('{"shop": "A"}', "done"), ('{"shop": "B"}', "refused"), ('"{}"', "refused"), ('{"shop": "A", "shop": "B"}', "refused")],
)
def test_unwrapped_once_where_the_tool_asks_br_024b(tmp_path: Path, wire: str, value: str, status: str) -> None:
    """With `unwrap` the inner object is what the policy, the record and the tool see; it is opened once only."""
    desk = start(tmp_path, wire, SALES + "        unwrap: true\n", {"sales": sales}, store="sqlite")
    turn = desk.propose(("c1", "sales", json.dumps(value)))
    assert states(turn) == [status]
    assert desk.ran == ([("sales", {"shop": "A"})] if status == "done" else [])
    if status == "done":
        assert outcome(turn, "c1").arguments == {"shop": "A"}
        assert desk.decision("c1")["args"]["shown"] == {"shop": "A"}
    desk.closed()


@pytest.mark.parametrize("text", ["[1]", "3", "true", "null", '"x"'])
def test_top_level_must_be_an_object_br_024c(tmp_path: Path, text: str) -> None:
    """Whatever else JSON can say at the top is refused."""
    desk = start(tmp_path, "openai-chat", READS, {"ping": ping, "search": search})
    assert states(desk.propose(("c1", "ping", text))) == ["refused"]
    desk.closed()


@pytest.mark.parametrize(
    "amount", ["NaN", "Infinity", "-Infinity", "1e999999", pytest.param("1" * 5000, id="5000-digits"), "+5", "05", ".5", "0x10"]
)
def test_numbers_that_json_does_not_have_br_026(tmp_path: Path, amount: str) -> None:
    """What is no JSON number, or one that cannot be exact, is refused while decoding."""
    policy = """
        tools:
          transfer:
            kind: action
            allow: [staff]
            approve: never
            schema: {type: object, properties: {amount: {type: number, minimum: 0, maximum: 100}}, required: [amount]}
    """
    desk = start(tmp_path, "openai-chat", policy, {"transfer": lambda amount: "done"})
    turn = desk.propose(("c1", "transfer", f'{{"amount": {amount}}}'))
    assert error(outcome(turn, "c1"))["code"] == "malformed_arguments"
    assert not desk.ran
    desk.closed()


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), float("-inf")])
def test_not_a_number_in_an_object_br_026b(tmp_path: Path, amount: float) -> None:
    """A wire that delivers objects can hold NaN too; it is refused the same way."""

    def transfer(amount: float) -> str:
        return "done"

    policy = "tools: {transfer: {kind: action, allow: [staff], approve: never}}"
    desk = start(tmp_path, "anthropic", policy, {"transfer": transfer})
    one = desk.guard.call(ToolCall("c1", "transfer", {"amount": amount}), U1, conversation="conv-2")
    assert (one.status, str(one.reason)) == ("refused", "malformed_arguments")
    turn = desk.propose(("c1", "transfer", {"amount": amount}))
    assert states(turn) == ["refused"]
    assert not desk.ran
    desk.closed()


@BOTH
@pytest.mark.parametrize("order", [2512292042121000001, 9007199254740993, -9223372036854775809, 10**30 + 1])
def test_long_integers_stay_exact_br_028(tmp_path: Path, wire: str, order: int) -> None:
    """The tool, the outcome, the approver and the record all hold the integer that was sent."""

    def get_order(order_id: int) -> dict[str, int]:
        return {"seen": order_id}

    policy = """
        tools:
          get_order: {kind: read, allow: [staff]}
          void_order: {kind: action, allow: [staff], approve: {by: [boss]}}
    """
    desk = start(tmp_path, wire, policy, {"get_order": get_order, "void_order": get_order}, store="sqlite")
    text = f'{{"order_id": {order}}}'
    turn = desk.propose(("c1", "get_order", text), ("c2", "void_order", text))
    assert states(turn) == ["done", "held"]
    assert desk.ran == [("get_order", {"order_id": order})]
    assert desk.result("c1") == f'{{"seen":{order}}}'
    assert outcome(turn, "c1").arguments == {"order_id": order}
    assert desk.pending()[0].arguments == {"order_id": order}
    desk.approve(turn, "c2")
    desk.settle()
    assert desk.ran[-1] == ("void_order", {"order_id": order})
    assert {event["args"]["shown"]["order_id"] for event in desk.audit("call.decided")} == {order}
    desk.closed()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        pytest.param('{"amount": 10, "amount": 100000}', "amount", id="top"),
        pytest.param('{"amount": 10, "amount": 10}', "amount", id="equal-values"),
        pytest.param('{"to": {"iban": "A", "iban": "B"}}', "iban", id="nested"),
        pytest.param('{"items": [{"n": 1}, {"n": 1, "n": 2}]}', "n", id="inside-a-list"),
        pytest.param('{"amount": 10, "\\u0061mount": 100000}', "amount", id="spelled-with-an-escape"),
    ],
)
def test_repeated_keys_br_029(tmp_path: Path, text: str, key: str) -> None:
    """A key given twice at any depth is refused by name; no reader's choice of one value is taken."""
    policy = "tools: {pay: {kind: action, allow: [staff], approve: never, schema: {type: object}}}"

    def pay(**arguments: Any) -> str:
        return "paid"

    desk = start(tmp_path, "openai-chat", policy, {"pay": pay})
    turn = desk.propose(("c1", "pay", text))
    assert error(outcome(turn, "c1"))["code"] == "malformed_arguments"
    assert f"'{key}'" in error(outcome(turn, "c1"))["message"]
    assert not desk.ran
    desk.closed()


NOTE = "tools: {note: {kind: action, allow: [staff], approve: never}}"


@BOTH
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_escaped_characters_br_031(tmp_path: Path, wire: str, store: str) -> None:
    """A whole pair is one character; half of one is refused with a reason, and recording it breaks nothing."""

    def note(text: str) -> str:
        return text

    desk = start(tmp_path, wire, NOTE, {"note": note}, store=store)
    turn = desk.propose(("c1", "note", '{"text":"\\ud83c\\udf78"}'), ("c2", "note", '{"text":"\\ud83c"}'))
    assert states(turn) == ["done", "refused"]
    assert desk.ran == [("note", {"text": "\N{COCKTAIL GLASS}"})]
    assert "Half a character" in error(outcome(turn, "c2"))["message"]
    desk.everything().encode()
    desk.closed()


@BOTH
@pytest.mark.parametrize("text", ['{"\\udc00": 1}', '{"text": ["\\udf78\\ud83c"]}', '{"text": {"deep": [{"x": "a\\ud800b"}]}}'])
def test_half_characters_anywhere_br_031b(tmp_path: Path, wire: str, text: str) -> None:
    """Keys, lists and depths included; the wrong order of two halves counts as halves."""
    desk = start(tmp_path, wire, NOTE, {"note": lambda text: text}, store="sqlite")
    assert states(desk.propose(("c1", "note", text))) == ["refused"]
    assert not desk.ran
    desk.closed()


@BOTH
def test_arguments_as_a_string_are_answered_br_032(tmp_path: Path, wire: str) -> None:
    """Arguments sent as text give a result for the call, marked as an error, never a failure of the exchange."""

    def save(age: int) -> int:
        return age

    desk = start(tmp_path, wire, "tools: {save: {kind: action, allow: [staff], approve: never}}", {"save": save})
    turn = desk.propose(("c1", "save", json.dumps('{"age": 28}')), ("c2", "save", {"age": 3}))
    assert states(turn) == ["refused", "done"]
    assert outcome(turn, "c1").error
    assert desk.ran == [("save", {"age": 3})]
    one = desk.guard.call(ToolCall("c3", "save", json.dumps('{"age": 28}')), U1, conversation="conv-2")
    assert (one.status, str(one.reason)) == ("refused", "malformed_arguments")
    desk.closed()
