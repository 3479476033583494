"""`guard check` names the mistakes in files of cases, as `guard test` does, with file, line and cure; it plays none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases_kit import SESSIONS, folder
from cli_kit import Run

CASE = "cases:\n  - {name: n, session: ann, call: find, expect: allow}\n"
START = SESSIONS.count("\n") + 1
MISTAKES = {
    "tool": (CASE.replace("find", "fnid"), START + 1, "no tool of this policy is called fnid (did you mean find?)"),
    "key": (CASE.replace("expect", "expct"), START + 1, "unknown key expct (did you mean expect?)"),
    "session": (CASE.replace("session: ann", "session: anne"), START + 1, "no session is called anne (did you mean ann?)"),
}


@pytest.mark.parametrize(("cases", "line", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_cases_is_a_problem(cases: str, line: int, told: str, run: Run, tmp_path: Path) -> None:
    """With its place and cure, in text and JSON, and exit code 1."""
    folder(tmp_path / "policies", SESSIONS + cases)
    ran = run("check")
    assert ran.code == 1
    assert f"cases.yaml:{line}: " in ran.err
    assert told in ran.err
    problem, *_ = run("check", "--json").json["problems"]
    assert (problem["file"], problem["line"]) == ("cases.yaml", line)


def test_a_case_that_would_fail_is_no_mistake(run: Run, tmp_path: Path) -> None:
    """Whether a case passes is for `guard test` to say."""
    folder(tmp_path / "policies", SESSIONS + CASE.replace("allow", "refuse"))
    assert run("check").code == 0
    assert run("test").code == 1


@pytest.mark.parametrize(("role", "told"), [("clrek", "no rule names the role clrek (did you mean clerk?)"), ("visitor", "")])
def test_a_role_that_is_nearly_a_known_one_is_a_warning(role: str, told: str, run: Run, tmp_path: Path) -> None:
    """At its line; a role that is like none may be what the case is about."""
    folder(
        tmp_path / "policies",
        SESSIONS.replace("stranger: {principal: E3}", f"stranger: {{principal: E3, roles: [{role}]}}") + CASE,
    )
    ran = run("check")
    assert ran.code == 0
    assert ("the role" in ran.err) == bool(told)
    assert told in ran.err
    assert not told or "cases.yaml:5: " in ran.err
