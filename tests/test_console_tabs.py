"""Tabs that are stale, forms that are sent twice or put together by hand, and clocks that jump: nothing counts but what was shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from console_kit import HOST, Console, console
from stores_kit import STORES, url_of
from tabs_kit import MINUTE, POLICY, draw, pay, state

from guard.core.searching import Sought


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path, POLICY, {"pay": pay, "draw": draw}) as found:
        yield found


def test_nobody_is_named_by_a_form(running: Console) -> None:
    """Who says who they are in a field is whoever signed in, and is on record as that alone."""
    approval = running.ask("draw", name="a")
    browser = running.browser("b1", "boss")
    assert browser.vote(approval, "approved", approver="b2", principal="b2", roles="audit", assurance="mfa").status == 303
    [vote] = running.show(approval).votes
    assert (vote.by, vote.assurance) == ("b1", "token")


# -- one tab -------------------------------------------------------------------------------------------------------------


def changed(**fields: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda form: {**form, **fields}


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda form: {key: value for key, value in form.items() if key != name}


FORMS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "no decision": without("decision"),
    "another word": changed(decision="approve"),
    "in capitals": changed(decision="APPROVED"),
    "a blank behind it": changed(decision="approved "),
    "both": changed(decision=["approved", "rejected"]),
    "a yes twice": changed(decision=["approved", "approved"]),
    "true": changed(decision="true"),
    "no token": without("form_token"),
    "an empty token": changed(form_token=""),
    "two tokens": lambda form: {**form, "form_token": [form["form_token"], "x"]},
    "no digest": without("presented"),
    "another digest": changed(presented="0" * 64),
    "a digest in capitals": lambda form: {**form, "presented": form["presented"].upper()},
    "another fingerprint": changed(fingerprint="0" * 64),
    "a later revision": changed(revision="2"),
    "a revision as a decimal": changed(revision="1.0"),
    "a revision with a sign": changed(revision="+1"),
    "a revision in other digits": changed(revision="\u0661"),
    "a revision beyond all": changed(revision="9" * 400),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_is_not_the_one_that_was_shown_decides_nothing(running: Console, name: str) -> None:
    """It is answered, without a vote, and the page as it stands still takes one."""
    approval = running.ask("draw", name="a")
    browser = running.browser("b1", "boss")
    form = browser.open(f"/approvals/{approval}").form(f"/approvals/{approval}/vote")
    made = FORMS[name]({**form, "decision": "approved"})
    answer = browser.send(f"/approvals/{approval}/vote", made)
    assert 400 <= answer.status < 500, (answer.status, answer.text)
    assert state(running, approval) == ("pending", 0)
    assert browser.send(f"/approvals/{approval}/vote", {**form, "decision": "approved"}).status == 303
    assert state(running, approval) == ("approved", 1)


def test_a_form_that_is_sent_twice_is_one_vote(running: Console) -> None:
    """The second one hears that it was them, already; so does who goes back and says no instead."""
    approval = running.ask("draw", name="a")
    browser = running.browser("b1", "boss")
    form = browser.open(f"/approvals/{approval}").form(f"/approvals/{approval}/vote")
    assert browser.send(f"/approvals/{approval}/vote", {**form, "decision": "approved"}).status == 303
    for again in ("approved", "rejected"):
        answer = browser.send(f"/approvals/{approval}/vote", {**form, "decision": again, "reason": "no"})
        assert (answer.status, "You had decided already" in answer.text) == (409, True)
    assert state(running, approval) == ("approved", 1)
    assert browser.open(f"/approvals/{approval}").answer.headers["cache-control"] == "no-store"


def test_the_form_of_one_approval_is_none_of_another(running: Console) -> None:
    """Equal calls in two conversations, one form: what was shown is bound to its approval."""
    first, second = running.ask("draw", name="a"), running.ask("draw", name="a")
    browser = running.browser("b1", "boss")
    form = browser.open(f"/approvals/{first}").form(f"/approvals/{first}/vote")
    assert browser.send(f"/approvals/{second}/vote", {**form, "decision": "approved"}).status == 409
    assert (state(running, first), state(running, second)) == (("pending", 0), ("pending", 0))


def test_a_form_is_of_the_one_who_signed_in(running: Console) -> None:
    """Another person's token in a form counts nothing, nor does one of a login that has ended."""
    approval = running.ask("draw", name="a")
    one, other = running.browser("b1", "boss"), running.browser("b2", "boss")
    form = one.open(f"/approvals/{approval}").form(f"/approvals/{approval}/vote")
    assert other.send(f"/approvals/{approval}/vote", {**form, "decision": "approved"}).status == 403
    old = dict(one.cookies)
    one.send("/sign-out", one.open("/approvals").form("/sign-out"))
    one.cookies = old
    assert one.send(f"/approvals/{approval}/vote", {**form, "decision": "approved"}).status in (303, 401, 403)
    assert state(running, approval) == ("pending", 0)


METHODS = [
    ("HEAD", "/approvals/{id}"), ("HEAD", "/approvals/{id}/vote"), ("GET", "/approvals/{id}/vote?decision=approved"), ("PUT", "/approvals/{id}/vote"),
    ("HEAD", "/approvals/{id}/edit"), ("GET", "/approvals/{id}/cancel"), ("HEAD", "/approvals/batch"), ("OPTIONS", "/approvals/{id}/vote"),
    ("HEAD", "/api/v1/approvals/{id}"), ("GET", "/api/v1/approvals/{id}/votes"), ("PATCH", "/api/v1/approvals/{id}"), ("DELETE", "/approvals/{id}"),
    ("GET", "/api/v1/approvals/{id}/revoke"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), METHODS, ids=[" ".join(one) for one in METHODS])
def test_no_other_method_changes_anything(running: Console, method: str, path: str) -> None:
    """Not with the cookie of who may decide, not with what makes a POST of it."""
    approval = running.ask("draw", name="a")
    browser = running.browser("b1", "boss")
    form = browser.open(f"/approvals/{approval}").form(f"/approvals/{approval}/vote")
    before = len(running.guard.store.audit())
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    headers = {"Cookie": cookie, "Origin": HOST, "X-HTTP-Method-Override": "POST", "X-Form-Token": form["form_token"]}
    given = {"data": {**form, "decision": "approved", "_method": "POST"}} if method in ("PUT", "PATCH", "OPTIONS") else {}
    answer = running.client.request(method, path.format(id=approval), headers=headers, follow_redirects=False, **given)
    assert answer.status_code < 500
    assert state(running, approval) == ("pending", 0)
    assert len(running.guard.store.audit()) == before


# -- clocks and roles ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_clock_that_jumps_over_the_end_between_page_and_vote(running: Console, when: str) -> None:
    """The vote is told that it expired, and stays so when the clock jumps back after somebody looked."""
    approval = running.ask("draw", name="a")
    browser = running.browser("b1", "boss")
    page = browser.open(f"/approvals/{approval}")
    running.clock.now += 21 * MINUTE
    answer = browser.vote(approval, "approved", page)
    assert (answer.status, "expired" in answer.text) == (409, True)
    running.clock.now -= 21 * MINUTE if when == "after" else 40 * MINUTE
    assert browser.vote(approval, "approved", page).status == 409
    assert running.go_on(approval).status == "refused"
    assert state(running, approval) == ("expired", 0)


@pytest.mark.parametrize("store", STORES)
def test_a_yes_that_is_not_used_in_time_runs_nothing(tmp_path: Path, store: str) -> None:
    """Not a moment after its end, nor when the clock jumps back once the program has been told: whoever looks first writes it down."""
    with url_of(store, tmp_path) as url, console(tmp_path, POLICY, {"pay": pay, "draw": draw}, store=url) as running:
        approval = running.ask("draw", name="a")
        running.browser("b1", "boss").vote(approval, "approved")
        running.clock.now += 15 * MINUTE + 1
        first = running.go_on(approval)
        running.clock.now -= 10 * MINUTE
        second = running.go_on(approval)
        assert [(one.status, one.reason) for one in (first, second)] == [("refused", "approval_expired")] * 2
        assert running.show(approval).status == "expired"
        assert len(running.guard.store.search(Sought(kinds=("approval.expired",)))) == 1


def test_a_run_that_is_slower_than_its_yes_ends_as_it_ends(tmp_path: Path) -> None:
    """The yes was spent when it began."""
    found: list[Console] = []

    def slow(name: str) -> str:
        found[0].clock.now += 60 * MINUTE
        return f"drew {name}"

    with console(tmp_path, POLICY, {"pay": pay, "draw": slow}) as running:
        found.append(running)
        approval = running.ask("draw", name="a")
        running.browser("b1", "boss").vote(approval, "approved")
        assert running.go_on(approval).content == "drew a"
        assert running.show(approval).status == "consumed"


def test_two_roles_of_one_person_are_one_person(running: Console) -> None:
    """By two credentials, in two tabs, with another role each: the second yes counts nothing; another person's does."""
    approval = running.ask("pay", payee="Ann", amount=5)
    first, second = running.browser("b1", "treasury"), running.browser("b1", "audit")
    page = second.open(f"/approvals/{approval}")
    assert first.vote(approval, "approved").status == 303
    answer = second.vote(approval, "approved", page)
    assert (answer.status, state(running, approval)) == (409, ("pending", 1))
    assert running.browser("b2", "audit").vote(approval, "approved").status == 303
    assert state(running, approval) == ("approved", 2)


@pytest.mark.parametrize("role", ["treasury", "audit"])
def test_whoever_asked_never_votes_with_another_role(running: Console, role: str) -> None:
    """The requester signs in as an approver."""
    approval = running.ask("pay", payee="Ann", amount=5)
    page = running.browser("c_1", role).open(f"/approvals/{approval}")
    assert f"/approvals/{approval}/vote" not in page.read.forms
    other = running.browser("b1", "treasury").open(f"/approvals/{approval}").form(f"/approvals/{approval}/vote")
    browser = running.browser("c_1", role)
    mine = browser.open(f"/approvals/{approval}").form("/sign-out")["form_token"]
    answer = browser.send(f"/approvals/{approval}/vote", {**other, "form_token": mine, "decision": "approved"})
    assert (answer.status, state(running, approval)) == (403, ("pending", 0))
