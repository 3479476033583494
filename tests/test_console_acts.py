"""What can be done on the console besides a vote: change, cancel, withdraw, decide about several, settle what is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console_kit import Browser, Console, Page, console

from guard import OutcomeUnknownError


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path) as found:
        yield found


# -- edits ---------------------------------------------------------------------------------------------------------------


def change(browser: Browser, approval: str, page: Page | None = None, **typed: str) -> Page:
    """Fill the form for a change."""
    form = (page or browser.open(f"/approvals/{approval}")).form(f"/approvals/{approval}/edit")
    fields = {"reason": "the invoice says so", **{f"value:/{name}": text for name, text in typed.items()}}
    return browser.send(f"/approvals/{approval}/edit", {**form, **fields})


def test_a_change_is_a_new_revision(running: Console) -> None:
    """It is shown against what stood there; whoever made it reads it and does not decide; another person does, over the new revision."""
    approval = running.ask("pay", payee="Ann", amount=100, memo="a\nb")
    editor, other = running.browser("b1", "treasury"), running.browser("b2", "treasury")
    old = other.open(f"/approvals/{approval}")
    after = editor.follow(change(editor, approval, amount="90"))
    made = running.show(approval).superseded_by

    assert "This is revision 2, changed by b1" in after.text
    assert [tag for tag, _ in after.read.tags if tag in ("ins", "del")] == ["del", "ins"]
    assert ("/vote" in after.source, "You changed this call; another person must decide" in after.text) == (False, True)
    assert "memo" not in "".join(str(one) for one in running.show(made).arguments if one == "changed")
    assert running.show(made).arguments == {"payee": "Ann", "amount": 90, "memo": "a\nb"}

    stale = other.vote(approval, "approved", old)
    assert (stale.status, "This is revision 2: read it again" in stale.text, f"/approvals/{made}/vote" in stale.source) == (
        409,
        True,
        True,
    )
    other.vote(made, "approved", stale)
    assert (running.show(made).status, running.show(approval).status) == ("approved", "superseded")


@pytest.mark.parametrize(
    ("typed", "status", "said"),
    [
        ({}, 422, "Nothing differs"),
        ({"amount": "ninety"}, 422, "amount is no JSON"),
        ({"amount": '"ninety"'}, 422, "The policy refuses this change"),
        ({"amount": "90", "reason": ""}, 422, "Say why"),
    ],
    ids=str,
)
def test_what_is_no_change(running: Console, typed: dict[str, str], status: int, said: str) -> None:
    """It is said why, and the question stays as it is."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser("b1", "treasury")
    reason = {"reason": typed.pop("reason")} if "reason" in typed else {}
    form = browser.open(f"/approvals/{approval}").form(f"/approvals/{approval}/edit")
    fields = {"reason": "x", **reason, **{f"value:/{name}": text for name, text in typed.items()}}
    page = browser.send(f"/approvals/{approval}/edit", {**form, **fields})

    assert (page.status, said in page.text) == (status, True), page.text
    assert (running.show(approval).status, running.show(approval).superseded_by) == ("pending", None)


def test_what_may_not_be_edited_is_not_looked_at(running: Console) -> None:
    """Another argument, put into the form by hand, stays as it was."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser("b1", "treasury")
    form = browser.open(f"/approvals/{approval}").form(f"/approvals/{approval}/edit")
    page = browser.send(f"/approvals/{approval}/edit", {**form, "reason": "x", "value:/payee": "Mallory"})
    assert (page.status, running.show(approval).arguments["payee"]) == (422, "Ann")


# -- ends ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [("c_1", "clerk"), ("b1", "treasury")], ids=str)
def test_cancelling(running: Console, who: tuple[str, str]) -> None:
    """Whoever asked, or may decide, ends a question; it is nobody's rejection."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser(*who)
    form = browser.open(f"/approvals/{approval}").form(f"/approvals/{approval}/cancel")
    after = browser.follow(browser.send(f"/approvals/{approval}/cancel", {**form, "reason": "not needed any more"}))
    assert running.show(approval).status == "cancelled"
    assert f"Cancelled, does not run (by {who[0]}, 2027-01-15 08:00:00 UTC)." in after.text


def test_withdrawing_a_yes(running: Console) -> None:
    """Before it ran; whoever asked cannot, and is offered nothing of the kind."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser("b1", "treasury")
    after = browser.follow(browser.vote(approval, "approved"))
    assert f"/approvals/{approval}/revoke" not in running.browser("c_1", "clerk").open(f"/approvals/{approval}").source
    form = after.form(f"/approvals/{approval}/revoke")
    browser.send(f"/approvals/{approval}/revoke", {**form, "reason": "the supplier is blocked"})
    assert running.show(approval).status == "revoked"


# -- several -------------------------------------------------------------------------------------------------------------


def marked(page: Page, *approvals: str, **fields: str) -> dict[str, Any]:
    return {**page.form("/approvals/batch"), "item": list(approvals), **fields}


def test_only_marked_ones_are_decided(running: Console) -> None:
    """Each item stands there in full with its own box and its own binding; one that was lost is told, the others count."""
    asked = [running.ask("pay", payee=f"P{number}", amount=number + 1) for number in range(4)]
    browser, other = running.browser("b1", "treasury"), running.browser("b2", "treasury")
    page = browser.open("/approvals/batch")
    boxes = [given for tag, given in page.read.tags if tag == "input" and given.get("name") == "item"]
    assert (sorted(str(box["value"]) for box in boxes), any("checked" in box for box in boxes)) == (sorted(asked), False)
    assert all(f"P{number}" in page.text for number in range(4))

    other.vote(asked[1], "rejected", reason="no")
    done = browser.send("/approvals/batch", marked(page, asked[0], asked[1], decision="approved"))
    assert (done.status, "1 of 2 approvals counted" in done.text, "rejected by b2" in done.text) == (409, True, True)
    assert [running.show(one).status for one in asked] == ["approved", "rejected", "pending", "pending"]
    done = browser.send("/approvals/batch", marked(page, asked[2], decision="rejected", reason="twice"))
    assert (done.status, running.show(asked[2]).reason, running.show(asked[3]).status) == (200, "twice", "pending")


@pytest.mark.parametrize("swap", ["other", "none", "forged"])
def test_each_vote_is_bound_to_its_own_item(running: Console, swap: str) -> None:
    """What was shown of one item is worth nothing for another."""
    first, second = (running.ask("pay", payee=name, amount=5) for name in ("Ann", "Bob"))
    browser = running.browser("b1", "treasury")
    fields = marked(browser.open("/approvals/batch"), first, decision="approved")
    fields[f"seen:{first}"] = {"other": fields[f"seen:{second}"], "none": "", "forged": "1 x y"}[swap]
    done = browser.send("/approvals/batch", fields)
    assert (done.status, "0 of 1" in done.text) == (409, True)
    assert [running.show(one).status for one in (first, second)] == ["pending", "pending"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"item": [], "decision": "approved"}, "Nothing is marked"),
        ({"decision": "rejected"}, "Say why"),
        ({"decision": "approved", "note": "psst"}, "goes with a rejection"),
    ],
    ids=str,
)
def test_a_batch_that_lacks_something_decides_nothing(running: Console, fields: dict[str, Any], said: str) -> None:
    """And what was marked stays marked."""
    approval = running.ask("pay", payee="Ann", amount=5)
    browser = running.browser("b1", "treasury")
    page = browser.send("/approvals/batch", {**marked(browser.open("/approvals/batch"), approval), **fields})
    boxes = [given for tag, given in page.read.tags if tag == "input" and given.get("name") == "item"]

    assert (page.status, said in page.text, running.show(approval).status) == (422, True, "pending")
    assert [("checked" in box) for box in boxes] == [bool(fields.get("item", True))]


def test_others_are_not_on_the_page(running: Console) -> None:
    """Nor are those that this person has voted about; an id that is put into the form by hand counts for nothing."""
    mine, other = running.ask("pay", payee="Ann", amount=5), running.ask("draw", name="secret plan")
    browser = running.browser("b1", "treasury")
    page = browser.open("/approvals/batch")
    assert "secret plan" not in page.source
    fields = {**marked(page, other, decision="approved"), f"seen:{other}": page.form("/approvals/batch")[f"seen:{mine}"]}
    done = browser.send("/approvals/batch", fields)
    assert (done.status, "secret plan" in done.source, running.show(other).status) == (409, False, "pending")


# -- unknown calls -------------------------------------------------------------------------------------------------------


def lost(payee: str) -> str:
    raise OutcomeUnknownError("the bank did not answer")


UNKNOWN = "tools: {lost: {kind: action, allow: [clerk], approve: {by: [treasury]}}}"


@pytest.mark.parametrize("happened", ["yes", "no"])
def test_settling_an_unknown_call(tmp_path: Path, happened: str) -> None:
    """It is shown with what to look for; a word without a reason, or of somebody else, settles nothing."""
    with console(tmp_path, UNKNOWN, (lost,)) as running:
        approval = running.ask("lost", payee="Ann\u202e")
        browser = running.browser("b1", "treasury")
        browser.vote(approval, "approved")

        assert running.go_on(approval).status == "unknown"
        page = browser.open("/unknown")
        assert "U+202E" in page.text
        [action] = [name for name in page.read.forms if name.startswith("/unknown/")]
        own = running.browser("c_1", "clerk").open("/unknown")
        assert ("Ann" in own.text, action in own.source) == (True, False)
        stranger = running.browser("x", "clerk").open("/unknown").text
        assert "Ann" not in stranger
        assert "Nothing is in doubt that you may settle; 1 more is, for others." in stranger

        form = {**page.form(action), "happened": happened}
        assert browser.send(action, form).status == 422
        assert browser.send(action, {**form, "reason": "booked as 4711"}).status == 303
        assert "No call is in doubt" in browser.open("/unknown").text
        assert browser.send(action, {**form, "reason": "booked as 4711"}).status in (404, 409)
