"""Reported failures: something personal or secret that reached the model, a record or a log all the same."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from reports import EVERY, error, outcome, start, states

from guard import Session, ToolError

READ = "tools: {look: {kind: read, allow: [staff]}}"
MAIL = "a@example.com"
SECRET = "FAKE-SECRET-0001"


class Message(BaseModel):
    content: str


@dataclass
class Command:
    """As an agent framework wraps an update."""

    update: dict[str, Any]
    goto: str = "end"
    parts: list[Any] = field(default_factory=list)


FORMS: dict[str, Any] = {
    "text": f"write to {MAIL}",
    "object": {"text": MAIL},
    "name of a field": {MAIL: 1},
    "message": Message(content=MAIL),
    "command": Command(update={"messages": [Message(content=f"to {MAIL}")]}),
    "command in a list": [Command(update={}, parts=[{"type": "text", "text": MAIL}])],
    "text blocks": [{"type": "text", "text": MAIL}, {"type": "text", "text": "and more"}],
    "result of a protocol": {"content": [{"type": "text", "text": MAIL}], "isError": False},
    "tuple and set": ({MAIL}, frozenset({MAIL})),
    "bytes": MAIL.encode(),
    "base64": "YUBleGFtcGxlLmNvbSB3cm90ZQ==",
    "JSON in a text": json.dumps({"x": json.dumps({"y": MAIL})}),
    "escapes": '{"x": "a\\u0040example.com"}',
}


@EVERY
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_result_br_164(tmp_path: Path, wire: str, form: str) -> None:
    """Plain, message, command or update object, list of parts: none lets the address through, in clear or encoded."""
    desk = start(tmp_path, wire, READ, {"look": lambda: FORMS[form]})
    turn = desk.propose(("c1", "look", {}))
    assert states(turn) == ["done"]
    told = desk.everything()
    assert "[email]" in told
    for spelling in (MAIL, "YUBleGFtcGxlLmNvbS", "u0040"):
        assert spelling not in told
    desk.closed()


MAILING = """
    tools:
      mail:
        kind: action
        allow: [staff]
        approve: never
        schema: {type: object, properties: {to: {type: string}, cc: {type: array, items: {type: string}}}, required: [to]}
"""


@EVERY
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_the_tool_gets_the_value_and_records_do_not_br_165(tmp_path: Path, wire: str, store: str) -> None:
    """The tool acts on the real address, the audit shows it masked, and a list of parts stays a list."""

    def mail(to: str, cc: list[str] | None = None) -> list[dict[str, str]]:
        return [{"type": "text", "text": f"sent to {to}"}, {"type": "text", "text": f"and {len(cc or [])} more"}]

    desk = start(tmp_path, wire, MAILING, {"mail": mail}, store=store)
    turn = desk.propose(("c1", "mail", {"to": MAIL, "cc": ["b@example.com"]}))
    assert desk.ran == [("mail", {"to": MAIL, "cc": ["b@example.com"]})]
    assert outcome(turn, "c1").content == ("sent to [email]", "and 1 more")
    audit = json.dumps(desk.audit())
    assert "example.com" not in audit
    (decided,) = desk.audit("call.decided")
    assert json.dumps(decided).count("[email]") == 2
    desk.closed()


def nested(depth: int) -> Any:
    value: Any = {"api_key": SECRET, "n": 1.10}
    for _ in range(depth):
        value = {"line": json.dumps(value)}
    return value


@EVERY
@pytest.mark.parametrize(
    "value",
    [
        *(pytest.param(nested(depth), id=f"{depth} deep") for depth in range(4)),
        pytest.param({"line": "{'api_key': '" + SECRET + "'}"}, id="written by Python"),
        pytest.param({"line": "12:00 got " + json.dumps({"api_key": SECRET}) + " from x"}, id="in the middle of a line"),
        pytest.param({"line": json.dumps(json.dumps({"api_key": SECRET}))}, id="encoded twice"),
        pytest.param({"line": json.dumps([{"a": {"client_secret": {"value": SECRET}}}])}, id="below the key"),
    ],
)
def test_json_inside_texts_br_166(tmp_path: Path, wire: str, value: Any) -> None:
    """A secret that only its key tells is found however deep the JSON was written into a text, and what was JSON stays JSON."""
    desk = start(tmp_path, wire, READ, {"look": lambda: value})
    desk.propose(("c1", "look", {}))
    assert SECRET not in desk.everything()
    shown = json.loads(desk.result("c1"))["line" if "line" in value else "api_key"]
    if "line" in value and value["line"].startswith('{"'):
        assert json.loads(shown)
    desk.closed()


OWN = READ + "\nredact: {detectors: {house: {pattern: 'FAKE-SECRET-[0-9]{4}'}}}\n"


@EVERY
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(["key=FAKE-SEC", "RET-0001 done"], id="two"),
        pytest.param([*"key=FAKE-SECRET-0001 done"], id="one letter each"),
        pytest.param(["a", "FAKE-", "SECRET", "-00", "01", "b"], id="several"),
    ],
)
@pytest.mark.parametrize("form", ["stream", "list", "blocks"])
def test_what_is_cut_over_several_pieces_br_168(tmp_path: Path, wire: str, pieces: list[str], form: str) -> None:
    """What was released, put together, never holds the value, whichever way the pieces come."""

    def look() -> Any:
        if form == "stream":
            return (piece for piece in pieces)
        return pieces if form == "list" else [{"type": "text", "text": piece} for piece in pieces]

    desk = start(tmp_path, wire, OWN, {"look": look})
    turn = desk.propose(("c1", "look", {}))
    content = outcome(turn, "c1").content
    shown = "".join(map(str, content)) if not isinstance(content, str) else "".join(json.loads(content))
    assert SECRET not in shown
    assert "[house]" in shown or "[secret]" in shown
    assert json.dumps(SECRET) not in desk.everything()
    desk.closed()


@pytest.mark.parametrize(
    "pieces", [["4111", "1111", "1111", "1111"], ["138", "1234", "5678"], ["alice", "bob"], ["a@example.com", "x"]]
)
def test_neighbours_are_not_one_number_br_168b(tmp_path: Path, pieces: list[str]) -> None:
    """Numbers and names that merely stand beside each other in a list stay as they are."""
    desk = start(tmp_path, "openai-chat", OWN, {"look": lambda: pieces})
    desk.propose(("c1", "look", {}))
    assert json.loads(desk.result("c1")) == [piece.replace(MAIL, "[email]") for piece in pieces]
    desk.closed()


@EVERY
@pytest.mark.parametrize("sign", ["\u200b", "\u200d", "\u00ad", "\u2060", "\ufeff", "\u202e", "\ufe0f"])
@pytest.mark.parametrize(
    "text", ["alice@{}example.com", "al{}ice@example.com", "4111 1111{} 1111 1111", "+1 415{} 555 0182", "sk-{}" + "a1B2" * 8]
)
def test_invisible_characters_br_169(tmp_path: Path, wire: str, sign: str, text: str) -> None:
    """A character that nobody sees hides nothing, in whatever kind of value it stands."""
    value = text.replace("{}", sign)
    desk = start(tmp_path, wire, READ, {"look": lambda: {"x": value}})
    desk.propose(("c1", "look", {}))
    assert json.loads(desk.result("c1"))["x"] in {"[email]", "[card]", "[phone]", "[secret]"}
    desk.closed()


@pytest.mark.parametrize("number", ["987-65-4321", "987-65-4320", "078-05-1120", "219-09-9999", "457-55-5462"])
def test_exceptions_match_whole_values_br_171(tmp_path: Path, number: str) -> None:
    """No list of sample numbers leaves a number readable that merely begins like one."""
    desk = start(tmp_path, "openai-chat", READ, {"look": lambda: f"ssn {number}"})
    desk.propose(("c1", "look", {}))
    assert desk.result("c1") == "ssn [ssn]"
    desk.closed()


class Odd:
    """Something that no form is known of."""

    def __repr__(self) -> str:
        return MAIL


@EVERY
def test_any_mix_of_lists_and_objects_br_172(tmp_path: Path, wire: str) -> None:
    """Everything is walked, whole numbers too; what cannot be walked is shown as the name of its type."""
    value = {"m": [{"e": MAIL, "tel": 4155550182}, ["b@example.com"], ({"phone": "4155550182"},), Odd()], "n": 4155550182}
    desk = start(tmp_path, wire, READ, {"look": lambda: value})
    desk.propose(("c1", "look", {}))
    assert json.loads(desk.result("c1")) == {
        "m": [{"e": "[email]", "tel": "[phone]"}, ["[email]"], [{"phone": "[phone]"}], {"unserialisable": "Odd"}],
        "n": 4155550182,
    }
    assert "example.com" not in desk.everything()
    desk.closed()


BOUND = """
    tools:
      q:
        kind: {kind}
        allow: [staff]
        {approve}
        schema: {{type: object, properties: {{x: {{type: string}}, token: {{type: string}}}}, required: [x, token]}}
        bind: {{token: session.token}}
"""
ECHOES: dict[str, Any] = {
    "error": RuntimeError(f"server said {SECRET}"),
    "safe error": ToolError(f"server said {SECRET}"),
    "text": f"you sent {SECRET}",
    "value": {"headers": {"x": SECRET}, SECRET: 1, "list": [f"<{SECRET}>"]},
    "structured": {"content": [{"type": "text", "text": SECRET}], "structuredContent": {"echo": SECRET}},
    "cut off": ConnectionError(f"while sending {SECRET}"),
}


@EVERY
@pytest.mark.parametrize("kind", ["read", "action"])
@pytest.mark.parametrize("echo", ECHOES)
def test_an_echoed_secret_br_173(tmp_path: Path, wire: str, kind: str, echo: str, caplog: pytest.LogCaptureFixture) -> None:
    """A secret that the session put into the arguments is in no content, error, record or log of that call, whoever sends it back."""

    def q(x: str, token: str) -> Any:
        assert token == SECRET
        if isinstance(ECHOES[echo], Exception):
            raise ECHOES[echo]
        return ECHOES[echo]

    policy = BOUND.format(kind=kind, approve="approve: never" if kind == "action" else "")
    session = Session(principal="u1", roles=("staff",), attributes={"token": SECRET})
    desk = start(tmp_path, wire, policy, {"q": q}, session=session)
    with caplog.at_level(logging.DEBUG):
        turn = desk.propose(("c1", "q", {"x": "1"}))
    assert SECRET not in desk.everything() + caplog.text
    if echo == "safe error":
        assert "[secret]" in error(outcome(turn, "c1"))["message"]
    desk.closed()


@EVERY
def test_text_and_structured_content_agree_br_175(tmp_path: Path, wire: str) -> None:
    """Both copies of a value are masked alike, and the shape is what it was."""
    value = {"content": [{"type": "text", "text": f"mail {MAIL}"}], "structuredContent": {"email": MAIL, "id": 7}}
    desk = start(tmp_path, wire, READ, {"look": lambda: value})
    desk.propose(("c1", "look", {}))
    shown = desk.result("c1")
    assert MAIL not in desk.everything()
    assert '"email":"[email]","id":7' in shown.replace(": ", ":").replace(", ", ",")
    desk.closed()
