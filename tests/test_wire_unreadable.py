"""Calls that no text can say: each is refused alone, and never costs its siblings their results."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from wire_helpers import answers, both, given_results, message

from guard.core.model import ToolCall
from guard.errors import WireError
from guard.wires import wire
from guard.wires.plain import MOST_DEPTH, MOST_DIGITS, UNREADABLE


def nested(depth: int, kind: type = dict) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if kind is dict else [value]
    return value


LOOP: dict[str, Any] = {}
LOOP["again"] = LOOP

UNSAYABLE = {
    "NaN": float("nan"),
    "infinity": float("-inf"),
    "NaN as a decimal": Decimal("NaN"),
    "a signalling NaN": Decimal("sNaN"),
    "infinity as a decimal": Decimal("Infinity"),
    "an integer of thousands of digits": 10**5_000,
    "a negative one": -(10**5_000),
    "a decimal of thousands of digits": Decimal("0." + "1" * (MOST_DIGITS + 1)),
    "a decimal that is large when written out": Decimal("1E+5000"),
    "a decimal that is small when written out": Decimal("1E-5000"),
    "objects nested deeply": nested(MOST_DEPTH + 1),
    "lists nested deeply": nested(MOST_DEPTH + 1, list),
    "nested beyond Python's stack": nested(5_000),
    "a value inside itself": LOOP,
    "a key that is a number": {1: 2},
    "a key that is nothing": {None: 2},
    "bytes": b"x",
    "no data": object(),
}
hard = pytest.mark.parametrize("value", UNSAYABLE.values(), ids=UNSAYABLE.keys())


def proposed(name: str, arguments: Any, form: str = "whole") -> dict[str, Any]:
    """A message with one hard call between two fine ones."""
    fine = {"n": 1} if name == "anthropic" else '{"n": 1}'
    said = message(name, ("a", "first", fine), ("b", "hard", arguments), ("c", "last", fine))
    if form == "flat":  # as some hosts send it: no `function` around name and arguments
        said["tool_calls"][1] = {"id": "b", "name": "hard", "arguments": arguments}
    return said


@pytest.mark.parametrize(
    ("name", "form"), [("openai-chat", "whole"), ("openai-chat", "flat"), ("anthropic", "whole")], ids=lambda text: text
)
@pytest.mark.parametrize("at", ["at the top", "inside"])
@hard
def test_a_call_that_no_text_can_say_is_unreadable_alone(name: str, form: str, at: str, value: Any) -> None:
    """Its arguments become a text that the core refuses; siblings keep theirs, every call has its result, and all can be sent."""
    arguments = value if at == "at the top" and isinstance(value, dict) else {"x": [value]} if at == "inside" else {"x": value}
    reply = wire(name).read(proposed(name, arguments, form))
    stored, results = wire(name).stored(reply)[0], given_results(name, reply)

    fine = {"n": 1} if name == "anthropic" else '{"n": 1}'
    assert [ToolCall("a", "first", fine), ToolCall("b", "hard", UNREADABLE), ToolCall("c", "last", fine)] == list(reply.calls)
    assert [text for text, _ in answers(name, results)] == ["a", "b", "c"]
    json.dumps([stored, *results], allow_nan=False).encode()
    assert wire(name).read(stored).kept == reply.kept
    assert wire(name).close_all([stored, *results], lambda found: {}) == [stored, *results]


@both
@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"n": ' + "9" * 5_000 + "}", id="an integer of thousands of digits"),
        pytest.param('{"n": -' + "9" * 5_000 + "}", id="a negative one"),
        pytest.param('{"n": 0.' + "9" * 5_000 + "}", id="a fraction of thousands of digits"),
        pytest.param('{"n": 1e999999999}', id="an exponent beyond every float"),
        pytest.param(json.dumps('{"n": ' + "9" * 5_000 + "}"), id="an integer inside a text inside a text"),
        pytest.param("9" * 5_000, id="nothing but digits"),
        pytest.param("[" * 100_000, id="brackets that never close"),
        pytest.param("[" * 900 + "]" * 900, id="brackets that close"),
        pytest.param('{"a":' * 400 + "1" + "}" * 400, id="objects nested deeply"),
    ],
)
def test_argument_text_of_any_kind_is_read_and_stored(name: str, text: str) -> None:
    """Text stays as it came for the core to judge, and what is stored can be sent."""
    reply = wire(name).read(message(name, ("a", "hard", text), ("b", "last", "{}")))

    assert reply.calls[0].arguments == (text if name == "openai-chat" else json.dumps(text))
    json.dumps([wire(name).stored(reply)[0], *given_results(name, reply)], allow_nan=False).encode()
    assert wire(name).read(wire(name).stored(reply)[0]).kept == reply.kept


@both
def test_the_most_that_can_be_said_is_read(name: str) -> None:
    """Arguments at the limits stay what they are."""
    arguments = {
        "deep": nested(MOST_DEPTH - 2),
        "digits": 10**MOST_DIGITS - 1,
        "decimals": [Decimal("0." + "1" * (MOST_DIGITS - 1)), Decimal("1E+400")],
    }

    assert wire(name).read(message(name, ("a", "x", arguments))).calls[0].arguments == arguments


@both
@pytest.mark.parametrize("field", ["id", "name", "extra"])
@hard
def test_other_fields_of_a_call_cost_no_sibling_either(name: str, field: str, value: Any) -> None:
    """Whatever stands where an id, a name or an unknown field is expected: each call has a result, and the message can be sent."""
    said = proposed(name, {"n": 1} if name == "anthropic" else '{"n": 1}')
    entry = said["content"][2] if name == "anthropic" else said["tool_calls"][1]
    (entry["function"] if field == "name" and name == "openai-chat" else entry)[field] = value
    reply = wire(name).read(said)

    assert [call.tool for call in reply.calls][::2] == ["first", "last"]
    assert len({call.id for call in reply.calls}) == 3
    json.dumps([wire(name).stored(reply)[0], *given_results(name, reply)], allow_nan=False, default=str).encode()


@both
@pytest.mark.parametrize("value", [10**5_000, float("nan"), Decimal("NaN")], ids=["digits", "NaN", "NaN as a decimal"])
def test_numbers_beside_the_calls_can_be_sent(name: str, value: Any) -> None:
    """A number that no text can say, anywhere else in a message, is null in what is stored; as a count or a price it is unknown."""
    said = message(name, ("a", "x", {} if name == "anthropic" else "{}"))
    place = said["content"][0] if name == "anthropic" else said
    place["extra"] = {"n": [value]}
    usage = {"input_tokens": value, "prompt_tokens": value, "output_tokens": 1, "completion_tokens": 1, "cost": value}
    counted = {**said, "usage": usage} if name == "anthropic" else {"choices": [{"message": said}], "usage": usage}
    reply = wire(name).read(counted)

    json.dumps(wire(name).stored(reply)[0], allow_nan=False)
    assert not reply.usage.known


@both
def test_a_message_nested_beyond_reading_outside_its_calls_is_a_wire_error(name: str) -> None:
    """Nobody can send such a message back."""
    said = message(name)
    (said["content"][0] if name == "anthropic" else said)["extra"] = nested(MOST_DEPTH + 1)
    with pytest.raises(WireError, match="nested too deeply"):
        wire(name).read(said)
