"""Nobody's text makes a key: what people write is set apart from the labels of derived keys, and its digest says nothing once its salt is erased."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from stores_kit import REF, STORES, event, url_of
from wire_helpers import message

from guard import Approval, Conversation, Guard, Session
from guard.core.commands import ERASED
from guard.core.commitments import commitment, mark
from guard.core.ports import LoadLedger
from guard.core.redactor import under
from guard.core.values import canonical, digest, keyed
from guard.redactors import REDACTOR
from guard.runner.erasing import Payloads
from guard.stores import open_store

LABELS = (
    "guard-veil-v1\0default",
    "guard-tags-v1\0default",
    "guard-store-v1",
    "guard-oidc-v1",
    "guard-idempotency-v1\0k",
    "guard-conversation-v1\0c",
)
POLICY = """
    tools:
      pay:
        kind: action
        allow: [staff]
        repeat: allow
        approve: {by: [boss], secret: [pin], edit: [amount]}
    limits: {run: {steps: 50, calls: 50}}
"""
KIM = Session(principal="kim", roles=("staff",))
BOSS = Session(principal="boss", roles=("boss", "staff"))
PIN = "4711"


def pay(amount: int, pin: str) -> str:
    return "paid"


@dataclass(frozen=True)
class Here:
    """A guard over one store, and what is in its audit log."""

    guard: Guard

    def chat(self, who: Session, name: str) -> Conversation:
        return self.guard.open(who, wire="openai-chat", conversation=name)

    def asked(self, who: Session, name: str, pin: str = PIN, amount: int = 5) -> Approval:
        chat = self.chat(who, name)
        chat.user("pay")
        [held] = chat.handle(message("openai-chat", ("c1", "pay", {"amount": amount, "pin": pin}))).pending
        return held

    def mask(self, approval: str, who: Session = BOSS) -> Any:
        shown = self.guard.approvals.view(approval, who).document["arguments"]
        return next(one["value"] for one in shown if one["name"] == "pin")

    @property
    def log(self) -> str:
        store = self.guard.store
        return "\n".join(one.body for chain in range(store.chains) for one in store.audit(chain=chain))

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [found for line in self.log.splitlines() if (found := json.loads(line))["kind"] == kind]


@pytest.fixture(params=STORES)
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Here]:
    """A guard over each kind of store."""
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "tools.yaml").write_text(dedent(POLICY))
    with url_of(request.param, tmp_path) as url:
        guard = Guard.load(folder, tools={"pay": pay}, store=url)
        yield Here(guard)
        guard.close()


def test_no_word_of_anybody_puts_a_derived_key_into_the_log(here: Here) -> None:
    """Neither what a user says nor an approver's private note, whatever label it is: not the key, nor a part of it that would do."""
    secret, chat = here.guard.store.secret, here.chat(KIM, "m")
    for label in LABELS:
        chat.user(label)
    for number, label in enumerate(LABELS):
        held = here.asked(KIM, f"n{number}")
        here.guard.approvals.reject(held.id, approver=BOSS, reason="no", note=label)
    assert not [label for label in LABELS if keyed(secret, label)[:32] in here.log]


@pytest.mark.parametrize("text", [*LABELS, digest("a"), '{"amount":5e0}', ""])
@pytest.mark.parametrize("salt", ["", ERASED, "5f"])
def test_a_digest_of_a_text_is_never_one_of_the_guards_own(text: str, salt: str) -> None:
    """With a salt, without one and when it is gone: what stands for a text is not what the guard derives of the same text."""
    redactor = under(REDACTOR, b"s" * 32)
    assert redactor.derive(text) == keyed(b"s" * 32, text)
    assert mark(text, redactor, salt) != redactor.derive(text)
    assert mark(text, REDACTOR, salt) != REDACTOR.derive(text)


def test_words_and_notes_confirm_no_guess_once_they_are_erased(here: Here) -> None:
    """Whoever holds the store's secret, the log and the right guess finds neither; the same word twice has two digests from the beginning."""
    store = here.guard.store
    held = here.asked(KIM, "c")
    here.chat(KIM, "c").user("pay")
    here.guard.approvals.reject(held.id, approver=BOSS, reason="no", note="fraud")
    here.chat(KIM, "c").settled()
    [first, second] = [one["args"]["digest"] for one in here.of("user.said")]
    [note] = [one["approval_state"]["note"]["digest"] for one in here.of("approval.resolved")]
    [row] = store.rows(here.chat(KIM, "c").ref)
    assert first != second
    assert note == commitment(row.salt, "guard-note-v1\0fraud")
    Payloads(store, here.guard.redactor).erase(("default", "c"), who="x", reason="r")
    [row] = store.rows(here.chat(KIM, "c").ref)
    assert row.salt == ERASED
    redactor = here.guard.redactor
    for guess in ("pay", "fraud", "guard-note-v1\0fraud"):
        made = {keyed(store.secret, guess), redactor.tag(guess), redactor.derive(guess), commitment(ERASED, guess)}
        assert not made & {first, second, note}


def test_a_note_is_no_way_to_try_arguments(here: Here) -> None:
    """An approver's note of what the arguments may be has another digest than they have, under the same salt."""
    held = here.asked(KIM, "c")
    here.guard.approvals.reject(held.id, approver=BOSS, reason="no", note=canonical({"amount": 5, "pin": PIN}))
    [note] = [one["approval_state"]["note"]["digest"] for one in here.of("approval.resolved")]
    assert here.log.count(note) == 1


def test_words_of_an_older_store_are_read_as_they_were_kept(tmp_path: Path) -> None:
    """A store whose words lie without a salt gives them like any others."""
    store = open_store(f"sqlite:///{tmp_path}/g.db")
    store.say(REF, "new", event("user.said"), "5f")
    store.say(REF, "old", event("user.said"), "5f")
    with closing(sqlite3.connect(tmp_path / "g.db")) as file, file:
        file.execute("UPDATE payloads SET body = '\"old\"' WHERE body LIKE '%old%' AND kind = 'words'")
    found = store.load_ledger(LoadLedger(ref=REF, before=1, tools=frozenset(), words=True))
    assert found.words == ("new", "old")
    store.close()


def test_masks_of_two_calls_have_nothing_in_common(here: Here) -> None:
    """An approver who proposes calls with guesses learns nothing of another person's secret; nor does the same person's next call tell."""
    target = here.mask(here.asked(KIM, "c").id)
    assert target.startswith("[secret: 4 characters, digest ")
    assert here.mask(here.asked(BOSS, "b").id) != target
    assert here.mask(here.asked(KIM, "c", amount=6).id) != target
    assert (
        keyed(bytes.fromhex(here.guard.redactor.derive("guard-veil-v1\0default")), digest("guard-secret-v1", canonical(PIN)))[:16]
        not in here.log + target
    )


def test_masks_of_one_approval_stay_over_its_revisions(here: Here) -> None:
    """What was not changed has the same mask in the next revision, so that it is no difference, and every look shows the same."""
    held = here.asked(KIM, "c")
    before = here.mask(held.id)
    after = here.guard.approvals.edit(held.id, editor=BOSS, changes={"/amount": 4}, reason="less")
    view = here.guard.approvals.view(after.id, BOSS)
    assert here.mask(after.id) == before == here.mask(held.id)
    assert [one["path"] for one in view.document["difference"]] == ["/amount"]
    [row] = here.guard.store.rows(here.chat(KIM, "c").ref)
    assert after.veil == here.guard.redactor.derive(f"guard-veil-v2\0{row.salt}\0default")
