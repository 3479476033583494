"""A standing permission that is given with a yes on the page of an approval: what stands there is what is given, or nothing is decided."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from console_kit import CLERK, Console, Page, console

from guard import PolicyWarning, Session, ToolCall
from guard.core.grant_words import words

OFFERS = "[{scope: same_call, uses: 2, until: 1d}, {scope: tool_here, uses: 3}, {amount: amount, at_most: 500, sum: 900, same: [payee], until: 7d}]"
POLICY = f"""
    tools:
      pay: {{kind: action, allow: [clerk], repeat: allow, approve: {{by: [treasury], edit: [memo], grants: {OFFERS}}}}}
"""
TWO = POLICY.replace("edit: [memo],", "need: 2,")
NARROWER = POLICY.replace("sum: 900", "sum: 800")
BOSS = Session(principal="b1", roles=("treasury",))


def pay(payee: str, amount: int, memo: str = "") -> str:
    return f"paid {amount} to {payee}"


def choices(page: Page) -> dict[str, str]:
    """What may be chosen, by scope."""
    found = [given["value"] or "" for tag, given in page.read.tags if tag == "input" and given.get("name") == "grant"]
    assert found[0] == ""
    return {value.partition(":")[0]: value for value in found[1:]}


def again(running: Console, **arguments: Any) -> str:
    """What becomes of one more call of the same person."""
    running.asked += 1
    outcome = running._call(ToolCall(f"y{running.asked}", "pay", arguments), CLERK, f"more-{running.asked}")
    return str(outcome.status)


def test_what_stands_on_the_page_is_what_is_given(tmp_path: Path) -> None:
    """Every offer word for word as the grant has it; with nothing chosen there is none, and choosing one gives exactly that, by this person."""
    with console(tmp_path, POLICY, (pay,)) as running:
        approval = running.ask("pay", payee="Ann\u202e", amount=100)
        browser = running.browser("b1", "treasury")
        page = browser.open(f"/approvals/{approval}")
        assert list(choices(page)) == ["same_call", "tool_here", "amount"]
        running.clock.now += 600
        assert browser.vote(approval, "approved", page, grant=choices(page)["amount"]).status == 303

        [grant] = running.guard.store.grants()
        assert (grant.scope, grant.by, grant.givers[0].assurance, grant.approval) == ("amount", "b1", "token", approval)
        assert grant.until == 1_800_000_000 + 7 * 86_400
        assert [one for one in words(grant) if one.removeprefix("- ") not in page.text] == []
        assert 'payee is exactly "Ann[U+202E]"' in page.text
        assert running.go_on(approval).status == "done"
        assert [again(running, payee="Ann\u202e", amount=500), again(running, payee="Ann", amount=1)] == ["done", "held"]
        assert grant.id in browser.open(f"/approvals/{approval}").text


def test_without_a_choice_nothing_is_given(tmp_path: Path) -> None:
    """The first choice is none, whatever was rejected is not followed by a permission, and a permission needs a yes."""
    with console(tmp_path, POLICY, (pay,)) as running:
        browser = running.browser("b1", "treasury")
        first, second = running.ask("pay", payee="A", amount=1), running.ask("pay", payee="B", amount=2)
        checked = [given for tag, given in browser.open(f"/approvals/{first}").read.tags if tag == "input" and "checked" in given]
        assert [given.get("value") for given in checked] == [""]
        assert browser.vote(first, "approved", grant="").status == 303
        page = browser.open(f"/approvals/{second}")
        refused = browser.vote(second, "rejected", page, grant=choices(page)["amount"], reason="no")
        assert (refused.status, running.show(second).status) == (422, "pending")
        assert "Nothing was decided" in refused.text
        assert browser.vote(second, "rejected", page, reason="no").status == 303
        assert running.guard.store.grants() == ()


def test_another_person_sees_the_same_words_and_gives_the_same(tmp_path: Path) -> None:
    """`need: 2`: what the first proposed stands on the page of the second, who gives that; only then does it cover a call."""
    with console(tmp_path, TWO, (pay,)) as running:
        approval = running.ask("pay", payee="A", amount=100)
        one, two = running.browser("b1", "treasury"), running.browser("b2", "treasury")
        page = one.open(f"/approvals/{approval}")
        assert one.vote(approval, "approved", page, grant=choices(page)["amount"]).status == 303
        running.clock.now += 60
        [proposed] = running.guard.store.grants()
        assert proposed.status(running.clock.now) == "proposed"
        page = two.open(f"/approvals/{approval}")
        assert [line for line in words(proposed) if line.removeprefix("- ") not in page.text] == []
        assert two.vote(approval, "approved", page, grant=choices(page)["amount"]).status == 303
        [grant] = running.guard.store.grants()
        assert ([giver.by for giver in grant.givers], grant.until) == (["b1", "b2"], proposed.until)
        assert again(running, payee="A", amount=5) == "done"


STALE: dict[str, Any] = {
    "a later end": lambda value: re.sub(r":[\d.]+:", ":1900000000.0:", value),
    "an end that is over": lambda value: re.sub(r":[\d.]+:", ":1700000000.0:", value),
    "no end": lambda value: re.sub(r":[\d.]+:", "::", value),
    "another digest": lambda value: value[:-1] + ("0" if value[-1] != "0" else "1"),
    "the digest of another offer": lambda value: "same_call" + value.removeprefix("amount"),
}


@pytest.mark.parametrize("change", STALE)
def test_what_was_not_shown_is_not_given(tmp_path: Path, change: str) -> None:
    """A form whose permission is not what this server would show now: 409 and the page as it is, the vote does not count either."""
    with console(tmp_path, POLICY, (pay,)) as running:
        approval = running.ask("pay", payee="A", amount=100)
        browser = running.browser("b1", "treasury")
        page = browser.open(f"/approvals/{approval}")
        running.clock.now += 5
        lost = browser.vote(approval, "approved", page, grant=STALE[change](choices(page)["amount"]))

        assert (lost.status, running.show(approval).status, running.guard.store.grants()) == (409, "pending", ())
        assert "It changed while you were reading" in lost.text
        assert browser.vote(approval, "approved", lost, grant=choices(lost)["amount"]).status == 303


def test_a_permission_of_another_approval_is_not_given(tmp_path: Path) -> None:
    """The digest is of one approval: its value counts on no other page, nor on the one of a later revision."""
    with console(tmp_path, POLICY, (pay,)) as running:
        browser = running.browser("b1", "treasury")
        first, second = running.ask("pay", payee="A", amount=100), running.ask("pay", payee="B", amount=100)
        carried = choices(browser.open(f"/approvals/{first}"))["amount"]
        assert browser.vote(second, "approved", grant=carried).status == 409
        other = running.browser("b2", "treasury")
        page = other.open(f"/approvals/{first}")
        form = browser.open(f"/approvals/{first}").form(f"/approvals/{first}/edit")
        assert browser.send(f"/approvals/{first}/edit", {**form, "value:/memo": "x", "reason": "clearer"}).status == 303
        assert other.vote(first, "approved", page, grant=carried).status == 409
        assert running.guard.store.grants() == ()


def test_a_policy_that_offers_less_by_now(tmp_path: Path) -> None:
    """What was read under the last version is not given under one that offers less: 409, and the page shows what is offered now."""
    with console(tmp_path, POLICY, (pay,)) as running:
        approval = running.ask("pay", payee="A", amount=100)
        browser = running.browser("b1", "treasury")
        page = browser.open(f"/approvals/{approval}")
        (tmp_path / "policies" / "tools.yaml").write_text(dedent(NARROWER))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PolicyWarning)
            running.client.portal.call(running.guard.reload)  # type: ignore[union-attr]
        lost = browser.vote(approval, "approved", page, grant=choices(page)["amount"])
        assert (lost.status, running.show(approval).status, running.guard.store.grants()) == (409, "pending", ())
        assert ("800 in all" in lost.text, "900 in all" in lost.text) == (True, False)


UNREADABLE = ["amount", "amount::", "everything::x", "amount:soon:x", "amount:nan:x", "amount:1e400:x", "amount:1:x:y"]


@pytest.mark.parametrize("value", UNREADABLE)
def test_what_no_page_wrote_is_no_choice(tmp_path: Path, value: str) -> None:
    """A value that cannot be read is told so, and nothing is decided."""
    with console(tmp_path, POLICY, (pay,)) as running:
        approval = running.ask("pay", payee="A", amount=100)
        page = running.browser("b1", "treasury").vote(approval, "approved", grant=value)
        assert (page.status, running.show(approval).status, running.guard.store.grants()) == (400, "pending", ())


def test_only_who_votes_gives(tmp_path: Path) -> None:
    """Nobody else's page offers anything, no scope but `vote` and no page of somebody else sends it, and the batch page gives none."""
    with console(tmp_path, POLICY, (pay,)) as running:
        approval = running.ask("pay", payee="A", amount=100)
        browser = running.browser("b1", "treasury")
        page = browser.open(f"/approvals/{approval}")
        carried = choices(page)["amount"]
        place = f"/approvals/{approval}/vote"
        form = {**page.form(place), "decision": "approved", "grant": carried}
        for other in (running.browser("c_1", "clerk"), running.browser("b2", "treasury", scope="read")):
            assert 'name="grant"' not in other.open(f"/approvals/{approval}").source
            assert other.send(place, form).status == 403
        assert browser.send(place, form, Origin="http://evil.test", **{"Sec-Fetch-Site": "cross-site"}).status == 403
        assert browser.send(place, {**form, "form_token": "x"}).status == 403
        secret = running.tokens.add("p", ("propose",))
        answer = running.client.post(place, data=form, headers={"Authorization": f"Bearer {secret}"}, follow_redirects=False)
        assert answer.status_code in (303, 401, 403)
        assert (running.show(approval).status, running.guard.store.grants()) == ("pending", ())

        batch = browser.open("/approvals/batch")
        assert 'name="grant"' not in batch.source
        fields = {**batch.form("/approvals/batch"), "item": approval, "decision": "approved", "grant": carried}
        assert browser.send("/approvals/batch", fields).status == 200
        assert (running.show(approval).status, running.guard.store.grants()) == ("approved", ())
