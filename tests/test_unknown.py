"""`guard.unknown`: what is in doubt, who may say what became of it, and what follows from that word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from life_kit import BOSS, CLERK, DONE, ENTRIES, OTHER_BOSS, STRANGER, UNKNOWN, Life, a_life, lives, plain_lives, said
from stores_kit import records

from guard import ApprovalError, OutcomeUnknownError, Session
from guard.core.ports import CallRow


@pytest.fixture(params=lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


plainly = pytest.mark.parametrize("life", plain_lives, indirect=True)


def lost(life: Life, tool: str = "once", n: int = 1) -> Any:
    """One call in doubt, as it is listed; what needs a person was approved before."""
    if tool in ("held", "undo", "twice"):

        def unclear(number: int) -> Any:
            raise OutcomeUnknownError

        life.answers[tool] = unclear
        life.propose(life.process(), (tool, n))
        life.approve(life.process())
        life.settled(life.process())
        life.answers.clear()
    else:
        life.dies(tool, n)
    return life.run(life.process().unknown.list())[-1]


def resolve(life: Life, one: Any, who: Session = CLERK, *, happened: bool = False, reason: str = "Looked it up.") -> Any:
    return life.run(life.process().unknown.resolve(one, happened=happened, approver=who, reason=reason))


def refused(life: Life, one: Any, who: Any, **more: Any) -> ApprovalError:
    with pytest.raises(ApprovalError) as caught:
        resolve(life, one, who, **more)
    return caught.value


def test_what_is_in_doubt_is_listed_and_shown(life: Life) -> None:
    """Lost and unknown calls, oldest first, with final arguments, place, class, attempt, time and key; nothing else is."""
    guard = life.process()
    life.propose(guard, ("look", 1), ("held", 2), call_id="l")
    began = life.clock.now
    first = lost(life)
    life.clock.now += 5
    second = lost(life, "same", 7)
    found = life.run(guard.unknown.list())
    assert found == (first, second)
    assert (first.tool, first.arguments, first.requester, first.tenant, first.conversation) == (
        "once",
        {"n": 1},
        "E1",
        "acme",
        "c",
    )
    assert (first.branch, first.effect, first.attempt, first.since, first.approval) == ("", "once", 1, began, None)
    assert (second.effect, len(second.key)) == ("idempotent", 64)
    assert life.run(guard.unknown.show(first.id)) == first
    assert life.run(guard.unknown.list(tenant="globex")) == ()
    assert life.run(guard.unknown.list(tenant="acme")) == found
    with pytest.raises(ApprovalError) as caught:
        life.run(guard.unknown.show("un_none"))
    assert caught.value.code == "not_found"


WHO = {
    # tool: {who: what their word is worth}
    "once": {"requester": "", "boss": "not_found", "stranger": "not_found", "elsewhere": "not_found"},
    "held": {"requester": "not_entitled", "boss": "", "stranger": "not_found", "elsewhere": "not_found"},
    "own": {"requester": "", "boss": "not_found", "stranger": "not_found", "elsewhere": "not_found"},
}
PEOPLE = {"requester": CLERK, "boss": BOSS, "stranger": STRANGER, "elsewhere": OTHER_BOSS}


@plainly
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("tool", WHO)
def test_whose_word_counts(life: Life, tool: str, who: str) -> None:
    """Who may approve such calls; the requester where nobody else has to; to everybody else the call is not there."""
    if tool == "own":
        life.text = life.text.replace(ENTRIES["once"], "kind: action, allow: [clerk], approve: {by: self}")
        life.propose(life.process(), ("once", 1))
        life.approve(life.process(), CLERK)
        life.answers["once"] = lambda n: (_ for _ in ()).throw(OutcomeUnknownError)
        life.settled(life.process())
        one = life.run(life.process().unknown.list())[0]
    else:
        one = lost(life, tool)
    code = WHO[tool][who]
    if not code:
        resolve(life, one, PEOPLE[who])
        assert life.run(life.process().unknown.list()) == ()
        return
    error = refused(life, one, PEOPLE[who])
    assert error.code == code
    if code == "not_found":
        with pytest.raises(ApprovalError) as nowhere:
            life.run(life.process().unknown.show("un_none"))
        assert str(error).replace(one.id, "un_none") == str(nowhere.value)
    assert life.run(life.process().unknown.list()) == (one,)
    assert life.events("call.reconciled") == []


@plainly
def test_a_denied_person_and_a_tool_that_is_gone(life: Life) -> None:
    """A deny rule takes the right away; where the policy does not know the tool, nobody has it."""
    one = lost(life)
    gone = life.process(once="")
    with pytest.raises(ApprovalError) as caught:
        gone.unknown.resolve(one, happened=True, approver=CLERK, reason="Looked it up.")
    assert caught.value.code == "not_entitled"


@pytest.mark.parametrize("given", ["yes", 1, None], ids=str)
def test_a_word_is_true_or_false(life: Life, given: Any) -> None:
    """Nothing that only looks like one, and only from a session."""
    one = lost(life)
    assert refused(life, one, CLERK, happened=given).code == "not_entitled"
    assert refused(life, one, "E1").code == "not_entitled"
    assert len(life.run(life.process().unknown.list())) == 1


@pytest.mark.parametrize("reason", ["", "  \n"], ids=["none", "blank"])
def test_a_reason_is_needed(life: Life, reason: str) -> None:
    """How it was found out stands in the record, so it must be said."""
    assert "a reason is needed" in str(refused(life, lost(life), CLERK, reason=reason))


@pytest.mark.parametrize("happened", [True, False], ids=["happened", "did not happen"])
@pytest.mark.parametrize("tool", ["once", "same", "back"])
def test_a_word_settles_the_call(life: Life, tool: str, happened: bool) -> None:
    """Done, or failed with its own reason; told once to the model, redacted, and on record with who said it."""
    one = lost(life, tool)
    guard = life.process()
    assert said(life.propose(guard, ("look", 1), call_id="l")[0]) == DONE
    life.run(life.chat(guard).resume([]))
    if tool == "same":
        assert life.statuses()[0] == "done"
        assert refused(life, one, CLERK).code == "already_decided"
        return
    resolve(life, one, happened=happened, reason="Asked kim@example.com: ref 4711.")
    row = life.rows()[0]
    assert (row.status, row.attempt) == ("done" if happened else "failed", 1)
    told = life.settled(guard)
    assert "Asked [email]: ref 4711." in told
    assert ("took effect" in told) == happened or "did not take effect" in told
    assert life.settled(guard) == ""
    record = life.events("call.reconciled")[0]
    assert (record["actor"]["ref"], record["effect"], record["reason"]) == (
        "E1",
        {"observed": happened},
        "Asked [email]: ref 4711.",
    )
    assert "kim@" not in str([one.body for one in records(life.store)])
    assert life.ran == [("look", 1, life.keys("look")[0])]


def test_the_second_word_does_not_count(life: Life) -> None:
    """Whoever comes second is told so; to a stranger the call is not there before nor after."""
    one = lost(life)
    resolve(life, one, happened=True)
    error = refused(life, one, CLERK, happened=False)
    assert (error.code, "is done" in str(error)) == ("already_decided", True)
    assert refused(life, one, STRANGER).code == "not_found"
    assert refused(life, one.id, CLERK).code == "not_found"
    assert refused(life, replace(one, turn=99), CLERK).code == "not_found"
    assert life.statuses() == ["done"]
    assert len(life.events("call.reconciled")) == 1


def test_a_call_that_is_under_way_again_is_not_settled(life: Life) -> None:
    """Another process took an idempotent one meanwhile: it will say how it ends."""
    one = lost(life, "same")
    life.dies("same", lost=False)
    error = refused(life, one, CLERK)
    assert (error.code, "under way again" in str(error)) == ("already_decided", True)


@pytest.mark.parametrize("tool", ["once", "back", "held"])
def test_what_did_not_happen_may_be_proposed_again(life: Life, tool: str) -> None:
    """Until then an equal call is in doubt itself; afterwards it runs, or is asked about anew."""
    one = lost(life, tool)
    guard = life.process()
    assert said(life.propose(guard, (tool, 1), call_id="d")[0]) == UNKNOWN
    resolve(life, one, BOSS if tool == "held" else CLERK)
    again = life.propose(guard, (tool, 1), call_id="e")[0]
    assert again.status == ("held" if tool == "held" else "done")
    assert len(life.keys(tool)) == 1


def test_what_happened_is_not_done_twice(life: Life) -> None:
    """An equal call of the same run is the one that took effect."""
    resolve(life, lost(life), happened=True)
    assert said(life.propose(life.process(), ("once", 1), call_id="d")[0]) == DONE
    assert life.ran == []


@plainly
def test_a_call_of_a_child_is_settled_like_any(life: Life) -> None:
    """It is listed with its branch, found by its id and by itself, and told in the child."""

    def unclear(n: int) -> Any:
        raise OutcomeUnknownError

    life.answers["once"] = unclear
    guard = life.process()
    child = life.chat(guard).child(name="helper")
    from life_kit import reply

    assert said(child.handle(reply(("once", 1))).outcomes[0]) == UNKNOWN
    one = guard.unknown.list()[0]
    assert (one.conversation, one.branch) == ("c", "/helper")
    resolve(life, one, happened=True)
    assert life.settled(guard) == ""
    assert "took effect" in str(child.settled())


@plainly
def test_only_the_offered_compensation_is_withdrawn(life: Life) -> None:
    """Nothing is left to take back; a call of the model that only has the same id waits on."""
    from guard import ToolCall

    guard = life.process()
    mine = guard.call(ToolCall("compensation_2_0", "undo", '{"n": 9}'), CLERK, conversation="c")
    one = lost(life, "back")
    life.settled(guard)
    life.propose(guard, ("back", 1), call_id="d")
    waiting = {asked.id for asked in guard.approvals.list()}
    assert len(waiting) == 2
    resolve(life, one)
    assert {asked.id for asked in guard.approvals.list()} == {mine.approval}
    rows: list[CallRow] = life.rows()
    offered = next(row for row in rows if row.key.key.startswith("compensation:"))
    assert "approval_rejected" in life.settled(guard)
    assert life.store.approval(str(offered.approval)).status == "cancelled"
