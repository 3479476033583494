"""Digests of a grant tell nothing: nobody can try values of a secret argument with what offers, lists and records show of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from grants_kit import desk, tried
from reports import BOSS, Desk
from web_kit import POLICY as SERVED
from web_kit import web

from guard.core.covering import fits
from guard.core.grant_words import promised, words
from guard.core.grants import Grant, shown
from guard.core.presented import mask
from guard.core.replacing import replace
from guard.core.values import canonical, digest

POLICY = """
    tools:
      pay:
        kind: action
        allow: [staff]
        repeat: allow
        approve:
          by: [boss]
          secret: [pin]
          grants: [{scope: same_call, uses: 3, until: 1d}, {amount: amount, at_most: 500, sum: 900, same: [pin], until: 7d}]
"""
CALL: dict[str, Any] = {"amount": 100, "pin": "4711"}
PLAIN = digest(canonical(CALL))
SCOPES = ("same_call", "amount")


def pay(amount: int, pin: str) -> str:
    return "paid"


def asked(folder: Path) -> tuple[Desk, str]:
    """A desk with a call that was approved and waits to run."""
    here = desk(folder, POLICY, tools={"pay": pay}, store="sqlite")
    turn = here.propose(("first", "pay", CALL))
    here.approve(turn, "first", BOSS)
    return here, here.waiting(turn, "first")


def given(here: Desk, approval: str, scope: Any) -> Grant:
    made: Grant = here.guard.grants.give(approval, by=BOSS, scope=scope)
    here.settle()
    here.say("Go on.")
    return made


def guessed(grant: Grant, constraint: Any) -> str:
    """What stood in the place of `promised`, as anybody could make it who knows or guesses the constraint."""
    bounds = [constraint, grant.uses, None if grant.until is None else repr(grant.until), grant.need]
    parts = (grant.approval, grant.definition, grant.rule, grant.scope, canonical(bounds))
    return digest("guard-grant-words-v1", *parts, *words(grant))


@pytest.mark.parametrize("scope", SCOPES)
def test_what_is_promised_is_keyed_and_the_same_whenever_it_is_read(tmp_path: Path, scope: Any) -> None:
    """Of an offer, of a draft and of what is given then; whoever has the right guess cannot make it without the key."""
    here, approval = asked(tmp_path)
    [offer] = [
        one.grant for one in here.guard.grants.choices(approval, by=BOSS) if one.grant is not None and one.offer.scope == scope
    ]
    again = here.guard.grants.draft(approval, by=BOSS, scope=scope, until=offer.until)
    plain = {"arguments": PLAIN, "fingerprint": offer.constraint.get("fingerprint")}
    assert offer.veil
    assert promised(offer) == promised(again)
    assert promised(offer) not in (guessed(offer, offer.constraint), guessed(offer, plain))
    assert promised(replace(offer, veil="11" * 32)) != promised(offer)


def test_nothing_that_is_shown_of_a_grant_holds_a_digest_of_its_arguments(tmp_path: Path) -> None:
    """Neither the constraint as it is shown nor the log, of a grant as it is made now or was made before."""
    here, approval = asked(tmp_path)
    grant = given(here, approval, "same_call")
    kept = here.guard.grants.show(grant)
    old = replace(kept, constraint={**kept.constraint, "arguments": PLAIN})
    for one in (kept, old):
        assert shown(one, mask) == {"fingerprint": grant.constraint["fingerprint"]}
    log = "".join(record.body for record in here.guard.store.audit())
    assert grant.id in log
    assert PLAIN not in log
    assert kept.constraint["arguments"] not in log


def test_a_grant_covers_the_same_call_by_either_digest(tmp_path: Path) -> None:
    """One that was stored with a plain digest goes on, and neither covers other arguments."""
    here, approval = asked(tmp_path)
    grant = given(here, approval, "same_call")
    fingerprint = grant.constraint["fingerprint"]
    assert grant.constraint["arguments"] != PLAIN
    old = replace(grant, constraint={"arguments": PLAIN, "fingerprint": fingerprint})
    for one in (grant, old, replace(old, veil="")):
        assert fits(one, CALL, fingerprint)
        assert not fits(one, {**CALL, "pin": "4712"}, fingerprint)
        assert not fits(one, CALL, "f")
    assert tried(here, CALL) == ["done"]
    assert tried(here, {**CALL, "pin": "4712"}) == ["held"]


def test_a_grant_without_a_key_is_promised_by_what_is_shown(tmp_path: Path) -> None:
    """From an approval of before there was a key: then the digest is made of nothing that nobody is shown."""
    here, approval = asked(tmp_path)
    for scope in SCOPES:
        draft = replace(here.guard.grants.draft(approval, by=BOSS, scope=scope), veil="")
        assert promised(draft) == guessed(draft, shown(draft, mask))
        assert "4711" not in str(shown(draft, mask))


def test_neither_offers_nor_lists_over_http_hold_such_a_digest(tmp_path: Path) -> None:
    """Of the same call: an offer says its words, a grant its fingerprint."""
    policy = SERVED.replace(
        "approve: {by: [boss], expires: 24h}", "approve: {by: [boss], grants: [{scope: same_call, uses: 2, until: 1d}]}"
    )
    with web(tmp_path, policy=policy) as running:
        boss = running.client(running.token("boss"))
        approval = running.hold(100, conversation="c")
        running.vote(boss, approval)
        offers = boss.get(f"/api/v1/approvals/{approval}/offers").text
        made = boss.post("/api/v1/grants", json={"approval": approval, "scope": "same_call"})
        [listed] = boss.get("/api/v1/grants").json()["grants"]
    assert made.status_code == 200
    assert list(made.json()["constraint"]) == list(listed["constraint"]) == ["fingerprint"]
    assert digest(canonical({"amount": 100, "payee": "bob"})) not in offers
