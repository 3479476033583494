"""Signing in at the console: tokens, the cookies made from them, and how long each is good for. Real requests to a running server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from web_kit import Web, web

from guard import Session
from guard.web.guarding import local_path
from guard.web.settings import Settings
from guard.web.slowing import FREE


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with web(tmp_path_factory.mktemp("web")) as running:
        yield running


def cookie(browser: httpx.Client) -> str:
    return str(browser.cookies.get("guard-login"))


def me(client: httpx.Client) -> int:
    return client.get("/api/v1/me").status_code


def test_a_person_signs_in_with_a_token(shared: Web) -> None:
    """The cookie names the same person as the token, and holds neither the token nor anything of it."""
    secret = shared.token("in", "vote", roles=("boss",), tenant="acme", person="p_1")
    browser = shared.browser(secret)
    told = browser.get("/api/v1/me").json()

    assert [told[name] for name in ("principal", "tenant", "roles", "scopes")] == ["p_1", "acme", ["boss"], ["read", "vote"]]
    assert shared.client(secret).get("/api/v1/me").json()["principal"] == "p_1"
    assert secret not in cookie(browser)
    assert cookie(browser) not in secret


def test_the_cookie_is_for_this_server_alone(shared: Web) -> None:
    """No script reads it and no other site's form brings it along; over https no other host can write it either."""
    answer = shared.browser().post("/sign-in", data={"token": shared.token("flags")})
    flags = answer.headers["set-cookie"].lower()
    public = Settings(public_url="https://guard.example.com")

    assert ["httponly" in flags, "samesite=lax" in flags, "path=/" in flags, "domain" in flags] == [True, True, True, False]
    assert (public.cookie, public.https) == ("__Host-guard", True)


def test_over_https_the_cookie_is_secure(tmp_path: Path) -> None:
    """What a browser got over https is never sent in the clear."""
    with web(tmp_path, settings=Settings(public_url="https://guard.example.com")) as running:
        browser = running.browser(Origin="https://guard.example.com")
        answer = browser.post("/sign-in", data={"token": running.token("a")})
        assert "; secure" in answer.headers["set-cookie"].lower()
        assert answer.headers["set-cookie"].startswith("__Host-guard=")
        assert "max-age" in answer.headers["strict-transport-security"]


@pytest.mark.parametrize("given", ["", "guard_x", "loop", " "], ids=["nothing", "a wrong one", "a program's", "a blank"])
def test_whoever_has_no_persons_token_is_not_signed_in(given: str, shared: Web) -> None:
    """The way leads back to the form, without a cookie; a program's token signs nobody in."""
    name = f"loop-{len(shared.tokens.all())}"
    secret = shared.token(name, "propose") if given == "loop" else given
    browser = shared.browser()
    answer = browser.post("/sign-in", data={"token": secret, "next": "/approvals/ap_1"})

    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?failed=1&next=%2Fapprovals%2Fap_1")
    assert "set-cookie" not in answer.headers
    assert me(browser) == 401


def test_a_login_that_somebody_prepared_is_not_taken_over(shared: Web) -> None:
    """Signing in always makes a new name; one that was planted or belongs to somebody else stays what it was: nothing."""
    first = shared.browser(shared.token("first"))
    planted = cookie(first)
    victim = shared.browser(Cookie=f"guard-login={planted}")
    answer = victim.post("/sign-in", data={"token": shared.token("second")})
    made = answer.cookies.get("guard-login")

    assert made not in (None, planted)
    assert me(shared.client(Cookie=f"guard-login={planted}")) == 401  # signing in ends what the browser had
    unknown = shared.browser(Cookie="guard-login=chosen-by-me")
    assert unknown.post("/sign-in", data={"token": shared.token("third")}).cookies.get("guard-login") != "chosen-by-me"
    assert me(shared.client(Cookie="guard-login=chosen-by-me")) == 401


def test_signing_out_ends_the_login_and_not_only_the_cookie(shared: Web) -> None:
    """Whoever copied the cookie has nothing."""
    browser = shared.browser(shared.token("out"))
    copied = cookie(browser)
    assert me(shared.client(Cookie=f"guard-login={copied}")) == 200
    assert browser.post("/sign-out").headers["location"] == "/sign-in"
    assert me(shared.client(Cookie=f"guard-login={copied}")) == 401


def test_a_login_ends_with_its_token(shared: Web) -> None:
    """At once, without a word to the server; a new token of the same name is another one."""
    secret = shared.token("gone")
    browser, program = shared.browser(secret), shared.client(secret)
    shared.tokens.remove("gone")
    shared.token("gone")

    assert (me(browser), me(program)) == (401, 401)


def test_a_token_that_is_over_lets_nobody_in(shared: Web) -> None:
    """Neither by itself nor by a login that was made from it."""
    secret = shared.token("ends", expires=shared.now + 100)
    browser, program = shared.browser(secret), shared.client(secret)
    assert (me(browser), me(program)) == (200, 200)
    shared.now += 100
    assert (me(browser), me(program)) == (401, 401)


def test_a_login_ends_without_use_and_altogether(tmp_path: Path) -> None:
    """Half an hour unused, or the whole time that the settings give it, however much it was used."""
    with web(tmp_path, settings=Settings(idle=100, absolute=250)) as running:
        secret = running.token("a")
        used, unused = running.browser(secret), running.browser(secret)
        states = []
        for _ in range(4):
            running.now += 90
            states.append(me(used))
        assert states == [200, 200, 401, 401]
        assert me(unused) == 401


def test_the_roles_of_the_policy_are_those_of_the_person(tmp_path: Path) -> None:
    """What `people:` says of somebody holds here, too: one home for each fact. Another tenant's person of the same name gets nothing."""
    people = "\n    people:\n      anybody: {principal: p_1, tenant: acme, roles: [boss], attributes: {level: 3}}\n"
    from web_kit import POLICY

    with web(tmp_path, policy=POLICY + people) as running:
        here = running.client(running.token("a", tenant="acme", person="p_1", roles=("extra",)))
        other = running.client(running.token("b", tenant="other", person="p_1", roles=()))
        assert here.get("/api/v1/me").json()["roles"] == ["extra", "boss"]
        assert other.get("/api/v1/me").json()["roles"] == []


def test_a_token_in_a_url_is_refused(shared: Web) -> None:
    """Where it would stand in logs and histories; even a right one, under any name."""
    secret = shared.token("url")
    client = shared.client(secret)
    places = [f"/api/v1/me?token={secret}", f"/api/v1/me?access_token={secret}", f"/api/v1/me?x={secret}", f"/sign-in/{secret}"]

    assert [client.get(place).status_code for place in places] == [400] * 4
    assert me(shared.client(Cookie=f"guard-login={secret}")) == 401


def test_two_credentials_are_none(shared: Web) -> None:
    """A wrong bearer token is nobody's, whatever cookie comes with it; two of them are a mistake."""
    browser = shared.browser(shared.token("two"))
    assert browser.get("/api/v1/me", headers={"Authorization": "Bearer guard_x"}).status_code == 401
    twice = [("Authorization", "Bearer guard_x"), ("Authorization", "Bearer guard_y")]
    assert shared.client().get("/api/v1/me", headers=twice).status_code == 400


def test_guessing_is_slowed_and_stopped(tmp_path: Path) -> None:
    """After so many wrong tokens in a minute there is no answer but 429; whoever has the right one goes on."""
    with web(tmp_path) as running:
        secret = running.token("a")
        wrong = running.client("guard_wrong")
        codes = [me(wrong) for _ in range(FREE + 2)]
        assert codes == [401] * FREE + [429] * 2
        assert wrong.get("/api/v1/me").headers["retry-after"] == "60"
        assert me(running.client(secret)) == 200
        assert running.browser().post("/sign-in", data={"token": "guard_x"}).status_code == 429
        assert running.client("guard_x").post("/api/v1/tools", json={"session": {"principal": "x"}}).status_code == 429


@pytest.mark.parametrize(
    ("given", "onward"),
    [
        ("/approvals?status=all", "/approvals?status=all"),
        ("//evil.example", "/approvals"),
        ("https://evil.example", "/approvals"),
        ("/\\evil.example", "/approvals"),
        ("/\t/evil.example", "/approvals"),
        ("javascript:alert(1)", "/approvals"),
        ("", "/approvals"),
    ],
)
def test_signing_in_leads_nowhere_else(given: str, onward: str, shared: Web) -> None:
    """The way on is a path of this server, whatever a link says."""
    assert local_path(given) == onward
    secret = shared.token(f"on-{len(shared.tokens.all())}")
    assert shared.browser().post("/sign-in", data={"token": secret, "next": given}).headers["location"] == onward


def test_a_file_of_tokens_that_cannot_be_read_lets_nobody_in(tmp_path: Path) -> None:
    """Not even those who were in: 503, and no guess."""
    with web(tmp_path) as running:
        secret = running.token("a")
        browser, client = running.browser(secret), running.client(secret)
        (tmp_path / "guard-tokens.json").write_text("{")
        assert (me(browser), me(client)) == (503, 503)


def test_a_session_is_what_the_token_says(shared: Web) -> None:
    """Nothing that is sent along says otherwise."""
    client = shared.client(shared.token("own", tenant="acme", person="p_2", roles=()))
    claims = {"X-Forwarded-User": "root", "X-Forwarded-Groups": "boss", "X-Tenant": "other"}
    told = client.get("/api/v1/me", headers=claims, params={"principal": "root"}).json()
    assert Session(principal=told["principal"], tenant=told["tenant"], roles=tuple(told["roles"])) == Session(
        principal="p_2", tenant="acme", roles=()
    )
