"""`approval.viewed`: that somebody who may decide was shown an approval in full is on record, once for each person and revision, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from console_kit import Browser, Console, console
from record_kit import fitting

from guard import Session
from guard.core.actors import address_tag
from guard.core.searching import Sought
from guard.core.tags import tenant_key
from guard.runner import looks
from guard.web import viewing

PAID = {"payee": "Ann", "amount": 10}
BOSS = Session(principal="b1", roles=("treasury",))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path) as found:
        yield found


def views(running: Console, approval: str | None = None) -> list[dict[str, Any]]:
    found = running.guard.store.search(Sought(kinds=(viewing.KIND,), approval=approval, newest=False))
    return [fitting(one.body) for one in found]


def api(running: Console, name: str, path: str, scope: str = "vote", method: str = "GET", **headers: str) -> int:
    secret = running.tokens.add(f"{name}-{len(running.tokens.all())}", (scope,), person=name, roles=("treasury",))
    return int(running.client.request(method, path, headers={"Authorization": f"Bearer {secret}", **headers}).status_code)


def test_a_look_is_on_record_once_for_each_person_by_whatever_way(running: Console) -> None:
    """With what was shown and how it is known who looked; the page again, and the API after the page, write nothing more."""
    approval = running.ask("pay", **PAID)
    page = running.browser("b1", "treasury")
    for _ in range(3):
        assert page.open(f"/approvals/{approval}").status == 200
    assert api(running, "b1", f"/api/v1/approvals/{approval}") == 200
    assert api(running, "b2", f"/api/v1/approvals/{approval}") == 200
    first, second = views(running, approval)
    tag = address_tag(tenant_key(running.guard.store.secret, "default"), "testclient")
    assert first["actor"] == {"type": "human", "ref": "b1", "assurance": "token", "via": "console", "addr": tag}
    assert first["approval_state"] == {"presented": running.guard.approvals._plain.view(approval, BOSS).presented, "revision": 1}
    assert second["actor"] == {"type": "human", "ref": "b2", "assurance": "token", "via": "api", "addr": tag}
    assert "Ann" not in json.dumps([first, second])


def test_the_page_of_several_shows_each_in_full(running: Console) -> None:
    """One record for each that stands there."""
    approvals = {running.ask("pay", payee=name, amount=1) for name in ("Ann", "Bob", "Cy")}
    page = running.browser("b1", "treasury")
    for _ in range(2):
        page.open("/approvals/batch")
    assert sorted(one["approval"] for one in views(running)) == sorted(approvals)


def test_a_new_revision_is_looked_at_anew(running: Console) -> None:
    """It says something else."""
    approval = running.ask("pay", **PAID)
    page = running.browser("b1", "treasury")
    page.open(f"/approvals/{approval}")
    newer = running.guard.approvals._plain.edit(approval, editor=BOSS, changes={"/amount": 9}, reason="less")
    running.browser("b2", "treasury").open(f"/approvals/{newer.id}")
    assert [(one["approval"], one["actor"]["ref"], one["approval_state"]["revision"]) for one in views(running)] == [
        (approval, "b1", 1),
        (newer.id, "b2", 2),
    ]


QUIET = {
    "the list": lambda page, name: page.open("/approvals").status == 200,
    "the state": lambda page, name: page.open(f"/approvals/state?id={name}").status == 200,
    "the list as JSON": lambda page, name: page.open("/api/v1/approvals").status == 200,
    "another one": lambda page, name: page.open("/approvals/ap_none").status == 404,
    "fetched ahead": lambda page, name: page.open(f"/approvals/{name}", **{"Sec-Purpose": "prefetch;prerender"}).status == 503,
    "several ahead": lambda page, name: page.open("/approvals/batch", Purpose="prefetch").status == 503,
    "a preview": lambda page, name: page.open(f"/api/v1/approvals/{name}", **{"X-Purpose": "preview"}).status == 503,
}


@pytest.mark.parametrize("name", QUIET)
def test_what_shows_nobody_an_approval_in_full_writes_nothing(running: Console, name: str) -> None:
    """Lists, and pages that nobody looks at."""
    approval = running.ask("pay", **PAID)
    assert QUIET[name](running.browser("b1", "treasury"), approval)
    assert views(running) == []


def test_whoever_cannot_decide_writes_nothing(running: Console) -> None:
    """The requester, a stranger, a credential that only reads, a request for the head alone, and a look at what is decided."""
    approval = running.ask("pay", **PAID)
    assert running.browser("c_1", "clerk").open(f"/approvals/{approval}").status == 200
    assert running.browser("x", "clerk").open(f"/approvals/{approval}").status == 404
    path = f"/api/v1/approvals/{approval}"
    assert api(running, "b1", path, scope="read") == 200
    assert api(running, "b1", path, method="HEAD") == 200
    running.guard.approvals._plain.approve(approval, approver=BOSS)
    assert api(running, "b1", path) == 200
    assert views(running) == []


def test_looks_at_the_same_time_are_one(running: Console) -> None:
    """Sixteen of one person at once."""
    approval = running.ask("pay", **PAID)
    secret = running.tokens.add("b1", ("vote",), person="b1", roles=("treasury",))
    with ThreadPoolExecutor(16) as pool:
        asked = [
            pool.submit(running.client.get, f"/api/v1/approvals/{approval}", headers={"Authorization": f"Bearer {secret}"})
            for _ in range(16)
        ]
        assert {one.result().status_code for one in asked} == {200}
    assert len(views(running, approval)) == 1


def test_what_is_remembered_is_bounded_and_found_again(running: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was forgotten is found in the store, as after a restart."""
    monkeypatch.setattr(looks, "_KEPT", 1)
    approvals = [running.ask("pay", payee=name, amount=1) for name in ("Ann", "Bob", "Cy")]
    page: Browser = running.browser("b1", "treasury")
    for approval in (*approvals, *approvals):
        page.open(f"/approvals/{approval}")
    assert [one["approval"] for one in views(running)] == approvals
