"""Handles in calls: put back where the policy says so and nowhere else, shown to who may approve, and never on record."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from handles_kit import MAIL, NAME, PHONE, POLICY, TAX, a_desk, look
from reports import BOSS, BOTH, codes, error, outcome, states

from guard import Session

HIDDEN = (MAIL, MAIL.lower(), NAME, PHONE, "5552671", TAX, "owes us")


def nowhere(desk: Any, *texts: str) -> None:
    """None of the hidden values stands in the history, the audit or these texts."""
    everything = desk.everything() + "".join(texts)
    assert [value for value in HIDDEN if value.casefold() in everything.casefold()] == []


@BOTH
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_handle_is_used_like_its_value(tmp_path: Path, wire: str, store: str, caplog: pytest.LogCaptureFixture) -> None:
    """The tool gets the address, in a longer text too; the model, the record and the log know the handle."""
    desk = a_desk(tmp_path, wire, store=store)
    person = look(desk)
    assert person["phone"] == "****2671"
    assert set(person) == {"id", "name", "mail", "tax", "phone"}
    turn = desk.propose(("s1", "send", {"to": person["mail"], "body": f"Dear {person['name']}!", "cc": [person["mail"]]}))
    assert states(turn) == ["done"]
    assert desk.ran[-1] == ("send", {"to": MAIL, "body": f"Dear {NAME}!", "cc": [MAIL]})
    told = json.loads(str(outcome(turn, "s1").content))
    assert told["sent_to"] == person["mail"]
    assert told[person["mail"]] == {"again": [person["mail"]]}
    nowhere(desk, caplog.text)
    assert desk.decision("s1")["args"]["shown"]["body"] == f"Dear {person['name']}!"
    desk.closed()


@BOTH
def test_the_same_value_has_the_same_handle_until_the_conversation_ends(tmp_path: Path, wire: str) -> None:
    """In a later look-up, after a restart, in a child; and the raw value that the user gives is shown as its handle again."""
    desk = a_desk(tmp_path, wire, store="sqlite")
    person = look(desk)
    desk.restart()
    assert look(desk, "f2") == person
    child = desk.chat.child(name="helper")
    assert look(desk, "f3", chat=child) == person
    turn = desk.propose(("s1", "send", {"to": MAIL.upper()}), ("s2", "send", {"to": MAIL}))
    assert codes(turn) == ["not_grounded", None]
    assert desk.ran[-1] == ("send", {"to": MAIL})
    assert desk.decision("s2")["args"]["shown"]["to"] == person["mail"]
    assert desk.decision("s2")["args"]["labels"]["to"] == "result"
    assert json.loads(str(outcome(turn, "s2").content))["sent_to"] == person["mail"]
    desk.closed()


def _places(token: str) -> dict[str, tuple[str, dict[str, Any]]]:
    return {
        "another argument": ("send", {"to": token, "subject": token}),
        "another tool": ("note", {"text": token}),
        "a look-up": ("find", {"q": token}),
        "inside a text there": ("note", {"text": f"see {token} please"}),
        "deep inside": ("note", {"more": [{"a": [{"b": token}]}]}),
        "the name of a field": ("note", {"more": {token: 1}}),
        "the name of an argument": ("note", {token: "x"}),
        "text that is JSON": ("send", {"to": token, "body": json.dumps({"a": token})}),
        "text inside text that is JSON": ("note", {"text": json.dumps(json.dumps({"a": token}))}),
        "an item of a list that takes one": ("send", {"to": [token]}),
        "an object where a text is taken": ("send", {"to": {"x": token}}),
        "small letters": ("note", {"text": token.lower()}),
        "blanks": ("note", {"text": " ".join(token)}),
        "full width": ("note", {"text": "".join(chr(ord(char) + 0xFEE0) for char in token)}),
        "escaped in JSON": ("note", {"text": '{"a": "' + token.replace("_", "\\u005f") + '"}'}),
    }


@BOTH
@pytest.mark.parametrize("place", _places(""))
def test_a_handle_refuses_anywhere_else(tmp_path: Path, wire: str, place: str) -> None:
    """Whatever tool and argument the policy does not name, however deep and in whatever spelling."""
    desk = a_desk(tmp_path, wire)
    tool, arguments = _places(look(desk)["mail"])[place]
    turn = desk.propose(("x1", tool, arguments))
    assert codes(turn) == ["handle_not_allowed"]
    assert error(outcome(turn, "x1"))["retry"] is True
    assert desk.ran == [("find", {"q": "f1"})]
    nowhere(desk)
    desk.closed()


def _unknown(mail: str, name: str) -> dict[str, Any]:
    return {
        "invented": "email_AB12CD34EF5",
        "another check character": mail[:-1] + ("0" if mail[-1:] != "0" else "1"),
        "cut": mail[:-1],
        "longer": mail + "7",
        "two in one": mail + mail,
        "with another name": mail.replace("email_", "name_"),
        "of another type": name,
    }


@BOTH
@pytest.mark.parametrize("which", _unknown("", "email_AAAAAAAAAA"))
def test_what_is_no_handle_of_this_conversation_refuses(tmp_path: Path, wire: str, which: str) -> None:
    """Invented, mistyped, cut, or for another type than the argument takes."""
    desk = a_desk(tmp_path, wire)
    person = look(desk)
    turn = desk.propose(("x1", "send", {"to": _unknown(person["mail"], person["name"])[which]}))
    wanted = "handle_not_allowed" if which in ("of another type", "with another name") else "handle_unknown"
    assert codes(turn) == [wanted]
    assert [tool for tool, _ in desk.ran] == ["find"]
    desk.closed()


@pytest.mark.parametrize(
    "other", [{"conversation": "conv-2"}, {"session": Session(principal="u1", roles=("staff",), tenant="t2")}]
)
def test_a_handle_of_another_conversation_or_tenant_refuses(tmp_path: Path, other: dict[str, Any]) -> None:
    """In the same store, for the same person, though both looked the same customer up."""
    desk = a_desk(tmp_path, store="sqlite")
    mail = look(desk)["mail"]
    there = desk.guard.open(**{**desk.opening, **other})
    assert look(desk, "f2", chat=there)["mail"] != mail
    turn = desk.propose(("x1", "send", {"to": mail}), chat=there)
    assert codes(turn) == ["handle_unknown"]
    assert codes(desk.propose(("s1", "send", {"to": mail}))) == [None]
    desk.closed()


def test_two_processes_give_out_and_take_the_same_handles(tmp_path: Path) -> None:
    """What one guard gave out another one on the same store puts back, at once and in turns; the vault holds it once."""
    desk = a_desk(tmp_path, store="sqlite")
    with desk.load() as other:
        there = other.open(**desk.opening)
        mails = {look(desk, f"f{number}", chat=chat)["mail"] for number, chat in enumerate((desk.chat, there, desk.chat, there))}
        [mail] = mails
        turns = [
            desk.propose((f"s{number}", "send", {"to": mail, "subject": str(number)}), chat=chat)
            for number, chat in enumerate((there, desk.chat))
        ]
    assert [codes(turn) for turn in turns] == [[None], [None]]
    assert [arguments["to"] for tool, arguments in desk.ran if tool == "send"] == [MAIL, MAIL]
    desk.guard.close()
    file = sqlite3.connect(tmp_path / "guard.db")
    assert file.execute("SELECT COUNT(*), SUM(void) FROM handles WHERE kind = 'email'").fetchone() == (1, 0)
    file.close()


MASKS = ["[email]", " [ Phone ] ", "****2671", "K*** Y***", "[hidden]", "see [email] there", "[REDACTED]"]


@BOTH
@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_refuses(tmp_path: Path, wire: str, mask: str) -> None:
    """As an argument of any tool, deep inside, in names of fields; a hash likewise; where the policy allows it, it is text."""
    desk = a_desk(tmp_path, wire)
    person = look(desk)
    calls = [
        ("m1", "note", {"text": mask}),
        ("m2", "note", {"more": [{"a": mask}]}),
        ("m3", "note", {"more": {mask: 1}}),
        ("m4", "send", {"to": person["mail"], "body": mask}),
        ("m5", "note", {"text": json.dumps({"a": mask})}),
        ("m6", "note", {"text": person["tax"]}),
        ("ok", "send", {"to": person["mail"], "subject": mask}),
    ]
    turn = desk.propose(*calls)
    assert codes(turn) == ["masked_value"] * 6 + [None]
    assert desk.ran[-1] == ("send", {"to": MAIL, "subject": mask})
    desk.closed()


@BOTH
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_who_may_approve_sees_the_value(tmp_path: Path, wire: str, store: str) -> None:
    """The question holds the real arguments and their fingerprint; what the approver writes is hidden again; the call then runs once."""
    desk = a_desk(tmp_path, wire, store=store)
    person = look(desk)
    sent = {"to": person["mail"], "body": f"for {person['name']}"}
    turn = desk.propose(("a1", "ask", sent))
    assert states(turn) == ["held"]
    [question] = desk.pending()
    assert question.arguments == {"to": MAIL, "body": f"for {NAME}"}
    assert question.origins["to"] == "handle"
    desk.guard.approvals.approve(question.id, approver=BOSS, reason=f"{MAIL} is fine, and so is {NAME}")
    if store == "sqlite":
        desk.restart()
    desk.settle()
    assert [one for one in desk.ran if one[0] == "ask"] == [("ask", question.arguments)]
    again = desk.propose(("a2", "ask", {"to": MAIL, "body": f"for {person['name']}"}))
    assert outcome(again, "a2").replayed
    assert person["mail"] in str(outcome(again, "a2").content)
    audit = json.dumps(desk.audit()).casefold()
    assert [value for value in HIDDEN if value.casefold() in audit] == []
    desk.closed()


@BOTH
def test_a_rejection_tells_no_value(tmp_path: Path, wire: str) -> None:
    """A person's reason that names what they saw is told with the handle."""
    desk = a_desk(tmp_path, wire)
    person = look(desk)
    turn = desk.propose(("a1", "ask", {"to": person["mail"]}))
    desk.reject(turn, "a1", reason=f"never write to {MAIL}")
    told = desk.settle()
    assert f"never write to {person['mail']}" in told
    nowhere(desk)
    desk.closed()


def test_an_approval_that_was_edited_between_is_worth_nothing(tmp_path: Path) -> None:
    """Whoever changes the stored arguments has no approved call: what a person saw is not what would run."""
    desk = a_desk(tmp_path, store="sqlite")
    turn = desk.propose(("a1", "ask", {"to": look(desk)["mail"]}))
    desk.approve(turn, "a1")
    desk.guard.close()
    file = sqlite3.connect(tmp_path / "guard.db")
    assert file.execute("UPDATE payloads SET body = replace(body, ?, 'eve@example.com') WHERE kind = 'handle'", (MAIL,)).rowcount
    file.commit()
    file.close()
    desk.guard = desk.load()
    desk.chat = desk.guard.open(**desk.opening)
    desk.settle()
    assert [tool for tool, _ in desk.ran] == ["find"]
    assert [one.arguments["to"] for one in desk.pending()] == ["eve@example.com"]
    desk.guard.close()


def test_a_policy_that_no_longer_gives_the_value_wins_over_a_yes(tmp_path: Path) -> None:
    """The walk after an approval asks today's policy where handles are put back."""
    desk = a_desk(tmp_path, store="sqlite")
    turn = desk.propose(("a1", "ask", {"to": look(desk)["mail"]}))
    desk.approve(turn, "a1")
    (tmp_path / "policies" / "tools.yaml").write_text(
        dedent(POLICY.replace("handles: {to: email, body: name}", "handles: {body: name}"))
    )
    desk.restart()
    assert "handle_not_allowed" in desk.settle()
    assert [tool for tool, _ in desk.ran] == ["find"]
    desk.closed()
