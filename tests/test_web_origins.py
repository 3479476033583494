"""Requests that a browser was made to send: who may cause a change, by which headers it is told, and that reading changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from web_kit import Web, web

from guard.web.settings import Settings


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with web(tmp_path_factory.mktemp("web")) as running:
        running.secret = running.token("boss")  # type: ignore[attr-defined]
        yield running


def sent(client: httpx.Client, place: str, body: Any, **headers: str | None) -> int:
    """The status of a vote with these headers in the place of the browser's own; None: without."""
    request = client.build_request("POST", place, json=body)
    for name, value in headers.items():
        key = name.replace("_", "-")
        request.headers.pop(key, None)
        if value is not None:
            request.headers[key] = value
    return client.send(request).status_code


OWN = "own"
CASES: dict[str, tuple[dict[str, str | None], int]] = {
    "a form of another site": ({"Sec_Fetch_Site": "cross-site", "Origin": "https://evil.example"}, 403),
    "a sister domain": ({"Sec_Fetch_Site": "same-site", "Origin": OWN}, 403),
    "typed into the address bar": ({"Sec_Fetch_Site": "none", "Origin": None}, 403),
    "another host over plain http": ({"Sec_Fetch_Site": None, "Origin": "http://evil.example"}, 403),
    "a page without an origin": ({"Sec_Fetch_Site": None, "Origin": "null"}, 403),
    "the same host on another port": ({"Sec_Fetch_Site": None, "Origin": "http://127.0.0.1:1"}, 403),
    "the same host over https": ({"Sec_Fetch_Site": None, "Origin": "https"}, 403),
    "a host that begins like ours": ({"Sec_Fetch_Site": None, "Origin": "longer"}, 403),
    "no header at all": ({"Sec_Fetch_Site": None, "Origin": None}, 403),
    "no token of a page": ({"X_Form_Token": None}, 403),
    "the token of another login": ({"X_Form_Token": "other"}, 403),
    "an empty token": ({"X_Form_Token": ""}, 403),
    "an older browser": ({"Sec_Fetch_Site": None, "Origin": OWN}, 200),
    "a browser that sends no origin": ({"Sec_Fetch_Site": "same-origin", "Origin": None}, 200),
    "a page of this server": ({}, 200),
}


@pytest.mark.parametrize("name", CASES)
def test_who_may_cause_a_vote(name: str, shared: Web) -> None:
    """A cookie counts only from a page of this server with the token of this login; else 403, and nothing changes."""
    headers, status = dict(CASES[name][0]), CASES[name][1]
    browser, other = shared.browser(shared.secret), shared.browser(shared.secret)  # type: ignore[attr-defined]
    spelled = {OWN: shared.url, "https": shared.url.replace("http:", "https:"), "longer": shared.url + ".evil.example"}
    origin = headers.get("Origin")
    headers |= {"Origin": spelled.get(origin, origin)} if origin else {}
    if headers.get("X_Form_Token") == "other":
        headers["X_Form_Token"] = other.headers["X-Form-Token"]
    approval = shared.hold()
    body = shared.ballot(browser, approval)

    assert sent(browser, f"/api/v1/approvals/{approval}/votes", body, **headers) == status
    assert shared.status(approval) == ("approved" if status == 200 else "pending")


def test_a_bearer_token_needs_no_page(shared: Web) -> None:
    """No browser sends it unasked."""
    client = shared.client(shared.secret)  # type: ignore[attr-defined]
    assert shared.vote(client, shared.hold()).status_code == 200


@pytest.mark.parametrize("way", ["/sign-in", "/sign-out"])
def test_nobody_is_signed_in_or_out_by_a_page_elsewhere(way: str, shared: Web) -> None:
    """Not even as somebody whom the attacker chose."""
    browser = shared.browser(shared.secret)  # type: ignore[attr-defined]
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    answer = browser.post(way, data={"token": shared.secret}, headers=foreign)  # type: ignore[attr-defined]

    assert answer.status_code == 403
    assert browser.get("/api/v1/me").status_code == 200


def test_behind_a_proxy_the_public_url_counts(tmp_path: Path) -> None:
    """The proxy rewrites Host; what the browser says is compared with what people type, and not with what the proxy asks."""
    public = "https://guard.example.com"
    with web(tmp_path, settings=Settings(public_url=public)) as running:
        secret = running.token("a")
        approval = running.hold()
        codes = []
        for origin in (running.url, "http://guard.example.com", public):
            answer = running.client(Origin=origin, Host="10.0.0.9:8710").post("/sign-in", data={"token": secret})
            codes.append(answer.status_code)
        assert codes == [403, 403, 303]
        assert running.status(approval) == "pending"


LINKS: dict[str, dict[str, str]] = {
    "a mail scanner": {},
    "prefetched": {"Sec-Purpose": "prefetch;prerender", "Purpose": "prefetch"},
    "an image elsewhere": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"},
}


@pytest.mark.parametrize("who", LINKS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_following_a_link_decides_nothing(method: str, who: str, shared: Web) -> None:
    """Whoever follows one, signed in or not: nothing is decided, and the record has no vote."""
    approval = shared.hold()
    bodies = {"decision": "approved", "revision": "1"}
    for client in (shared.client(), shared.browser(shared.secret)):  # type: ignore[attr-defined]
        client.headers.pop("Sec-Fetch-Site", None)
        for place in (approval, f"{approval}/votes", f"{approval}/cancel", "votes"):
            client.request(method, f"/api/v1/approvals/{place}", params=bodies, headers=LINKS[who])
    client.request(method, "/sign-out", headers=LINKS[who])

    assert shared.status(approval) == "pending"
    assert shared.browser(shared.secret).get("/api/v1/me").status_code == 200  # type: ignore[attr-defined]


def test_a_scanner_that_submits_forms_decides_nothing(shared: Web) -> None:
    """It has no cookie, and a form is no JSON."""
    approval = shared.hold()
    body = shared.ballot(shared.client(shared.secret), approval)  # type: ignore[attr-defined]
    place = f"/api/v1/approvals/{approval}/votes"

    assert shared.client().post(place, json=body).status_code == 401
    assert shared.client().post(place, data=body).status_code == 401
    assert shared.browser(shared.secret).post(place, data=body).status_code == 415  # type: ignore[attr-defined]
    assert shared.status(approval) == "pending"


@pytest.mark.parametrize(
    "place", ["/api/v1/me", "/api/v1/approvals/ap_x", "/api/v1/openapi.json", "/nowhere", "/sign-in?token=x"]
)
def test_every_answer_says_what_a_browser_may_do_with_it(place: str, shared: Web) -> None:
    """Whatever it is and whoever asks: kept by nobody, framed by nobody, guessed at by nobody, and no other site is told of it."""
    headers = shared.client().get(place).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))

    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["referrer-policy"] == "same-origin"
    assert [policy[name] for name in ("default-src", "frame-ancestors", "base-uri")] == ["'none'"] * 3
    assert "unsafe" not in headers["content-security-policy"]
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def test_no_address_is_made_of_what_was_asked_for(shared: Web) -> None:
    """A path with a slash too many is not there; nobody is sent to the host that they named."""
    answer = shared.client(Host="evil.example").get("/api/v1/approvals/")
    assert (answer.status_code, "location" in answer.headers) == (404, False)
