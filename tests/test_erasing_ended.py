"""A held call whose question has ended is over, although its program never came back for the answer: it is erased by word and by age, and says so then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_kit import guard
from erasing_kit import DAY, HOME, payloads
from reports import BOSS, start
from stores_kit import REF, Clock, ask, event, key, row, vote
from stores_kit import outcome as told

from guard.core.ports import Store
from guard.core.reasons import Reason
from guard.runner.erasing import Payloads
from guard.stores import open_store

POLICY = "tools: {ask: {kind: action, allow: [staff], approve: {by: [boss]}}}"


def held(store: Store) -> None:
    """A call that waits for a person, with its question."""
    store.open(REF)
    given: Any = told(status="held", reason=Reason.HELD_FOR_APPROVAL, approval="a1")
    made = row("held", key(), approval="a1", outcome=given, arguments={"x": 1})
    store.record((replace(made, at=store.now()),), (event(),))
    ask(store, "a1")


def end(store: Store, clock: Clock, how: str) -> None:
    if how == "rejected":
        vote(store, "a1", "rejected", reason="no")
    elif how == "cancelled":
        store.end("a1", status="cancelled", by="B1", event=event("approval.cancelled", approval="a1"))
    else:
        clock.now += 200.0  # whoever looks first writes down that it expired


@pytest.mark.parametrize("how", ["rejected", "cancelled", "expired"])
@pytest.mark.parametrize("by", ["word", "age"])
def test_a_held_call_whose_question_has_ended_is_erased(store: Store, clock: Clock, how: str, by: str) -> None:
    """By a person's word at once, by age from the question's end; what is left of it is a refusal that says why."""
    held(store)
    eraser = payloads(store)
    assert eraser.erase(HOME, who="root", reason="r").left == ((1, 0),)
    end(store, clock, how)
    if by == "word":
        found = eraser.erase(HOME, who="root", reason="r")
    else:
        assert eraser.sweep(DAY) == ()
        clock.now += 2 * DAY
        [found] = eraser.sweep(DAY)
    assert (found.calls, found.approvals, found.left) == (((1, 0),), ("a1",), ())
    [kept] = store.rows(REF)
    assert (kept.erased, kept.status, kept.arguments) == (True, "refused", None)
    assert kept.outcome is not None
    wanted = Reason.APPROVAL_EXPIRED if how == "expired" else Reason.APPROVAL_REJECTED
    assert (kept.outcome.status, kept.outcome.reason) == ("refused", wanted)
    known = store.approval("a1")
    assert known is not None
    assert (known.status, known.arguments) == (how, {})


def test_a_call_that_waits_is_never_too_old(store: Store, clock: Clock) -> None:
    """A question that is open, or a yes that may still be used, keeps its call whole."""
    store.open(REF)
    made = row("held", key(), approval="a1", arguments={"x": 1})
    store.record((replace(made, at=store.now()),), (event(),))
    ask(store, "a1", window=9 * DAY)
    clock.now += 3 * DAY
    eraser = payloads(store)
    assert eraser.sweep(DAY) == ()
    vote(store, "a1")
    clock.now += 3 * DAY
    assert eraser.sweep(DAY) == ()
    assert eraser.erase(HOME, who="root", reason="r").left == ((1, 0),)
    assert store.rows(REF)[0].arguments == {"x": 1}


def test_a_program_that_comes_back_is_told(tmp_path: Path) -> None:
    """It hears that the call was declined and erased, once; nothing runs."""
    desk = start(tmp_path, "openai-chat", POLICY, {"ask": lambda name: name})
    desk.propose(("a", "ask", {"name": "x"}))
    [asked] = desk.pending()
    desk.guard.approvals.reject(asked.id, approver=BOSS, reason="no")
    eraser = Payloads(desk.guard.store, desk.guard.redactor)
    home = ("default", desk.chat.ref.conversation)
    assert eraser.erase(home, who="root", reason="r").left == ()
    said = desk.settle()
    assert "erased" in said
    assert "approval_rejected" in said
    assert (desk.chat.settled(), desk.ran) == ([], [])
    desk.guard.close()


def test_what_is_left_names_what_ends_it(tmp_path: Path) -> None:
    """The line about a call that waits says how to end it."""
    store = open_store(f"sqlite:///{tmp_path}/guard.db")
    held(store)
    store.close()
    ran = guard("audit", "erase", "--person", "E1", "--reason", "r", "--yes", cwd=tmp_path)
    assert ran.code == 1
    last = ran.out.splitlines()[-1]
    assert last == "left, since it is not over: conv-1:1:0 (it waits for a person: guard approvals reject a1 --reason TEXT)"


def test_a_dry_run_tells_what_would_be_left(tmp_path: Path) -> None:
    """As the erasure itself does: the same call, what ends it, and the exit code; of a call that there is not neither says anything else."""
    store = open_store(f"sqlite:///{tmp_path}/guard.db")
    held(store)
    store.close()
    words = ("audit", "erase", "--reason", "r")
    cure = "conv-1:1:0 (it waits for a person: guard approvals reject a1 --reason TEXT)"
    for what in (("--person", "E1"), ("--call", "conv-1:1:0")):
        dry, done = guard(*words, *what, "--dry-run", cwd=tmp_path), guard(*words, *what, "--yes", cwd=tmp_path)
        assert (dry.code, dry.out, dry.err.splitlines()[-1]) == (1, "", f"guard: to be left, since it is not over: {cure}")
        assert (done.code, done.out.splitlines()[-1]) == (1, f"left, since it is not over: {cure}")
    dry = guard(*words, "--call", "conv-1:1:0", "--dry-run", "--json", cwd=tmp_path)
    assert (dry.code, dry.json["left"]) == (1, ["conv-1:1:0"])
    none = guard(*words, "--call", "conv-1:7:0", "--dry-run", cwd=tmp_path)
    assert (none.code, none.err) == (1, guard(*words, "--call", "conv-1:7:0", "--yes", cwd=tmp_path).err.splitlines(True)[-1])
