"""Votes that nobody entitled gave: forged, replayed, from elsewhere, signed by a program, over what is not shown any more."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from web_kit import Web, web

from guard import Session
from guard.web import bodies, server
from guard.web.settings import Proxy, Settings


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with web(tmp_path_factory.mktemp("web")) as running:
        yield running


@pytest.fixture(scope="module")
def boss(shared: Web) -> httpx.Client:
    return shared.client(shared.token("boss"))


FORGED: dict[str, dict[str, Any]] = {
    "the name of an approver": {"approver": "boss"},
    "a session": {"session": {"principal": "boss", "roles": ["boss"]}},
    "a role": {"roles": ["boss"]},
    "resolved_by": {"resolved_by": "boss"},
    "a status": {"status": "approved"},
    "whose word it is": {"assurance": "oidc", "via": "console"},
    "other arguments": {"arguments": {"payee": "eve", "amount": 1}},
}


@pytest.mark.parametrize("name", FORGED)
def test_a_body_says_nothing_about_who_votes(name: str, shared: Web, boss: httpx.Client) -> None:
    """A field that would is refused, from whoever it comes."""
    approval = shared.hold()
    body = {**shared.ballot(boss, approval), **FORGED[name]}
    for client in (boss, shared.client(shared.token(f"eve {name}".replace(" ", "-"), roles=()))):
        assert client.post(f"/api/v1/approvals/{approval}/votes", json=body).status_code == 400
    assert shared.status(approval) == "pending"


OTHER: dict[str, Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]] = {
    "another call's form": lambda _, other: other,
    "another call's fingerprint": lambda mine, other: {**mine, "fingerprint": other["fingerprint"]},
    "another view": lambda mine, other: {**mine, "presented": other["presented"]},
    "a later revision": lambda mine, _: {**mine, "revision": 2},
    "nothing seen": lambda mine, _: {**mine, "presented": "0" * 64},
}


@pytest.mark.parametrize("name", OTHER)
def test_a_vote_is_about_what_was_shown(name: str, shared: Web, boss: httpx.Client) -> None:
    """Of another call, conversation, revision or view it does not count: 409, and how it stands now."""
    mine, other = shared.hold(1), shared.hold(2)
    body = OTHER[name](shared.ballot(boss, mine), shared.ballot(boss, other))
    answer = boss.post(f"/api/v1/approvals/{mine}/votes", json=body)

    assert (answer.status_code, answer.json()["code"], answer.json()["now"]["status"]) == (409, "stale", "pending")
    assert [shared.status(one) for one in (mine, other)] == ["pending", "pending"]


def test_a_vote_of_another_tenant_does_not_count(shared: Web, boss: httpx.Client) -> None:
    """Not even of somebody of the same name and role, who knows everything that the form carries."""
    approval = shared.hold()
    body = shared.ballot(boss, approval)
    same = shared.client(shared.token("boss-of-acme", tenant="acme", person="boss"))

    assert same.post(f"/api/v1/approvals/{approval}/votes", json=body).status_code == 404
    assert shared.status(approval) == "pending"


def test_a_replayed_vote_counts_once(shared: Web, boss: httpx.Client) -> None:
    """The same bytes again, with or without the key of the first, change nothing; nor for the same call asked about anew."""
    session = Session(principal="replay", roles=("staff",))
    approval = shared.hold(77, session=session, conversation="replay")
    body = shared.ballot(boss, approval)
    place = f"/api/v1/approvals/{approval}/votes"
    codes = [boss.post(place, json=body).status_code for _ in range(3)]
    assert codes == [200, 409, 409]

    shared.guard.approvals.revoke(approval, by=Session(principal="boss", roles=("boss",)), reason="no")
    again = shared.hold(77, session=session, conversation="replay-2")
    assert boss.post(f"/api/v1/approvals/{again}/votes", json=body).status_code == 409
    assert shared.status(again) == "pending"


def test_a_programs_token_decides_nothing_by_any_way(shared: Web, boss: httpx.Client) -> None:
    """As a bearer, in a form, as a cookie, under another scheme, or beside a person's cookie."""
    approval = shared.hold()
    body, secret = shared.ballot(boss, approval), shared.token("agent", "propose")
    place = f"/api/v1/approvals/{approval}/votes"
    signed_in = shared.browser(shared.token("victim"))
    ways = [
        shared.client(secret).post(place, json=body),
        shared.client(Cookie=f"guard-login={secret}").post(place, json=body),
        shared.client(Authorization=f"Basic {secret}").post(place, json=body),
        shared.client(**{"X-Forwarded-User": "boss", "X-Forwarded-Groups": "boss"}).post(place, json=body),
        signed_in.post(place, json=body, headers={"Authorization": f"Bearer {secret}"}),
        shared.client(secret).post("/api/v1/approvals/votes", json={"votes": [{"approval": approval, **body}]}),
    ]
    assert [one.status_code for one in ways] == [403, 401, 401, 401, 403, 403]
    assert shared.browser().post("/sign-in", data={"token": secret}).headers["location"].startswith("/sign-in?failed")
    assert shared.status(approval) == "pending"


def test_a_file_in_which_a_program_votes_lets_nobody_in(tmp_path: Path) -> None:
    """Somebody who wrote `vote` beside `propose` gets an error and no voter."""
    with web(tmp_path) as running:
        secret = running.token("loop", "propose")
        path = tmp_path / "guard-tokens.json"
        path.write_text(path.read_text().replace('"propose"', '"propose", "vote"'))
        assert running.client(secret).get("/api/v1/approvals").status_code == 503


PROXY = Proxy(
    principal="X-Forwarded-User",
    groups="X-Forwarded-Groups",
    tenant_header="X-Forwarded-Tenant",
    secret_header="X-Guard-Proxy",
    secret="shhh",
    roles={"bosses": ("boss",)},
)
NAMED = {"X-Forwarded-User": "p_1", "X-Forwarded-Groups": "bosses, others", "X-Forwarded-Tenant": "default"}
PUBLIC = "https://guard.example.com"


def test_a_proxy_names_people_and_its_secret_proves_it(tmp_path: Path) -> None:
    """Only with the secret, each header once, and only groups of the table become roles; its people's votes need the page's token, too."""
    settings = Settings(public_url=PUBLIC, proxy=PROXY)
    with web(tmp_path, settings=settings) as running:
        approval, known = running.hold(), {**NAMED, "X-Guard-Proxy": "shhh"}
        asked = [
            (NAMED, 401),
            ({**NAMED, "X-Guard-Proxy": "shh"}, 401),
            ({**known, "X-Forwarded-User": ""}, 401),
            ({name: value for name, value in known.items() if name != "X-Forwarded-Tenant"}, 403),
            (known, 200),
        ]
        assert [running.client(**headers).get("/api/v1/me").status_code for headers, _ in asked] == [code for _, code in asked]
        twice = [*known.items(), ("x-forwarded-user", "root")]
        assert running.client().get("/api/v1/me", headers=twice).status_code == 400
        underscored = [(name.replace("-", "_"), value) for name, value in known.items()]
        assert running.client().get("/api/v1/me", headers=underscored).status_code == 401

        person = running.client(**known)
        told = person.get("/api/v1/me").json()
        assert (told["principal"], told["roles"], told["assurance"]) == ("p_1", ["boss"], "proxy")
        assert running.vote(person, approval).status_code == 403
        page = running.client(**known, Origin=PUBLIC, **{"X-Form-Token": told["form_token"]})
        assert running.vote(page, approval).status_code == 200
        [vote] = running.guard.approvals.show(approval).votes
        assert (vote.by, vote.assurance, vote.via) == ("p_1", "proxy", "console")


@pytest.mark.parametrize(("listed", "status"), [("127.0.0.0/8", 200), ("10.0.0.7/32", 401)])
def test_a_proxy_is_known_by_its_address(listed: str, status: int, tmp_path: Path) -> None:
    """That of the connection: what a header says about where a request came from makes nobody the proxy."""
    from ipaddress import ip_network

    proxy = Proxy(principal="X-Forwarded-User", addresses=(ip_network(listed),))
    with web(tmp_path, settings=Settings(public_url=PUBLIC, proxy=proxy)) as running:
        claims = {"X-Forwarded-User": "p_1", "X-Forwarded-For": "10.0.0.7", "Forwarded": "for=10.0.0.7", "X-Real-IP": "10.0.0.7"}
        assert running.client(**claims).get("/api/v1/me").status_code == status


def test_a_body_is_bounded_in_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For whoever is somebody and for whoever is not; nobody holds a request open for ever."""
    with web(tmp_path) as running:
        client, place = running.client(running.token("a")), "/api/v1/approvals/votes"
        assert client.post(place, content=b"x" * 17_000_000, headers={"Content-Type": "application/json"}).status_code == 413
        assert running.browser().post("/sign-in", data={"token": "x" * 70_000}).status_code == 413
        monkeypatch.setattr(bodies, "READ_SECONDS", 0.3)
        monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)

        def slow(sent: bytes) -> bytes:
            host, port = running.url.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port)), timeout=20) as wire:
                wire.sendall(sent)
                return wire.recv(4_000)

        head = f"POST {place} HTTP/1.1\r\nHost: x\r\nAuthorization: {client.headers['authorization']}\r\n".encode()
        assert slow(head) == b""  # the connection is closed
        body = head + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        assert slow(body).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"revision": 1, "revision": 2}', b'{"revision": 1e999}', b"\xff", b"[" * 100_000]
)
def test_a_body_that_is_none_changes_nothing(raw: bytes, shared: Web, boss: httpx.Client) -> None:
    """It is refused, not guessed at."""
    approval = shared.hold()
    headers = {"Content-Type": "application/json"}
    assert boss.post(f"/api/v1/approvals/{approval}/votes", content=raw, headers=headers).status_code == 400
    assert shared.status(approval) == "pending"
