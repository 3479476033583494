"""Files of cases: every mistake is named at once, with file, line and cure; what an editor marks is what the reader refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cases_kit import POLICY, SESSIONS, folder, read

from guard.policy.keywords import float_copy
from guard.policy.problems import Problems
from guard.policy.source import File, read_yaml
from guard.review.keys import KEYS

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "guard" / "review" / "cases.schema.json").read_text())
GOOD = "cases:\n  - name: n\n    session: ann\n    call: find\n    expect: allow\n"
START = SESSIONS.count("\n") + 1
MISTAKES = {
    "an unknown key of a file": ("case: []\n", 0, "unknown key case", "did you mean cases?"),
    "an unknown key of a case": (GOOD + "    expct: hold\n", 5, "unknown key expct", "did you mean expect?"),
    "an unknown key of a step": (GOOD + "    history: [{cal: find}]\n", 5, "unknown key cal", "did you mean call?"),
    "no name": ("cases: [{session: ann, call: find, expect: allow}]\n", 0, "a case has no name", "write name"),
    "no session": ("cases: [{name: n, call: find, expect: allow}]\n", 0, "does not say whose session", "write session: "),
    "an unknown session": (GOOD.replace("session: ann", "session: anne"), 2, "no session is called anne", "did you mean ann?"),
    "a session without principal": ("sessions2: 1\n", 0, "unknown key sessions2", "did you mean sessions?"),
    "no call": ("cases: [{name: n, session: ann, expect: allow}]\n", 0, "no call is proposed", "write call"),
    "nothing expected": ("cases: [{name: n, session: ann, call: find}]\n", 0, "does not say what must come", "write expect"),
    "two tools in one call": (
        GOOD.replace("call: find", "call: {find: {}, send: {}}"),
        3,
        "one tool and its arguments",
        "{tool:",
    ),
    "arguments in a list": (GOOD.replace("call: find", "call: {find: [1]}"), 3, "the arguments of find are a mapping", ""),
    "an unknown tool": (
        GOOD.replace("call: find", "call: fnid"),
        3,
        "no tool of this policy is called fnid",
        "did you mean find?",
    ),
    "an unknown decision": (GOOD.replace("allow", "deny"), 4, "expect: must be allow or hold or refuse or replay", ""),
    "an unknown reason": (
        GOOD + "    reason: not_autorized\n",
        5,
        "no reason is called not_autorized",
        "did you mean not_authorized?",
    ),
    "an unknown check": (
        GOOD + "    checks: {huors: pass}\n",
        5,
        "no tool of this policy has the check huors",
        "did you mean hours?",
    ),
    "an unknown record": (
        GOOD + "    facts: {dor: {D1: {}}}\n",
        5,
        "no tool of this policy has the resource dor",
        "did you mean door?",
    ),
    "both ways to end": (GOOD + "    returns: 1\n    raises: x\n", 6, "either returns or raises", "keep one"),
    "both ways to vote": (GOOD + "    approve: boss\n    reject: boss\n", 6, "approves or rejects", "keep one"),
    "a vote of nobody": (GOOD + "    approve: bos\n", 5, "no session is called bos", "did you mean boss?"),
    "keys beside calls": (
        GOOD.replace("call: find", "calls: [{call: find, expect: allow}]"),
        4,
        "expect stands beside call",
        "each",
    ),
    "a step without anything": (GOOD + "    history: [{times: 3}]\n", 5, "nothing happens in this step", "write user"),
    "no date": (GOOD + "    at: tomorrow\n", 5, "at: a date and a time with its zone", "2026-01-15T09:00:00Z"),
    "a date without a zone": (GOOD + "    at: 2026-01-15T09:00:00\n", 5, "with its zone is needed", "Z"),
    "too often": (GOOD + "    history: [{call: find, times: 1000000}]\n", 5, "is not from 1 to 1000", "smaller"),
    "never": (GOOD + "    history: [{call: find, times: 0}]\n", 5, "is not from 1 to 1000", ""),
    "too many": (
        GOOD + "    history: [{calls: [{call: find, times: 101}], times: 100}]\n",
        1,
        "more than 10000 calls",
        "lower",
    ),
    "too long": (GOOD + "    history: [{wait: 99999999999999999999d}]\n", 5, "more than 400 days", ""),
    "no duration": (GOOD + "    history: [{wait: soon}]\n", 5, "wait: not a duration", ""),
    "a key that is no text": (GOOD.replace("call: find", "call: {find: {1: 2}}"), 3, "a key must be a text", "quotes"),
    "arguments that are none": (GOOD + "    arguments: none\n", 5, "arguments: a mapping is needed", ""),
    "an origin that is none": (GOOD + "    origins: {x: modle}\n", 5, "origins.x: must be model or", "did you mean model?"),
    "two cases of one name": (GOOD + GOOD.partition("\n")[2], 5, "two cases are called n", "rename one"),
    "no cases": ("cases:\n", 0, "case settings: a mapping is needed, not nothing", ""),
    "not YAML": ("cases: [\n", 1, "not YAML", ""),
}
OUTSIDE = {
    "an unknown session",
    "an unknown tool",
    "an unknown check",
    "an unknown record",
    "a vote of nobody",
    "two cases of one name",
}
OUTSIDE |= {
    "too many",
    "both ways to end",
    "both ways to vote",
    "keys beside calls",
    "too long",
    "a key that is no text",
    "not YAML",
}
"""Mistakes about other entries, or two keys at once: an editor's schema cannot see these."""


@pytest.mark.parametrize(("text", "line", "message", "cure"), MISTAKES.values(), ids=MISTAKES.keys())
def test_each_mistake_is_named_with_its_line_and_cure(tmp_path: Path, text: str, line: int, message: str, cure: str) -> None:
    """Nothing that was misspelt passes for the wrong reason."""
    _, _, errors = read(folder(tmp_path, SESSIONS + text))
    fitting = [one for one in errors if message in one.message]

    assert [(one.file, one.line) for one in fitting] == [("cases.yaml", START + line)], errors
    assert cure in fitting[0].cure


def test_every_mistake_is_reported_at_once(tmp_path: Path) -> None:
    """Sessions, names, calls and expectations of all files."""
    folder(tmp_path, "sessions: {ann: {roles: [clerk]}}\n" + GOOD.replace("allow", "deny"))
    (tmp_path / "cases-two.yaml").write_text("sessions: {boss: {principal: B}}\n" + GOOD.replace("find", "fnid"))
    _, _, errors = read(tmp_path)

    assert {(one.file, one.line) for one in errors} == {
        ("cases.yaml", 1),
        ("cases.yaml", 3),  # the name stands in cases-two.yaml already
        ("cases.yaml", 4),  # ann is nobody without a principal
        ("cases.yaml", 6),
        ("cases-two.yaml", 1),  # a person of the policy has the name already
        ("cases-two.yaml", 4),
        ("cases-two.yaml", 5),
    }


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    """As in every file of the folder."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    _, _, errors = read(folder(tmp_path, "\n".join(lines)))

    assert any("more than 100000 values" in one.message for one in errors)


def _value(text: str) -> Any:
    return float_copy(read_yaml(File("cases.yaml", text.encode()), Problems()).value)  # type: ignore[union-attr]


def test_the_editors_schema_knows_exactly_the_keys_of_the_reader() -> None:
    """What an editor completes is what the reader accepts."""
    written = {name: sorted(body["properties"]) for name, body in SCHEMA["$defs"].items() if name in KEYS}

    assert written == {name: sorted(keys) for name, keys in KEYS.items()}


@pytest.mark.parametrize("path", ["policies/cases.yaml", "examples/shop/policies/cases.yaml"])
def test_the_shipped_cases_are_in_the_editors_language(path: str) -> None:
    """Nothing in them is marked."""
    judge = jsonschema.Draft202012Validator(SCHEMA)

    assert [error.message for error in judge.iter_errors(_value((ROOT / path).read_text()))] == []


@pytest.mark.parametrize("name", [name for name in MISTAKES if name not in OUTSIDE])
def test_an_editor_marks_what_the_reader_refuses(name: str) -> None:
    """Every mistake of form is one in the editor too."""
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(_value(MISTAKES[name][0]))) != []


def test_a_case_may_name_a_tool_that_does_not_exist_where_that_is_the_point(tmp_path: Path) -> None:
    """The reason says so."""
    _, cases, errors = read(
        folder(tmp_path, SESSIONS + GOOD.replace("find", "ghost").replace("allow", "refuse\n    reason: unknown_tool"), POLICY)
    )

    assert (len(cases), errors) == (1, [])
