"""`guard mcp` and `guard check --mcp` at the command line: who is signed in, what is misuse, and how a person accepts a server's definitions."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cli_kit import USER, Ran, in_process
from mcp_kit import RAW, allowing, folder, run, talking

from guard import Session
from guard.cli.mcp_session import add_session, claims_of, session_of
from guard.cli.places import UsageError
from guard.policy import load_policy


def parsed(*words: str, **more: Any) -> Namespace:
    parser = ArgumentParser()
    add_session(parser)
    found = parser.parse_args(words)
    return Namespace(**{**vars(found), "policy": "policies", "http": None, **more})


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("PRINCIPAL", "ROLES", "TENANT", "ATTRIBUTES"):
        monkeypatch.delenv(f"GUARD_{name}", raising=False)
    return monkeypatch


def test_options_say_who_is_signed_in(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    """A value that is JSON counts as that, other text as itself."""
    policy = load_policy(str(folder(tmp_path))).policy
    words = [
        "--principal",
        "E1",
        "--role",
        "a",
        "--role",
        "b",
        "--tenant",
        "t",
        "--attribute",
        "tier=2.50",
        "--attribute",
        "city=00123",
    ]

    assert session_of(parsed(*words), policy) == Session(
        principal="E1", roles=("a", "b"), tenant="t", attributes={"tier": Decimal("2.50"), "city": "00123"}
    )


def test_the_environment_says_who_is_signed_in_and_options_win(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    """Each part by itself."""
    policy = load_policy(str(folder(tmp_path))).policy
    for name, value in (("PRINCIPAL", "E1"), ("ROLES", "a, b"), ("TENANT", "t"), ("ATTRIBUTES", '{"tier": 1, "x": true}')):
        bare.setenv(f"GUARD_{name}", value)

    assert session_of(parsed(), policy) == Session(
        principal="E1", roles=("a", "b"), tenant="t", attributes={"tier": 1, "x": True}
    )
    found = session_of(parsed("--role", "c", "--attribute", "tier=2"), policy)
    assert found == Session(principal="E1", roles=("c",), tenant="t", attributes={"tier": 2, "x": True})


def test_the_operating_system_user_is_who_the_policy_says(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    """Where neither options nor environment say anything."""
    policy = load_policy(
        str(folder(tmp_path, allowing(["echo"]) + f"\npeople: {{{USER}: {{principal: E7, roles: [user]}}}}"))
    ).policy

    assert session_of(parsed(), policy) == Session(principal="E7", roles=("user",))


WRONG: list[tuple[str, list[str], dict[str, Any], str]] = [
    ("nobody", [], {}, "nobody is signed in"),
    ("a role of nobody", ["--role", "a"], {}, "belong to a person"),
    ("no sign", ["--principal", "E", "--attribute", "tier"], {}, "write NAME=VALUE"),
    ("a token over pipes", ["--jwt-keys", "k", "--jwt-issuer", "i", "--jwt-audience", "a"], {}, "--jwt-keys is for --http"),
    (
        "a token for anybody",
        ["--jwt-keys", "k", "--jwt-issuer", "i"],
        {"http": "127.0.0.1:0"},
        "needs --jwt-issuer and --jwt-audience",
    ),
    (
        "two ways at once",
        ["--jwt-keys", "k", "--jwt-issuer", "i", "--jwt-audience", "a", "--principal", "E"],
        {"http": "127.0.0.1:0"},
        "the token says who",
    ),
    ("claims without keys", ["--claim", "roles=r", "--principal", "E"], {}, "are for --jwt-keys"),
]


@pytest.mark.parametrize(("words", "more", "text"), [(w, m, t) for _, w, m, t in WRONG], ids=[name for name, *_ in WRONG])
def test_what_cannot_say_who_is_signed_in_is_misuse(
    words: list[str], more: dict[str, Any], text: str, tmp_path: Path, bare: pytest.MonkeyPatch
) -> None:
    """With a cure, before anything is started."""
    policy = load_policy(str(folder(tmp_path))).policy

    with pytest.raises(UsageError, match=text):
        session_of(parsed(*words, **more), policy)


@pytest.mark.parametrize("given", ["roles", "=x", "name=x", "attributes.=x", "roles="])
def test_a_claim_says_a_field(given: str) -> None:
    """Other fields there are none."""
    with pytest.raises(UsageError, match="--claim"):
        claims_of([given])
    assert claims_of(["tenant=org"]) == {"principal": "sub", "roles": "roles", "tenant": "org"}


MISUSE: list[tuple[str, list[str], str]] = [
    ("no server", [], "name one server"),
    ("two servers", ["--url", "http://x", "--", "y"], "name one server"),
    ("a token for a command", ["--token-env", "T", "--", "y"], "--token-env is for --url"),
    (
        "a conversation for all",
        ["--conversation", "c", "--http", "127.0.0.1:0", "--", "y"],
        "--conversation is for standard input",
    ),
    ("records that wait too long", ["--batch-reads", "3600", "--", "y"], "--batch-reads: at most"),
    ("no policy", ["--policy", "nowhere", "--", "y"], "there is no such folder"),
    ("everybody's port", ["--principal", "E", "--http", "0.0.0.0:0", "--", "y"], "127.0.0.1 only"),
    ("no port", ["--principal", "E", "--http", "localhost", "--", "y"], "write HOST:PORT"),
]


@pytest.mark.parametrize(("words", "text"), [(w, t) for _, w, t in MISUSE], ids=[name for name, *_ in MISUSE])
def test_misuse_of_guard_mcp(
    words: list[str], text: str, tmp_path: Path, bare: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one line; nothing on standard output."""
    folder(tmp_path)
    done = in_process(tmp_path, bare, capfd)("mcp", *words)

    assert (done.code, done.out) == (2, "")
    assert text in done.err


# -- accepting definitions -----------------------------------------------------------------------------------------------


def check(path: Path, bare: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *words: str) -> Ran:
    return in_process(path, bare, capfd)("check", "--mcp", f"{sys.executable} {RAW} {path / 'log'}", *words)


def test_a_person_accepts_a_servers_definitions(
    tmp_path: Path, bare: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Told as unpinned, pinned, good; then a changed one is a problem, and the proxy refuses exactly that one."""
    place = folder(tmp_path, allowing(["echo", "mail", "gone"]))
    first = check(tmp_path, bare, capfd)
    assert first.code == 0
    assert "no definition of this server is pinned" in first.err
    assert "the policy names gone, and the server offers no such tool" in first.err
    pinned = check(tmp_path, bare, capfd, "--pin")
    assert pinned.code == 0, pinned.err
    assert "of the server mcp pinned" in pinned.out
    text = (place / "pins.json").read_text("utf-8")
    assert check(tmp_path, bare, capfd, "--json").json["ok"] is True

    pins = json.loads(text)
    pins["pins"]["mcp"]["echo"]["digest"] = "0" * 64
    del pins["pins"]["mcp"]["pay"]
    (place / "pins.json").write_text(json.dumps(pins), "utf-8")
    found = check(tmp_path, bare, capfd, "--json")
    assert found.code == 1
    assert {(one["code"], one["message"].split(":")[0]) for one in found.json["problems"]} == {
        ("pin-changed", "echo"),
        ("pin-new", "pay"),
    }

    async def listed() -> list[str]:
        async with talking(tmp_path, policy=allowing(["echo", "mail", "gone"])) as talk:
            return await talk.names()

    assert run(listed()) == ["mail"]


def test_pins_of_servers_say_nothing_about_the_programs_own_tools(
    tmp_path: Path, bare: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A folder whose server is pinned loads without a warning about its own entries, and pins of either kind keep the other's."""
    folder(tmp_path, allowing(["echo"]).replace("[user]}", "[user], description: Say it., schema: {type: object}}"))
    check(tmp_path, bare, capfd, "--pin", "--server", "raw")
    command = in_process(tmp_path, bare, capfd)
    assert "pinned" not in command("check").err
    assert command("check", "--pin").code == 0
    assert json.loads((tmp_path / "policies" / "pins.json").read_text("utf-8"))["pins"].keys() == {"", "raw"}


def test_taking_the_clients_word_is_told_as_wider(
    tmp_path: Path, bare: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`guard diff` says so and exits with 1; the other way round it is narrower."""
    entry = "tools: {{pay: {{kind: action, allow: [user], approve: {{by: self{}}}}}}}\nlimits: {{run: {{calls: 9}}}}\n"
    for name, more in (("old", ""), ("new", ", assurance: client")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tools.yaml").write_text(entry.format(more), "utf-8")
    command = in_process(tmp_path, bare, capfd)
    wider, narrower = command("diff", "old", "new"), command("diff", "new", "old")
    assert (wider.code, narrower.code) == (1, 0)
    assert "approve.assurance" in wider.out
    assert "at the client" in command("check", "new").out
