"""A held action of a class that may run again: once lost it does so under the approval that it spent, and under no other. And what is said of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from life_kit import BOSS, CLERK, DONE, LEASE, UNKNOWN, DiedError, Life, Mortal, a_life, error, lives, plain_lives, said

from guard import ApprovalError, OutcomeUnknownError
from guard.cli import unknown
from guard.core import ports as p
from guard.core import reasons
from guard.core.reasons import Reason
from guard.stores.claims import claim


@pytest.fixture(params=lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


def lost(life: Life, tool: str = "twice") -> str:
    """A held call that was approved, taken by a settling process that died, and is lost; the id of its approval."""
    first = life.propose(life.process(), (tool, 1))[0]
    assert first.status == "held"
    life.approve(life.process())
    with pytest.raises(DiedError):
        life.settled(life.process(Mortal(life.store)))
    life.clock.now += LEASE + 1
    return str(first.approval)


def status(life: Life, approval: str) -> str:
    return str(life.run(life.process().approvals.show(approval)).status)


@pytest.mark.parametrize("how", ["settled", "proposed anew", "resume"])
def test_it_runs_again_under_the_approval_that_it_spent(life: Life, how: str) -> None:
    """Nobody is asked twice about one act: the approval stays spent, and the call is done with its first key."""
    approval = lost(life)
    assert status(life, approval) == "consumed"
    guard = life.process()
    if how == "resume":
        told = str(life.run(life.chat(guard).resume([])))
        assert '\\"n\\":1' in told or '"n":1' in told
    elif how == "settled":
        assert '\\"n\\":1' in life.settled(guard)
    else:
        assert said(life.propose(guard, ("twice", 1), call_id="d")[0]) == DONE
    row = life.rows()[0]
    assert (row.status, row.attempt, row.approval) == ("done", 2, approval)
    assert len(life.ran) == 1
    assert [one.status for one in life.run(guard.approvals.list(status=None))] == ["consumed"]
    assert life.settled(guard) == "" if how != "proposed anew" else True


@pytest.mark.parametrize("how", ["settled", "resume"])
def test_a_held_call_of_the_strictest_class_is_told_to_be_unknown_once(life: Life, how: str) -> None:
    """Lost under its approval it never runs again, and the model hears of it once."""
    lost(life, "held")
    guard = life.process()
    told = life.settled(guard) if how == "settled" else str(life.run(life.chat(guard).resume([])))
    assert "outcome_unknown" in told
    assert (life.statuses(), life.ran, life.settled(guard)) == (["unknown"], [], "")


def test_another_rule_of_today_leaves_it_unknown(life: Life) -> None:
    """The person who said yes would not be asked today: the call is unknown, not refused, and does not run."""
    lost(life)
    guard = life.process(twice="kind: action, allow: [clerk], approve: {by: [chief]}, effect: idempotent")
    assert said(life.propose(guard, ("twice", 1), call_id="d")[0]) == UNKNOWN
    assert (life.statuses()[0], life.ran) == ("unknown", [])


def test_a_rejection_or_the_end_of_its_time_runs_nothing(life: Life) -> None:
    """An approval that was not given makes no attempt; one that was given too long ago neither."""
    guard = life.process()
    for n in (1, 2):
        life.propose(guard, ("twice", n), call_id=f"d{n}")
    one, two = life.run(guard.approvals.list())
    life.run(guard.approvals.reject(one.id, approver=BOSS))
    life.run(guard.approvals.approve(two.id, approver=BOSS))
    life.clock.now += 86_401
    told = life.settled(guard)
    assert "approval_rejected" in told
    assert "approval_expired" in told
    assert life.ran == []


def test_one_that_was_never_approved_is_asked_about_before_it_runs_again(life: Life) -> None:
    """Policy began to ask after the call was lost: it is unknown until somebody says yes, and that yes is spent by the attempt."""
    life.dies("same")
    held = {"same": "kind: action, allow: [clerk], approve: {by: [boss]}, effect: idempotent"}
    guard = life.process(**held)
    assert said(life.propose(guard, ("same", 1), call_id="d")[0]) == UNKNOWN
    assert life.ran == []
    life.approve(guard)
    assert said(life.propose(guard, ("same", 1), call_id="e")[0]) == DONE
    assert [one.status for one in life.run(guard.approvals.list(status=None))] == ["consumed"]
    life.chat(guard).user("and another one")
    assert life.propose(guard, ("same", 1), call_id="f")[0].status == "held"
    assert len(life.ran) == 1


class Overtaken:
    """A store in which somebody else runs a held call right after this caller looked at it."""

    def __init__(self, life: Life) -> None:
        self.life, self.inner, self.blocking, self.secret = life, life.store, life.store.blocking, life.store.secret

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def ask(self, command: Any) -> Any:
        if self.life.store.approval(command.proposal.id).status == "approved":
            other = Life(self.life.folder, "sync", self.life.store, self.life.clock, self.life.ran)
            assert '\\"n\\":1' in other.settled(other.process())
        return self.inner.ask(command)


@pytest.mark.parametrize("life", plain_lives, indirect=True)
@pytest.mark.parametrize("tool", ["held", "twice"])
@pytest.mark.parametrize("how", ["settled", "proposed anew"])
def test_who_is_overtaken_tells_what_really_happened(life: Life, tool: str, how: str) -> None:
    """A worker spent the approval between two looks: the outcome is the one of its run, never that the call was not executed."""
    life.propose(life.process(), (tool, 1))
    life.approve(life.process())
    guard = life.process(Overtaken(life))
    if how == "settled":
        told = life.settled(guard)
        assert '\\"n\\":1' in told
        assert "not executed" not in told
    else:
        assert said(life.propose(guard, (tool, 1), call_id="d")[0]) == DONE
    assert len(life.ran) == 1


def test_an_approval_of_another_call_is_not_spent_for_a_further_attempt(life: Life) -> None:
    """The store checks what an attempt brings along, as it does for the first one."""
    row = life.dies("same")
    with pytest.raises(ApprovalError):
        life.run(life.process().approvals.show("ap_other"))
    event = {"kind": "call.begin", "tenant": "acme"}
    found = life.store._tables.write(  # type: ignore[attr-defined]
        lambda tables: claim(tables, p.Claim(row=row, approval="ap_other", event=event, lease=LEASE, again=True))
    )
    assert isinstance(found, p.Conflict)
    assert life.rows()[0].attempt == 1


# -- words -----------------------------------------------------------------------------------------------------------------

DENIED = re.compile(
    r"not (been )?(executed|happen|run|done|started|take effect)|did(n't| not) (run|happen)|never ran|no effect|nothing ran"
    r"|was not|before this call ran|could not be written",
    re.IGNORECASE,
)


def unknowns(life: Life) -> list[str]:
    """What is said of calls whose outcome is unknown, however they came to be so."""
    found: list[Any] = []
    for name in ("once", "same", "ask", "safe", "back"):
        life.answers["probe"] = lambda key: (_ for _ in ()).throw(LookupError)
        life.dies(name, call_id=name)
        guard = life.process(same="kind: action, allow: [boss], approve: never, effect: idempotent")
        for call_id in (name, f"{name}-2"):
            found += life.propose(guard, (name, 1), call_id=call_id)
    for n, body in enumerate(
        (lambda n: (_ for _ in ()).throw(OutcomeUnknownError), lambda n: (_ for _ in ()).throw(TimeoutError))
    ):
        life.answers["once"] = body
        found += life.propose(life.process(), ("once", 5 + n), call_id=f"u{n}")
    assert {one.status for one in found} == {"unknown"}
    return [str(one.content) for one in found]


def test_no_text_about_an_unknown_call_says_that_it_did_not_happen(life: Life) -> None:
    """More than half of them had: every text says that nobody knows, and none speaks of a call that was not executed."""
    read = [reasons.SENTENCE[Reason.OUTCOME_UNKNOWN], reasons.SAFE_AGAIN, *unknowns(life)]
    lost(life, "held")
    read.append(life.settled(life.process()))
    one = life.run(life.process().unknown.list())[0]
    assert sum("its outcome is not known: it may or may not have taken effect" in text for text in read) == len(read)
    read += [unknown.EXAMPLES, *unknown._lines(one), *unknown._HELP.values()]
    read = [
        text.replace("it did not take effect", "")
        .replace("a call that did not happen may then", "")
        .replace("may or may not have taken effect", "")
        for text in read
    ]
    assert [found[0] for text in read if (found := DENIED.search(text))] == []


def test_the_error_of_an_unknown_call_has_no_answer_to_whether_it_ran(life: Life) -> None:
    """`executed` is null: neither yes nor no; a further proposal helps only where the class makes it harmless."""
    for name, helps in (("once", False), ("same", True), ("back", False)):
        life.answers[name] = lambda n: (_ for _ in ()).throw(OutcomeUnknownError)
        one = life.propose(life.process(), (name, 1), call_id=name)[0]
        assert (error(one)["executed"], error(one)["retry"]) == (None, helps)
    assert CLERK.tenant == "acme"
