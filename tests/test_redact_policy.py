"""`redact:` of a policy: what it adds is hidden in every outlet, nothing can be turned off, and each mistake is told with its line and a cure."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from reports import Desk, start, write

from guard import Guard, PolicyError
from guard.core.redaction import OwnDetector, Redaction
from guard.extras import install
from guard.redactors import Detector, redactor

POLICY = """
    tools:
      look: {kind: read, allow: [staff], schema: {type: object, properties: {q: {type: string}}}}
    redact:
      region: [CN, GB]
      detectors:
        employee_no: {pattern: '\\bE[0-9]{6}\\b'}
        badge: {pattern: '[0-9]{5}', words: [badge, staff no, 工号], mask: '[badge]'}
        contribuinte: {pattern: '[0-9]{9}', words: [nif], check: pt.nif}
"""


def looked(desk: Desk, **arguments: Any) -> str:
    return str(desk.propose(("c1", "look", arguments)).outcomes[0].content)


def test_what_a_policy_adds_is_hidden_beside_what_always_is(tmp_path: Path) -> None:
    """In results, under keys and after words, in names of fields, texts inside texts, numbers, and in the record of the arguments."""
    value = {
        "who": "E123456 wrote to a@example.com",
        "badge": 12345,
        "staffNo": "54321",
        "text": "工号 12345, ref 12345",
        "E654321": "x",
        "inner": '{"n": "E123456", "badge": 12345, "total": 1.10}',
        "mobile": "call 07400 123456 or 13812345678",
        "nif": "123456789",
        "order": 12345,
        "other_nif": "123456788",
        "ref": "XE123456 and E1234567",
    }
    desk = start(tmp_path, "openai-chat", POLICY, {"look": lambda q="": value})
    shown = json.loads(looked(desk, q="E777777"))
    assert shown == {
        "who": "[employee no] wrote to [email]",
        "badge": "[badge]",
        "staffNo": "[badge]",
        "text": "工号 [badge], ref [badge]",
        "[employee no]": "x",
        "inner": '{"n": "[employee no]", "badge": "[badge]", "total": 1.10}',
        "mobile": "call [phone] or [phone]",
        "nif": "[contribuinte]",
        "order": 12345,
        "other_nif": "123456788",
        "ref": "XE123456 and E1234567",
    }
    (decided,) = desk.audit("call.decided")
    assert "E777777" not in json.dumps(decided)
    assert "[employee no]" in json.dumps(decided, ensure_ascii=False)
    desk.closed()


def test_a_changed_policy_hides_what_it_says_from_then_on(tmp_path: Path) -> None:
    """A reload brings its detectors with it."""
    plain = "tools: {look: {kind: read, allow: [staff]}}\n"
    desk = start(tmp_path, "openai-chat", plain, {"look": lambda: {"who": "E123456", "at": "a@example.com"}})
    assert json.loads(looked(desk)) == {"who": "E123456", "at": "[email]"}
    (desk.given["folder"] / "tools.yaml").write_text(plain + "redact: {detectors: {no: {pattern: 'E[0-9]{6}'}}}\n", "utf-8")
    assert desk.guard.reload().changed
    desk.say()
    assert json.loads(looked(desk)) == {"who": "[no]", "at": "[email]"}
    desk.closed()


def test_errors_and_logs_pass_the_same_detectors(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What a tool raises is logged without what the policy hides."""

    def look(q: str = "") -> None:
        raise RuntimeError("no such E123456, ask a@example.com")

    desk = start(tmp_path, "openai-chat", POLICY, {"look": look})
    looked(desk)
    assert "E123456" not in caplog.text + desk.everything()
    assert "[employee no]" in caplog.text
    desk.closed()


def test_a_row_of_the_table_from_python(tmp_path: Path) -> None:
    """A host adds a detector by one entry; it hides more, and nothing less."""

    def spans(_key: str | None, text: str) -> list[tuple[int, int]]:
        at = text.find("ACME-")
        return [(at, at + 9)] if at >= 0 else []

    row = Detector(name="contract", gate=lambda text: "ACME-" in text, rule=spans, replacement="[contract]", shape="ACME-")
    folder = write(tmp_path, "tools: {look: {kind: read, allow: [staff]}}")
    guard = Guard.load(folder, tools={"look": lambda: ""}, store="memory://", detectors=[row])
    for one in (guard.redactor, redactor(Redaction(), [row], fast=False)):
        assert one.detect(None, "see ACME-1234 of a@example.com")[0] == "see [contract] of [email]"
        assert set(one.sift(["see ACME-1234", "x", "a@example.com"])) == {"see ACME-1234", "a@example.com"}
    guard.close()


def test_both_engines_hide_the_same_of_a_policy() -> None:
    """With google-re2 and without, the same texts are called loud."""
    row = OwnDetector(name="no", pattern="(?i:emp)-[0-9]{3,6}", mask="[no]", words=("staff",))
    added = Redaction(own=(row,), regions=("DE",))
    texts = [
        "staff EMP-1234",
        "EMP-1234",
        "staff: emp-99",
        "01512 3456789",
        "2024-05-01",
        "é staff emp-4444",
        "\ud800 staff EMP-1234",
    ]
    fast, slow = redactor(added), redactor(added, fast=False)
    assert set(fast.sift(texts)) == set(slow.sift(texts)) == {text for text in texts if fast.detect(None, text)[1]}
    assert [fast.detect(None, text)[0] for text in texts] == [
        "staff [no]",
        "EMP-1234",
        "staff: emp-99",
        "[phone]",
        "2024-05-01",
        "é staff [no]",
        "\ud800 staff [no]",
    ]


@pytest.mark.parametrize(
    ("block", "line", "message", "cure"),
    [
        pytest.param("off: [email]", 3, "redact.off: what is hidden by default cannot be turned off", "keep:", id="a switch"),
        pytest.param("enabled: false", 3, "cannot be turned off", "keep:", id="another switch"),
        pytest.param("detectors: {email: {pattern: x}}", 3, "email is always hidden already", "another name", id="a name taken"),
        pytest.param(
            "detectors: {No: {pattern: x}}", 3, "cannot be a detector's name", "small letters", id="a name with a capital"
        ),
        pytest.param("detectors: {a: {words: [x]}}", 3, "a detector needs a pattern", "write pattern:", id="no pattern"),
        pytest.param("detectors: {a: {pattern: '(?=b)c'}}", 3, "looks ahead or behind", "words:", id="look-ahead"),
        pytest.param("detectors: {a: {pattern: '(b)\\1'}}", 3, "refers back", "alternatives", id="back-reference"),
        pytest.param("detectors: {a: {pattern: 'b++'}}", 3, "possessive", "second +", id="possessive"),
        pytest.param("detectors: {a: {pattern: 'b*'}}", 3, "matches nothing at all", "a character", id="empty match"),
        pytest.param("detectors: {a: {pattern: '('}}", 3, "is no regular expression", "RE2", id="no expression"),
        pytest.param("detectors: {a: {pattern: '[a-z]+'}}", 3, "finds the mask [", "narrower", id="finds masks"),
        pytest.param(
            "detectors: {a: {pattern: b, mask: c}}", 3, "mask: c is not a word in square brackets", "[employee]", id="bare mask"
        ),
        pytest.param("detectors: {a: {pattern: b, mask: '[1]'}}", 3, "mask: [1]", "small letters", id="mask with a digit"),
        pytest.param("detectors: {a: {pattern: b, check: ../x}}", 3, "is no check", "luhn", id="no check"),
        pytest.param("detectors: {a: {pattern: b, check: xx.yy}}", 3, "python-stdnum has no xx.yy", "pt.nif", id="unknown check"),
        pytest.param("detectors: {a: {pattern: b, word: c}}", 3, "unknown key word", "words", id="unknown key"),
        pytest.param("region: [cn]", 3, "cn is not two capital letters", "CN", id="small region"),
        pytest.param("names: [PHONE_NUMBER]", 3, "names: must be PERSON", "PERSON", id="a kind that Presidio is not asked for"),
        pytest.param("{}", 2, "", "", id="empty"),
    ],
)
def test_mistakes_stop_the_load(tmp_path: Path, block: str, line: int, message: str, cure: str) -> None:
    """Each names its file, its line, what is wrong and what to write."""
    text = f"tools: {{look: {{kind: read, allow: [staff]}}}}\nredact:\n  {block}\n"
    with pytest.raises(PolicyError) as caught:
        Guard.load(write(tmp_path, text), tools={"look": lambda: ""}, store="memory://")
    found = [problem for problem in caught.value.problems if message in problem.message]
    assert found, caught.value
    assert found[0].file == "tools.yaml"
    assert found[0].line in {line, 2, 3}
    assert cure in found[0].cure


@pytest.mark.parametrize(
    ("block", "module", "extra"),
    [
        pytest.param("detectors: {a: {pattern: '(a|aa)*b'}}", "re2", "fast", id="a pattern that only RE2 gets through"),
        pytest.param("region: GB", "phonenumbers", "phones", id="a region"),
        pytest.param("detectors: {a: {pattern: '[0-9]{9}', check: pt.nif}}", "stdnum", "ids", id="a check"),
        pytest.param("names: [PERSON]", "presidio_analyzer", "names", id="names"),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str, module: str, extra: str
) -> None:
    """A policy that needs a package says which one to install, at load."""
    monkeypatch.setitem(sys.modules, module, None)
    text = f"tools: {{look: {{kind: read, allow: [staff]}}}}\nredact:\n  {block}\n"
    with pytest.raises(PolicyError) as caught:
        Guard.load(write(tmp_path, text), tools={"look": lambda: ""}, store="memory://")
    assert any(install(extra) in problem.cure for problem in caught.value.problems)


def test_blocks_of_two_files_are_read_together(tmp_path: Path) -> None:
    """And the same name in both is a mistake."""
    files = {"more.yaml": "redact: {detectors: {b: {pattern: 'B[0-9]{3}'}}}"}
    folder = write(
        tmp_path,
        dedent("""
        tools: {look: {kind: read, allow: [staff]}}
        redact: {detectors: {a: {pattern: 'A[0-9]{3}'}}}
    """),
        files,
    )
    guard = Guard.load(folder, tools={"look": lambda: ""}, store="memory://")
    assert guard.redactor.detect(None, "A123 B123")[0] == "[a] [b]"
    guard.close()
    (folder / "more.yaml").write_text("redact: {detectors: {a: {pattern: 'B[0-9]{3}'}}}", "utf-8")
    with pytest.raises(PolicyError, match="written twice"):
        Guard.load(folder, tools={"look": lambda: ""}, store="memory://")
