"""A policy's own detectors hide at every door, not only in results: in what is owed to the store, in `guard explain`, and in what a proxy lets pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_kit import in_process
from mcp_kit import POLICY as PROXIED
from mcp_kit import run, talking
from reports import Desk, start, write
from test_disowned import Lost, settled

from guard.cli.mcp_serving import Hiding

PLAIN = "tools: {look: {kind: action, allow: [staff], approve: never, schema: {type: object, properties: {q: {type: string}}}}}\n"
OWN = PLAIN + "redact: {detectors: {employee: {pattern: 'E[0-9]{6}'}}}\n"


def look(q: str) -> str:
    return q


def lost(desk: Desk) -> list[str]:
    """One call whose claim is written although its answer is lost, given back: every record from then on."""
    guard = desk.guard
    guard.store = guard.hands.store = guard.hands.keeper._store = Lost(guard.store)
    before = len(desk.audit())
    desk.propose(("c1", "look", {"q": "of E123456"}))
    assert settled(guard, desk.chat) == "refused"
    return [json.dumps(one, ensure_ascii=False) for one in desk.audit()[before:]]


@pytest.mark.parametrize("reloaded", [False, True])
def test_what_is_given_back_later_is_recorded_as_the_policy_in_force_hides(tmp_path: Path, reloaded: bool) -> None:
    """The policy may have come by a reload: what was owed until then is hidden by it, too."""
    desk = start(tmp_path, "openai-chat", PLAIN if reloaded else OWN, {"look": look})
    if reloaded:
        (desk.given["folder"] / "tools.yaml").write_text(OWN, "utf-8")
        assert desk.guard.reload().changed
    assert desk.guard.hands.keeper.redactor is desk.guard.redactor
    found = lost(desk)
    assert "E123456" not in "".join(found)
    assert "[employee]" in "".join(found)


def test_a_policy_that_is_rolled_back_hides_as_before(tmp_path: Path) -> None:
    """The keeper of leases is one for all versions; what it hides by is the version in force."""
    desk = start(tmp_path, "openai-chat", OWN, {"look": look})
    (desk.given["folder"] / "tools.yaml").write_text(PLAIN, "utf-8")
    assert desk.guard.reload().changed
    assert desk.guard.hands.keeper.redactor.detect(None, "E123456")[0] == "E123456"
    assert desk.guard.roll_back().changed
    assert desk.guard.hands.keeper.redactor.detect(None, "E123456")[0] == "[employee]"
    desk.closed()


def test_what_a_check_raises_is_logged_as_the_policy_says(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Also under a policy that came later: each has its own."""

    def strict(arguments: dict[str, Any]) -> str | None:
        raise RuntimeError(f"no E123456 among {len(arguments)}")

    asks = PLAIN.replace("approve: never", "approve: never, checks: [strict]")
    own = asks + OWN.removeprefix(PLAIN)
    desk = start(tmp_path, "openai-chat", own, {"look": look}, checks={"strict": strict})
    desk.propose(("c1", "look", {"q": "x"}))
    assert "no [employee] among" in caplog.text
    (desk.given["folder"] / "tools.yaml").write_text(own.replace("employee", "staff_no"), "utf-8")
    assert desk.guard.reload().changed
    desk.propose(("c2", "look", {"q": "y"}))
    assert "no [staff no] among" in caplog.text
    assert "E123456" not in caplog.text
    desk.closed()


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_explain_shows_arguments_as_the_policy_hides_them(
    tmp_path: Path, more: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As the audit would hold them; `--values` shows them whole."""
    write(tmp_path, OWN)
    guard = in_process(tmp_path, monkeypatch, capfd)
    asked = ["explain", "look", "--principal", "u1", "--role", "staff", "--args", '{"q": "of E123456"}', *more]
    shown = guard(*asked)
    assert shown.code == 0
    assert "E123456" not in shown.out + shown.err
    assert "of [employee]" in shown.out
    assert "of E123456" in guard(*asked, "--values").out


def test_what_passes_a_proxy_is_hidden_as_its_policy_says(tmp_path: Path) -> None:
    """Before the first listing, when there is no guard yet; after it; and after a reload."""
    own = "\nredact: {detectors: {thing: {pattern: 'prompt'}}}"

    async def go() -> None:
        place = tmp_path / "policies"
        async with talking(tmp_path, policy=PROXIED + own) as talk:
            assert talk.desk.guard is None
            assert await told(talk) == "no [thing] for [email]"
            await talk.names()
            assert talk.desk.guard is not None
            assert await told(talk) == "no [thing] for [email]"
            (place / "tools.yaml").write_text(PROXIED + own.replace("prompt", "no prompt"), "utf-8")
            assert (await talk.desk.guard.reload()).changed
            assert await told(talk) == "[thing] for [email]"

    run(go())


async def told(talk: Any) -> str:
    """The text of an error that passes."""
    return str((await talk.ask("prompts/get", {"name": "x"}))["error"]["message"])


def test_a_policy_that_does_not_load_lets_no_text_pass(tmp_path: Path) -> None:
    """Nobody knows what it would hide; once it is mended, texts pass."""
    folder = write(tmp_path, "tools: {look: {kind: odd}}")
    hide = Hiding(folder)
    assert hide(None, "E123456") == ("[withheld: the policy does not load]", ("withheld",))
    (folder / "tools.yaml").write_text(OWN, "utf-8")
    assert hide(None, "E123456 a@example.com")[0] == "[employee] [email]"
