"""Edits: a changed call is another question, walked whole again; the policy, the tool and the session's fields stay what they are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from votes_kit import ANN, BOSS, BOSSES, LASTING, OTHER, STRANGER, Office, code, known, office, replayed
from wire_helpers import message

from guard import ApprovalError, AsyncGuard, Guard, Session
from guard.wires import WIRES

EDIT = ", edit: [amount, note], effect: 'Pay {amount} to {to}'"


@pytest.fixture(params=LASTING)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    with office(tmp_path, request.param, EDIT) as made:
        yield made


def edit(desk: Office, asked: Any, amount: Any = 40, who: Session = BOSS, **more: Any) -> Any:
    return desk.approvals.edit(asked.id, editor=who, changes={"/amount": amount}, reason="too much", **more)


def test_an_edit_is_another_question(desk: Office) -> None:
    """A new revision waits in place of the old one: final arguments, origins, effect, difference, who edited; nothing runs by it."""
    asked = desk.ask()
    made = edit(desk, asked, seen=desk.seen(asked))
    desk.restart()
    assert desk.approvals.show(made.id) == made
    old = desk.approvals.show(asked.id)
    assert (old.status, old.superseded_by, made.supersedes, made.revision, made.edited_by) == (
        *("superseded", made.id, asked.id),
        *(2, "b0"),
    )
    assert (made.arguments, made.origins["amount"], made.effect) == (
        {**asked.arguments, "amount": 40},
        "edit",
        'Pay 40 to "Bob"',
    )
    assert made.fingerprint != asked.fingerprint
    view = desk.approvals.view(made, OTHER)
    assert view.document["difference"] == [{"path": "/amount", "before": 100, "after": 40}]
    assert view.previous == old
    assert (desk.settle(), desk.ran) == ("[]", [])


def test_the_editor_is_an_author(desk: Office) -> None:
    """Who edited may not decide, in any later revision; a vote over the old revision is stale; another person's yes runs the edited call."""
    asked = desk.ask()
    before = desk.seen(asked, OTHER)
    made = edit(desk, edit(desk, asked), 30, who=OTHER)
    assert made.authors == ("b0", "b1")
    for who in (BOSS, OTHER):
        assert code(desk.approvals.approve, made.id, approver=who) == "own"
    assert code(desk.approvals.approve, asked.id, approver=BOSSES[2], seen=before) == "stale"
    assert code(desk.approvals.approve, asked.id, approver=BOSSES[2]) == "stale"
    desk.restart()
    desk.approvals.approve(made.id, approver=BOSSES[2], seen=desk.seen(made, BOSSES[2]))
    told = desk.settle()
    assert [one["amount"] for one in desk.ran] == [30]
    assert "A reviewer changed the arguments" in told
    assert replayed(desk.events()) == {one.id: one.status for one in desk.approvals.list(status=None)}


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        ("/account", "A-9", "session"),
        ("/to", "Eve", "not-named"),
        ("/amount/x", 1, "no-such-place"),
        ("/tool", "drop", "tool"),
        ("amount", 1, "no-pointer"),
        ("", {}, "everything"),
        ("/amount", float("nan"), "no-json"),
    ],
    ids=lambda one: one if isinstance(one, str) and "/" not in one else None,
)
def test_what_an_edit_can_never_change(desk: Office, place: str, value: Any, why: str) -> None:
    """The tool, what the session owns, what the policy does not name: refused, and the question stays as it is."""
    asked = desk.ask()
    found = code(desk.approvals.edit, asked.id, editor=BOSS, changes={place: value}, reason="r")
    assert found == ("refused" if why == "no-such-place" else "not_editable")
    assert [one.id for one in desk.approvals.list()] == [asked.id]


@pytest.mark.parametrize("loader", [False, True], ids=["session-unknown", "session-known"])
@pytest.mark.parametrize(("amount", "reason"), [("many", "invalid_arguments"), (5000, "rule_refused")], ids=["schema", "rule"])
def test_an_edit_that_the_policy_refuses(desk: Office, loader: bool, amount: Any, reason: str) -> None:
    """With the requester's session every rule judges at once; without it the schema does, and the rules do before anything runs."""
    if loader:
        desk.guard.session(known)
    asked = desk.ask()
    if not loader and reason == "rule_refused":
        made = edit(desk, asked, amount)
        assert "judges it before it runs" in made.why[-1]
        desk.approvals.approve(made.id, approver=OTHER)
        assert "rule_refused" in desk.settle()
        assert not desk.ran
        return
    with pytest.raises(ApprovalError) as caught:
        edit(desk, asked, amount)
    assert (caught.value.code, caught.value.outcome.reason) == ("refused", reason)
    assert (desk.status(asked), desk.approvals.list()[0].id) == ("pending", asked.id)
    assert desk.events("approval.vote")[-1]["approval_state"]["code"] == reason
    desk.guard.sessions = None
    desk.approvals.approve(asked.id, approver=OTHER)
    desk.settle()
    assert [one["amount"] for one in desk.ran] == [100]


def test_an_edit_draws_on_the_budgets_anew(tmp_path: Path) -> None:
    """What the first version reserved is given back, and what the new one needs must be there: no edit gets past a limit, known session or not."""
    for number, loader in enumerate((True, False)):
        (tmp_path / str(number)).mkdir()
        with office(tmp_path / str(number), "sqlite", EDIT) as desk:
            desk.policy(
                (desk.folder / "tools.yaml").read_text().replace("require:", "limits: {sum: amount, at_most: 120}\n    require:")
            )
            desk.restart()
            if loader:
                desk.guard.session(known)
            first, second = desk.ask(50), desk.ask(60, call="c2")
            if loader:
                assert code(edit, desk, second, 90) == "refused"
                made = edit(desk, second, 70)
            else:
                made = edit(desk, second, 90)
            for one, who in ((first, BOSS), (made, OTHER)):
                desk.approvals.approve(one.id, approver=who)
            told = desk.settle()
            assert [one["amount"] for one in desk.ran] == ([50, 70] if loader else [50])
            assert ("limit_reached" in told) == (not loader)


@pytest.mark.parametrize("who", [ANN, STRANGER, replace(BOSS, tenant="other")], ids=["requester", "stranger", "elsewhere"])
def test_only_who_may_decide_may_edit(desk: Office, who: Session) -> None:
    """A stranger learns nothing, the requester that another person must."""
    asked = desk.ask()
    assert code(edit, desk, asked, who=who) == ("own" if who is ANN else "not_found")
    assert [one.id for one in desk.approvals.list()] == [asked.id]


@pytest.mark.parametrize("decided", ["approved", "rejected", "expired"])
def test_nothing_is_edited_behind_a_decision(desk: Office, decided: str) -> None:
    """What was approved may not become something else."""
    asked = desk.ask()
    if decided == "expired":
        desk.clock.now += 1e6
    else:
        getattr(desk.approvals, "approve" if decided == "approved" else "reject")(asked.id, approver=BOSS)
    assert code(edit, desk, asked) == ("expired" if decided == "expired" else "already_decided")
    assert desk.status(asked) == decided


def test_an_edit_of_what_was_edited_meanwhile(desk: Office) -> None:
    """Of two editors the second one is told to look again."""
    asked = desk.ask()
    seen = desk.seen(asked, OTHER)
    edit(desk, asked)
    assert code(edit, desk, asked, 30, who=OTHER, seen=seen) == "stale"
    assert code(edit, desk, asked, 30, who=OTHER) == "stale"
    assert len(desk.approvals.list()) == 1


def test_a_wider_edit_is_judged_in_the_session_that_runs_it(desk: Office) -> None:
    """Another account in the session than when it was edited: the edited yes is for another call, and a person is asked anew."""
    asked = desk.ask()
    made = edit(desk, asked)
    desk.approvals.approve(made.id, approver=OTHER)
    desk.chat = desk.guard.open(replace(ANN, attributes={"account": "A-2"}), wire="openai-chat", conversation="c")
    desk.settle()
    assert not desk.ran
    assert desk.status(made) == "superseded"
    [again] = desk.approvals.list()
    assert again.arguments == {"amount": 40, "to": "Bob", "account": "A-2", "note": ""}


@pytest.mark.parametrize("wire", sorted(WIRES))
@pytest.mark.parametrize("held", ["answer", "suspend"])
def test_the_model_is_told_what_ran_br_071(tmp_path: Path, wire: str, held: str) -> None:
    """On every wire, in both renderings, after a restart: the result says that a person changed it; the first version needs its own approval."""
    with office(tmp_path, "sqlite", EDIT, wire=wire, held=held) as desk:
        turn = desk.propose(100)
        made = edit(desk, desk.approvals.list()[0])
        desk.restart()
        assert desk.settle() == "[]"
        desk.approvals.approve(made.id, approver=OTHER)
        if held == "suspend":
            assert turn.stop == "held"
            turn = desk.propose(100)
            assert turn.outcomes[0].status == "done"
        else:
            desk.settle()
        told = json.dumps(desk.history, default=str)
        assert [one["amount"] for one in desk.ran] == [40]
        assert "A reviewer changed the arguments" in told
        assert "A-1" not in told
        assert desk.settle() == "[]"
        second = desk.propose(100, call="c2").outcomes[0]
        assert (second.status, second.approval == made.id) == ("held", False)
        assert desk.chat.resume(desk.history) is not None
        assert len(desk.ran) == 1


def test_an_async_guard_edits_as_well(tmp_path: Path) -> None:
    """The same walk, awaited."""
    with office(tmp_path, "sqlite", EDIT) as desk:
        asked = desk.ask()
        asyncio.run(edited_async(desk, asked))
        assert desk.ran == [{"amount": 7}]


async def edited_async(desk: Office, asked: Any) -> None:
    async def pay(amount: int, to: str, account: str, note: str = "") -> int:
        """Pay somebody."""
        desk.ran.append({"amount": amount})
        return amount

    guard = AsyncGuard.load(desk.folder, tools=[pay], store=desk.url, clock=desk.clock)
    guard.session(known)
    seen = (await guard.approvals.view(asked, BOSS)).seen
    made = await guard.approvals.edit(asked.id, editor=BOSS, changes={"/amount": 7}, reason="r", seen=seen)
    with pytest.raises(ApprovalError, match="refuses"):
        await guard.approvals.edit(made.id, editor=OTHER, changes={"/amount": 7000}, reason="r")
    await guard.approvals.approve(made, approver=OTHER)
    await guard.open(ANN, wire="openai-chat", conversation="c").settled()
    guard.close()


def test_lines_of_an_order_are_edited_one_by_one(tmp_path: Path) -> None:
    """`[*]` stands for the places that are there: one of them changes, and no other one can be added."""
    policy = "tools: {order: {kind: action, allow: [staff], approve: {by: [boss], edit: ['lines[*].price']}}}\nlimits: {run: {calls: 9}}"
    (tmp_path / "tools.yaml").write_text(policy)
    ran: list[Any] = []

    def order(lines: list[dict[str, int]]) -> None:
        """Order."""
        ran.append(lines)

    with Guard.load(tmp_path, tools=[order], store="memory://") as guard:
        chat = guard.open(ANN, wire="openai-chat", conversation="c")
        chat.handle(message("openai-chat", ("c1", "order", '{"lines": [{"price": 1, "n": 1}, {"price": 2, "n": 1}]}')))
        [asked] = guard.approvals.list()
        assert asked.editable == ("/lines/0/price", "/lines/1/price")
        for place in ("/lines/2/price", "/lines/0/n", "/lines/0", "/lines"):
            assert code(guard.approvals.edit, asked.id, editor=BOSS, changes={place: 1}, reason="r") == "not_editable"
        made = guard.approvals.edit(asked.id, editor=BOSS, changes={"/lines/1/price": 5}, reason="r")
        guard.approvals.approve(made.id, approver=OTHER)
        chat.settled()
    assert ran == [[{"price": 1, "n": 1}, {"price": 5, "n": 1}]]
