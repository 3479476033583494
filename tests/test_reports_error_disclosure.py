"""Reported failures: errors that say too much, or too little."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from reports import EVERY, error, outcome, problems, start, states

from guard import ToolError

Q = "tools: {q: {kind: read, allow: [staff]}, act: {kind: action, allow: [staff], approve: never}}"
SECRET = "db://svc:FAKE-PW@db.internal.example/x refused"


class DatabaseError(Exception):
    """As a driver would raise it, with everything in its text."""

    def __init__(self) -> None:
        super().__init__(SECRET)
        self.add_note(SECRET)


def failing(error_: type[BaseException] | BaseException) -> Any:
    def fail() -> str:
        raise error_

    return fail


@EVERY
@pytest.mark.parametrize(
    "failure",
    [DatabaseError(), OSError(5, SECRET), KeyError(SECRET), SystemExit(SECRET), ExceptionGroup(SECRET, [DatabaseError()])],
)
@pytest.mark.parametrize("tool", ["q", "act"])
def test_texts_of_exceptions_stay_inside_br_187(
    tmp_path: Path, wire: str, failure: BaseException, tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The model gets the tool's name, a fixed sentence and a reference; the record has the same reference and the error's class."""
    desk = start(tmp_path, wire, Q, {"q": failing(failure), "act": failing(failure)}, store="sqlite")
    with caplog.at_level(logging.DEBUG):
        turn = desk.propose(("c1", tool, {}))
    told = error(outcome(turn, "c1"))
    assert states(turn) == ["failed"]
    assert (told["code"], told["tool"]) == ("tool_failed", tool)
    assert told["retry"] is (tool == "q")
    assert len(told["reference"]) >= 8
    for word in ("FAKE-PW", "internal.example", "Traceback"):
        assert word not in desk.everything()
    assert "FAKE-PW" not in caplog.text
    assert f"reference {told['reference']}" in caplog.text
    assert "Traceback" in caplog.text
    (end,) = desk.audit("call.end")
    assert end["exec"]["class"] == type(failure).__name__
    desk.closed()


@EVERY
def test_the_reference_is_on_record_br_187b(tmp_path: Path, wire: str) -> None:
    """Whoever is told the reference finds the record of the failure by it."""
    desk = start(tmp_path, wire, Q, {"q": failing(DatabaseError()), "act": failing(DatabaseError())})
    turn = desk.propose(("c1", "q", {}), ("c2", "act", {}))
    references = [error(one)["reference"] for one in turn.outcomes]
    assert len(set(references)) == 2
    ends = {event["call_id"]: event for event in desk.audit("call.end")}
    assert [ends[name]["exec"].get("reference") for name in ("c1", "c2")] == references
    desk.closed()


@EVERY
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("column list missing", "column list missing"),
        ("write to max.muster@example.com", "write to [email]"),
        ("Spalte „Größe“ fehlt", "Spalte „Größe“ fehlt"),
    ],
)
def test_declared_safe_errors_br_188(tmp_path: Path, wire: str, text: str, shown: str) -> None:
    """A failure that the tool declares safe reaches the model word for word, after redaction."""
    policy = "tools: {q: {kind: read, allow: [staff]}}"

    def q(sql: str) -> str:
        raise ToolError(text)

    desk = start(tmp_path, wire, policy, {"q": q})
    turn = desk.propose(("c1", "q", {"sql": "select"}))
    assert states(turn) == ["failed"]
    assert error(outcome(turn, "c1"))["message"].endswith(shown)
    assert error(outcome(turn, "c1"))["retry"] is True
    desk.closed()


@EVERY
@pytest.mark.parametrize(
    ("sent", "path", "rule"),
    [
        ({}, "sql", "required"),
        ({"sql": 5}, "sql", "type"),
        ({"sql": "x", "limit": 999}, "limit", "maximum"),
        ({"sql": "x", "order": "sideways"}, "order", "enum"),
        ({"sql": "x", "limits": 5}, "limits", "additionalProperties"),
    ],
)
def test_mistakes_in_arguments_are_explained_br_188b(
    tmp_path: Path, wire: str, sent: dict[str, Any], path: str, rule: str
) -> None:
    """What the model wrote wrongly is named with its rule and what is permitted."""
    policy = """
        tools:
          q:
            kind: read
            allow: [staff]
            schema:
              type: object
              properties: {sql: {type: string}, limit: {type: integer, maximum: 100}, order: {enum: [up, down]}}
              required: [sql]
    """
    desk = start(tmp_path, wire, policy, {"q": lambda sql, limit=1, order="up": "rows"})
    turn = desk.propose(("c1", "q", sent))
    found = problems(outcome(turn, "c1"))[path]
    assert found["rule"] == rule
    if rule == "maximum":
        assert "100" in found["message"]
        assert "999" not in found["message"]
    if rule == "enum":
        assert found["allowed"] == ["up", "down"]
    desk.closed()


LOGIN = """
    tools:
      login:
        kind: action
        allow: [staff]
        approve: never
        schema:
          type: object
          properties: {name: {type: string}, password: {type: string, minLength: 20}, pin: {type: integer}, mode: {enum: [a, b]}}
          required: [name, password]
          additionalProperties: false
"""


@EVERY
@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param({"password": "FAKE-PW-1"}, id="missing-other"),
        pytest.param({"name": "n", "password": "FAKE-PW-1"}, id="too-short"),
        pytest.param({"name": "n", "password": ["FAKE-PW-1"]}, id="wrong-type"),
        pytest.param({"name": "n", "password": "x" * 20, "pin": "FAKE-PW-1"}, id="in-another-field"),
        pytest.param({"name": "n", "password": "x" * 20, "mode": "FAKE-PW-1"}, id="in-a-choice"),
        pytest.param({"name": "n", "password": "x" * 20, "passwort": "FAKE-PW-1"}, id="in-an-unknown-field"),
    ],
)
def test_no_form_of_a_refusal_holds_the_value_br_189(
    tmp_path: Path,
    wire: str,
    store: str,
    sent: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Path and rule are told; the value stands in no result, record, log or output."""
    desk = start(tmp_path, wire, LOGIN, {"login": lambda name, password, pin=0, mode="a": "in"}, store=store)
    with caplog.at_level(logging.DEBUG):
        turn = desk.propose(("c1", "login", sent))
    assert states(turn) == ["refused"]
    assert all(problem["path"] and problem["rule"] for problem in error(outcome(turn, "c1"))["problems"])
    printed = capfd.readouterr()
    texts = [json.dumps(turn.messages), repr(turn.outcomes[0].content), caplog.text, printed.out, printed.err]
    texts += [json.dumps(event) for event in desk.audit()]
    assert not [text for text in texts if "FAKE-PW-1" in text]
    desk.closed()


@pytest.mark.parametrize("size", [200, 60_000, 300_000])
def test_a_broken_text_is_not_logged_br_191(tmp_path: Path, size: int, caplog: pytest.LogCaptureFixture) -> None:
    """Of text that cannot be read the record holds size and digest, the refusal the position, and nobody the text."""
    policy = "tools: {big: {kind: read, allow: [staff]}}"

    def big(x: str) -> str:
        return x

    desk = start(tmp_path, "openai-chat", policy, {"big": big}, store="sqlite")
    text = '{"x":"' + "S" * size
    with caplog.at_level(logging.DEBUG):
        turn = desk.propose(("c1", "big", text))
    told = error(outcome(turn, "c1"))
    if size < 262_144:
        assert told["code"] == "malformed_arguments"
        assert "character 5" in told["message"]
    else:
        assert told["code"] == "arguments_too_large"
    (proposed,) = desk.audit("call.proposed")
    assert proposed["args"]["size"] == len(text)
    assert len(proposed["args"]["digest"]) == 64
    records = "".join(json.dumps(event) for event in desk.audit())
    assert "SSSSSSSS" not in records + caplog.text + json.dumps(turn.messages)
    assert len(records) < 4_000
    desk.closed()


OWN = """
    tools:
      q:
        kind: read
        allow: [staff]
        checks: [fine]
        resource: {record: id}
        result: {mask: {"..owner": fixed}, drop: [..dsn]}
"""


@EVERY
@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("where", ["check", "loader", "tool", "safe", "answer"])
def test_failures_of_the_hosts_own_code_br_187c(
    tmp_path: Path, wire: str, store: str, where: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whoever fails (a check, a loader, the tool by an error, by declared words or by its answer), nobody reads what it held."""

    def fails(_: Any) -> Any:
        raise DatabaseError

    def q(id: str) -> Any:  # noqa: A002 - as the policy calls it
        if where == "tool":
            raise DatabaseError
        if where == "safe":
            raise ToolError(json.dumps({"dsn": SECRET, "owner": "S-1 Muster", "why": "locked"}))
        return {"ok": where != "answer", "dsn": SECRET, "owner": "S-1 Muster", "why": "locked"}

    checks = {"fine": fails if where == "check" else lambda arguments: None}
    desk = start(tmp_path, wire, OWN, {"q": q}, store=store, checks=checks)
    desk.guard.resource("record")(fails if where == "loader" else lambda identity: {"id": identity})
    with caplog.at_level(logging.DEBUG):
        turn = desk.propose(("c1", "q", {"id": "r1"}))
    printed = capfd.readouterr()
    texts = [
        desk.everything(),
        repr(turn.outcomes),
        caplog.text,
        printed.out,
        printed.err,
        json.dumps(desk.chat.resume(desk.history)),
    ]
    for word in ("FAKE-PW", "internal.example", "S-1 Muster"):
        assert not [text for text in texts if word in text]
    if where in ("check", "loader", "tool"):
        assert "Traceback" in caplog.text
    else:
        assert "locked" in desk.result("c1")
    desk.closed()
