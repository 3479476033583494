"""Rules about results in a policy folder: mistakes with line and cure, what is probably not meant, and what a diff says."""

from __future__ import annotations

from pathlib import Path

import pytest
from policy_load_kit import entry, folder, problems

from guard.core.paths import parse_field
from guard.core.rules import ResultRule
from guard.core.views import Rules
from guard.policy import load_policy
from guard.policy.problems import Problems
from guard.policy.results import warn_fields
from guard.policy.source import Item
from guard.review.changes import Direction
from guard.review.differ import compare

READ = "    kind: read\n    allow: [staff]\n"
MISTAKES = {
    "a filter": ("result: {drop: ['a[?(@.b)]']}", "is not a path of a field", "no filters"),
    "a slice": ("result: {mask: {'a[0:2]': last4}}", "is not a path of a field", "no slices"),
    "a wildcard": ("result: {keep: ['*']}", "is not a path of a field", "write [*]"),
    "two names at any depth": ("result: {hash: [..a..b]}", "is not a path of a field", "one ..name"),
    "an unknown mask": ("result: {mask: {a: last5}}", "mask a: must be last4", "did you mean last4?"),
    "a mask of nothing": ("result: {mask: {}}", "result.mask: empty", "write an entry"),
    "a type that cannot be": ("result: {handle: {a: E-Mail}}", "cannot name a type", "email or phone"),
    "the type of hashes": ("result: {handle: {a: hash}}", "cannot name a type", "email or phone"),
    "twice": ("result: {drop: [a], mask: {a: year}}", "a stands under drop and under mask", "keep one"),
    "kept and dropped": ("result: {keep: [a], drop: [a]}", "a stands under keep and under drop", "keep one"),
    "a role shows what nobody hides": (
        "result: {mask: {mail: domain}, roles: {boss: {show: [mial]}}}",
        "no rule for everybody hides mial",
        "did you mean mail?",
    ),
    "a role shows more than a rule says": (
        "result: {drop: [..mail], roles: {boss: {show: [mail]}}}",
        "no rule for everybody hides mail",
        "did you mean ..mail?",
    ),
    "show for everybody": ("result: {show: [a]}", "unknown key show", "known: keep, drop"),
    "an unknown kind of content": ("result: {blocks: {video: drop}}", "unknown key video", "known: text"),
    "an unknown picture": ("result: {blocks: {images: [image/tiff]}}", "must be image/png", "did you mean"),
    "a side of a kind": ("result: {blocks: {text: hide}}", "blocks.text: must be keep or drop", "keep"),
    "a handle for no argument": (
        "handles: {nte: mail}",
        "nte",
        "did you mean note?",
    ),
    "a handle without type": ("handles: {note: 3}", "handles.note: a text is needed", "quotes"),
    "masks without a word": ("masks: {note: yes}", "masks.note: must be allow", "allow"),
}


@pytest.mark.parametrize(("lines", "message", "cure"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_have_a_line_and_a_cure(tmp_path: Path, lines: str, message: str, cure: str) -> None:
    """One problem each, where it stands."""
    found = problems(tmp_path, entry(READ + f"    {lines}\n"))
    [problem] = found
    assert (problem.line or 0) >= 5
    assert message in problem.message
    assert cure in (problem.cure or "")


LIMITS = "limits: {run: {steps: 3}}\n"
WARNINGS = {
    "a rule under what is not kept": (
        "find: {kind: read, allow: [a], result: {keep: [id], mask: {mail: domain}}}",
        "result-idle",
    ),
    "a handle that nothing takes": ("find: {kind: read, allow: [a], result: {handle: {mail: email}}}", "handle-unused"),
    "a handle that nothing gives": (
        "send: {kind: action, allow: [a], approve: never, handles: {to: email}}",
        "handle-never-given",
    ),
    "a role that nobody has": (
        "find: {kind: read, allow: [auditor], result: {drop: [x], roles: {auditer: {show: [x]}}}}",
        "result-role",
    ),
}


@pytest.mark.parametrize(("line", "code"), WARNINGS.values(), ids=WARNINGS)
def test_what_is_probably_not_meant_is_a_warning(tmp_path: Path, line: str, code: str) -> None:
    """Each with its own code; everything else loads in silence."""
    loaded = load_policy(folder(tmp_path, f"tools:\n  {line}\n{LIMITS}"))
    assert [warning.code for warning in loaded.warnings] == [code]


GROUNDED = (
    "tools:\n  find: {kind: read, allow: [a], result: RULE}\n  send:\n    kind: action\n    allow: [a]\n    approve: never\n    ground: {to: {returned_by: find.mail}}\n"
    + LIMITS
)


def test_a_grounded_value_that_is_masked_is_named(tmp_path: Path) -> None:
    """The model cannot send a value that it only saw masked; a handle it can."""
    for rule in ("{mask: {mail: domain}}", "{hash: [mail]}", "{drop: [mail]}"):
        loaded = load_policy(folder(tmp_path, GROUNDED.replace("RULE", rule)))
        assert [warning.message.partition(",")[0] for warning in loaded.warnings] == [
            f"find.mail is grounded but hidden by {rule[1:5].rstrip(':')}"
        ]
    loaded = load_policy(
        folder(
            tmp_path, GROUNDED.replace("RULE", "{handle: {mail: email}}").replace(LIMITS, "    handles: {to: email}\n" + LIMITS)
        )
    )
    assert loaded.warnings == ()


SCHEMA = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": {"type": "object", "properties": {"mail": {}}, "additionalProperties": False}}
    },
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("path", "step"),
    [
        ("rows[*].mail", None),
        ("rows[0].mail", None),
        ("..mial", None),
        ("rows[*].mial", "mial"),
        ("row", "row"),
        ("[*].mail", "[*]"),
    ],
)
def test_a_rule_is_held_against_the_output_schema(path: str, step: str | None) -> None:
    """A path that no result of the schema has is named, with what was probably meant."""
    found = Problems()
    warn_fields(ResultRule(rules=Rules(keep=(parse_field(path),))), Item("tools.yaml", 3, {}), SCHEMA, found)
    assert [one.message for one in found.warnings] == ([] if step is None else [f"keep {path}: the output schema has no {step}"])
    assert all(one.code == "result-field" for one in found.warnings)


W, N, M, C = Direction.WIDENS, Direction.NARROWS, Direction.MAYBE, Direction.CHANGES
BASE = "{keep: [a, b], mask: {a: last4}, roles: {boss: {drop: [b]}}, blocks: {images: drop}}"
DIFFS = {
    "a mask taken away": (", mask: {a: last4}", "", {W}),
    "a mask more": ("{a: last4}", "{a: last4, b: year}", {N}),
    "an object whole": ("mask: {a: last4}", "drop: [a.b]", {N, W}),
    "a rule of another kind": ("mask: {a: last4}", "handle: {a: email}", {M}),
    "nothing of it": ("{a: last4}", "{a: fixed}", {N}),
    "another part of it": ("{a: last4}", "{a: year}", {M}),
    "a role sees more": ("boss: {drop: [b]}", "boss: {drop: [b], show: [a]}", {W}),
    "a role sees a field less": ("boss: {drop: [b]}", "boss: {drop: [b], keep: [a]}", {N}),
    "a role hides less": ("boss: {drop: [b]}", "boss: {mask: {b: year}}", {W}),
    "a role without rules": (", roles: {boss: {drop: [b]}}", "", {W}),
    "pictures": ("{images: drop}", "{images: [image/png]}", {W}),
    "no texts": ("{images: drop}", "{images: drop, text: drop}", {N}),
}


@pytest.mark.parametrize(("old", "new", "ways"), DIFFS.values(), ids=DIFFS)
def test_a_diff_says_which_way_a_rule_goes(tmp_path: Path, old: str, new: str, ways: set[Direction]) -> None:
    """And the way back goes the other way."""
    text = "tools:\n  find: {kind: read, allow: [a], result: RULE}\n" + LIMITS
    assert old in BASE
    pair = []
    for name, rule in (("one", BASE), ("two", BASE.replace(old, new))):
        (tmp_path / name).mkdir()
        pair.append(load_policy(folder(tmp_path / name, text.replace("RULE", rule))))
    assert {change.direction for change in compare(*pair).changes} == ways
    back = {W: N, N: W, M: M, C: C}
    assert {change.direction for change in compare(*pair[::-1]).changes} == {back[way] for way in ways}


@pytest.mark.parametrize(
    ("old", "new", "way"),
    [
        ("handles: {to: email}", "handles: {to: [email, name]}", W),
        ("handles: {to: email}", "handles: {cc: email}", W),
        ("handles: {to: email}", "handles: {to: email}\n    masks: {body: allow}", W),
        ("    handles: {to: email}\n", "", N),
    ],
)
def test_a_diff_says_where_values_are_put_back(tmp_path: Path, old: str, new: str, way: Direction) -> None:
    """An argument or a type more gives more away."""
    text = (
        "tools:\n  find: {kind: read, allow: [a], result: {handle: {x: email, y: name}}}\n  send:\n    kind: action\n    allow: [a]\n    approve: never\n    handles: {to: email}\n"
        + LIMITS
    )
    pair = []
    for name, one in (("one", text), ("two", text.replace(old, new))):
        (tmp_path / name).mkdir()
        pair.append(load_policy(folder(tmp_path / name, one)))
    assert way in {change.direction for change in compare(*pair).changes}
