"""Reported failures: values that are converted by guess, or differently in two places."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from reports import BOTH, error, outcome, problems, start, states

DELETE = """
    tools:
      delete_old:
        kind: action
        allow: [staff]
        approve: never
        require: {dry_run: true}
"""


def delete_old(dry_run: bool) -> str:
    return f"dry run: {dry_run}"


@BOTH
@pytest.mark.parametrize("sent", ["false", "true", "False", "", 0, 1, None])
def test_text_is_no_boolean_br_045(tmp_path: Path, wire: str, sent: Any) -> None:
    """Text or a number where a boolean is due is refused before the rule about it is asked."""
    desk = start(tmp_path, wire, DELETE, {"delete_old": delete_old})
    turn = desk.propose(("c1", "delete_old", {"dry_run": sent}))
    assert error(outcome(turn, "c1"))["code"] == "invalid_arguments"
    assert not desk.ran
    desk.closed()


@BOTH
@pytest.mark.parametrize(
    ("sent", "code"), [("true", None), ("false", "rule_refused"), ("True", "invalid_arguments"), ("yes", "invalid_arguments")]
)
def test_exact_words_where_the_tool_asks_br_045b(tmp_path: Path, wire: str, sent: str, code: str | None) -> None:
    """With lossless conversion the rule and the tool see the same boolean, and only the two exact words become one."""
    desk = start(tmp_path, wire, DELETE + "        coerce: lossless\n", {"delete_old": delete_old}, store="sqlite")
    turn = desk.propose(("c1", "delete_old", {"dry_run": sent}))
    assert (error(outcome(turn, "c1"))["code"] if code else None) == code
    assert desk.ran == ([] if code else [("delete_old", {"dry_run": True})])
    desk.closed()


ACCOUNT = """
    tools:
      find_account:
        kind: read
        allow: [staff]
        coerce: lossless
        schema: {type: object, properties: {acc: {type: [integer, string]}}, required: [acc]}
"""


@BOTH
@pytest.mark.parametrize("acc", ["00123", "123", "1e3", " 7 ", "true", 123])
def test_a_value_that_fits_is_never_changed_br_047(tmp_path: Path, wire: str, acc: Any) -> None:
    """Where text is permitted, text that looks like a number stays text, even for a tool that permits conversion."""
    desk = start(tmp_path, wire, ACCOUNT, {"find_account": lambda acc: "found"})
    turn = desk.propose(("c1", "find_account", {"acc": acc}))
    assert states(turn) == ["done"]
    assert desk.ran == [("find_account", {"acc": acc})]
    assert type(desk.ran[0][1]["acc"]) is type(acc)
    desk.closed()


@BOTH
def test_union_in_the_signature_br_047b(tmp_path: Path, wire: str) -> None:
    """The function's own annotations do not convert a fitting value either."""

    def find_account(acc: int | str) -> str:
        return "found"

    desk = start(tmp_path, wire, "tools: {find_account: {kind: read, allow: [staff]}}", {"find_account": find_account})
    desk.propose(("c1", "find_account", {"acc": "00123"}), ("c2", "find_account", {"acc": 123}))
    assert [arguments["acc"] for _, arguments in desk.ran] == ["00123", 123]
    desk.closed()


LOOKUP = """
    tools:
      lookup:
        kind: read
        allow: [staff]
        require: {id: {enum: ["2662"]}}
"""


def lookup(id: str) -> str:  # noqa: A002 - the argument's name in the report
    return "found"


@BOTH
@pytest.mark.parametrize("sent", ["2662", "2662.0", "true", "null", "[2662]"])
def test_number_for_a_text_br_048(tmp_path: Path, wire: str, sent: str) -> None:
    """A number, a boolean or a list where text is due is refused with the type that is wanted."""
    desk = start(tmp_path, wire, LOOKUP, {"lookup": lookup})
    turn = desk.propose(("c1", "lookup", f'{{"id": {sent}}}'))
    assert states(turn) == ["refused"]
    assert problems(outcome(turn, "c1"))["id"]["rule"] == "type"
    assert any(word in problems(outcome(turn, "c1"))["id"]["message"] for word in ("string", "text"))
    assert not desk.ran
    desk.closed()


@BOTH
@pytest.mark.parametrize(("sent", "status"), [("2662", "done"), ("2662.0", "refused"), ("true", "refused"), ("2663", "refused")])
def test_number_for_a_text_where_the_tool_asks_br_048b(tmp_path: Path, wire: str, sent: str, status: str) -> None:
    """Only an integer has one spelling; the rule and the tool see that text, the record too."""
    desk = start(tmp_path, wire, LOOKUP + "        coerce: lossless\n", {"lookup": lookup}, store="sqlite")
    turn = desk.propose(("c1", "lookup", f'{{"id": {sent}}}'))
    assert states(turn) == [status]
    assert desk.ran == ([("lookup", {"id": "2662"})] if status == "done" else [])
    if status == "done":
        assert desk.decision("c1")["args"]["shown"] == {"id": "2662"}
    desk.closed()


TRANSFER = """
    tools:
      transfer:
        kind: action
        allow: [staff]
        approve: never
        coerce: lossless
        schema:
          type: object
          properties: {amount: {type: number, maximum: 1000}, currency: {enum: [CNY]}}
          required: [amount, currency]
"""


@BOTH
@pytest.mark.parametrize("amount", ["$1,200.00", "1,200", "1 200", "¥5", "5 CNY", "1.200,00", "1_000", "१२"])
def test_written_amounts_br_050(tmp_path: Path, wire: str, amount: str) -> None:
    """An amount with a sign, separators or other digits is refused, asking for a plain number; nothing is stripped or guessed."""
    desk = start(tmp_path, wire, TRANSFER, {"transfer": lambda amount, currency: "paid"})
    turn = desk.propose(("c1", "transfer", {"amount": amount, "currency": "CNY"}))
    assert states(turn) == ["refused"]
    assert "number" in problems(outcome(turn, "c1"))["amount"]["message"]
    assert amount not in str(outcome(turn, "c1").content)
    assert not desk.ran
    desk.closed()


READ_PDF = """
    tools:
      read_pdf: {kind: read, allow: [staff], coerce: lossless, require: {max_bytes: {maximum: 300000}}}
      cut_pdf: {kind: action, allow: [staff], approve: never}
"""


def read_pdf(path: str, max_bytes: int = 1000) -> int:
    return max_bytes


@BOTH
def test_lossless_only_br_052(tmp_path: Path, wire: str) -> None:
    """Text becomes a number only where it is that number's own spelling and the tool asks; the rule, record and tool see the number."""
    desk = start(tmp_path, wire, READ_PDF, {"read_pdf": read_pdf, "cut_pdf": read_pdf}, store="sqlite")
    turn = desk.propose(
        ("c1", "read_pdf", {"path": "/w/a.pdf", "max_bytes": "200000"}),
        ("c2", "read_pdf", {"path": "/w/a.pdf", "max_bytes": "2e5"}),
        ("c3", "read_pdf", {"path": "/w/a.pdf", "max_bytes": "400000"}),
        ("c4", "cut_pdf", {"path": "/w/a.pdf", "max_bytes": "200000"}),
    )
    assert states(turn) == ["done", "refused", "refused", "refused"]
    assert desk.ran == [("read_pdf", {"path": "/w/a.pdf", "max_bytes": 200000})]
    assert desk.decision("c1")["args"]["shown"]["max_bytes"] == 200000
    assert error(outcome(turn, "c3"))["code"] == "rule_refused"
    for name in ("c2", "c4"):
        problem = problems(outcome(turn, name))["max_bytes"]
        assert "whole number" in problem["message"]
        assert "text" in problem["message"]
    desk.closed()


@BOTH
@pytest.mark.parametrize("text", ["007", "+7", "7e0", "-0", " 7", "7 ", "0x7", "1_0", "", "\u0667"])
def test_other_spellings_of_a_number_br_052b(tmp_path: Path, wire: str, text: str) -> None:
    """Any other spelling stays text and is refused."""
    desk = start(tmp_path, wire, READ_PDF, {"read_pdf": read_pdf, "cut_pdf": read_pdf})
    assert states(desk.propose(("c1", "read_pdf", {"path": "p", "max_bytes": text}))) == ["refused"]
    assert not desk.ran
    desk.closed()


SCHEDULE = """
    tools:
      schedule:
        kind: action
        allow: [staff]
        approve: {by: [boss]}
        schema: {type: object, properties: {at: {type: string, format: date-time}}, required: [at]}
"""


@BOTH
@pytest.mark.parametrize(
    ("at", "status"),
    [
        ("2026-05-01T17:00:00", "refused"),
        ("2026-05-01 17:00", "refused"),
        ("2026-05-01", "refused"),
        ("2026-02-30T17:00:00Z", "refused"),
        ("2026-05-01T17:00:00+05:30", "held"),
        ("2026-05-01T17:00:00Z", "held"),
    ],
)
def test_a_time_says_its_offset_br_053(tmp_path: Path, wire: str, at: str, status: str) -> None:
    """A time without an offset is refused, never taken for UTC; one with an offset is approved, recorded and run as written."""
    desk = start(tmp_path, wire, SCHEDULE, {"schedule": lambda at: "scheduled"})
    turn = desk.propose(("c1", "schedule", {"at": at}))
    assert states(turn) == [status]
    if status == "held":
        assert desk.pending()[0].arguments == {"at": at}
        assert desk.decision("c1")["args"]["shown"] == {"at": at}
        desk.approve(turn, "c1")
        desk.settle()
        assert desk.ran == [("schedule", {"at": at})]
    else:
        assert problems(outcome(turn, "c1"))["at"]["rule"] == "format"
    desk.closed()


@BOTH
@pytest.mark.parametrize(("number", "kind"), [("5.0", "int"), ("0.1", "float"), ("0.10", "Decimal"), ("5", "float")])
def test_numbers_arrive_as_the_type_asked_for_br_045c(tmp_path: Path, wire: str, number: str, kind: str) -> None:
    """A number reaches the function as the type of its annotation with exactly its value; the outcome keeps what was judged."""
    types: dict[str, Any] = {"int": int, "float": float, "Decimal": Decimal}

    def take(n: Any) -> str:
        assert type(n) is types[kind]
        return "ok"

    take.__annotations__["n"] = types[kind]
    desk = start(tmp_path, wire, "tools: {take: {kind: read, allow: [staff]}}", {"take": take})
    turn = desk.propose(("c1", "take", f'{{"n": {number}}}'))
    assert states(turn) == ["done"]
    assert Decimal(repr(desk.ran[0][1]["n"]) if kind == "float" else desk.ran[0][1]["n"]) == Decimal(number)
    desk.closed()
