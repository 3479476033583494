"""`guard serve` and requests that are wrong: each has its status and changes nothing; tokens, and who may report. A real server process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sidecar_kit import ORDER, WHO, Sidecar


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Sidecar(tmp_path_factory.mktemp("sidecar")) as running:
        yield running


WRONG: dict[str, tuple[str, Any, dict[str, str], int]] = {
    "no token": ("tools", {"session": WHO}, {"Authorization": ""}, 401),
    "another token": ("tools", {"session": WHO}, {"Authorization": "Bearer guard_x"}, 401),
    "another scheme": ("tools", {"session": WHO}, {"Authorization": "Basic Zm9v"}, 401),
    "no json type": ("tools", {"session": WHO}, {"Content-Type": "text/plain"}, 415),
    "no session": ("tools", {}, {}, 400),
    "a session without a principal": ("tools", {"session": {"roles": []}}, {}, 400),
    "a role that is no text": ("tools", {"session": {"principal": "x", "roles": [1]}}, {}, 400),
    "roles that are a text": ("tools", {"session": {"principal": "x", "roles": "admin"}}, {}, 400),
    "a field that means nothing": ("tools", {"session": WHO, "role": "admin"}, {}, 400),
    "half a character in a session": ("tools", {"session": {**WHO, "attributes": {"a": ["\ud800"]}}}, {}, 400),
    "half a character in a field's name": ("tools", {"session": {**WHO, "attributes": {"\ud800": 1}}}, {}, 400),
    "a session's field that means nothing": ("tools", {"session": {**WHO, "within": None}}, {}, 400),
    "another wire": ("tools", {"session": WHO, "wire": "smoke"}, {}, 400),
    "a list": ("tools", [], {}, 400),
    "no conversation": ("decide", {"session": WHO, "conversation": "", "call": {"tool": "x", "arguments": {}}}, {}, 400),
    "arguments of a list": ("decide", {"session": WHO, "conversation": "c", "call": {"tool": "x", "arguments": []}}, {}, 400),
    "somebody else's conversation": (
        "said",
        {"session": {"principal": "other", "roles": ["customer"]}, "conversation": "owned", "text": "x"},
        {},
        403,
    ),
    "no such ticket": ("report", {"ticket": "x", "status": "done"}, {}, 404),
    "no such status": ("report", {"ticket": "x", "status": "ok"}, {}, 400),
    "a result of a failure": ("report", {"ticket": "x", "status": "failed", "result": 1}, {}, 400),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_has_its_status(name: str, sidecar: Sidecar) -> None:
    """It changes nothing, and says what is wrong without repeating what was sent."""
    verb, body, headers, status = WRONG[name]
    if name == "somebody else's conversation":
        sidecar.ask("said", session=WHO, conversation="owned", text="mine")
    answer = sidecar.post(verb, body, **headers)

    assert answer.status_code == status, answer.text
    assert [*answer.json()] == ["error"]
    assert "admin" not in answer.text


@pytest.mark.parametrize("raw", [b"", b"{", b'{"session": NaN}', b'{"session": 1, "session": 2}', b"\xff", b"[" * 100_000])
def test_a_body_that_is_none(raw: bytes, sidecar: Sidecar) -> None:
    """Neither broken nor ambiguous JSON is guessed at."""
    headers = {"Authorization": f"Bearer {sidecar.token}", "Content-Type": "application/json"}
    assert sidecar.client.post("/tools", content=raw, headers=headers).status_code == 400


def test_a_body_that_is_too_large(sidecar: Sidecar) -> None:
    """It is given up at the bound, not read to its end."""
    assert sidecar.post("tools", {"session": {"principal": "x" * 17_000_000}}).status_code == 413


def test_a_ticket_is_its_loops(sidecar: Sidecar) -> None:
    """Another loop's token cannot report, not even knowing the ticket."""
    other = sidecar.guard("serve", "token", "add", "other").stdout.strip()
    ticket = sidecar.decide("order_status", '{"order_id": "A17"}', conversation="own")["ticket"]
    stolen = sidecar.post("report", {"ticket": ticket, "status": "done", "result": {"total": 1}}, Authorization=f"Bearer {other}")

    assert stolen.status_code == 404
    assert sidecar.ask("report", ticket=ticket, status="done", result=ORDER)["status"] == "done"


@pytest.mark.slow
def test_tokens(tmp_path: Path) -> None:
    """A secret is shown once; the file is its owner's; a removed token lets nobody in; a token of a tenant brings only that one's sessions."""
    sidecar = Sidecar(tmp_path)
    limited = sidecar.guard("serve", "token", "add", "limited", "--tenant", "acme").stdout.strip()
    text = (tmp_path / "guard-tokens.json").read_text()
    assert (tmp_path / "guard-tokens.json").stat().st_mode & 0o777 == 0o600
    assert [secret for secret in (sidecar.token, limited) if secret in text] == []
    assert sidecar.guard("serve", "token", "add", "loop").returncode != 0
    with sidecar:
        headers = {"Authorization": f"Bearer {limited}"}
        told = [
            sidecar.post("tools", {"session": {**WHO, "tenant": tenant}}, **headers).status_code for tenant in ("acme", "other")
        ]
        assert told == [200, 403]
        listed = [line.split() for line in sidecar.guard("serve", "token", "list").stdout.splitlines()[2:]]
        assert listed == [["loop", "agent", "propose", "never"], ["limited", "agent", "propose", "acme", "never"]]
        sidecar.guard("serve", "token", "remove", "limited")
        assert sidecar.post("tools", {"session": {**WHO, "tenant": "acme"}}, **headers).status_code == 401
        (tmp_path / "guard-tokens.json").write_text("{")
        assert sidecar.post("tools", {"session": WHO}).status_code == 503


@pytest.mark.slow
def test_nobody_has_a_token(tmp_path: Path) -> None:
    """A server that nobody may ask does not start, and says how to make one."""
    sidecar = Sidecar(tmp_path)
    (tmp_path / "guard-tokens.json").unlink()
    done = sidecar.guard("serve", "--policy", str(sidecar.policy))

    assert (done.returncode, "guard serve token add NAME" in done.stderr) == (2, True)
