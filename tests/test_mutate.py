"""Mutants: whatever narrows a policy can be taken away by itself, and a policy without it is noticed by its cases or told."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases_kit import POLICY, RULES, folder

from guard.policy import load_policy
from guard.policy.language import KEYS
from guard.policy.load import compile_policy
from guard.policy.problems import Problems
from guard.policy.written import Written, read_policy
from guard.review.coverage import coverage
from guard.review.mutants import mutants
from guard.review.point import Point
from guard.review.points import _COUNTED, points
from guard.review.reading import read_cases
from guard.review.suite import judge_all
from guard.review.tool_points import _NARROWING, _ROWS, _SUM

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = {
    "travel": ROOT / "policies",
    "shop": ROOT / "examples" / "shop" / "policies",
    "sidecar": ROOT / "examples" / "sidecar" / "policies",
}


def _points(path: Path) -> tuple[Written, list[Point]]:
    written = read_policy(path, Problems())
    return written, points(written, load_policy(path).book)


LEAST = dict(zip(SHIPPED.values(), (19, 19, 13), strict=True))
"""How many rules each of them has at least."""


@pytest.mark.parametrize("path", SHIPPED.values(), ids=SHIPPED.keys())
def test_the_cases_of_the_shipped_policies_notice_every_rule_that_is_taken_away(path: Path) -> None:
    """Every case passes, every rule decides in one, and no rule could go unnoticed."""
    loaded, problems = load_policy(path), Problems()
    cases = read_cases(path, loaded, problems)
    results = judge_all(loaded, cases)
    written, found = _points(path)
    tried = list(mutants(written, found, cases, lambda changed: compile_policy(changed, None, Problems())))

    assert problems.errors == []
    assert [one.text for result in results for one in result.differences] == []
    assert [one.point.what for one in coverage(found, results) if not one.worked] == []
    assert [(one.fate, one.point.what) for one in tried if one.fate != "killed"] == []
    assert len(tried) >= LEAST[path]


def test_a_rule_that_no_case_needs_is_told(tmp_path: Path) -> None:
    """Each thing that narrows the policy is a mutant of its own, and without cases about it it survives."""
    folder(
        tmp_path,
        "sessions: {ann: {principal: E1, roles: [clerk]}}\ncases: [{name: n, session: ann, call: find, expect: allow}]\n",
    )
    written, found = _points(tmp_path)
    loaded = load_policy(tmp_path)
    cases = read_cases(tmp_path, loaded, Problems())
    tried = list(mutants(written, found, cases, lambda changed: compile_policy(changed, None, Problems())))
    fates = {(one.point.tool, one.point.what): one.fate for one in tried}

    assert set(fates.values()) <= {"survived", "invalid"}
    assert fates["send", "p, trainee, *, send, call, deny"] == "survived"
    assert {what for tool, what in fates if tool == "send"} == {
        "allow clerk",
        "schema",
        "bind by",
        "strict of bind by",
        "check hours",
        "require n",
        "refuse to",
        "when of approve by never",
        "approve by boss",
        "p, trainee, *, send, call, deny",
        "p, user:B2, *, send, approve, deny",
    }
    assert {what for tool, what in fates if tool in {"open", "pay"}} == {
        "allow clerk",
        "resource door",
        "owner of resource door",
        "limits.calls: 2",
        "ground n",
        "ground id",
        "limits.sum of n",
        "approve by self",
    }
    assert {what for tool, what in fates if not tool} == {
        "limits.turn.calls: 3",
        "limits.run.steps: 9",
        "limits.run.calls: 50",
        "limits.run.seconds: 60",
        "limits.run.tokens: 1000",
        "limits.run.cost: 1",
    }


def test_a_changed_policy_is_compiled_by_the_whole_loader(tmp_path: Path) -> None:
    """What is taken away is gone from the compiled policy, everything else is as it was; the written policy itself is not changed."""
    folder(tmp_path, "")
    written, found = _points(tmp_path)
    whole = load_policy(tmp_path)
    by_name = {(one.tool, one.what): one for one in found}

    def without(tool: str, what: str) -> object:
        return compile_policy(by_name[tool, what].without(written), None, Problems()).policy.tools[tool]

    assert without("send", "bind by").bindings == ()  # type: ignore[attr-defined]
    assert without("send", "strict of bind by").bindings[0].strict is False  # type: ignore[attr-defined]
    assert without("send", "check hours").checks == ()  # type: ignore[attr-defined]
    assert len(without("send", "approve by boss").approval) == 2  # type: ignore[attr-defined]
    assert without("send", "approve by boss").approval[1].strictness == 0  # type: ignore[attr-defined]
    assert [rule.strictness for rule in without("send", "when of approve by never").approval] == [0]  # type: ignore[attr-defined]
    assert without("pay", "approve by self").approval == ()  # type: ignore[attr-defined]
    assert without("open", "owner of resource door").resources[0].owner is None  # type: ignore[attr-defined]
    assert without("pay", "limits.sum of n").limits.sums == ()  # type: ignore[attr-defined]
    assert load_policy(tmp_path).policy.version == whole.policy.version
    assert compile_policy(written, None, Problems()).policy.tools["send"].checks[0].name == "hours"


def test_what_no_longer_loads_is_told_apart(tmp_path: Path) -> None:
    """A policy that the loader refuses proves nothing about its cases."""
    policy = POLICY.replace("    limits: {calls: 2}\n", "    refuse: [{when: {resource.locked: true}}]\n")
    folder(tmp_path, "", policy, RULES)
    written, found = _points(tmp_path)
    tried = list(mutants(written, found, [], lambda changed: compile_policy(changed, None, Problems())))
    invalid = {(one.point.tool, one.point.what): one.by for one in tried if one.fate == "invalid"}

    assert set(invalid) == {("open", "resource door"), ("regain", "approve by boss")}
    assert "open has no resource" in invalid["open", "resource door"]


def test_coverage_counts_what_decided_and_what_let_pass(tmp_path: Path) -> None:
    """A rule that refused in no case stands with zero, beside those of its tool that did."""
    text = """sessions: {ann: {principal: E1, roles: [clerk]}, mate: {principal: E2, roles: [clerk, trainee]}}
checks: {hours: pass}
cases:
  - {name: a, session: ann, call: {send: {to: kim, n: 101}}, expect: refuse}
  - {name: b, session: ann, call: {send: {to: kim, n: 1}}, expect: allow}
  - {name: c, session: mate, call: {send: {to: kim, n: 1}}, expect: refuse}
  - {name: d, session: ann, calls: [{call: find, times: 3, expect: allow}, {call: find, expect: refuse}]}
"""
    loaded = load_policy(folder(tmp_path, text))
    _, found = _points(tmp_path)
    covered = coverage(found, judge_all(loaded, read_cases(tmp_path, loaded, Problems())))
    counts = {(one.point.tool, one.point.what): (one.worked, one.passed) for one in covered}

    assert counts["send", "require n"] == (1, 1)
    assert counts["send", "refuse to"] == (0, 1)
    assert counts["send", "p, trainee, *, send, call, deny"] == (1, 1)
    assert counts["send", "approve by boss"] == (0, 0)
    assert counts["", "limits.turn.calls: 3"] == (1, 2)
    assert counts["", "limits.run.calls: 50"] == (0, 2)


def test_every_key_of_the_language_is_taken_away_or_known_to_narrow_nothing() -> None:
    """A new key that refuses, holds or hides gets a row, so that no rule of its kind goes uncounted."""
    other = {
        "kind",
        "description",
        "coerce",
        "unwrap",
        "repeat",
        "timeout",
        "effect",
        "lease",
        "handles",
        "masks",
        "http",
        "trust",
    }

    assert set(KEYS["tool"]) == set(_ROWS) | other
    assert set(KEYS["tool_limits"]) == {"calls", "equal", *_SUM, "of", "enforce"}
    assert set(KEYS["limits"]) == set(_COUNTED)
    assert set(KEYS["window"]) == {"calls", "per", "of", "enforce"}
    assert set(KEYS["check"]) == {"name", "enforce"}
    assert set(KEYS["source"]) == {
        "returned_by",
        "at_most",
        "at_least",
        "written_by",
        "held_by",
        *_NARROWING,
        "verified",
        "enforce",
    }
    assert set(KEYS["after"]) == {"tool", "where", *_NARROWING, "verified", "enforce"}
    voting = {
        "need",
        "use_within",
        "edit",
        "secret",
        "effect",
        "escalate",
        "on_message",
        "grants",
    }  # how it is decided, not whether
    assert set(KEYS["approval"]) == {"by", "when", "expires", "show", "assurance", *voting}
    assert set(KEYS["result"]) == {
        "keep",
        "drop",
        "mask",
        "hash",
        "handle",
        "blocks",
        "roles",
        "empty",
        "max_bytes",
        "max_tokens",
        "schema",
        "units",
    }
    assert set(KEYS["role_result"]) == {"keep", "drop", "mask", "hash", "handle", "blocks", "show"}


def test_windows_and_ceilings_are_taken_away_one_by_one(tmp_path: Path) -> None:
    """A limit over a window goes with its length, one of several counts goes alone, and a ceiling goes back to its default."""
    (tmp_path / "tools.yaml").write_text(
        "tools:\n  find:\n    kind: read\n    allow: [clerk]\n    checks: [{name: hours, enforce: shadow}]\n"
        "    schema: {type: object, properties: {n: {type: number}}}\n    ceilings: {arguments_bytes: 100}\n"
        "    limits: [{calls: 3, per: 24h}, {calls: 5, sum: n, at_most: 9, per: 1h, of: tenant}, {equal: 2}]\n"
        "limits: {windows: [{calls: 9, per: 1h}], run: {calls: {at_most: 9, enforce: shadow}}}\nceilings: {message_calls: 5}\n"
    )
    written, found = _points(tmp_path)
    tried = list(mutants(written, found, [], lambda changed: compile_policy(changed, None, Problems())))

    assert {one.point.kind for one in tried} >= {
        "limits.equal",
        "window.calls",
        "window.sum",
        "window.windows",
        "ceiling",
        "check",
    }
    assert [one.point.what for one in tried if one.fate == "invalid"] == []
