"""The kill switch over HTTP: who may stop what, that programs obey, and that nothing else changes anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from web_kit import Web, web

from guard import Session, ToolCall
from guard.core.reasons import Reason
from guard.web.description import described

PLACE = "/api/v1/kill"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with web(tmp_path_factory.mktemp("web")) as running:
        yield running


@pytest.fixture(scope="module")
def admin(shared: Web) -> httpx.Client:
    return shared.client(shared.token("ops", "admin"))


@pytest.fixture(autouse=True)
def cleared(shared: Web) -> Iterator[None]:
    """Nothing is stopped before and behind a test."""
    yield
    for one in shared.guard.kills.list():
        shared.guard.kills.clear(one, by=Session(principal="test"), reason="the test is over")


def described_as(answer: httpx.Response, name: str) -> None:
    told = described()
    jsonschema.Draft202012Validator(
        {"$ref": f"#/components/schemas/{name}", "components": told["components"]}, format_checker=jsonschema.FormatChecker()
    ).validate(answer.json())


def proposed(shared: Web, amount: int = 1, conversation: str = "stopped") -> Any:
    call = ToolCall("c", "pay", {"payee": "bob", "amount": amount})
    return shared.guard.call(call, Session(principal="U1", roles=("staff",)), conversation=conversation)


def test_an_admin_stops_a_tool_and_lets_it_go_on(shared: Web, admin: httpx.Client) -> None:
    """The program obeys at once, what waited has ended, the list says what is stopped, and clearing lets new calls go on."""
    waiting = shared.hold(71)
    answer = admin.post(PLACE, json={"tool": "pay", "reason": "wrong amounts"})
    described_as(answer, "Kill")
    kill = answer.json()
    assert (answer.status_code, kill["by"], kill["tool"], kill["tenant"], kill["cancelled"]) == (200, "ops", "pay", "default", 1)
    assert shared.guard.approvals.show(waiting).status == "cancelled"
    assert proposed(shared).reason is Reason.KILLED
    listed = admin.get(PLACE)
    described_as(listed, "Kills")
    assert [one["id"] for one in listed.json()["kills"]] == [kill["id"]]
    cleared = admin.post(f"{PLACE}/{kill['id']}/clear", json={"reason": "mended"})
    described_as(cleared, "Kill")
    assert (cleared.json()["status"], cleared.json()["cleared_by"]) == ("cleared", "ops")
    assert proposed(shared, 2).status == "held"
    assert admin.get(PLACE).json() == {"kills": []}
    assert kill["id"] in {one["id"] for one in admin.get(f"{PLACE}?status=all").json()["kills"]}


def test_who_was_faster_is_told(shared: Web, admin: httpx.Client) -> None:
    """The second one to clear hears who did, and how it stands: 409."""
    kill = admin.post(PLACE, json={"conversation": "c", "reason": "r"}).json()["id"]
    admin.post(f"{PLACE}/{kill}/clear", json={"reason": "mended"})
    again = admin.post(f"{PLACE}/{kill}/clear", json={"reason": "mended"})
    assert again.status_code == 409
    assert "already cleared by ops" in again.json()["error"]
    assert again.json()["now"]["status"] == "cleared"


def test_the_same_key_stops_once(admin: httpx.Client) -> None:
    """An Idempotency-Key repeats the answer, and another body under it is refused."""
    ask = {"headers": {"Idempotency-Key": "k-1"}, "json": {"tool": "pay", "reason": "r"}}
    first, second = admin.post(PLACE, **ask), admin.post(PLACE, **ask)
    assert first.json() == second.json()
    assert len(admin.get(PLACE).json()["kills"]) == 1
    assert admin.post(PLACE, headers={"Idempotency-Key": "k-1"}, json={"reason": "r"}).status_code == 422


def test_only_an_admin_may(shared: Web) -> None:
    """Neither who votes nor who reads, no program's token and nobody: 403 and 401, and nothing is stopped, listed or cleared."""
    kill = shared.guard.kills.set(by=Session(principal="test"), reason="r", tool="pay").id
    people = [shared.client(shared.token(f"who-{scope}", scope)) for scope in ("read", "vote", "propose")]
    for who, status in [*((one, 403) for one in people), (shared.client(), 401)]:
        found = [who.get(PLACE), who.post(PLACE, json={"reason": "r"}), who.post(f"{PLACE}/{kill}/clear", json={"reason": "r"})]
        assert [one.status_code for one in found] == [status] * 3
    assert [one.id for one in shared.guard.kills.list()] == [kill]


def test_a_page_of_somebody_else_stops_nothing(shared: Web) -> None:
    """A browser's login needs its form token and an origin of this server: 403 else."""
    browser = shared.browser(shared.token("root", "admin"))
    good = browser.post(PLACE, json={"tool": "pay", "reason": "r"})
    assert good.status_code == 200
    token = browser.headers.pop("X-Form-Token")
    assert browser.post(PLACE, json={"reason": "r"}).status_code == 403
    browser.headers.update({"X-Form-Token": token, "Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"})
    assert browser.post(PLACE, json={"reason": "r"}).status_code == 403
    assert len(shared.guard.kills.list()) == 1


def test_getting_changes_nothing(shared: Web, admin: httpx.Client) -> None:
    """No GET or HEAD stops or clears anything, whatever it carries."""
    kill = admin.post(PLACE, json={"tool": "pay", "reason": "r"}).json()["id"]
    for path in (PLACE, f"{PLACE}?status=all", f"{PLACE}?reason=r", f"{PLACE}/{kill}/clear"):
        admin.get(path), admin.head(path)
    assert [one.id for one in shared.guard.kills.list()] == [kill]


def test_nobody_reaches_beyond_their_tenant(shared: Web, admin: httpx.Client) -> None:
    """A kill over HTTP is one of the tenant of whoever set it; others neither see nor clear it; one for every tenant is seen, and cleared elsewhere."""
    away = shared.client(shared.token("far", "admin", tenant="away"))
    mine = admin.post(PLACE, json={"reason": "all of it"}).json()
    assert (mine["tenant"], mine["tool"], mine["conversation"]) == ("default", None, None)
    assert away.get(PLACE).json() == {"kills": []}
    assert away.post(f"{PLACE}/{mine['id']}/clear", json={"reason": "r"}).status_code == 404
    every = shared.guard.kills.set(by=Session(principal="test"), reason="r", tool="pay").id
    assert [one["id"] for one in away.get(PLACE).json()["kills"]] == [every]
    refused = away.post(f"{PLACE}/{every}/clear", json={"reason": "r"})
    assert (refused.status_code, "guard kill clear" in refused.json()["error"]) == (403, True)


WRONG: dict[str, tuple[Any, int]] = {
    "no-reason": ({"tool": "pay"}, 400),
    "empty-reason": ({"tool": "pay", "reason": " "}, 400),
    "tenant": ({"tenant": "away", "reason": "r"}, 400),
    "unknown-tool": ({"tool": "pai", "reason": "r"}, 422),
    "no-text": ({"tool": 1, "reason": "r"}, 400),
    "empty": ({"conversation": "", "reason": "r"}, 400),
    "no-object": ([], 400),
}


@pytest.mark.parametrize(("body", "status"), WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_stops_nothing(shared: Web, admin: httpx.Client, body: Any, status: int) -> None:
    """It says which field, and nothing is stopped."""
    answer = admin.post(PLACE, json=body)
    assert answer.status_code == status
    assert answer.json()["error"]
    assert shared.guard.kills.list() == ()
    assert admin.get(f"{PLACE}?status=none").status_code == 400


def test_by_which_way_stands_on_record(shared: Web, admin: httpx.Client, tmp_path: Path) -> None:
    """The kill and its records name the person, the credential's assurance, the API, and a tag of the address that they came from; clearing as well."""
    kill = admin.post(PLACE, json={"tool": "pay", "reason": "r"}).json()["id"]
    found = shared.guard.kills.show(kill)
    assert (found.by, found.assurance, found.via) == ("ops", "token", "api")
    admin.post(f"{PLACE}/{kill}/clear", json={"reason": "mended"})
    told = [one for record in shared.guard.store.audit() if (one := json.loads(record.body)).get("kill", {}).get("id") == kill]
    assert {"kill.set", "kill.cleared"} <= {one["kind"] for one in told}
    for one in told:
        if one["actor"]["type"] == "human":
            addr = one["actor"].pop("addr")
            assert re.fullmatch("[0-9a-f]{32}", addr)
            assert one["actor"] == {"type": "human", "ref": "ops", "assurance": "token", "via": "api"}
