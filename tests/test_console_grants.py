"""The page of grants: who sees one, that it is spelled out, and that it can be taken back."""

from __future__ import annotations

from pathlib import Path

from console_kit import CLERK, console

from guard import Session
from guard.runner.grants import Grants

POLICY = """
    tools:
      pay: {kind: action, allow: [clerk], approve: {by: [treasury], grants: [{amount: amount, at_most: 500, sum: 2000, same: [payee], until: 7d}]}}
"""
BOSS = Session(principal="b1", roles=("treasury",))


def pay(payee: str, amount: int) -> str:
    return f"paid {amount} to {payee}"


def test_a_grant_is_spelled_out_and_taken_back(tmp_path: Path) -> None:
    """Payee, most, sum and what was drawn stand there for whom it concerns; taken back with a reason it covers nothing any more."""
    with console(tmp_path, POLICY, (pay,)) as running:
        approval = running.ask("pay", payee="Ann\u202e", amount=100)
        running.browser("b1", "treasury").vote(approval, "approved")
        grant = Grants(running.guard).give(approval, by=BOSS, scope="amount")
        assert running.go_on(approval).status == "done"
        browser = running.browser("b1", "treasury")
        page = browser.open("/grants")

        assert all(word in page.text for word in ("in force", "500", "2000", "U+202E", CLERK.principal, "b1", grant.id))
        assert "\u202e" not in page.source
        assert grant.id not in running.browser("x", "clerk").open("/grants").source
        assert f"/grants/{grant.id}/revoke" not in running.browser("b3", "treasury", scope="read").open("/grants").source

        form = page.form(f"/grants/{grant.id}/revoke")
        assert browser.send(f"/grants/{grant.id}/revoke", form).status == 422
        assert browser.send(f"/grants/{grant.id}/revoke", {**form, "reason": "the supplier is blocked"}).status == 303
        assert "None is in force" in browser.open("/grants").text
        assert "the supplier is blocked" in browser.open("/grants?status=all").text
        assert browser.send(f"/grants/{grant.id}/revoke", {**form, "reason": "again"}).status == 409
        assert running.ask("pay", payee="Ann\u202e", amount=50)
