"""`console.yaml` and `guard serve token`: what is written wrongly is told with file, line and cure, and nothing is started on a guess."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from sidecar_kit import ROOT, Sidecar

from guard.errors import GuardError
from guard.web.settings_file import KEYS, SettingsError, read_settings
from guard.web.tokens import Tokens

WHOLE = """
    public_url: https://guard.example.com
    sessions: {idle: 20m, absolute: 8h}
    proxy:
      from: [10.0.0.7, 10.1.0.0/16, "fd00::/8"]
      secret: {header: X-Guard-Proxy, env: PROXY_SECRET}
      principal: X-Forwarded-User
      tenant_header: X-Forwarded-Tenant
      tenant: acme
      groups: X-Forwarded-Groups
      roles: {finance: [approver, boss]}
      scopes: [vote]
    oidc:
      issuer: https://login.example.com/realms/acme
      client_id: guard
      client_secret: {env: OIDC_SECRET}
      principal: email
      tenant: acme
      tenant_claim: org
      groups: groups
      roles: {finance: [approver]}
      scopes: [read]
      ask: [profile, groups]
    link_keys: [{env: LINK_KEY}, {env: LINK_KEY_BEFORE}]
"""
SECRETS = {"PROXY_SECRET": "p", "OIDC_SECRET": "o", "LINK_KEY": "k" * 16, "LINK_KEY_BEFORE": "j" * 16}


def written(folder: Path, text: str) -> str:
    path = folder / "console.yaml"
    path.write_text(dedent(text), "utf-8")
    return str(path)


def test_the_whole_of_it(tmp_path: Path) -> None:
    """Every key is read; secrets come from the environment and are in no text of the settings."""
    found = read_settings(written(tmp_path, WHOLE), SECRETS)

    assert (found.public_url, found.https, found.idle, found.absolute) == ("https://guard.example.com", True, 1200, 28_800)
    assert (found.link_keys, "kkk" in repr(found)) == ((b"k" * 16, b"j" * 16), False)
    assert found.proxy is not None
    assert found.provider is not None
    assert [found.listed(one) for one in ("10.0.0.7", "10.1.9.9", "::ffff:10.0.0.7", "10.0.0.8", "", "x")] == [True] * 3 + [
        False
    ] * 3
    assert (found.proxy.secret, found.provider.client_secret) == ("p", "o")
    assert found.proxy.roles_of(["finance", "finance", "boss"]) == ("approver", "boss")
    assert found.provider.ask == ("openid", "profile", "groups")
    assert not any(f"'{secret}'" in repr(found) for secret in SECRETS.values())
    assert all(key in WHOLE for keys in KEYS.values() for key in keys)


def test_what_the_readme_shows_is_read(tmp_path: Path) -> None:
    """Its console.yaml, as it stands there."""
    text = (ROOT / "README.md").read_text("utf-8").partition("# console.yaml\n")[2].partition("```")[0]
    found = read_settings(written(tmp_path, text), {"GUARD_PROXY_SECRET": "p", "GUARD_OIDC_SECRET": "o", "LINK_KEY": "k" * 16})
    assert (found.https, found.proxy is not None, found.provider is not None) == (True, True, True)


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n"])
def test_an_empty_file_says_nothing(text: str, tmp_path: Path) -> None:
    """Then it is as without one."""
    assert read_settings(written(tmp_path, text), {}).proxy is None


WRONG: dict[str, tuple[str, str]] = {
    "an unknown key": ("publik_url: https://x.example", "console.yaml:1: unknown key publik_url (did you mean public_url?)"),
    "a list": ("[1]", "console.yaml:1: console settings: a mapping is needed"),
    "twice": ("public_url: https://a.example\npublic_url: https://b.example", ":2: public_url is written twice"),
    "plain http": ("public_url: http://guard.example.com", ":1: public_url: what is sent there is readable on the way"),
    "a path": ("public_url: https://guard.example.com/x", ":1: public_url: https://guard.example.com/x is not such a URL"),
    "a time of nothing": ("sessions: {idle: 0}", ":1: idle: not a duration above 0"),
    "a proxy that is anybody": ("public_url: https://x.example\nproxy: {principal: X-U}", ":2: the proxy is anybody"),
    "no public URL": ("proxy: {from: [10.0.0.7], principal: X-U}", ":1: proxy needs public_url"),
    "no person": ("public_url: https://x.example\nproxy: {from: [10.0.0.7]}", ":2: principal is missing"),
    "no address": ("public_url: https://x.example\nproxy: {from: [proxy], principal: X-U}", ":2: from: proxy is no address"),
    "a network of hosts": ("public_url: https://x.example\nproxy: {from: [10.0.0.7/8], principal: X-U}", ":2: from: 10.0.0.7/8"),
    "no name of a header": ("public_url: https://x.example\nproxy: {from: [10.0.0.7], principal: X_U}", ":2: principal: X_U"),
    "a secret that is not set": (
        "public_url: https://x.example\nproxy: {secret: {header: X-S, env: NOT_SET}, principal: X-U}",
        ":2: the environment variable NOT_SET is not set",
    ),
    "a secret in the file": (
        "public_url: https://x.example\noidc: {issuer: https://i.example, client_id: g, client_secret: s}",
        ":2:",
    ),
    "a scope of programs": (
        "public_url: https://x.example\noidc: {issuer: https://i.example, client_id: g, scopes: [propose]}",
        ":2: scopes: must be admin or read or vote",
    ),
    "an issuer in the clear": (
        "public_url: https://x.example\noidc: {issuer: http://i.example, client_id: g}",
        ":2: issuer: what is sent there is readable on the way",
    ),
    "no client": ("public_url: https://x.example\noidc: {issuer: https://i.example}", ":2: client_id is missing"),
    "a link key that is not set": ("link_keys: {env: NOT_SET}", ":1: the environment variable NOT_SET is not set"),
    "a link key in the file": ("link_keys: [abc]", ":1: link key settings: a mapping is needed"),
    "no link key": ("link_keys: []", ":1: link_keys: an empty list has no effect"),
    "no YAML": ("public_url: [", "not YAML"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_line(name: str, tmp_path: Path) -> None:
    """Every mistake; the server does not start with less than what was written."""
    text, told = WRONG[name]
    with pytest.raises(SettingsError) as failure:
        read_settings(written(tmp_path, text), {})
    assert told in str(failure.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """It is a mistake, not an absence."""
    with pytest.raises(SettingsError, match="cannot be read"):
        read_settings(str(tmp_path / "no.yaml"), {})


TOKENS: dict[str, tuple[tuple[str, ...], dict[str, object], str]] = {
    "no scope": ((), {"person": "p"}, "scopes: propose, read, vote, admin"),
    "a scope that is none": (("root",), {"person": "p"}, "scopes: propose, read, vote, admin"),
    "a program that votes": (("propose", "vote"), {"person": "p"}, "make two tokens"),
    "nobody who votes": (("vote",), {}, "name the principal"),
    "a program with roles": (("propose",), {"roles": ("boss",)}, "leave person and roles out"),
}


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_says_one_thing(name: str, tmp_path: Path) -> None:
    """A program's proposes, a person's sees or decides, and none is both."""
    scopes, more, told = TOKENS[name]
    tokens = Tokens(tmp_path / "tokens.json")
    with pytest.raises(GuardError, match=told):
        tokens.add("x", scopes, **more)
    assert tokens.all() == ()


ENTRIES = ['{"tokens": 1}', '{"tokens": [{}]}', '{"tokens": [{"name": "x", "scopes": "propose", "sha256": "", "roles": "boss"}]}']


@pytest.mark.parametrize("text", ENTRIES)
def test_a_file_of_tokens_that_is_none(text: str, tmp_path: Path) -> None:
    """Nobody is let in on a guess."""
    (tmp_path / "tokens.json").write_text(text)
    with pytest.raises(GuardError):
        Tokens(tmp_path / "tokens.json").all()


def test_a_file_of_an_earlier_version_still_counts(tmp_path: Path) -> None:
    """Entries without kind, person or expiry are programs'."""
    old = {"name": "loop", "scopes": ["propose"], "sha256": "0" * 64, "tenant": ""}
    (tmp_path / "tokens.json").write_text(json.dumps({"tokens": [old]}))
    [found] = Tokens(tmp_path / "tokens.json").all()
    assert (found.kind, found.expires) == ("agent", None)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "guard", *words]
    return subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_tokens_on_the_command_line(tmp_path: Path) -> None:
    """Made, listed for people and for programs, removed; a mistake says what to write."""
    made = run(
        tmp_path,
        *[
            "serve",
            "token",
            "add",
            "ann",
            "--person",
            "s_9",
            "--tenant",
            "acme",
            "--role",
            "support",
            "--scope",
            "vote",
            "--expires",
            "30d",
        ],
    )
    assert (made.returncode, made.stdout.startswith("guard_"), "keep it now" in made.stderr) == (0, True, True)
    [found] = json.loads(run(tmp_path, "serve", "token", "list", "--json").stdout)
    assert (found["kind"], found["person"], found["roles"], found["scopes"], found["over"]) == (
        "human",
        "s_9",
        ["support"],
        ["vote"],
        False,
    )
    for words, told in (
        ("add x --scope vote", "add --person PRINCIPAL"),
        ("add x --person p --scope vote --expires soon", "12h or 30d"),
    ):
        done = run(tmp_path, "serve", "token", *words.split())
        assert (done.returncode != 0, told in done.stderr) == (True, True), done.stderr
    assert run(tmp_path, "serve", "token", "remove", "ann").returncode == 0


@pytest.mark.slow
def test_the_command_serves_people_and_loops(tmp_path: Path) -> None:
    """With `--console`; one that is wrong keeps it from starting."""
    (tmp_path / "console.yaml").write_text("public_url: http://127.0.0.1:8710\n")
    with Sidecar(tmp_path, "--console", "console.yaml") as sidecar:
        secret = sidecar.guard(
            *["serve", "token", "add", "ann", "--person", "s_9", "--role", "support", "--scope", "vote"]
        ).stdout.strip()
        told = sidecar.client.get("/me", headers={"Authorization": f"Bearer {secret}"})
        assert (told.status_code, told.json()["principal"]) == (200, "s_9")
        assert sidecar.post("tools", {"session": {"principal": "x"}}).status_code == 200
    (tmp_path / "console.yaml").write_text("public_url: ftp://x\n")
    done = sidecar.guard("serve", "--policy", str(sidecar.policy), "--console", "console.yaml")
    assert (done.returncode, "console.yaml:1: public_url" in done.stderr) == (1, True)
