"""The page of the kill switch: who sees it, that it stops and lets go on without scripts, and what it says when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from console_kit import console

from guard.runner.kills import Kills

POLICY = """
    tools:
      pay: {kind: action, allow: [clerk], approve: {by: [treasury]}}
"""


def pay(payee: str, amount: int) -> str:
    return f"paid {amount} to {payee}"


def test_an_admin_stops_and_lets_go_on(tmp_path: Path) -> None:
    """A tool by name; what was stopped, why and by whom is spelled out; what waited has ended; cleared with a reason, it is told below."""
    with console(tmp_path, POLICY, (pay,)) as running:
        approval = running.ask("pay", payee="Ann", amount=100)
        browser = running.browser("b1", "treasury", scope="admin")
        page = browser.open("/kill")
        assert "Nothing is stopped in the tenant" in page.text
        form = page.form("/kill")
        sent = browser.send("/kill", {**form, "tool": "pay", "reason": "wrong\u202eamounts"})
        assert (sent.status, sent.answer.headers["location"]) == (303, "/kill")
        page = browser.open("/kill")
        [kill] = Kills(running.guard).list()
        assert all(
            word in page.text
            for word in ("Stopped: the tool pay in the tenant", kill.id, "b1", "U+202E", "1 question, 0 unused yeses")
        )
        assert "\u202e" not in page.source
        assert "cancelled" in browser.open(f"/approvals/{approval}").text
        clear = f"/kill/{kill.id}/clear"
        assert browser.send(clear, page.form(clear)).status == 422
        assert browser.send(clear, {**page.form(clear), "reason": "mended"}).status == 303
        assert "What was stopped before" in browser.open("/kill").text
        assert browser.send(clear, {**form, "reason": "again"}).status == 409
        assert running.ask("pay", payee="Ann", amount=50)


def test_only_an_admin_finds_it(tmp_path: Path) -> None:
    """For whoever decides or reads there is no link, no page and no form: 403; a form without this login's token stops nothing."""
    with console(tmp_path, POLICY, (pay,)) as running:
        for scope in ("vote", "read"):
            browser = running.browser(f"b-{scope}", "treasury", scope=scope)
            assert 'href="/kill"' not in browser.open("/approvals").source
            assert browser.open("/kill").status == 403
            assert browser.send("/kill", {"tool": "pay", "reason": "r", "form_token": "x"}).status == 403
        admin = running.browser("b1", "treasury", scope="admin")
        assert 'href="/kill"' in admin.open("/approvals").source
        assert admin.send("/kill", {"tool": "pay", "reason": "r", "form_token": "x"}).status == 403
        assert Kills(running.guard).list() == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tool": "pay"}, "Say why."),
        ({"reason": "r"}, "tick that everything in the tenant stops"),
        ({"tool": "pai", "reason": "r"}, "did you mean pay?"),
    ],
    ids=["no-reason", "nothing-named", "unknown-tool"],
)
def test_what_is_missing_is_said_and_nothing_stops(tmp_path: Path, given: dict[str, str], said: str) -> None:
    """422 with what to do; what was typed stands in the form still."""
    with console(tmp_path, POLICY, (pay,)) as running:
        browser = running.browser("b1", "treasury", scope="admin")
        form = browser.open("/kill").form("/kill")
        answer = browser.send("/kill", {**form, **given})
        assert answer.status == 422
        assert said in answer.text
        assert Kills(running.guard).list() == ()
