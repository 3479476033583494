"""Reported failures: results that are not legal on the wire, or a success that is told as a failure."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from reports import EVERY, error, outcome, start, states
from wire_helpers import failures

TWO = "tools: {act: {kind: action, allow: [staff], approve: never}, look: {kind: read, allow: [staff]}}"


@EVERY
@pytest.mark.parametrize("value", ["", None, " \n", [], {}, (), set()], ids=repr)
def test_nothing_becomes_words_br_193(tmp_path: Path, wire: str, value: Any) -> None:
    """An empty result is a short text that says so, for an action that it is done; never an empty block, never no result."""
    desk = start(tmp_path, wire, TWO, {"act": lambda: value, "look": lambda: value})
    turn = desk.propose(("t1", "act", {}), ("t2", "look", {}))
    assert states(turn) == ["done", "done"]
    assert "Done" in desk.result("t1")
    assert "othing" in desk.result("t2")
    desk.closed()


class Colour(Enum):
    RED = "red"


class Odd:
    """Something with no JSON form, whose text holds a secret."""

    def __repr__(self) -> str:
        return "FAKE-PW"

    __str__ = __repr__


@EVERY
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_success_stays_one_br_196(tmp_path: Path, wire: str, store: str) -> None:
    """Dates, exact amounts, enums, sets and the rest have one form each, in stable order; what has none is named by its type."""

    def act(amount: Decimal) -> dict[str, Any]:
        return {
            "at": datetime(2026, 5, 1, 17, 0, tzinfo=UTC),
            "on": date(2026, 5, 1),
            "for": timedelta(hours=1, seconds=30),
            "amount": Decimal("12.50"),
            "tags": {"b", "a", "c"},
            "colour": Colour.RED,
            "id": UUID("00000000-0000-0000-0000-000000000001"),
            "path": PurePosixPath("/w/a"),
            "raw": b"text",
            "bits": b"\xff\x00",
            "pair": (1, 2),
            "odd": Odd(),
            3: "three",
        }

    policy = "tools: {act: {kind: action, allow: [staff], approve: never}}"
    desk = start(tmp_path, wire, policy, {"act": act}, store=store)
    turn = desk.propose(("c1", "act", {"amount": 12.5}))
    assert states(turn) == ["done"]
    found = json.loads(desk.result("c1"), parse_float=Decimal)
    assert found["at"] == "2026-05-01T17:00:00+00:00"
    assert (found["on"], found["for"]) == ("2026-05-01", "PT3630S")
    assert str(found["amount"]) == "12.50"
    assert found["tags"] == ["a", "b", "c"]
    assert (found["colour"], found["raw"], found["pair"], found["3"]) == ("red", "text", [1, 2], "three")
    assert found["bits"]["bytes"] == 2
    assert found["odd"] == {"unserialisable": "Odd"}
    assert "FAKE-PW" not in desk.everything()
    assert desk.audit("call.end")[0]["exec"]["status"] == "ok"
    desk.closed()


class Hostile:
    """An object that breaks whoever looks at it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("FAKE-PW")


def endless() -> Any:
    yield from iter(int, 1)


def circle() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


@EVERY
@pytest.mark.parametrize(
    "make",
    [
        Hostile,
        endless,
        circle,
        lambda: 10**6000,
        lambda: "\ud800",
        lambda: {"\ud800": 1},
        lambda: {1: "a", "1": "b"},
        lambda: object,
    ],
    ids=["hostile", "endless", "circle", "long-integer", "half-character", "half-in-a-key", "colliding-keys", "a-class"],
)
def test_an_action_with_an_odd_result_is_done_br_196b(tmp_path: Path, wire: str, make: Any) -> None:
    """Whatever conversion meets, an action that happened is told as done and the history can be sent."""
    desk = start(tmp_path, wire, TWO, {"act": make, "look": lambda: 1}, store="sqlite")
    turn = desk.propose(("c1", "act", {}), ("c2", "look", {}))
    assert states(turn) == ["done", "done"]
    json.dumps(desk.history, allow_nan=False, ensure_ascii=False).encode()
    assert "FAKE-PW" not in desk.everything()
    assert desk.times("act") == 1
    desk.closed()


@EVERY
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), Decimal("NaN"), Decimal("Infinity")], ids=str)
def test_numbers_that_json_lacks_br_198(tmp_path: Path, wire: str, number: Any) -> None:
    """A number that is not finite becomes null at any depth; the rest of the result stays as it is."""
    desk = start(tmp_path, wire, TWO, {"look": lambda: {"mean": number, "rows": [[number, 1.5]]}, "act": lambda: number})
    turn = desk.propose(("c1", "look", {}), ("c2", "act", {}))
    assert states(turn) == ["done", "done"]
    assert desk.result("c1") == '{"mean":null,"rows":[[null,1.5]]}'
    assert "NaN" not in desk.result("c2")
    desk.closed()


PAY = "tools: {pay: {kind: action, allow: [staff], approve: {by: [boss]}, limits: {sum: amount, at_most: 8}}}"


@EVERY
@pytest.mark.parametrize(
    "answer",
    [
        {
            "isError": True,
            "content": [{"type": "text", "text": "card declined for max.muster@example.com"}],
            "structuredContent": {},
        },
        {"ok": False, "error": "card declined for max.muster@example.com"},
    ],
    ids=["mcp", "own-words"],
)
def test_a_failure_told_in_band_br_195(tmp_path: Path, wire: str, answer: dict[str, Any]) -> None:
    """A result that says it failed is an error on the wire and on record, in its own words, and its amount is free again."""
    desk = start(tmp_path, wire, PAY, {"pay": lambda amount: answer}, store="sqlite", held="suspend")
    turn = desk.propose(("c1", "pay", {"amount": 5}))
    desk.approve(turn, "c1")
    done = desk.propose(("c1", "pay", {"amount": 5}))
    assert states(done) == ["failed"]
    assert "card declined for [email]" in desk.result("c1")
    assert desk.audit("call.end")[0]["exec"]["status"] == "error"
    assert desk.times("pay") == 1
    desk.say("Try another card.")
    assert states(desk.propose(("c2", "pay", {"amount": 6}))) == ["held"]
    desk.closed()


@EVERY
def test_a_failed_lookup_reads_as_an_error_br_195b(tmp_path: Path, wire: str) -> None:
    """The wire's own mark of an error is set where the wire has one, and the text says that it is none of data."""
    answer = {"isError": True, "content": [{"type": "text", "text": "no such row"}]}
    policy = "tools: {look: {kind: read, allow: [staff], result: {keep: [id]}}}"
    desk = start(tmp_path, wire, policy, {"look": lambda: answer})
    turn = desk.propose(("c1", "look", {}))
    assert error(outcome(turn, "c1"))["code"] == "tool_failed"
    assert "no such row" in error(outcome(turn, "c1"))["message"]
    assert failures(wire, turn.messages) == [True]
    desk.closed()


@EVERY
@pytest.mark.parametrize("tool", ["act", "look"])
@pytest.mark.parametrize(
    "failure", [{"isError": True, "content": []}, {"isError": True, "content": [{"type": "text", "text": " "}]}]
)
def test_a_failure_without_words_br_195d(tmp_path: Path, wire: str, tool: str, failure: dict[str, Any]) -> None:
    """A failure that says nothing else is told as a failure alone, never with the words for an empty success."""
    desk = start(tmp_path, wire, TWO, {"act": lambda: failure, "look": lambda: failure})
    turn = desk.propose(("c1", tool, {}))
    assert states(turn) == ["failed"]
    assert not [word for word in ("Done", "Nothing found", "no output") if word in desk.result("c1")]
    desk.closed()


@EVERY
@pytest.mark.parametrize("keep", ["[id]", "[error]", "[id, error]"])
@pytest.mark.parametrize("tool", ["act", "look"])
def test_a_filtered_failure_stays_a_failure_br_195c(tmp_path: Path, wire: str, keep: str, tool: str) -> None:
    """Filtering the fields of a result that says it failed never leaves something that reads as a success."""
    policy = f"""
        tools:
          act: {{kind: action, allow: [staff], approve: never, result: {{keep: {keep}}}}}
          look: {{kind: read, allow: [staff], result: {{keep: {keep}}}}}
    """

    def fails() -> dict[str, Any]:
        return {"ok": False, "error": "card declined", "trace": "FAKE-PW"}

    desk = start(tmp_path, wire, policy, {"act": fails, "look": fails})
    turn = desk.propose(("c1", tool, {}))
    assert states(turn) == ["failed"]
    told = error(outcome(turn, "c1"))
    assert told["code"] == "tool_failed"
    assert ("card declined" in told["message"]) == ("error" in keep)
    assert "FAKE-PW" not in desk.everything()
    assert "Done" not in desk.result("c1")
    desk.closed()
