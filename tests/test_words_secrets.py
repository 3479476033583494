"""The model's words stand beside every call of a reply: no secret of any of these calls is in them, nor one that an edit sets."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stores_kit import STORES, Clock, url_of

from guard import Guard, PolicyWarning, Session

POLICY = """
tools:
  login: {kind: action, allow: [staff], approve: {by: [security], secret: [password], edit: [password]}}
  open: {kind: action, allow: [staff], approve: {by: never, secret: [code]}}
  pay: {kind: action, allow: [staff], approve: {by: [boss]}}
"""
ANN = Session(principal="u1", roles=("staff",))
SECURITY = Session(principal="s1", roles=("security",))
SECRET = "tr0ub&dor<3"


def login(user: str, password: str) -> str:
    return "ok"


def unlock(code: str) -> str:
    return "ok"


def pay(amount: int) -> str:
    return "paid"


@pytest.fixture(params=STORES)
def guard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Guard]:
    (tmp_path / "tools.yaml").write_text(POLICY)
    tools = {"login": login, "open": unlock, "pay": pay}
    with url_of(request.param, tmp_path) as url, warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        with Guard.load(tmp_path, tools=tools, store=url, clock=Clock()) as made:
            yield made


def reply(guard: Guard, words: str, *calls: tuple[str, Any]) -> dict[str, str]:
    """What stands as the model's words beside each held call of one reply, by tool."""
    chat = guard.open(ANN, wire="openai-chat", conversation="c")
    chat.user("go on")
    made = [
        {
            "id": f"k{number}",
            "type": "function",
            "function": {"name": tool, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for number, (tool, given) in enumerate(calls)
    ]
    turn = chat.handle({"role": "assistant", "content": words, "tool_calls": made})
    return {one.tool: guard.approvals.show(one.id).words.text for one in turn.pending}


SIBLINGS: dict[str, tuple[str, Any]] = {
    "held": ("login", {"user": "bob", "password": SECRET}),
    "run": ("open", {"code": SECRET}),
    "refused": ("login", {"user": "bob", "password": SECRET, "other": 1}),
    "of another form": ("login", {"user": "bob", "password": {"old": SECRET, "new": [SECRET]}}),
    "unknown tool": ("log_in", {"user": "bob", "password": SECRET}),
}


@pytest.mark.parametrize("sibling", SIBLINGS.values(), ids=SIBLINGS)
@pytest.mark.parametrize("first", [True, False], ids=["before", "behind"])
def test_a_secret_of_a_sibling(guard: Guard, sibling: tuple[str, Any], first: bool) -> None:
    """Whatever became of that call, and wherever it stands in the reply."""
    mine = ("pay", {"amount": 5})
    found = reply(guard, f"With {SECRET} I log in, then pay.", *((sibling, mine) if first else (mine, sibling)))
    assert "pay" in found
    assert set(found.values()) == {"With [secret] I log in, then pay."}


def test_a_sibling_that_cannot_be_read(guard: Guard) -> None:
    """Nobody knows what its secret is: nothing of the words is kept, and the other call is asked about all the same."""
    broken = f'{{"user": "bob", "password": "{SECRET}"'
    assert reply(guard, f"With {SECRET} I log in.", ("login", broken), ("pay", {"amount": 5})) == {"pay": ""}
    assert reply(guard, "I pay.", ("pay", '{"amount": '), ("login", {"user": "b", "password": SECRET})) == {"login": "I pay."}


def test_a_secret_that_an_edit_sets(guard: Guard) -> None:
    """It stands in the words of no revision; a vote over the new one counts."""
    reply(guard, "old-pass-1 or rather new-pass-2", ("login", {"user": "bob", "password": "old-pass-1"}))
    [first] = guard.approvals.list()
    new = guard.approvals.edit(first.id, editor=SECURITY, changes={"/password": "new-pass-2"}, reason="rotated")
    texts = [guard.approvals.show(one.id).words.text for one in (first, new)]
    assert texts == ["[secret] or rather [secret]"] * 2
    view = guard.approvals.view(new.id, Session(principal="s2", roles=("security",)))
    chosen = guard.approvals.approve(new.id, approver=Session(principal="s2", roles=("security",)), seen=view.seen)
    assert chosen.status == "approved"
