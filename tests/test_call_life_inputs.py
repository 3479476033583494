"""Odd inputs to a call's life, each on a file and on a server: resuming after a crash, cancelling and trying again, and questions that end.

Every case says what the model is told and how often the tool ran. A row of `CASES` is one function; what it must not do is said in its docstring.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from life_kit import BOSS, CLERK, DONE, OTHER_BOSS, UNKNOWN, Life, a_life, reply, said
from wire_helpers import message

from guard.errors import ApprovalError

HELD = ("held", "held_for_approval")
DAY = 86_400.0


@pytest.fixture(params=[pytest.param(("sync", kind), id=kind) for kind in ("sqlite", "postgres")])
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Life]:
    yield from a_life(request, tmp_path)


def ask(life: Life, tool: str = "held", **changed: str) -> tuple[Any, Any]:
    """A guard, and the approval that a call of the tool waits for."""
    guard = life.process(**changed)
    assert said(life.propose(guard, (tool, 1))[0]) == HELD
    return guard, guard.approvals.list()[0]


def raising(failure: BaseException) -> Callable[[int], Any]:
    def act(_: int) -> Any:
        raise failure

    return act


# -- resuming after a crash ------------------------------------------------------------------------------------------------


def another_spelling(life: Life) -> None:
    """A number that is the same number does not make another act of it."""
    life.dies("once")
    turn = life.chat(life.process()).handle(message("openai-chat", ("x", "once", ' {\n"n" : 1e0 } ')))
    assert said(turn.outcomes[0]) == UNKNOWN


def another_wire(life: Life) -> None:
    """The provider was changed after the crash: the call in doubt is the conversation's, whatever wire proposes it."""
    life.dies("once")
    chat = life.process().open(CLERK, wire="anthropic", conversation="c")
    assert said(chat.handle(message("anthropic", ("x", "once", {"n": 1}))).outcomes[0]) == UNKNOWN


def a_sub_agent(life: Life) -> None:
    """A child that proposes what its parent may have done does not do it."""
    life.dies("once")
    child = life.chat(life.process()).child(tools=["once"])
    assert said(child.handle(reply(("once", 1), call_id="x")).outcomes[0]) == UNKNOWN


def the_user_speaks(life: Life) -> None:
    """Nor does the user's next word make it sure that nothing happened."""
    life.dies("once")
    chat = life.chat(life.process())
    chat.user("Again, please.")
    assert said(chat.handle(reply(("once", 1), call_id="x")).outcomes[0]) == UNKNOWN


def four_times_at_once(life: Life) -> None:
    """One message with the call four times, under ids that repeat: all in doubt."""
    life.dies("once")
    made = message("openai-chat", *((name, "once", '{"n": 1}') for name in ("a", "b", "c0", "d")))
    assert [said(one) for one in life.chat(life.process()).handle(made).outcomes] == [UNKNOWN] * 4


def a_history_without_the_reply(life: Life) -> None:
    """The host lost the model's message: nothing of it is told as an answer to another id, and the follow-up tells it."""
    life.dies("once")
    guard = life.process()
    assert life.chat(guard).resume([{"role": "user", "content": "go"}]) == [{"role": "user", "content": "go"}]
    assert guard.unknown.list()[0].tool == "once"


def an_id_of_two_turns(life: Life) -> None:
    """The same id in two messages, the first answered: the second one's call is the one in doubt."""
    guard = life.process()
    chat = life.chat(guard)
    history = [chat.user("go")]
    first = chat.handle(reply(("once", 1)), history=history)
    history += [reply(("once", 1)), *first.messages]
    chat.user("and two")
    life.dies("once", 2)
    resumed = life.chat(life.process()).resume([*history, {"role": "user", "content": "and two"}, reply(("once", 2))])
    texts = [one["content"] for one in resumed if one["role"] == "tool"]
    assert ["outcome_unknown" in text for text in texts] == [False, True]
    life.ran.clear()


def another_conversations_history(life: Life) -> None:
    """Under another name nobody knows of the call: closed as not executed, and in doubt where it was."""
    life.dies("once")
    guard = life.process()
    resumed = life.chat(guard, conversation="other").resume([{"role": "user", "content": "go"}, reply(("once", 1))])
    assert "interrupted" in resumed[-1]["content"]
    assert [call.conversation for call in guard.unknown.list()] == ["c"]


def a_word_that_it_happened(life: Life) -> None:
    """A person found that it took effect: told once, and not done again in this run."""
    life.dies("once")
    guard = life.process()
    assert said(life.propose(guard, ("once", 1), call_id="x")[0]) == UNKNOWN
    one = guard.unknown.list()[0]
    guard.unknown.resolve(one, happened=True, approver=CLERK, reason="The bank has it.")
    assert "once" in life.settled(guard)
    assert life.settled(guard) == ""
    assert life.propose(guard, ("once", 1), call_id="y")[0].replayed


def a_spent_question(life: Life) -> None:
    """The approval of a call that died is spent: it opens nothing more, and no second question is asked about the call."""
    _, asked = ask(life)
    life.approve(life.process())
    life.dies("held")
    guard = life.process()
    with pytest.raises(ApprovalError):
        guard.approvals.approve(asked.id, approver=BOSS)
    assert said(life.propose(guard, ("held", 1), call_id="x")[0]) == UNKNOWN
    assert guard.approvals.list() == ()


# -- cancelling and trying again ---------------------------------------------------------------------------------------------


def cut_off(failure: BaseException, wanted: tuple[str, str | None], times: int) -> Callable[[Life], None]:
    """An action that ends so, proposed again: run again only where it surely did not happen."""

    def case(life: Life) -> None:
        life.answers["once"] = raising(failure)
        guard = life.process()
        assert said(life.propose(guard, ("once", 1))[0]) == wanted
        life.answers.clear()
        assert said(life.propose(guard, ("once", 1), call_id="x")[0]) == (UNKNOWN if wanted == UNKNOWN else DONE)
        assert len(life.ran) == times
        life.ran.clear()

    return case


def interrupted(failure: type[BaseException]) -> Callable[[Life], None]:
    """What ends the program goes on up, and what it was at is in doubt."""

    def case(life: Life) -> None:
        life.answers["once"] = raising(failure())
        guard = life.process()
        with pytest.raises(failure):
            life.propose(guard, ("once", 1))
        life.answers.clear()
        assert said(life.propose(life.process(), ("once", 1), call_id="x")[0]) == UNKNOWN
        assert len(life.ran) == 1
        life.ran.clear()

    return case


def a_key_of_the_models(life: Life) -> None:
    """The model sends a key: the tool gets the guard's, the same in each attempt."""
    life.answers["same"] = raising(ConnectionResetError())
    guard = life.process()
    chat = life.chat(guard)
    chat.handle(message("openai-chat", ("a", "same", '{"n": 1, "idempotency_key": "mine"}')))
    life.answers.clear()
    chat.handle(message("openai-chat", ("b", "same", '{"n": 1, "idempotency_key": "another"}')))
    assert len(life.ran) == 2
    [key] = set(life.keys("same"))
    assert key not in {"", "mine", "another"}
    life.ran.clear()


def tried_until_it_answers(life: Life) -> None:
    """A tool that takes the key may be tried again, with that key, until it answers, and then never."""
    life.answers["same"] = raising(ConnectionResetError())
    guard = life.process()
    for number in range(3):
        life.propose(guard, ("same", 1), call_id=f"t{number}")
    life.answers.clear()
    last = [said(life.propose(guard, ("same", 1), call_id=f"u{number}")[0]) for number in range(2)]
    assert last == [DONE, DONE]
    assert len(set(life.keys("same"))) == 1
    assert life.rows()[-1].status != "started"
    ran = len(life.ran)
    life.propose(guard, ("same", 1), call_id="v")
    assert len(life.ran) == ran
    life.ran.clear()


def a_cancelled_report(life: Life) -> None:
    """A question that is withdrawn by the host never runs, whoever says yes to it afterwards."""
    guard, asked = ask(life)
    guard.approvals.cancel(asked.id, by=CLERK, reason="The user went away.")
    with pytest.raises(ApprovalError):
        guard.approvals.approve(asked.id, approver=BOSS)
    life.settled(guard)
    assert life.statuses() == ["refused"]


# -- questions that end ------------------------------------------------------------------------------------------------------


def at_the_very_end(life: Life) -> None:
    """A yes at the moment of expiry is too late."""
    guard, asked = ask(life)
    life.clock.now = asked.expires_at
    with pytest.raises(ApprovalError):
        guard.approvals.approve(asked.id, approver=BOSS)
    assert "expired" in life.settled(guard)


def a_clock_that_is_put_back(life: Life) -> None:
    """What has expired stays so when the clock goes back before its end."""
    guard, asked = ask(life)
    life.clock.now = asked.expires_at + 1
    life.settled(guard)
    life.clock.now -= DAY
    with pytest.raises(ApprovalError):
        guard.approvals.approve(asked.id, approver=BOSS)
    assert life.statuses() == ["refused"]


def used_too_late(life: Life) -> None:
    """A yes that nobody used in its window opens nothing."""
    guard, asked = ask(life)
    guard.approvals.approve(asked.id, approver=BOSS)
    life.clock.now += 2 * DAY
    assert "expired" in life.settled(guard)


def no_then_yes(life: Life) -> None:
    """The first answer counts, in another process too."""
    guard, asked = ask(life)
    guard.approvals.reject(asked.id, approver=BOSS, reason="No.")
    with pytest.raises(ApprovalError):
        life.process().approvals.approve(asked.id, approver=replace(BOSS, principal="E9"))
    assert "rejected" in life.settled(guard)


def one_person_twice(life: Life) -> None:
    """Where two must agree, one person's two answers are one."""
    guard, asked = ask(life, held="kind: action, allow: [clerk], approve: {by: [boss], need: 2}")
    for _ in range(2):
        with suppress(ApprovalError):
            guard.approvals.approve(asked.id, approver=BOSS)
    assert life.settled(guard) == ""
    assert [one.status for one in guard.approvals.list()] == ["pending"]


def another_tenants_boss(life: Life) -> None:
    """Whoever may approve elsewhere is nobody here, and nor is the one who asked."""
    guard, asked = ask(life)
    for who in (OTHER_BOSS, CLERK, replace(BOSS, roles=())):
        with pytest.raises(ApprovalError):
            guard.approvals.approve(asked.id, approver=who)
    assert life.settled(guard) == ""


def half_an_id(life: Life) -> None:
    """What is nearly an id names no question."""
    guard, asked = ask(life)
    for name in (asked.id[:-1], f" {asked.id}", asked.id.upper(), f"{asked.id}\n", ""):
        with pytest.raises(ApprovalError):
            guard.approvals.approve(name, approver=BOSS)
    assert [one.status for one in guard.approvals.list()] == ["pending"]


def todays_policy_says_no(life: Life) -> None:
    """Between yes and run the right was taken away: refused, and the yes opens nothing when it comes back."""
    guard, asked = ask(life)
    guard.approvals.approve(asked.id, approver=BOSS)
    stricter = life.process(held="kind: action, allow: [nobody], approve: {by: [boss]}")
    life.settled(stricter)
    assert life.statuses() == ["refused"]
    life.settled(life.process())


def two_equal_in_one_message(life: Life) -> None:
    """One question and one run for two equal calls of a message; both ids are answered."""
    guard = life.process()
    told = life.propose(guard, ("held", 1), ("held", 1))
    assert [said(one) for one in told] == [HELD, HELD]
    assert len(guard.approvals.list()) == 1
    life.approve(guard)
    life.settled(guard)
    assert len(life.ran) == 1
    life.ran.clear()


def a_failure_spends_it(life: Life) -> None:
    """An approved tool that breaks has used its yes: proposed again, somebody is asked again."""
    guard, asked = ask(life)
    guard.approvals.approve(asked.id, approver=BOSS)
    life.answers["held"] = raising(ValueError("no such account"))
    life.settled(guard)
    life.answers.clear()
    told = life.propose(guard, ("held", 1), call_id="x")[0]
    assert said(told) == HELD
    assert len(life.ran) == 1
    life.ran.clear()


CASES: dict[str, Callable[[Life], None]] = {
    **{
        case.__name__: case
        for case in (
            *(another_spelling, another_wire, a_sub_agent, the_user_speaks, four_times_at_once, a_history_without_the_reply),
            *(an_id_of_two_turns, another_conversations_history, a_word_that_it_happened, a_spent_question, a_key_of_the_models),
            *(tried_until_it_answers, a_cancelled_report, at_the_very_end, a_clock_that_is_put_back, used_too_late, no_then_yes),
            *(one_person_twice, another_tenants_boss, half_an_id, todays_policy_says_no, two_equal_in_one_message),
            a_failure_spends_it,
        )
    },
    "a connection that was reset": cut_off(ConnectionResetError(), UNKNOWN, 1),
    "a time-out of the upstream": cut_off(TimeoutError(), UNKNOWN, 1),
    "a broken pipe": cut_off(BrokenPipeError(), UNKNOWN, 1),
    "a tool that cancels itself": cut_off(asyncio.CancelledError(), UNKNOWN, 1),
    "a refused connection": cut_off(ConnectionRefusedError(), ("failed", "tool_failed"), 2),
    "ctrl-c": interrupted(KeyboardInterrupt),
}


@pytest.mark.parametrize("case", CASES)
def test_odd_inputs(life: Life, case: str) -> None:
    """What each says; and but for the cases that count their runs, nothing ran."""
    CASES[case](life)
    assert life.ran == []
