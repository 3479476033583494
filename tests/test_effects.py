"""What becomes of an action that was taken and lost, by its side-effect class: on every store, for plain and asyncio programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from life_kit import DONE, LEASE, UNKNOWN, Life, a_life, all_lives, error, lives, policy, said
from stores_kit import records

from guard import OutcomeUnknownError, ToolError
from guard.cli.audit_verify import stored_report
from guard.core.rules import MOST_ATTEMPTS


@pytest.fixture(params=lives)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


everywhere = pytest.mark.parametrize("life", all_lives, indirect=True)


AGAIN = {
    # tool: (what the probe says, the end, how often it ran in the new process)
    "once": (None, UNKNOWN, 0),
    "same": (None, DONE, 1),
    "ask, nothing found": (None, UNKNOWN, 0),
    "ask, found": (True, DONE, 0),
    "ask, found with its result": ({"booked": 7}, DONE, 0),
    "safe, nothing found": (None, DONE, 1),
    "safe, False": (False, DONE, 1),
    "safe, found": (True, DONE, 0),
    "back": (None, UNKNOWN, 0),
}


@everywhere
@pytest.mark.parametrize("case", AGAIN)
@pytest.mark.parametrize("how", ["same turn", "resume"])
def test_the_class_decides_about_a_lost_call(life: Life, case: str, how: str) -> None:
    """Unknown, run again with its key, or as the probe says; the attempts are counted, and the next look gives the same."""
    tool = case.partition(",")[0]
    answer, end, times = AGAIN[case]
    life.answers["probe"] = lambda key: answer
    before = life.dies(tool)
    guard = life.process()
    if how == "resume":
        life.run(life.chat(guard).resume([]))

    one = life.propose(guard, (tool, 1))[0]

    assert said(one) == end
    assert [name for name, _, _ in life.ran] == [tool] * times
    row = life.rows()[0]
    assert (row.status, row.attempt, row.idem) == (one.status, 1 + times, before.idem)
    assert said(life.propose(guard, (tool, 1))[0]) == end
    assert len(life.ran) == times
    if case == "ask, found with its result":
        assert '"booked":7' in str(one.content)
    assert times or life.rows()[0].at == before.at  # since when it was taken, whoever found out how it ended
    assert not stored_report(life.store, [], None).problems


def test_every_attempt_gets_the_key_of_the_first(life: Life) -> None:
    """Three processes die with the call, the fourth gets through: one key, and it is the one that `unknown` shows and the probe gets."""
    life.dies("same")
    for _ in range(2):
        life.dies("same")
    shown = life.run(life.process().unknown.list())
    assert said(life.propose(life.process(), ("same", 1))[0]) == DONE
    row = life.rows()[0]
    assert row.attempt == 4
    assert [one.key for one in shown] == life.keys("same")
    assert [event["exec"]["attempt"] for event in life.events("call.begin")] == [1, 2, 3, 4]

    life.dies("safe", call_id="s")
    life.propose(life.process(), ("safe", 1), call_id="s")
    assert life.asked == life.keys("safe")


def test_the_key_is_the_guards_own(life: Life) -> None:
    """No part of the schema, nothing that the model can send or read, another one for other content, and nobody's without the secret."""
    guard = life.process()
    assert "idempotency_key" not in str(life.chat(guard).tools)
    sent = {"id": "x", "type": "function", "function": {"name": "same", "arguments": '{"n": 7, "idempotency_key": "mine"}'}}
    turn = life.run(life.chat(guard).handle({"role": "assistant", "tool_calls": [sent]}))
    assert said(turn.outcomes[0]) == DONE  # without the model's key
    outcomes = [life.propose(guard, ("same", n))[0] for n in (1, 2)]
    first, one, other = life.keys("same")
    assert len({first, one, other, "mine", ""}) == 5
    assert one not in str(outcomes)
    assert one not in str([record.body for record in records(life.store)])
    assert one != life.rows()[1].idem
    guard.hands.store.secret = b"x" * 32
    assert guard.hands.key(life.rows()[1].idem) != one


def test_a_new_word_of_the_user_is_a_new_act(life: Life) -> None:
    """The same call after the user spoke gets another key; before that it is the act that was done."""
    guard = life.process()
    life.propose(guard, ("same", 1))
    assert said(life.propose(guard, ("same", 1))[0]) == DONE
    life.chat(guard).user("once more")
    life.propose(guard, ("same", 1), call_id="d")
    assert len(set(life.keys("same"))) == len(life.ran) == 2


CHANGED = {
    "not allowed": {"same": "kind: action, allow: [boss], approve: never, effect: idempotent"},
    "refused by a rule": {
        "same": "kind: action, allow: [clerk], approve: never, effect: idempotent, refuse: [{when: {n: {maximum: 5}}}]"
    },
    "gone": {"same": ""},
    "once now": {"same": "kind: action, allow: [clerk], approve: never"},
    "compensated now": {"same": "kind: action, allow: [clerk], approve: never, effect: {compensate: undo}"},
    "held now": {"same": "kind: action, allow: [clerk], approve: {by: [boss]}, effect: idempotent"},
}


@pytest.mark.parametrize("how", ["same turn", "proposed anew", "resume"])
@pytest.mark.parametrize("change", CHANGED)
def test_what_todays_policy_does_not_let_run_again_is_unknown(life: Life, change: str, how: str) -> None:
    """It may have taken effect, whatever the rooms say today: unknown, never refused, and nothing runs."""
    life.dies("same")
    guard = life.process(**CHANGED[change])
    if how == "resume":
        life.run(life.chat(guard).resume([]))
        assert life.statuses() == ["unknown"]
    else:
        one = life.propose(guard, ("same", 1), call_id="c" if how == "same turn" else "d")[0]
        nameless = how == "proposed anew" and change == "gone"  # a tool without an entry is not looked for
        assert said(one) == (("refused", "no_policy") if nameless else UNKNOWN)
    assert life.ran == []
    assert not any(row.status == "refused" and row.attempt for row in life.rows())


@pytest.mark.parametrize("was", ["once", "back", "ask"])
def test_a_call_keeps_the_class_that_it_was_taken_with(life: Life, was: str) -> None:
    """A policy that says `idempotent` afterwards does not make a call safe whose target was not known to take the key."""
    life.dies(was)
    now = "kind: action, allow: [clerk], approve: never, effect: idempotent"
    guard = life.process(**{was: now})
    assert said(life.propose(guard, (was, 1))[0]) == UNKNOWN
    assert said(life.propose(guard, (was, 1), call_id="d")[0]) == UNKNOWN
    assert life.ran == []


def test_a_call_that_ends_its_process_each_time_is_left_to_a_person(life: Life) -> None:
    """After so many attempts it is unknown for good, and says no longer that proposing it again would help."""
    for _ in range(MOST_ATTEMPTS):
        life.dies("same")
    guard = life.process()
    one = life.propose(guard, ("same", 1))[0]
    assert said(one) == UNKNOWN
    assert error(one)["retry"] is False
    assert [(row.status, row.attempt) for row in life.rows()] == [("unknown", MOST_ATTEMPTS), ("alias", 0)]
    assert said(life.propose(guard, ("same", 1), call_id="d")[0]) == UNKNOWN
    assert life.ran == []


@pytest.mark.parametrize("spoken", [False, True], ids=["same run", "after the user spoke"])
def test_an_equal_call_elsewhere_goes_on_with_an_unknown_one(life: Life, spoken: bool) -> None:
    """An idempotent call that is unknown runs when it is proposed again, at its own place and with its own key; both then say the end."""
    life.answers["same"] = lambda n: (_ for _ in ()).throw(OutcomeUnknownError)
    guard = life.process()
    first = life.propose(guard, ("same", 1))[0]
    assert (said(first), error(first)["retry"]) == (UNKNOWN, True)
    life.answers.clear()
    if spoken:
        life.chat(guard).user("did it work?")
    again = life.propose(guard, ("same", 1), call_id="d")[0]
    assert said(again) == DONE
    assert len(set(life.keys("same"))) == 1
    assert (life.statuses(), life.rows()[0].attempt) == (["done", "alias"], 2)
    assert life.settled(guard) == ""  # the answer to the second proposal has told it


BROKEN: dict[str, Any] = {
    "raised": (LookupError("inner"), UNKNOWN),
    "refused connection": (ConnectionRefusedError(), UNKNOWN),
    "the author's word": (ToolError("There is no such account."), ("failed", "tool_failed")),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_further_attempt_that_breaks_says_nothing_of_the_first(life: Life, case: str) -> None:
    """The first one may have taken effect: only what the tool itself says settles the call, and no key is lost meanwhile."""
    error_, end = BROKEN[case]
    life.dies("same")

    def broken(n: int) -> Any:
        raise error_

    life.answers["same"] = broken
    assert said(life.propose(life.process(), ("same", 1))[0]) == end
    life.answers.clear()
    if end == UNKNOWN:
        assert said(life.propose(life.process(), ("same", 1), call_id="d")[0]) == DONE
        assert len(set(life.keys("same"))) == 1


def test_a_probe_that_breaks_leaves_the_call_unknown(life: Life) -> None:
    """What cannot be found out is not known: nothing runs, and a later look may know more."""

    def broken(key: str) -> Any:
        raise ConnectionError

    life.answers["probe"] = broken
    life.dies("safe")
    assert said(life.propose(life.process(), ("safe", 1))[0]) == UNKNOWN
    assert life.ran == []
    life.answers["probe"] = lambda key: {"found": True}
    assert said(life.propose(life.process(), ("safe", 1), call_id="d")[0]) == DONE
    assert life.ran == []


def test_a_call_whose_lease_runs_is_not_taken_over(life: Life) -> None:
    """Whoever took it may be at it: only when its lease is over is it lost."""
    life.dies("same", lost=False)
    assert life.run(life.process().unknown.list()) == ()
    life.clock.now += LEASE
    assert [one.tool for one in life.run(life.process().unknown.list())] == ["same"]
    assert life.text == policy()
