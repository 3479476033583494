"""Batches with something in them that is over or was never there, and edits to what the policy refuses: what still stands is decided, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from console_kit import CLERK, Console, console
from tabs_kit import MINUTE, POLICY, draw, pay, state

from guard import Session

PEOPLE = {"c_1": CLERK, "b1": Session(principal="b1", roles=("treasury",)), "b2": Session(principal="b2", roles=("audit",))}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path, POLICY, {"pay": pay, "draw": draw}) as found:
        yield found


def batch(running: Console, stale: Callable[[str], object], *, then: str = "approved") -> tuple[int, str, list[str]]:
    """A page of three that is read, one of which is something else by the time that it is sent."""
    names = [running.ask("draw", name=name) for name in "abc"]
    browser = running.browser("b1", "boss")
    form = browser.open("/approvals/batch").form("/approvals/batch")
    stale(names[1])
    answer = browser.send("/approvals/batch", {**form, "item": names, "decision": then, "reason": "r"})
    return answer.status, answer.text, [running.show(name).status for name in names]


OVER: dict[str, tuple[Callable[[Console], Callable[[str], object]], str]] = {
    "superseded": (lambda running: lambda name: changed_by(running, name), "superseded"),
    "rejected": (
        lambda running: lambda name: running.browser("b2", "boss").vote(name, "rejected", reason="no"),
        "rejected",
    ),
    "cancelled": (lambda running: lambda name: cancelled(running, name), "cancelled"),
    "killed": (lambda running: lambda name: killed(running, name), "cancelled"),
}


def changed_by(running: Console, name: str) -> None:
    """Another person makes a new revision of it."""
    browser = running.browser("b2", "boss")
    page = browser.open(f"/approvals/{name}")
    form = {**page.form(f"/approvals/{name}/edit"), "value:/name": "d", "reason": "less"}
    assert browser.send(f"/approvals/{name}/edit", form).status == 303


def cancelled(running: Console, name: str) -> None:
    browser = running.browser("c_1", "clerk")
    form = browser.open(f"/approvals/{name}").form(f"/approvals/{name}/cancel")
    assert browser.send(f"/approvals/{name}/cancel", {**form, "reason": "not needed"}).status == 303


def killed(running: Console, name: str) -> None:
    call, session, conversation = running.calls[name]

    async def stop() -> None:
        await running.guard.kills.set(by=session, reason="r", conversation=conversation, tool=call.tool)

    running.client.portal.call(stop)  # type: ignore[union-attr]


@pytest.mark.parametrize("how", OVER)
@pytest.mark.parametrize("then", ["approved", "rejected"])
def test_a_batch_with_something_in_it_that_is_over(tmp_path: Path, how: str, then: str) -> None:
    """What still stands is decided, what is over is told and stays what it was, and no new revision is voted on unread."""
    policy = POLICY.replace("by: [boss], expires", "by: [boss], edit: [name], expires")
    with console(tmp_path, policy, {"pay": pay, "draw": draw}) as running:
        make, word = OVER[how]
        status, text, found = batch(running, make(running), then=then)
        assert (status, found) == (409, [then, word, then])
        assert "counts; it is" in text
        assert [one.votes for one in running.guard.approvals._plain.list()] == [()] * (how == "superseded")


def test_a_batch_whose_time_is_over(running: Console) -> None:
    """None counts, and each says why."""

    def later(_: str) -> None:
        running.clock.now += 21 * MINUTE

    status, text, found = batch(running, later)
    assert (status, found, text.count("It expired before you decided")) == (409, ["expired"] * 3, 3)


def test_what_is_not_on_the_page_is_not_decided_by_it(running: Console) -> None:
    """An item that came later, one that this person may not know of, one that is none, and one that is marked twice."""
    first, theirs = running.ask("draw", name="a"), running.ask("pay", payee="Ann", amount=1)
    browser = running.browser("b1", "boss")
    form = browser.open("/approvals/batch").form("/approvals/batch")
    later = running.ask("draw", name="z")
    forged = {
        **form,
        f"seen:{theirs}": form[f"seen:{first}"],
        "item": [first, first, later, theirs, "ap_none", ""],
        "decision": "approved",
    }
    assert browser.send("/approvals/batch", forged).status == 409
    assert [state(running, name) for name in (first, later, theirs)] == [("approved", 1), ("pending", 0), ("pending", 0)]


EDITS: dict[str, tuple[dict[str, str], int]] = {
    "more than the policy permits": ({"/amount": "1000.01"}, 422),
    "below nothing": ({"/amount": "-1"}, 422),
    "no number": ({"/amount": "NaN"}, 422),
    "endless": ({"/amount": "1e999999999"}, 422),
    "a text": ({"/amount": '"5"'}, 422),
    "nothing": ({"/amount": "null"}, 422),
    "two values": ({"/amount": "5 6"}, 422),
    "the same in another form": ({"/amount": "100.0"}, 422),
    "the same in powers of ten": ({"/amount": "1e2"}, 422),
    "a wrong type inside": ({"/lines": '[{"n": "1"}]'}, 422),
    "a key twice inside": ({"/lines": '[{"n": 1, "n": 2}]'}, 422),
    "one that fits and one that does not": ({"/amount": "5", "/lines": "[1]"}, 422),
    "what may not be changed": ({"/payee": "Eve"}, 422),
    "a new argument": ({"/sudo": "true"}, 422),
    "all of it": ({"": "{}"}, 422),
    "less": ({"/amount": "99.99"}, 303),
    "inside a list": ({"/lines": '[{"a/b": "x~y", "n": 7}]'}, 303),
}


@pytest.mark.parametrize(("values", "status"), EDITS.values(), ids=list(EDITS))
def test_an_edit_on_the_page(running: Console, values: dict[str, str], status: int) -> None:
    """What the policy refuses, what is no value and what is no change leaves the question as it was, for whoever reads it now."""
    running.guard.session(lambda principal, _: PEOPLE[principal])
    approval = running.ask("pay", payee="Ann", amount=100)
    browser, other = running.browser("b1", "treasury"), running.browser("b2", "audit")
    before = other.open(f"/approvals/{approval}")
    form = browser.open(f"/approvals/{approval}").form(f"/approvals/{approval}/edit")
    typed = {f"value:{place}": value for place, value in values.items()}
    answer = browser.send(f"/approvals/{approval}/edit", {**form, **typed, "reason": "r"})
    assert answer.status == status, answer.text
    late = other.vote(approval, "approved", before)
    if status == 422:
        assert (late.status, state(running, approval), len(running.guard.approvals._plain.list())) == (303, ("pending", 1), 1)
        return
    assert (late.status, running.show(approval).status) == (409, "superseded")
    [now] = running.guard.approvals._plain.list()
    assert (now.revision, now.votes, now.arguments["payee"]) == (2, (), "Ann")
