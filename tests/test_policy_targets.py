"""`unknown:` of a policy: every form, every mistake with line and cure, what a diff calls it, and an editor's schema that says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from policy_load_kit import GOOD, LOOK, PAY, entry, folder, problems
from review_kit import TOOLS, loaded
from test_policy_effects import ROOT

from guard.policy import load_policy
from guard.review.changes import Direction
from guard.review.differ import compare

FORMS: dict[str, list[str] | None] = {
    "": None,
    "    unknown: {blocks: call}": None,
    "    unknown: {blocks: tool}": [],
    "    unknown: {target: order_id}": ["order_id"],
    "    unknown: {target: [note, order_id]}": ["note", "order_id"],
    "    unknown: {blocks: target, target: [order_id, arguments.note, order_id]}": ["note", "order_id"],
}


@pytest.mark.parametrize("lines", FORMS)
@pytest.mark.parametrize("program", [True, False], ids=["program", "no program"])
def test_every_form(tmp_path: Path, lines: str, program: bool) -> None:
    """Without the key, or with `call`, only the same call is meant; the order of arguments means nothing."""
    found = load_policy(folder(tmp_path, entry(GOOD + lines)), (PAY, LOOK) if program else None).policy.tools["pay"].target
    assert (None if found is None else list(map(str, found.arguments))) == FORMS[lines]


MISTAKES = {
    "a word": ("    unknown: tool", "unknown settings: a mapping is needed", "key: value"),
    "an empty mapping": ("    unknown: {}", "unknown settings: empty", "leave the key out"),
    "unknown key": ("    unknown: {targt: note}", "unknown key targt", "did you mean target?"),
    "no such level": ("    unknown: {blocks: tol}", "blocks: must be call or target or tool", "did you mean tool?"),
    "a target that is not named": ("    unknown: {blocks: target}", "does not say what the target is", "write target:"),
    "a target without effect": (
        "    unknown: {blocks: tool, target: note}",
        "target has no effect beside blocks: tool",
        "leave one",
    ),
    "nothing": ("    unknown: {target: []}", "target: an empty list has no effect", "write an item"),
    "no such argument": ("    unknown: {target: [order_id, nte]}", "pay has no argument nte", "did you mean note?"),
    "an argument of many": ("    unknown: {target: 'note[*]'}", "note[*]", ""),
    "a number": ("    unknown: {target: 3}", "target: a text is needed", "quotes"),
}


@pytest.mark.parametrize(("lines", "message", "cure"), MISTAKES.values(), ids=MISTAKES)
def test_each_mistake_is_named_with_its_line_and_cure(tmp_path: Path, lines: str, message: str, cure: str) -> None:
    """At its own line."""
    found = problems(tmp_path, entry(GOOD + lines), (PAY, LOOK))
    assert {(problem.file, problem.line) for problem in found} == {("tools.yaml", 7)}, found
    assert any(message in one.message and cure in one.cure for one in found), found


def test_a_look_up_has_none(tmp_path: Path) -> None:
    """It runs again: nothing of it is in doubt."""
    text = entry(GOOD).replace("look: {kind: read", "look: {unknown: {blocks: tool}, kind: read")
    found = problems(tmp_path, text, (PAY, LOOK))
    assert "only an action has it" in found[0].message


@pytest.mark.parametrize("lines", [*FORMS, *(lines for lines, _, _ in MISTAKES.values())])
def test_an_editor_says_the_same(tmp_path: Path, lines: str) -> None:
    """What the loader takes the editor's schema takes, but for what only the tool's own schema tells."""
    schema = json.loads((ROOT / "guard/policy/tools.schema.json").read_text())
    below: Any = {"type": "object", "$defs": schema["$defs"], "$ref": "#/$defs/unknown"}
    import ruamel.yaml

    given = (ruamel.yaml.YAML(typ="safe", pure=True).load(lines) or {}).get("unknown", {"blocks": "call"})
    judged_here = lines in FORMS or "nte" in lines or "[*]" in lines or lines.strip() == "unknown: {blocks: target}"
    assert jsonschema.Draft202012Validator(below).is_valid(given) == (judged_here or "tool, target" in lines)


DIFFS = {
    "fewer arguments": ("{target: [order_id, amount]}", "{target: order_id}", Direction.NARROWS),
    "more arguments": ("{target: order_id}", "{target: [order_id, amount]}", Direction.WIDENS),
    "other arguments": ("{target: order_id}", "{target: note}", Direction.MAYBE),
    "every call": ("{target: order_id}", "{blocks: tool}", Direction.NARROWS),
    "no more": ("{blocks: tool}", "{blocks: call}", Direction.WIDENS),
    "another order": ("{target: [order_id, note]}", "{target: [note, order_id]}", None),
}


@pytest.mark.parametrize(("old", "new", "direction"), DIFFS.values(), ids=DIFFS)
def test_a_difference_has_its_direction(tmp_path: Path, old: str, new: str, direction: Direction | None) -> None:
    """What keeps more calls from starting narrows."""
    pair = [
        loaded(tmp_path / str(number), TOOLS.replace("    effect: idempotent\n", f"    effect: idempotent\n    unknown: {key}\n"))
        for number, key in enumerate((old, new))
    ]
    assert [one.direction for one in compare(*pair).changes if one.what == "unknown"] == (
        [] if direction is None else [direction]
    )
