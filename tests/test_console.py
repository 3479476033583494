"""The console's pages, without a browser: who sees what, what a form does, what happened meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from console_kit import Console, console

PAGES = ("/approvals", "/approvals/batch", "/unknown")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path) as found:
        yield found


# -- who sees what -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PAGES, "/approvals/ap_00000000000000000000", "/approvals/state"])
def test_nobody_is_led_to_the_sign_in_page(running: Console, path: str) -> None:
    """And back to where they wanted to go."""
    answer = running.browser().open(f"{path}?status=all").answer

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/sign-in?next=%2F")


def test_signing_in_and_out(running: Console) -> None:
    """A person's token opens the console and leads on; a wrong one says so; after signing out the cookie is worth nothing."""
    browser = running.browser()
    wrong = browser.send("/sign-in", {"token": "guard_nothing", "next": "/unknown"})
    assert wrong.answer.headers["location"] == "/sign-in?failed=1&next=%2Funknown"
    page = browser.open("/sign-in?failed=1&next=%2Funknown")
    assert (page.form("/sign-in")["next"], "lets nobody in" in page.text) == ("/unknown", True)

    browser = running.browser("b1", "treasury")
    page = browser.open("/approvals")
    assert (page.status, "Nothing waits for you" in page.text, "b1" in page.text) == (200, True, True)
    browser.send("/sign-out", {"form_token": page.form("/sign-out")["form_token"]})
    assert browser.open("/approvals").status == 303


@pytest.mark.parametrize(
    ("person", "roles", "tenant", "seen"),
    [
        ("b1", ("treasury",), "", "decides"),
        ("b1", ("boss",), "", "nothing"),
        ("b1", ("treasury",), "other", "nothing"),
        ("c_1", ("clerk",), "", "reads"),
        ("c_1", ("treasury",), "", "reads"),
    ],
    ids=str,
)
def test_who_sees_and_decides(running: Console, person: str, roles: tuple[str, ...], tenant: str, seen: str) -> None:
    """Whoever may decide, and whoever asked; a stranger learns nothing, on no page."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser(person, *roles, tenant=tenant)
    page, listed, batch = browser.open(f"/approvals/{approval}"), browser.open("/approvals"), browser.open("/approvals/batch")

    assert page.status == (404 if seen == "nothing" else 200)
    assert (approval in listed.source) == (seen != "nothing")
    assert (approval in batch.source) == (seen == "decides")
    assert ("/vote" in page.source) == (seen == "decides")
    assert ("Ann" in page.source + listed.source + batch.source) == (seen != "nothing")
    assert ("another person must decide" in page.text) == (seen == "reads")


def test_a_reader_gets_no_buttons(running: Console) -> None:
    """A credential for reading shows everything, offers no form, and its forms would not count."""
    approval = running.ask("pay", payee="Ann", amount=100)
    page = (browser := running.browser("b1", "treasury", scope="read")).open(f"/approvals/{approval}")
    assert [action for action in page.read.forms if action.startswith("/approvals")] == []
    assert browser.send(f"/approvals/{approval}/vote", {"decision": "approved", **page.form("/sign-out")}).status == 403


# -- deciding ------------------------------------------------------------------------------------------------------------


def test_a_yes(running: Console) -> None:
    """It counts for exactly what was shown, names who gave it and by which way, and runs nothing."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser("b1", "treasury")
    after = browser.follow(browser.vote(approval, "approved", reason="fits the order"))
    [vote] = running.show(approval).votes

    assert "Approved, has not run yet (by b1" in after.text
    assert (vote.decision, vote.by, vote.via, vote.assurance, vote.reason) == (
        "approved",
        "b1",
        "console",
        "token",
        "fits the order",
    )
    assert (vote.revision, vote.fingerprint) == (1, running.show(approval).fingerprint)
    assert vote.presented


def test_a_no_needs_a_reason(running: Console) -> None:
    """What was typed stays; with a reason it counts, and the private note is not what the model reads."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser("b1", "treasury")
    page = browser.vote(approval, "rejected", note="looks like fraud")
    assert (page.status, running.show(approval).status) == (422, "pending")
    assert page.form(f"/approvals/{approval}/vote")["note"] == "looks like fraud"

    browser.vote(approval, "rejected", page, reason="wrong month")
    found = running.show(approval)
    assert (found.status, found.votes[0].reason, found.votes[0].note) == ("rejected", "wrong month", "looks like fraud")


def test_a_note_goes_with_a_no(running: Console) -> None:
    """A note that would be lost is said to be, before anything is decided."""
    approval = running.ask("pay", payee="Ann", amount=100)
    page = running.browser("b1", "treasury").vote(approval, "approved", note="psst")
    assert (page.status, running.show(approval).status, "Clear it" in page.text) == (422, "pending", True)


def test_losing_a_race_says_who_decided_and_when(running: Console) -> None:
    """Two opened the page; the second one's click changes nothing and shows the truth."""
    approval = running.ask("pay", payee="Ann", amount=100)
    first, second = running.browser("b1", "treasury"), running.browser("b2", "treasury")
    page = second.open(f"/approvals/{approval}")
    first.vote(approval, "rejected", reason="no")
    lost = second.vote(approval, "approved", page)

    assert lost.status == 409
    assert "It was decided before you rejected by b1, 20" in lost.text
    assert running.show(approval).status == "rejected"
    assert "/vote" not in lost.source


def test_the_same_click_twice_counts_once(running: Console) -> None:
    """The second one is told that it was this person who decided."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser("b1", "treasury")
    page = browser.open(f"/approvals/{approval}")
    browser.vote(approval, "approved", page)
    again = browser.vote(approval, "approved", page)
    assert (again.status, "by you" in again.text, len(running.show(approval).votes)) == (409, True, 1)


def test_two_people_must_say_yes(running: Console) -> None:
    """The first yes leaves it open and says so; the same person cannot give both; the second person's yes decides."""
    approval = running.ask("wire", to="Ann", token="FAKE-TOKEN-0001")
    first, second = running.browser("b1", "treasury"), running.browser("b2", "treasury")
    page = first.open(f"/approvals/{approval}")
    after = first.follow(first.vote(approval, "approved", page))
    assert ("1 of 2 approvals" in after.text, "You have voted" in after.text, "/vote" in after.source) == (True, True, False)
    assert first.vote(approval, "approved", page).status == 409
    assert "Approved by b1" in second.open(f"/approvals/{approval}").text
    second.vote(approval, "approved")
    assert running.show(approval).status == "approved"


def test_a_secret_stands_on_no_page(running: Console) -> None:
    """Only its length and digest do."""
    approval = running.ask("wire", to="Ann", token="FAKE-TOKEN-0001")
    browser = running.browser("b1", "treasury")
    pages = [browser.open(path) for path in (f"/approvals/{approval}", "/approvals", "/approvals/batch")]
    assert not any("FAKE-TOKEN" in page.source for page in pages)
    assert "secret: 15 characters, digest" in pages[0].text


@pytest.mark.parametrize("change", [{"revision": "2"}, {"fingerprint": "0" * 64}, {"presented": "0" * 64}], ids=str)
def test_a_form_that_shows_something_else_does_not_count(running: Console, change: dict[str, str]) -> None:
    """Revision, fingerprint and digest are those in force, or the page is shown anew."""
    approval = running.ask("pay", payee="Ann", amount=100)
    lost = running.browser("b1", "treasury").vote(approval, "approved", **change)
    assert (lost.status, running.show(approval).status, "read it again" in lost.text) == (409, "pending", True)


@pytest.mark.parametrize("name", ["revision", "fingerprint", "presented", "form_token", "decision"])
@pytest.mark.parametrize("value", ["", "x"])
def test_a_form_that_was_tampered_with(running: Console, name: str, value: str) -> None:
    """Whatever is missing or nonsense: nothing is decided."""
    approval = running.ask("pay", payee="Ann", amount=100)
    answer = running.browser("b1", "treasury").vote(approval, "approved", **{name: value})
    assert 400 <= answer.status < 500
    assert running.show(approval).status == "pending"


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://other.test"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
    ],
    ids=str,
)
def test_a_page_of_somebody_else_decides_nothing(running: Console, headers: dict[str, str]) -> None:
    """Not even with the right token in its form."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser("b1", "treasury")
    form = browser.open(f"/approvals/{approval}").form(f"/approvals/{approval}/vote")
    assert browser.send(f"/approvals/{approval}/vote", {**form, "decision": "approved"}, **headers).status == 403
    assert running.show(approval).status == "pending"


def test_reading_changes_nothing(running: Console) -> None:
    """No page that is opened decides anything, whatever stands in its address; an act is no page."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser("b1", "treasury")
    for path in (f"/approvals/{approval}?decision=approved", f"/approvals/{approval}/vote?decision=approved", "/approvals/batch"):
        browser.open(path)
    assert running.show(approval).status == "pending"
    assert browser.open(f"/approvals/{approval}/vote").status == 405


def test_too_late(running: Console) -> None:
    """Past its window a question is expired, which is nobody's rejection, and a click that comes then is told so."""
    approval = running.ask("pay", payee="Ann", amount=100)
    browser = running.browser("b1", "treasury")
    page = browser.open(f"/approvals/{approval}")
    running.clock.now += 1201
    late = browser.vote(approval, "approved", page)
    assert (late.status, "It expired before you decided" in late.text) == (409, True)
    assert "Expired without a decision in time" in browser.open(f"/approvals/{approval}").text
