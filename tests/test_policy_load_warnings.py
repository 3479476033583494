"""Warnings: what works but is probably not meant is said, and the policy is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from policy_load_kit import GOOD, LOOK, PAY, entry, folder

from guard.errors import PolicyError, Problem
from guard.policy import Declared, load_policy
from guard.tools import registry

WARNINGS = {
    "no run limits": (GOOD, "no limits.run"),
    "nobody may call": ("    kind: action\n    approve: never", "nobody may call pay"),
    "everybody may call": (GOOD.replace("staff", "'*'"), "everybody may call pay"),
    "identity": (GOOD + "    schema: {properties: {userId: {}}}", "nobody owns the argument userId"),
    "misspelt keyword": (GOOD + "    schema: {properties: {a: {}}, requred: [a]}", "requred is not a keyword"),
    "a cost that nobody knows": (GOOD + "limits: {run: {cost: 5}}", "only where the provider states it"),
    "expires without a unit": (
        GOOD.replace("never", "{by: [boss], expires: 24}"),
        "expires: 24 counts as 24 seconds",
    ),
    "expires as a text without a unit": (GOOD.replace("never", "{by: [boss], expires: '24'}"), "24 counts as 24 seconds"),
    "a fact of the session, misspelt": (GOOD + "    bind: {note: session.pricipal}", "did you mean session.principal?"),
    "held by a fact, misspelt": (GOOD + "    ground: {note: {held_by: session.role}}", "did you mean session.roles?"),
    "a repeat in a repeat": (GOOD + "    require: {note: {pattern: '(a+)+$'}}", "(a+)+$ repeats a repeat"),
    "such a schema": (
        GOOD + r"    schema: {properties: {note: {type: string, pattern: '(\w+\s?)*x'}}}",
        r"(\w+\s?)*x repeats a repeat",
    ),
    "such a name": (
        GOOD + "    schema: {type: object, patternProperties: {'(a*)*': {}}, additionalProperties: false}",
        "(a*)* repeats a repeat",
    ),
    "forbidden programs": (GOOD + "    refuse: [{when: {note: {command: {programs: [rm]}}}}]", "easily evaded"),
}


@pytest.mark.parametrize(("lines", "message"), WARNINGS.values(), ids=WARNINGS.keys())
def test_what_works_but_is_probably_not_meant_is_a_warning(tmp_path: Path, lines: str, message: str) -> None:
    """A policy that can be used is loaded; what looks wrong in it is said."""
    loaded = load_policy(folder(tmp_path, entry(lines)))

    assert any(message in str(warning) and warning.warning for warning in loaded.warnings), loaded.warnings


QUIET = {
    "expires with a unit": GOOD.replace("never", "{by: [boss], expires: 24h}"),
    "timeout without a unit": GOOD + "    timeout: 24",
    "a fact of the session": GOOD + "    bind: {note: session.tenant}",
    "a part of the session": GOOD + "    bind: {note: 'session.roles[*]'}",
    "an attribute": GOOD + "    bind: {note: session.job_level}",
    "a pattern that ends": GOOD + "    require: {note: {pattern: '[a-z]+(-[a-z]+)*'}}",
}


@pytest.mark.parametrize("lines", QUIET.values(), ids=QUIET.keys())
def test_what_is_plainly_meant_is_no_warning(tmp_path: Path, lines: str) -> None:
    """The neighbours of what is warned about load in silence."""
    loaded = load_policy(folder(tmp_path, entry(lines + "\nlimits: {run: {steps: 3}}")))

    assert loaded.warnings == ()


def seen(tmp_path: Path, keep: str, lines: str) -> list[Problem]:
    """What is said of `pay` where `look` keeps these fields."""
    text = f"tools:\n  look: {{kind: read, allow: [a], result: {{keep: {keep}}}}}\n  pay:\n{GOOD}{lines}\nlimits: {{run: {{steps: 3}}}}\n"
    return list(load_policy(folder(tmp_path, text)).warnings)


UNSEEN = {
    "returned_by": ("[name]", "    ground:\n      a: {written_by: user}\n      b: {returned_by: look.email}", 9, "email"),
    "at_most": ("[name]", "    ground: {a: {at_most: look.total}}", 7, "total"),
    "an alternative": (
        "[name]",
        "    ground:\n      a:\n        any_of:\n        - {written_by: user}\n        - {at_least: look.email}",
        11,
        "email",
    ),
    "beside it": ("['orders[*].name']", "    ground: {a: {returned_by: 'look.orders[*].id'}}", 7, "orders[*].id"),
}


@pytest.mark.parametrize(("keep", "lines", "line", "field"), UNSEEN.values(), ids=UNSEEN.keys())
def test_a_grounded_value_that_is_not_kept_is_named(tmp_path: Path, keep: str, lines: str, line: int, field: str) -> None:
    """The model cannot repeat a value that `keep` hides from it: the ground's line is told, and what to keep."""
    found = seen(tmp_path, keep, lines)

    assert [(warning.line, warning.message, warning.cure) for warning in found] == [
        (line, f"look.{field} is grounded but not kept, so the model never sees it", f"add {field} to result.keep of look")
    ]


SEEN = {
    "kept": ("[email]", "    ground: {a: {returned_by: look.email}}"),
    "kept whole": ("[owner]", "    ground: {a: {returned_by: look.owner.email}}"),
    "kept in part": ("[owner.email]", "    ground: {a: {returned_by: look.owner}}"),
    "of each record": ("[email]", "    ground: {a: {returned_by: 'look[*].email'}}"),
    "not the model's": ("[name]", "    bind: {a: session.mail}\n    ground: {a: {returned_by: look.email}}"),
}


@pytest.mark.parametrize(("keep", "lines"), SEEN.values(), ids=SEEN.keys())
def test_a_grounded_value_that_the_model_sees_is_no_warning(tmp_path: Path, keep: str, lines: str) -> None:
    """A field is seen with what it stands in and with what stands in it; a bound field need not be seen."""
    assert seen(tmp_path, keep, lines) == []


def untyped(x, y: int, z=3) -> None:
    """Look."""


@pytest.mark.parametrize(
    ("lines", "names"),
    [("", ["x", "z"]), ("    bind: {x: session.principal}", ["z"]), ("    schema: {properties: {x: {}}}", [])],
    ids=["plain", "bound", "schema"],
)
def test_a_parameter_without_a_type_is_named(tmp_path: Path, lines: str, names: list[str]) -> None:
    """Whatever the model writes for it is accepted, which is said at load; not where the session fills it or a schema describes it."""
    made = registry([untyped])["untyped"]
    text = f"tools:\n  untyped:\n    kind: read\n    allow: [a]\n{lines}\nlimits: {{run: {{steps: 3}}}}\n"
    loaded = load_policy(folder(tmp_path, text), [Declared(name=made.name, schema=made.schema, parameters=made.parameters)])

    assert [(warning.line, warning.message) for warning in loaded.warnings] == [
        (2, f"untyped: the parameter {name} has no type, so any value is accepted") for name in names
    ]


def test_mistakes_come_with_what_else_was_noticed(tmp_path: Path) -> None:
    """A policy that cannot be used tells its warnings as well, so that both are repaired at once."""
    with pytest.raises(PolicyError) as caught:
        load_policy(folder(tmp_path, entry(GOOD + "    alow: [x]")))

    assert [warning.message for warning in caught.value.warnings] == ["no limits.run: a model may call tools without end"]
    assert PolicyError([]).warnings == ()


def test_registered_tools_without_entry_are_named(tmp_path: Path) -> None:
    """A tool that nobody wrote a policy for is refused at run time, and said so at load."""
    loaded = load_policy(folder(tmp_path, entry(GOOD)), (PAY, LOOK, Declared(name="wipe", schema={})))

    assert loaded.policy.unlisted == {"wipe"}
    assert any("wipe has no entry" in warning.message for warning in loaded.warnings)


def test_what_stands_nowhere_is_told_of_the_file_with_the_tools(tmp_path: Path) -> None:
    """There one would write it; another file of the folder comes first by its name only. Without any tool it is the first file."""
    people = {"people.yaml": "people: {ann: {principal: E1}}\n"}
    loaded = load_policy(folder(tmp_path, {**people, "tools.yaml": entry(GOOD)}), (PAY, LOOK, Declared(name="wipe", schema={})))
    told = [(one.file, one.line) for one in loaded.warnings if "wipe" in one.message or "limits.run" in one.message]
    assert told == [("tools.yaml", None)] * 2
    bare = load_policy(folder(tmp_path, {**people, "tools.yaml": "limits: {run: {calls: 9}}\n"}), ())
    assert [(one.file, one.code) for one in bare.warnings if one.code == "no-tools"] == [("people.yaml", "no-tools")]
