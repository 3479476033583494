"""Raw values go, by age or by a person's word: the bytes are gone, the records and their chain stay, and nothing runs twice or is vouched for by them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_kit import guard
from erasing_kit import DAY, HOME, payloads
from reports import BOSS, Desk, outcome, start
from stores_kit import OTHER, REF, Clock, claim, event, key, records, row
from stores_kit import outcome as told

from guard.core.answer import erased
from guard.core.commands import ERASED
from guard.core.commitments import commitment
from guard.core.ports import LoadHandles, Replay, Store, Vaulted, Won
from guard.runner.erasing import Payloads
from guard.stores import open_store
from guard.stores.chain import verify_store

PLANTED = "PLANTED-4711-value"
TOOLS: dict[str, Any] = {"find": lambda: {"account": "A-1"}, "pay": lambda account: account, "ask": lambda name: name}
POLICY = """
    tools:
      find: {kind: read, allow: [staff]}
      pay:
        kind: action
        allow: [staff]
        approve: never
        ground: {account: {returned_by: find.account}}
      ask: {kind: action, allow: [staff], approve: {by: [boss]}}
"""


def done(store: Store, number: int, **fields: Any) -> Any:
    made = row(
        "done",
        key(number),
        arguments={"a": PLANTED},
        value=[PLANTED],
        outcome=told(arguments={"a": PLANTED}),
        attempt=1,
        **fields,
    )
    return replace(made, at=store.now())


def ended(store: Store, number: int, **fields: Any) -> None:
    """A call that was taken and ended now."""
    assert isinstance(store.claim(claim(key(number), **fields)), Won)
    store.record((done(store, number, **fields),), (event("call.end"),))


def test_what_is_over_is_erased_and_what_is_not_is_left(store: Store) -> None:
    """A finished call keeps its place, status and twin mark and nothing else; an open one stays whole; one record says what was done."""
    ended(store, 1)
    store.say(REF, PLANTED, event("user.said"))
    store.claim(claim(key(2), fingerprint="g", mark="g", arguments={"b": 2}))
    before = len(records(store))
    found = payloads(store).erase(HOME, who="root", reason="request of kim@example.com")
    assert (found.calls, found.words, found.left) == (((1, 0),), 1, ((2, 0),))
    first, second = store.rows(REF)
    assert (first.status, first.fingerprint, first.mark, first.call.tool) == ("done", "f", "f", "pay")
    assert (first.arguments, first.value, first.call.arguments, first.call.id, first.salt) == (None, None, None, "", ERASED)
    assert first.outcome is not None
    assert "erased" in str(first.outcome.content)
    assert second.arguments == {"b": 2}
    [record] = [json.loads(one.body) for one in records(store)][before:]
    assert (record["kind"], record["reason"]) == ("payload.erased", "request of [email]")
    assert record["erased"] == {"calls": [[1, 0]], "approvals": [], "words": 1}
    assert payloads(store).erase(HOME, who="root", reason="again").anything is False
    assert len(records(store)) == before + 1
    assert verify_store(store).ok


def test_an_erased_call_is_not_run_again(store: Store) -> None:
    """Its twin of the same run is answered from what is left of it; a late end does not bring it back."""
    ended(store, 1)
    payloads(store).erase(HOME, who="root", reason="r")
    answer = store.claim(claim(key(2)))
    assert isinstance(answer, Replay)
    assert answer.row.erased
    store.record((done(store, 1),), (event("call.end"),))
    assert store.rows(REF)[0].erased


def test_what_is_old_enough_goes_by_itself(store: Store, clock: Clock) -> None:
    """Counted from the end of the call; handles and words of that time go with it, later ones stay."""
    ended(store, 1)
    store.say(REF, PLANTED, event("user.said"))
    clock.now += 20 * DAY
    ended(store, 2, fingerprint="g", mark="g")
    store.record(
        (replace(row(at=key(3), fingerprint="h", mark="h"), at=store.now()),),
        (event(),),
        (Vaulted(handle="email_x", kind="email", digest="d", value=PLANTED),),
    )
    clock.now += 15 * DAY
    [found] = payloads(store).sweep(30 * DAY)
    assert (found.calls, found.words) == (((1, 0),), 1)
    assert [one.erased for one in store.rows(REF)] == [True, False, False]
    assert store.handles(LoadHandles(ref=REF, handles=("email_x",)))
    assert payloads(store).sweep(30 * DAY) == ()
    clock.now += 20 * DAY
    assert sum(len(one.calls) for one in payloads(store).sweep(30 * DAY, most=1)) == 1


def test_a_person_is_found_in_all_their_conversations(store: Store) -> None:
    """Only theirs, and of every tenant unless one is named."""
    store.open(REF)
    store.open(type(REF)(tenant="acme", principal="E2", conversation="conv-9"))
    assert payloads(store).of(OTHER.principal) == (("acme", "conv-9"),)
    assert payloads(store).of(REF.principal, "none") == ()


def test_no_byte_is_left_in_the_file(tmp_path: Path) -> None:
    """Neither in the tables, nor in what was freed, nor in the log, once the store is closed."""
    store = open_store(f"sqlite:///{tmp_path}/guard.db", clock=Clock())
    for number in range(1, 40):
        ended(store, number, fingerprint=f"f{number}", mark=f"m{number}")
    store.say(REF, PLANTED * 2000, event("user.said"))
    payloads(store).erase(HOME, who="root", reason="r")
    store.close()
    for path in tmp_path.glob("guard.db*"):
        assert PLANTED.encode() not in path.read_bytes()
    store = open_store(f"sqlite:///{tmp_path}/guard.db")
    assert verify_store(store).ok
    store.close()


def test_a_digest_says_nothing_once_its_salt_is_gone(tmp_path: Path) -> None:
    """The records' digests are made with a salt that lies with the values: with it anybody can check them, without it nobody can guess a five."""
    desk = start(tmp_path, "openai-chat", POLICY, TOOLS | {"find": lambda amount: amount}, store="sqlite")
    desk.propose(("f", "find", {"amount": 5}))
    [found] = desk.guard.store.rows(desk.chat.ref)
    digest = desk.decision("f")["args"]["digest"]
    assert digest == commitment(found.salt, '{"amount":5e0}')
    assert digest != desk.guard.redactor.tag('{"amount":5e0}')
    salt = found.salt
    Payloads(desk.guard.store, desk.guard.redactor).erase(("default", desk.chat.ref.conversation), who="root", reason="r")
    desk.guard.close()
    assert salt.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("guard.db*"))


def test_what_rests_on_an_erased_result_is_refused(tmp_path: Path) -> None:
    """A ground finds no value in it; a replay of an erased call says that it was erased."""
    desk = start(tmp_path, "openai-chat", POLICY, TOOLS)
    desk.propose(("f", "find", {}))
    assert outcome(desk.propose(("p", "pay", {"account": "A-1"})), "p").status == "done"
    payloads = Payloads(desk.guard.store, desk.guard.redactor)
    payloads.erase(("default", desk.chat.ref.conversation), who="root", reason="r")
    again = outcome(desk.propose(("q", "pay", {"account": "A-1"})), "q")
    assert again.status == "refused" or "erased" in str(again.content)
    desk.say("once more")
    late = outcome(desk.propose(("r", "pay", {"account": "A-1"})), "r")
    assert (late.status, str(late.reason)) == ("refused", "not_grounded")
    desk.guard.close()


def test_an_approval_that_is_over_loses_what_it_showed(tmp_path: Path) -> None:
    """Arguments and reason go; who decided, and that it was spent, stay. One that is open keeps its call."""
    desk = start(tmp_path, "openai-chat", POLICY, TOOLS)
    desk.propose(("a", "ask", {"name": PLANTED}), ("b", "ask", {"name": "other"}))
    first, second = desk.pending()
    desk.guard.approvals.approve(first.id, approver=BOSS, reason=f"{PLANTED} is fine")
    desk.settle()
    payloads = Payloads(desk.guard.store, desk.guard.redactor)
    found = payloads.erase(("default", desk.chat.ref.conversation), who="root", reason="r")
    assert (found.approvals, len(found.left)) == ((first.id,), 1)
    known = desk.guard.store.approval(first.id)
    assert known is not None
    assert (known.status, known.arguments, known.reason, known.decided_by) == ("consumed", {}, None, BOSS.principal)
    assert desk.pending() == [second]
    desk.guard.close()


def test_the_commands(tmp_path: Path) -> None:
    """`guard audit erase` and `sweep`: what they say, as text and JSON, and their exit codes."""
    store = open_store(f"sqlite:///{tmp_path}/guard.db", clock=Clock())
    ended(store, 1)
    store.claim(claim(key(2), fingerprint="g", mark="g"))
    store.close()
    words = ("audit", "erase", "--reason", "request", "--yes")
    assert guard(*words, "--conversation", "none", cwd=tmp_path).code == 2
    assert guard("audit", "erase", "--conversation", "conv-1", "--reason", "r", cwd=tmp_path).code == 1
    ran = guard(*words, "--call", "conv-1:1:0", "--json", cwd=tmp_path)
    assert (ran.code, ran.json["calls"], ran.json["left"]) == (0, 1, [])
    ran = guard(*words, "--person", "E1", cwd=tmp_path)
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "erased 0 calls and 0 messages of users in 0 conversations; the records stay, with their redacted copies",
        "left, since it is not over: conv-1:2:0 (it is under way: erase it once it has ended)",
    ]
    ran = guard("audit", "sweep", "--keep", "1d", cwd=tmp_path)
    assert (ran.code, ran.out) == (
        0,
        "erased 0 calls and 0 messages of users in 0 conversations; the records stay, with their redacted copies\n",
    )
    assert guard("audit", "--verify", cwd=tmp_path).code == 0
    with closing(sqlite3.connect(tmp_path / "guard.db")) as file:
        assert PLANTED not in repr(file.execute("SELECT body FROM payloads").fetchall())


def test_an_erased_row_is_erased_for_good() -> None:
    """Erasing it once more changes nothing, and a refused call loses the name that the model wrote."""
    refused = row("refused", outcome=told(status="refused", reason=None, tool="ghp_x"), tool="ghp_x")
    once = erased(refused)
    assert "ghp_x" not in repr(once)
    assert erased(once) == once


@pytest.mark.parametrize(("keep", "gone"), [({}, True), ({"keep_payloads": 40 * DAY}, False), ({"keep_payloads": None}, False)])
def test_a_guard_sweeps_on_its_way(tmp_path: Path, keep: dict[str, Any], gone: bool) -> None:
    """What is too old is erased when a conversation is opened: by default after 30 days, by word later or never."""
    desk: Desk = start(tmp_path, "openai-chat", POLICY, TOOLS, store="sqlite")
    desk.propose(("f", "find", {}))
    ref = desk.chat.ref
    desk.guard.close()
    desk.clock.now += 35 * DAY
    desk.guard = desk.load(**keep)
    desk.guard.open(BOSS, wire="openai-chat", conversation="another")
    assert desk.guard.store.rows(ref)[0].erased == gone
    desk.guard.close()
