"""What the model wrote beside a held call: kept with the question on every store, bound, bounded and safe to show."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stores_kit import STORES, Clock, records, url_of

from guard import ApprovalError, Guard, PolicyWarning, Session, ToolCall
from guard.core.presented import presented
from guard.core.wording import MOST, cut
from guard.redactors import REDACTOR
from guard.runner.erasing import Payloads
from guard.stores.chain import verify_store
from guard.stores.payload_keys import keyring

POLICY = """
tools:
  pay:
    kind: action
    allow: [staff]
    schema: {type: object, properties: {to: {type: string}, amount: {type: number}, pin: {type: string}}, required: [to]}
    approve: {by: [boss], edit: [amount], secret: [pin], effect: "Pay {amount} to {to}"}
limits: {run: {calls: 50}}
"""
ANN = Session(principal="u1", roles=("staff",))
BOSS, CHIEF = (Session(principal=name, roles=("boss",)) for name in ("b1", "b2"))
SAID = "I will pay bob, as he asked."


def load(folder: Path, url: str = "memory://", **given: Any) -> Guard:
    (folder / "tools.yaml").write_text(POLICY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        return Guard.load(folder, tools={"pay": lambda **_: {"paid": True}}, store=url, **given)


@pytest.fixture(params=STORES)
def guard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Guard]:
    """A guard on a store of each kind; its audit verifies in the end."""
    with url_of(request.param, tmp_path) as url, load(tmp_path, url, clock=Clock()) as made:
        yield made
        assert verify_store(made.store).ok


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Guard]:
    with load(tmp_path) as made:
        yield made


def held(guard: Guard, words: str = SAID, **arguments: Any) -> Any:
    """The approval of a held call, as the store has it."""
    call = ToolCall("c1", "pay", {"to": "bob", "amount": 5, **arguments})
    outcome = guard.call(call, ANN, conversation="conv-1", words=words)
    assert outcome.status == "held"
    return guard.approvals.show(outcome.approval)


# -- what is kept ----------------------------------------------------------------------------------------------------------


def test_kept_bound_and_in_no_record(guard: Guard) -> None:
    """The text is kept with the question; its digest stands in what is presented and in the record of the question; the text in no record."""
    asked = held(guard)
    view = guard.approvals.view(asked.id, BOSS)
    assert (view.approval.words.text, view.approval.words.size) == (SAID, len(SAID))
    assert view.document["words"] == asked.words.digest != ""
    other = replace(asked, words=replace(asked.words, digest="0" * 64))
    assert presented(other) != view.presented
    bodies = [record.body for record in records(guard.store)]
    assert not any("as he asked" in body for body in bodies)
    [told] = [json.loads(body) for body in bodies if '"approval.requested"' in body]
    assert told["words"] == {"size": len(SAID), "digest": asked.words.digest}
    assert guard.approvals.approve(asked.id, approver=BOSS, seen=view.seen).words == asked.words


def test_the_same_call_again_keeps_the_first_words(guard: Guard) -> None:
    """A repeat gets the same question, so that a vote over what was shown still counts."""
    asked = held(guard)
    seen = guard.approvals.view(asked.id, BOSS).seen
    assert held(guard, words="Something else.") == asked
    assert guard.approvals.approve(asked.id, approver=BOSS, seen=seen).status == "approved"


def test_an_edit_keeps_the_words_and_says_why(guard: Guard) -> None:
    """The new revision shows the first words, and who edited it for which reason; both are part of what its vote is bound to."""
    first = held(guard)
    new = guard.approvals.edit(first.id, editor=BOSS, changes={"/amount": 4}, reason=" too much ")
    kept = guard.approvals.view(new.id, CHIEF)
    assert (kept.approval.words, kept.approval.edited_why) == (first.words, "too much")
    assert (kept.document["words"], kept.document["edited_why"]) == (first.words.digest, "too much")
    assert guard.approvals.approve(new.id, approver=CHIEF, seen=kept.seen).status == "approved"
    assert not any("too much" in record.body for record in records(guard.store) if "approval.edited" not in record.body)


def test_erased_with_the_call(guard: Guard) -> None:
    """Of every revision: no text is left; the digest is, and says nothing without the salt that went with it."""
    first = held(guard)
    new = guard.approvals.edit(first.id, editor=BOSS, changes={"/amount": 4}, reason="too much")
    guard.approvals.reject(new.id, approver=CHIEF, reason="no")
    guard.open(ANN, wire="openai-chat", conversation="conv-1").settled()
    Payloads(guard.store, REDACTOR).erase(("default", "conv-1"), who="b1", reason="asked for")
    for one in (first, new):
        left = guard.approvals.show(one.id)
        assert (left.words.text, left.words.digest, left.edited_why, left.arguments) == ("", first.words.digest, "", {})


def test_a_new_question_about_the_same_call_keeps_the_words(tmp_path: Path) -> None:
    """The tool is another one now, so the call is asked about anew when it is settled: what the model wrote then still belongs to it."""
    url = f"sqlite:///{tmp_path}/guard.db"
    with load(tmp_path, url) as made:
        old = held(made)
        made.approvals.approve(old.id, approver=BOSS)
    (tmp_path / "tools.yaml").write_text(POLICY.replace("{type: number}", "{type: number, minimum: 1}"))
    with Guard.load(tmp_path, tools={"pay": lambda **_: 1}, store=url) as made:
        made.open(ANN, wire="openai-chat", conversation="conv-1").settled()
        [new] = made.approvals.list()
        assert (new.id != old.id, new.words) == (True, old.words)


KEYS = keyring("5f" * 32)


def test_encrypted_with_a_key(tmp_path: Path) -> None:
    """Where the payloads are encrypted no byte of the words or of the editor's reason stands in the files, and they are read all the same."""
    with load(tmp_path, f"sqlite:///{tmp_path}/guard.db", payload_key=KEYS) as made:
        first = held(made)
        new = made.approvals.edit(first.id, editor=BOSS, changes={"/amount": 4}, reason="zebra reason")
        found = made.approvals.show(new.id)
        assert (found.words.text, found.edited_why) == (SAID, "zebra reason")
        files = b"".join(path.read_bytes() for path in tmp_path.glob("guard.db*"))
    assert b"as he asked" not in files
    assert files.count(b"zebra reason") == 1  # the one that is on record


# -- what is shown of it ---------------------------------------------------------------------------------------------------

HIDDEN = {
    "an address": ("write to kim.doe@example.com", "kim.doe@example.com"),
    "a token": ("with ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    "a secret argument": ("the PIN is zebra-77, I think", "zebra-77"),
    "a secret argument in a URL": ("see https://x.example/?pin=zebra-77&a=1", "zebra-77"),
    "half a character": ("odd \ud83d one", "\ud83d"),
}


@pytest.mark.parametrize(("words", "value"), HIDDEN.values(), ids=HIDDEN)
def test_hidden_in_the_words(plain: Guard, words: str, value: str) -> None:
    """What detectors hide, and what the policy shows to nobody, stands in no words either."""
    found = held(plain, words=words, pin="zebra-77").words.text
    assert value not in found
    assert found.split()[0] == words.split(maxsplit=1)[0]


@pytest.mark.parametrize("words", ["", " \n\t ", "\u3000"], ids=["none", "blank", "wide-blank"])
def test_no_words(plain: Guard, words: str) -> None:
    """Nothing is kept, and the document is what it would be without."""
    asked = held(plain, words=words)
    assert asked.words.digest == ""
    assert "words" not in plain.approvals.view(asked.id, BOSS).document


def test_cut_where_it_is_long(plain: Guard) -> None:
    """Bounded, said so; a secret across the cut is not shown in half."""
    token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    text = ("word " * (MOST // 5))[: MOST - 10] + token + " more" * 9_000
    words = held(plain, words=text).words
    assert (len(words.text) <= MOST, words.size) == (True, len(text))
    assert "ghp_" not in words.text
    assert f"{len(text):,} characters, of which the first {MOST:,} at most are kept" in cut(words)


def test_words_that_are_no_text(plain: Guard) -> None:
    """A mistake of the host is said at once."""
    with pytest.raises(Exception, match="words is the text"):
        held(plain, words=None)  # type: ignore[arg-type]


def test_a_vote_over_other_words_is_stale(plain: Guard) -> None:
    """A form that showed other words is about something else."""
    asked = held(plain)
    seen = plain.approvals.view(asked.id, BOSS).seen
    forged = replace(seen, presented=presented(replace(asked, words=replace(asked.words, digest="1" * 64))))
    with pytest.raises(ApprovalError) as error:
        plain.approvals.approve(asked.id, approver=BOSS, seen=forged)
    assert error.value.code == "stale"
