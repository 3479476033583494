"""The operator's line in the record of a question, and in the notices made of it: nothing in it that the arguments beside it hide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guard import Guard, Session, ToolCall
from guard.sinks.entry import entry
from guard.sinks.notice import Links, notice

POLICY = """tools:
  pay:
    kind: action
    allow: [clerk]
    schema: {type: object, properties: {to: {type: object}, amount: {type: number}, card: {type: integer}, token: {type: string}, note: {type: string}}}
    approve: {by: [boss], secret: [token], effect: "Pay {amount} to {to} by {card} with {token}: {note}"}
limits: {run: {calls: 100}}
"""
PAGE = Links(page="https://guard.example/approvals/{approval}")


def asked(folder: Path, **arguments: Any) -> Any:
    """The record of the question about a call, and the digest of its mask."""
    (folder / "tools.yaml").write_text(POLICY, "utf-8")
    with Guard.load(folder, tools={"pay": lambda **_: None}, store="memory://") as guard:
        call = ToolCall("c1", "pay", arguments)
        assert guard.call(call, Session(principal="E1", roles=("clerk",)), conversation="c").status == "held"
        [question] = guard.approvals.list()
        [record] = [one for one in guard.store.audit() if '"approval.requested"' in one.body]
        return question, entry(record)


def test_a_notice_holds_the_operators_line(tmp_path: Path) -> None:
    """In the record, in the summary and in the text; unseen characters are spelled out in what is sent."""
    question, record = asked(tmp_path, to={"name": "Bo\u202e"}, amount=20, card=7, token="t0ken-t0ken", note="rent")
    assert '"name":"Bo\u202e"' in question.effect
    sent = notice(record, PAGE)
    assert sent["summary"]["effect"].startswith('Pay 20 to {"name":"Bo[U+202E]"} by 7 with [secret]')
    assert sent["text"].splitlines()[1] == sent["summary"]["effect"]


HIDDEN = {
    "mail": ({"note": "to kim@example.com"}, "kim@example.com"),
    "card": ({"card": 4111111111111111}, "4111111111111111"),
    "deep": ({"to": {"list": [{"mail": "kim@example.com"}, 1]}}, "kim@example.com"),
    "key": ({"to": {"kim@example.com": 1}}, "kim@example.com"),
    "secret": ({"token": "hunter2-hunter2"}, "hunter2"),
}


@pytest.mark.parametrize(("arguments", "secret"), HIDDEN.values(), ids=HIDDEN)
def test_what_the_arguments_hide_is_hidden_in_the_line(arguments: dict[str, Any], secret: str, tmp_path: Path) -> None:
    """Personal data by kind and by name, and secrets; of these neither length nor digest. The numbers beside them stay."""
    question, record = asked(tmp_path, **{"to": {}, "amount": 20.5, "card": 7, "token": "t0ken-t0ken", "note": "n", **arguments})
    told = record.text("approval_state", "effect")
    assert told.startswith("Pay 20.5 to ")
    assert secret not in record.sealed.body
    assert "characters" not in told
    assert "[secret: " in question.effect
