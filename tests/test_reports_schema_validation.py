"""Reported failures: schemas that are loosened, copied badly, or judged with another meaning than they say."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from reports import BOTH, Desk, error, outcome, problems, shown_schema, start, states, write

from guard import Guard, PolicyError

READ_DOC = "tools: {read_doc: {kind: read, allow: [staff]}}"


def read_doc(topic: str = "") -> str:
    return topic or "everything"


@BOTH
@pytest.mark.parametrize(
    ("sent", "nearest"),
    [({"path": "guide"}, None), ({"topics": "guide"}, "topic"), ({"Topic": "guide"}, "topic"), ({"topic": "a", "": 1}, None)],
)
def test_unknown_field_br_033(tmp_path: Path, wire: str, sent: dict[str, Any], nearest: str | None) -> None:
    """A field that the tool lacks refuses, named with the known one; the tool never runs on its default instead."""
    desk = start(tmp_path, wire, READ_DOC, {"read_doc": read_doc})
    turn = desk.propose(("c1", "read_doc", sent))
    assert states(turn) == ["refused"]
    unknown = next(name for name in sent if name != "topic")
    found = problems(outcome(turn, "c1"))
    assert unknown in found
    assert found[unknown]["rule"] == "additionalProperties"
    assert "topic" in json.dumps(found[unknown])
    if nearest:
        assert found[unknown]["nearest"] == nearest
    assert "guide" not in str(outcome(turn, "c1").content)
    assert not desk.ran
    desk.closed()


def listing(strict: str) -> str:
    return f"""
        tools:
          list_files:
            kind: read
            allow: [staff]
            schema: {{type: object, properties: {{dir: {{type: string}}}}, required: [dir], additionalProperties: false}}
            bind: {{tenant: {strict}}}
    """


def list_files(dir: str, tenant: str) -> list[str]:  # noqa: A002 - the argument's name in the report
    return [f"{tenant}:{dir}"]


@BOTH
def test_filled_in_field_in_a_strict_schema_br_035(tmp_path: Path, wire: str) -> None:
    """The schema stays strict for the model and the session's field reaches the tool; another value for it is noted."""
    desk = start(tmp_path, wire, listing("session.tenant"), {"list_files": list_files})
    turn = desk.propose(
        ("c1", "list_files", {"dir": "/w"}),
        ("c2", "list_files", {"dir": "/w", "tenant": "t9"}),
        ("c3", "list_files", {"dir": "/w", "owner": "x"}),
    )
    assert states(turn) == ["done", "done", "refused"]
    assert desk.ran == [("list_files", {"dir": "/w", "tenant": "default"})] * 2
    assert desk.decision("c2")["spoof"] == ["tenant"]
    assert "spoof" not in desk.decision("c1")
    assert "t9" not in "".join(json.dumps(event) for event in desk.audit())
    assert set(shown_schema(desk, "list_files")["properties"]) == {"dir"}
    desk.closed()


@BOTH
def test_filled_in_field_strict_br_035b(tmp_path: Path, wire: str) -> None:
    """Where the policy is strict about the field, sending another value refuses the call."""
    desk = start(tmp_path, wire, listing("{from: session.tenant, strict: true}"), {"list_files": list_files})
    turn = desk.propose(("c1", "list_files", {"dir": "/w"}), ("c2", "list_files", {"dir": "/w", "tenant": "t9"}))
    assert states(turn) == ["done", "refused"]
    assert error(outcome(turn, "c2"))["code"] == "bound_field_sent"
    assert "tenant" in desk.decision("c2")["decision"]["note"]
    desk.closed()


CHARGE = """
    tools:
      charge:
        kind: action
        allow: [staff]
        approve: never
        schema:
          {type: object, properties: {price: {type: number, multipleOf: 0.01}}, required: [price], additionalProperties: false}
"""


def charge(price: Decimal) -> dict[str, Decimal]:
    return {"charged": price}


@BOTH
@pytest.mark.parametrize(
    ("price", "status"),
    [("4.02", "done"), ("4.025", "refused"), ("1.1", "done"), ("0.07", "done"), ("19.99", "done"), ("1e-3", "refused")],
)
def test_decimal_steps_are_exact_br_036(tmp_path: Path, wire: str, price: str, status: str) -> None:
    """Two decimals are judged in decimal, and what was judged is what the tool and the record hold."""
    desk = start(tmp_path, wire, CHARGE, {"charge": charge}, store="sqlite")
    turn = desk.propose(("c1", "charge", f'{{"price": {price}}}'))
    assert states(turn) == [status]
    if status == "done":
        assert desk.ran == [("charge", {"price": Decimal(price)})]
        assert desk.result("c1") == f'{{"charged":{price}}}'
        assert f'"price":{price}' in next(r.body for r in desk.guard.store.audit() if '"call.decided"' in r.body)
    else:
        assert problems(outcome(turn, "c1"))["price"]["rule"] == "multipleOf"
    desk.closed()


LEVEL = """
    tools:
      set_level:
        kind: action
        allow: [staff]
        approve: never
        schema: {type: object, properties: {level: {type: integer, maximum: 3}, on: {type: boolean}}, required: [level]}
"""


@BOTH
@pytest.mark.parametrize(
    "sent", [{"level": True}, {"level": False}, {"level": 1, "on": 1}, {"level": 1, "on": 0}, {"level": 1.5}]
)
def test_booleans_are_no_numbers_br_038(tmp_path: Path, wire: str, sent: dict[str, Any]) -> None:
    """True is not 1 and 1 is not true, in either direction."""
    desk = start(tmp_path, wire, LEVEL, {"set_level": lambda level, on=True: "ok"})
    turn = desk.propose(("c1", "set_level", sent))
    assert states(turn) == ["refused"]
    assert next(iter(problems(outcome(turn, "c1")).values()))["rule"] == "type"
    assert not desk.ran
    desk.closed()


FORECAST = """
    tools:
      forecast:
        kind: read
        allow: [staff]
        schema:
          type: object
          properties:
            city: {type: string}
            celsius: {type: boolean, default: false}
            days: {type: integer}
          required: [city]
          additionalProperties: false
"""


def forecast(city: str, celsius: bool = True, days: int = 1) -> str:
    return f"{city} {celsius} {days}"


@BOTH
def test_null_on_an_optional_field_br_039(tmp_path: Path, wire: str) -> None:
    """Null where a value is optional and cannot be null counts as absent: the schema's default applies and is recorded as one."""
    desk = start(tmp_path, wire, FORECAST, {"forecast": forecast})
    turn = desk.propose(
        ("c1", "forecast", {"city": "X", "celsius": None}),
        ("c2", "forecast", {"city": "X", "days": None}),
        ("c3", "forecast", {"city": None}),
    )
    assert states(turn) == ["done", "done", "refused"]
    assert desk.ran == [("forecast", {"city": "X", "celsius": False}), ("forecast", {"city": "X"})]
    assert desk.decision("c1")["args"]["labels"] == {"city": "model", "celsius": "default"}
    assert problems(outcome(turn, "c3"))["city"]["rule"] == "type"
    desk.closed()


UPDATE = """
    tools:
      update:
        kind: action
        allow: [staff]
        approve: never
        schema:
          type: object
          properties: {id: {type: integer}, note: {anyOf: [{type: string}, {type: "null"}]}, tag: {type: [string, "null"]}}
          required: [id]
          additionalProperties: false
"""


@BOTH
def test_null_that_means_something_br_041(tmp_path: Path, wire: str) -> None:
    """The model is shown that a field may be null, and the null that it sends reaches the tool."""
    desk = start(tmp_path, wire, UPDATE, {"update": lambda **given: "ok"}, store="sqlite")
    shown = shown_schema(desk, "update")["properties"]
    assert shown["note"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    turn = desk.propose(("c1", "update", {"id": 1, "note": None, "tag": None}))
    assert states(turn) == ["done"]
    assert desk.ran == [("update", {"id": 1, "note": None, "tag": None})]
    desk.closed()


def filtering(reference: str) -> str:
    return f"""
        tools:
          filter:
            kind: read
            allow: [staff]
            schema:
              type: object
              properties: {{f: {{$ref: "{reference}"}}}}
              required: [f]
              additionalProperties: false
              $defs: {{F: {{type: string, enum: [fit, raw]}}}}
    """


@BOTH
def test_references_are_followed_br_042(tmp_path: Path, wire: str) -> None:
    """The schema shown holds what it refers to, and validation follows the reference."""
    desk = start(tmp_path, wire, filtering("#/$defs/F"), {"filter": lambda f: f})
    turn = desk.propose(("c1", "filter", {"f": "fit"}), ("c2", "filter", {"f": "other"}))
    assert states(turn) == ["done", "refused"]
    assert problems(outcome(turn, "c2"))["f"]["allowed"] == ["fit", "raw"]
    assert shown_schema(desk, "filter")["$defs"]["F"]["enum"] == ["fit", "raw"]
    desk.closed()


@pytest.mark.parametrize("reference", ["#/$defs/G", "#/defs/F", "https://example.com/schemas/f.json", "F.json"])
def test_dangling_reference_stops_loading_br_042b(tmp_path: Path, reference: str) -> None:
    """A reference to nothing is a mistake at load, with its tool and line; nothing is fetched and nothing is accepted for it."""
    folder = write(tmp_path, filtering(reference))
    with pytest.raises(PolicyError) as raised:
        Guard.load(folder, tools={"filter": lambda f: f}, store="memory://")
    assert reference in str(raised.value)
    assert all(problem.line for problem in raised.value.problems)


RECURSIVE = """
    tools:
      other: {kind: read, allow: [staff]}
      search:
        kind: read
        allow: [staff]
        schema:
          type: object
          properties: {flt: {$ref: "#/$defs/N"}}
          required: [flt]
          additionalProperties: false
          $defs:
            N:
              type: object
              properties: {op: {type: string}, kids: {type: array, items: {$ref: "#/$defs/N"}}}
              required: [op]
              additionalProperties: false
"""


def tree(depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {"op": "eq"}
    for _ in range(depth):
        node = {"op": "and", "kids": [node]}
    return node


@BOTH
def test_recursive_schema_br_043(tmp_path: Path, wire: str) -> None:
    """A type that holds itself loads beside other tools, is judged at each depth, and absurd nesting is refused."""
    desk: Desk = start(tmp_path, wire, RECURSIVE, {"search": lambda flt: "found", "other": lambda: "fine"})
    turn = desk.propose(
        ("c1", "search", {"flt": tree(1)}),
        ("c2", "search", {"flt": tree(20)}),
        ("c3", "search", {"flt": {"op": "and", "kids": [{"op": "eq", "x": 1}]}}),
        ("c4", "search", {"flt": tree(60)}),
        ("c5", "other", {}),
    )
    assert states(turn) == ["done", "done", "refused", "refused", "done"]
    assert next(iter(problems(outcome(turn, "c3")))) == "flt.kids[0].x"
    assert error(outcome(turn, "c4"))["code"] == "arguments_too_large"
    desk.closed()
