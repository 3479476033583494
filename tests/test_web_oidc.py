"""Signing in with an OpenID provider that runs on loopback: the way there and back, and every answer that does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey
from oidc_kit import CLIENT, HMAC_KEY, SECRET, OpenId
from web_kit import TLS, Web, web

from guard.web.settings import Provider, Settings

pytestmark = pytest.mark.slow
PUBLIC = "http://127.0.0.1:8710"  # what people type; the tests knock at the server's own port
FAILED = "/sign-in?failed=oidc&next=%2Fapprovals"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Web, OpenId]]:
    now = 1_800_000_000.0
    with OpenId(now=now, redirect=f"{PUBLIC}/sign-in/oidc/callback") as provider:
        known = Provider(
            issuer=provider.issuer, client_id=CLIENT, client_secret=SECRET, roles={"finance": ("boss",)}, tenant="acme"
        )
        with web(tmp_path_factory.mktemp("web"), settings=Settings(public_url=PUBLIC, provider=known), now=now) as running:
            yield running, provider


@pytest.fixture(autouse=True)
def honest(both: tuple[Web, OpenId]) -> None:
    """Each test begins with a provider that tells the truth."""
    fresh = OpenId(now=0)
    for name in ("person", "further", "lies", "header", "key"):
        setattr(both[1], name, getattr(fresh, name))


def there(browser: httpx.Client, onward: str = "/approvals/ap_1") -> str:
    """To the provider; gives where it sends the browser back to."""
    begun = browser.get("/sign-in/oidc", params={"next": onward})
    assert begun.status_code == 303, begun.text
    return str(httpx.get(begun.headers["location"], verify=TLS, trust_env=False).headers["location"])


def back(browser: httpx.Client, address: str) -> httpx.Response:
    """Follow the provider's redirect, at the server's own port."""
    return browser.get(address.removeprefix(PUBLIC))


def test_there_and_back(both: tuple[Web, OpenId]) -> None:
    """The person is signed in where they wanted to go, with the roles that the operator gives to their groups, and votes as themselves."""
    running, provider = both
    browser = running.browser()
    answer = back(browser, there(browser))
    told = browser.get("/api/v1/me").json()

    assert (answer.status_code, answer.headers["location"]) == (303, "/approvals/ap_1")
    assert [told[name] for name in ("principal", "tenant", "roles", "assurance")] == ["u_1", "acme", ["boss"], "oidc"]
    asked = provider.asked[-1]
    assert asked["code_challenge_method"] == "S256"
    assert len(asked["state"]) >= 32
    assert len(asked["nonce"]) >= 32
    assert asked["state"] != asked["nonce"]


def _again(browser: httpx.Client, address: str) -> str:
    back(browser, address)
    return address


def _changed(**query: str | None) -> Callable[[httpx.Client, str], str]:
    def change(_: httpx.Client, address: str) -> str:
        given = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        kept = {name: value for name, value in {**given, **query}.items() if value is not None}
        return str(httpx.URL(address.partition("?")[0], params=kept))

    return change


def _forgotten(browser: httpx.Client, address: str) -> str:
    browser.cookies.clear()
    return address


WAYS: dict[str, Callable[[httpx.Client, str], str]] = {
    "the same answer again": _again,
    "another state": _changed(state="x" * 43),
    "no state": _changed(state=None),
    "another provider's answer": _changed(iss="https://evil.example"),
    "another code": _changed(code="x"),
    "no code": _changed(code=None),
    "an error": _changed(error="access_denied"),
    "a browser that began nothing": _forgotten,
}


@pytest.mark.parametrize("name", WAYS)
def test_an_answer_that_does_not_fit_signs_nobody_in(name: str, both: tuple[Web, OpenId]) -> None:
    """Back to the form; nobody learns more."""
    browser = both[0].browser()
    address = WAYS[name](browser, there(browser))
    if name == "the same answer again":
        browser.post("/sign-out", headers={"Origin": PUBLIC})
    answer = back(browser, address)

    assert (answer.status_code, answer.headers["location"]) == (303, FAILED)
    assert browser.get("/api/v1/me").status_code == 401


def test_nobody_is_signed_in_with_somebody_elses_answer(both: tuple[Web, OpenId]) -> None:
    """An attacker's own answer, opened in the victim's browser, fits no sign-in that was begun there."""
    attacker, victim = both[0].browser(), both[0].browser()
    address = there(attacker)
    there(victim)
    assert back(victim, address).headers["location"] == FAILED
    assert victim.get("/api/v1/me").status_code == 401


LIES: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "other"},
    "no audience": {"aud": None},
    "two audiences, for another": {"aud": [CLIENT, "other"], "azp": "other"},
    "another nonce": {"nonce": "x"},
    "no nonce": {"nonce": None},
    "over": {"exp": 1_799_999_000},
    "no end": {"exp": None},
    "from the future": {"iat": 1_800_009_000, "nbf": 1_800_009_000},
    "nobody": {"sub": None},
    "a person that is no text": {"sub": 7},
    "another access token's": {"at_hash": "x"},
}


@pytest.mark.parametrize("name", LIES)
def test_an_id_token_that_does_not_fit(name: str, both: tuple[Web, OpenId]) -> None:
    """Whatever the claims say, they must be for this console, this sign-in and now."""
    both[1].lies = LIES[name]
    browser = both[0].browser()
    assert back(browser, there(browser)).headers["location"] == FAILED
    assert browser.get("/api/v1/me").status_code == 401


KEYS: dict[str, tuple[dict[str, Any], Any]] = {
    "another key": ({}, RSAKey.generate_key(2048, {"kid": "k1"}, private=True)),
    "a key that nobody knows": ({"kid": "k9"}, None),
    "the client's secret": ({"alg": "HS256"}, HMAC_KEY),
    "no signature": ({"alg": "none"}, None),
}


@pytest.mark.parametrize("name", KEYS)
def test_an_id_token_that_the_provider_did_not_sign(name: str, both: tuple[Web, OpenId]) -> None:
    """Only its published keys, and only signatures that nobody else can make."""
    both[1].header, both[1].key = KEYS[name]
    browser = both[0].browser()
    assert back(browser, there(browser)).headers["location"] == FAILED


@pytest.mark.parametrize(
    ("groups", "roles"),
    [(["finance"], ["boss"]), ("finance", ["boss"]), (["boss", "admin"], []), (None, []), ([{"finance": 1}, 7], [])],
    ids=str,
)
def test_groups_become_roles_by_the_operators_table(groups: Any, roles: list[str], both: tuple[Web, OpenId]) -> None:
    """A group that is called like a role gives nothing."""
    both[1].lies = {"groups": groups}
    browser = both[0].browser()
    back(browser, there(browser))
    assert browser.get("/api/v1/me").json()["roles"] == roles


@pytest.mark.parametrize(
    ("further", "roles"),
    [({"groups": ["finance"]}, ["boss"]), ({"sub": "u_2", "groups": ["finance"]}, None), ({"groups": ["x"], "iss": "y"}, [])],
    ids=str,
)
def test_groups_that_are_told_beside_the_id_token(
    further: dict[str, Any], roles: list[str] | None, both: tuple[Web, OpenId]
) -> None:
    """They count, where they are of the same person."""
    both[1].lies, both[1].further = {"groups": None}, further
    browser = both[0].browser()
    back(browser, there(browser))
    told = browser.get("/api/v1/me")
    assert (told.json()["roles"] if told.status_code == 200 else None) == roles


def test_a_provider_that_calls_itself_otherwise(tmp_path: Path) -> None:
    """Its metadata are not believed, and the person is back at the form."""
    with OpenId(now=0, metadata={"issuer": "https://evil.example"}) as provider:
        known = Provider(issuer=provider.issuer, client_id=CLIENT)
        with web(tmp_path, settings=Settings(public_url=PUBLIC, provider=known)) as running:
            assert running.client().get("/sign-in/oidc").headers["location"] == FAILED


def test_a_provider_that_is_not_there(tmp_path: Path) -> None:
    """Tokens still sign in."""
    known = Provider(issuer="http://127.0.0.1:9", client_id=CLIENT)
    with web(tmp_path, settings=Settings(public_url=PUBLIC, provider=known)) as running:
        assert running.client().get("/sign-in/oidc").headers["location"] == FAILED
        assert running.browser(Origin=PUBLIC).post("/sign-in", data={"token": running.token("a")}).status_code == 303


def test_without_a_provider_there_is_none(tmp_path: Path) -> None:
    """The way to one is not there."""
    with web(tmp_path) as running:
        assert [running.client().get(f"/sign-in/oidc{end}").status_code for end in ("", "/callback")] == [404, 404]
