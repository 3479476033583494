"""What is the same call and what is another one: spellings of JSON, look-alikes, defaults, and places; a yes to one of two calls that differ runs one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reports import BOSS, U1, U2, Desk, codes, start, states

from guard import ApprovalError, ConversationError, Session

POLICY = """
    tools:
      pay:
        kind: action
        allow: [staff]
        schema:
          type: object
          properties:
            payee: {type: string}
            amount: {type: number}
            currency: {type: string, default: EUR}
            to: {type: object}
            flag: {}
          required: [payee]
          additionalProperties: false
        approve: {by: [boss]}
"""
BASE = '{"payee": "Ann", "amount": 100, "to": {"a": 1, "b": [1, {"c": 2}]}}'
SAME = {
    "keys in another order": '{"to": {"b": [1, {"c": 2}], "a": 1}, "amount": 100, "payee": "Ann"}',
    "blanks": '{ "payee" : "Ann" ,\t"amount":100,\n"to":{"a":1,"b":[1,{"c":2}]}}',
    "letters as escapes": '{"p\\u0061yee": "\\u0041nn", "amount": 100, "to": {"a": 1, "b": [1, {"c": 2}]}}',
    "the default written out": '{"payee": "Ann", "amount": 100, "currency": "EUR", "to": {"a": 1, "b": [1, {"c": 2}]}}',
    "null where nothing is": '{"payee": "Ann", "amount": 100, "currency": null, "to": {"a": 1, "b": [1, {"c": 2}]}}',
}
OTHER = {
    "a Cyrillic letter": BASE.replace("Ann", "\u0410nn"),
    "a letter composed otherwise": BASE.replace("Ann", "A\u0301nn"),
    "a joiner that cannot be seen": BASE.replace("Ann", "An\u200bn"),
    "a blank behind": BASE.replace("Ann", "Ann "),
    "another blank": BASE.replace("Ann", "Ann\u00a0"),
    "another case": BASE.replace("Ann", "ann"),
    "a letter of full width": BASE.replace("Ann", "\uff21nn"),
    "a tag character": BASE.replace("Ann", "Ann\U000e0041"),
    "a hair more": BASE.replace("100", "100.000000000000000000000000000001"),
    "a big whole number": BASE.replace("100", "9007199254740993"),
    "another currency": BASE.replace('"to"', '"currency": "USD", "to"'),
    "a list in another order": BASE.replace('[1, {"c": 2}]', '[{"c": 2}, 1]'),
    "a flag for a number": BASE.replace('"a": 1', '"a": true'),
    "a text for a number": BASE.replace('"a": 1', '"a": "1"'),
    "null for a number inside": BASE.replace('"a": 1', '"a": null'),
    "an empty text": BASE.replace("Ann", ""),
}
REFUSED = {
    "a key twice": '{"payee": "Ann", "amount": 100, "amount": 1}',
    "a key twice, once in escapes": '{"payee": "Ann", "amount": 100, "\\u0061mount": 1}',
    "a key twice inside": '{"payee": "Ann", "to": {"a": 1, "a": 2}}',
    "no number": '{"payee": "Ann", "amount": NaN}',
    "endless": '{"payee": "Ann", "amount": Infinity}',
    "a text for the amount": '{"payee": "Ann", "amount": "100"}',
    "digits of another alphabet": '{"payee": "Ann", "amount": \u0661\u0660\u0660}',
    "a look-alike of the key": '{"payee": "Ann", "\u0430mount": 1}',
    "two objects": '{"payee": "Ann"} {"payee": "Bob"}',
    "half a pair": '{"payee": "\\ud800"}',
}


def pay(**_: Any) -> str:
    return "paid"


def begin(folder: Path, policy: str = POLICY, **more: Any) -> Desk:
    return start(folder, "openai-chat", policy, {"pay": pay}, store="sqlite", **more)


def held(desk: Desk, name: str, text: str) -> str:
    turn = desk.propose((name, "pay", text))
    assert states(turn) == ["held"], (states(turn), codes(turn))
    return desk.waiting(turn, name)


@pytest.mark.parametrize("text", SAME.values(), ids=list(SAME))
def test_the_same_call_in_another_spelling_is_one_question(tmp_path: Path, text: str) -> None:
    """Nobody is asked twice, and one yes runs it once with what was shown."""
    desk = begin(tmp_path)
    first = held(desk, "c1", BASE)
    assert held(desk, "c2", text) == first
    [asked] = desk.pending()
    desk.guard.approvals.approve(first, approver=BOSS)
    desk.settle()
    assert [arguments for _, arguments in desk.ran] == [asked.arguments]
    desk.closed()


@pytest.mark.parametrize("text", OTHER.values(), ids=list(OTHER))
def test_what_only_looks_alike_is_a_question_of_its_own(tmp_path: Path, text: str) -> None:
    """A yes to the one leaves the other waiting, with exactly what it would run, to the last digit and character."""
    desk = begin(tmp_path)
    first, second = held(desk, "c1", BASE), held(desk, "c2", text)
    assert first != second
    desk.guard.approvals.approve(first, approver=BOSS)
    desk.settle()
    [other] = desk.pending()
    assert (other.id, desk.times("pay")) == (second, 1)
    views = [desk.guard.approvals.view(name, BOSS) for name in (first, second)]
    assert len({view.presented for view in views}) == len({view.approval.fingerprint for view in views}) == 2
    desk.guard.approvals.approve(second, approver=BOSS)
    desk.settle()
    assert repr(desk.ran[-1][1]) == repr(other.arguments) != repr(desk.ran[0][1])  # as Python counts, 1 is True
    desk.closed()


@pytest.mark.parametrize("text", REFUSED.values(), ids=list(REFUSED))
def test_what_can_be_read_in_two_ways_is_no_question(tmp_path: Path, text: str) -> None:
    """It is refused, and leaves the question that is open as it was."""
    desk = begin(tmp_path)
    first = held(desk, "c1", BASE)
    assert states(desk.propose(("c1", "pay", text))) == ["refused"]
    assert [one.id for one in desk.pending()] == [first]
    desk.closed()


@pytest.mark.parametrize("text", ["100.0", "1e2", "1E+2", "100.00"])
def test_an_amount_in_another_form_runs_as_it_was_shown(tmp_path: Path, text: str) -> None:
    """Whether or not it is the same question: as many runs as yeses, each with the amount that stood there."""
    desk = begin(tmp_path)
    names = {held(desk, "c1", BASE), held(desk, "c2", BASE.replace("100", text))}
    shown = {one.id: one.arguments for one in desk.pending()}
    for count, name in enumerate(sorted(names), 1):
        desk.guard.approvals.approve(name, approver=BOSS)
        desk.settle()
        assert desk.times("pay") == count
        assert desk.ran[-1][1]["amount"] == shown[name]["amount"] == 100
    desk.closed()


@pytest.mark.parametrize(("old", "new"), [("default: EUR", "default: USD"), ("{type: string, default: EUR}", "{type: string}")])
def test_a_default_that_changes_after_the_yes_voids_it(tmp_path: Path, old: str, new: str) -> None:
    """The yes was to the tool as it was; what would run now is asked anew."""
    desk = begin(tmp_path)
    desk.guard.approvals.approve(held(desk, "c1", '{"payee": "Ann"}'), approver=BOSS)
    tools = tmp_path / "policies" / "tools.yaml"
    tools.write_text(tools.read_text("utf-8").replace(old, new), "utf-8")
    desk.guard.reload()
    desk.settle()
    assert desk.times("pay") == 0
    desk.closed()


def test_two_conversations_with_one_call_id(tmp_path: Path) -> None:
    """Each has a question of its own; the yes in one runs nothing in the other, and nobody else opens either."""
    desk = begin(tmp_path)
    first = held(desk, "c1", BASE)
    other = desk.guard.open(U1, wire="openai-chat", conversation="another")
    turn = desk.propose(("c1", "pay", BASE), chat=other)
    second = desk.waiting(turn, "c1")
    assert first != second
    desk.guard.approvals.approve(second, approver=BOSS)
    desk.settle()
    assert desk.times("pay") == 0
    assert "paid" in str(other.settled())
    assert desk.times("pay") == 1
    assert [one.id for one in desk.pending()] == [first]
    with pytest.raises(ConversationError):
        desk.guard.open(U2, wire="openai-chat", conversation="another")


def test_two_tenants_with_everything_the_same(tmp_path: Path) -> None:
    """Person, conversation, call id and arguments are equal, the tenant is not: a boss of the one learns nothing of the other."""
    desk = begin(tmp_path)
    there = Session(principal=U1.principal, tenant="there", roles=U1.roles)
    chat = desk.guard.open(there, wire="openai-chat", conversation=desk.opening["conversation"])
    first = held(desk, "c1", BASE)
    second = desk.waiting(desk.propose(("c1", "pay", BASE), chat=chat), "c1")
    with pytest.raises(ApprovalError) as raised:
        desk.guard.approvals.approve(second, approver=BOSS)
    assert raised.value.code == "not_found"
    desk.guard.approvals.approve(first, approver=BOSS)
    assert chat.settled() == []
    desk.settle()
    assert desk.times("pay") == 1
