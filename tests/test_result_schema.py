"""The form of a result: what breaks it is a failure and no data, an action stays unknown, and nothing of it vouches for anything."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from policy_load_kit import GOOD, entry, folder
from reports import EVERY, descriptions, error, outcome, start, states
from wire_helpers import failures

from guard.errors import PolicyError
from guard.policy import load_policy

SHAPE = "{type: object, properties: {id: {type: string}, total: {type: number, multipleOf: 0.01}}, required: [id]}"
LOOK = f"tools: {{look: {{kind: read, allow: [staff], result: {{schema: {SHAPE}}}}}}}"
ODD: dict[str, Any] = {
    "another type": {"id": 5},
    "a field is missing": {"total": 1},
    "not a step": {"id": "A", "total": 0.015},
    "a text": "<html>FAKE-PW</html>",
    "nothing": None,
    "a list": [{"id": "A"}],
    "blocks": {"content": [{"type": "text", "text": "FAKE-PW"}]},
}


@EVERY
@pytest.mark.parametrize("name", ODD)
def test_what_breaks_the_form_is_a_failure(tmp_path: Path, wire: str, name: str) -> None:
    """The reason is its own, the wire's mark of an error is set, the value is shown nowhere, and the record says why."""
    desk = start(tmp_path, wire, LOOK, {"look": lambda: ODD[name]}, store="sqlite")
    turn = desk.propose(("c1", "look", {}))
    assert states(turn) == ["failed"]
    assert error(outcome(turn, "c1"))["code"] == "result_invalid"
    assert "FAKE-PW" not in desk.everything()
    assert "does not fit its schema" in json.dumps(desk.audit("call.end")[0])
    assert failures(wire, turn.messages) == [True]
    desk.closed()


@EVERY
@pytest.mark.parametrize(
    "value",
    [{"id": "A", "total": Decimal("1.10")}, {"id": "A", "total": 0.1}, {"id": "A", "more": [1]}, {"id": "A", "total": 3}],
    ids=["decimal", "the tool's own float", "a further field", "whole"],
)
def test_what_fits_goes_back_as_it_is(tmp_path: Path, wire: str, value: Any) -> None:
    """Numbers are compared exactly, by the digits that they are written with, and keep them; further fields are open as in any JSON Schema."""
    desk = start(tmp_path, wire, LOOK, {"look": lambda: value})
    turn = desk.propose(("c1", "look", {}))
    assert states(turn) == ["done"]
    assert ("1.10" in desk.result("c1")) is (value.get("total") == Decimal("1.10"))
    desk.closed()


@EVERY
def test_a_failure_has_a_form_of_its_own(tmp_path: Path, wire: str) -> None:
    """What a tool says about its own failure is not judged; nor is nothing, where `empty` says what nothing means."""
    text = LOOK.replace("result: {", "result: {empty: no such order, ")
    answers: list[Any] = [{"ok": False, "error": "closed today"}, None]
    desk = start(tmp_path, wire, text, {"look": lambda: answers.pop(0)})
    assert "closed today" in str(outcome(desk.propose(("c1", "look", {})), "c1").content)
    assert outcome(desk.propose(("c2", "look", {})), "c2").content == "no such order"


ACT = """
tools:
  act:
    kind: action
    allow: [staff]
    approve: never
    {effect}
    result: {{schema: {{type: object, properties: {{paid: {{const: true}}}}, required: [paid]}}}}
  next: {{kind: action, allow: [staff], approve: never, after: {{tool: act}}}}
"""


@EVERY
@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("effect", ["", "effect: once", "effect: idempotent", "effect: {probe: {dedupes: true}}"])
def test_an_action_is_unknown_and_never_run_again(tmp_path: Path, wire: str, store: str, effect: str) -> None:
    """It ran, and nobody can read how it went: whatever its class, no re-proposal, new run or restart runs it again; a person settles it."""
    ran: list[str] = []

    def act(idempotency_key: str) -> Any:
        ran.append(idempotency_key)
        return {"paid": "FAKE-PW"}

    tools = {"act": act, "next": lambda: 1}
    desk = start(tmp_path, wire, ACT.format(effect=effect), tools, store=store, probes={"act": lambda key: None})
    first = desk.propose(("c1", "act", {}))
    assert states(first) == ["unknown"]
    assert error(outcome(first, "c1")) == error(outcome(first, "c1")) | {
        "code": "result_invalid",
        "retry": False,
        "executed": None,
    }
    desk.say("Again, please.")
    desk.propose(("c2", "act", {}))
    if store == "sqlite":
        desk.restart()
    desk.settle()
    again = desk.propose(("c3", "act", {}), ("c4", "next", {}))
    assert states(again) == ["unknown", "refused"]
    assert len(ran) == 1
    assert "FAKE-PW" not in desk.everything()
    assert len(desk.guard.unknown.list()) == 1
    desk.closed()


def test_a_probe_that_found_it_done_is_believed(tmp_path: Path) -> None:
    """That a lost call took effect is certain, whatever its result looks like: it is done, and its result is withheld."""
    from guard.core.acting import Executed
    from guard.core.endings import _misfits
    from guard.core.rules import ResultRule

    rule = ResultRule(fits=lambda value: False)
    assert not _misfits(rule, Executed(value=None, probed=True))
    assert _misfits(rule, Executed(value={"a": 1}, probed=True))
    assert _misfits(ResultRule(fits=lambda value: 1 / 0), Executed(value=1)), "a judge that breaks says no"


FILE = '{\n  "type": "object",\n  "properties": {"id": {"$ref": "#/$defs/id"}},\n  "$defs": {"id": {"type": "string"}}\n}\n'


def test_a_schema_may_stand_in_a_file(tmp_path: Path) -> None:
    """A file of the folder is read with it, counts in the version, and may use references of its own."""
    text = entry(GOOD + "    result: {schema: order.schema.json}")
    (tmp_path / "order.schema.json").write_text(FILE)
    first = load_policy(folder(tmp_path, text))
    rule = first.policy.tools["pay"].result
    assert rule.fits is not None
    assert (rule.fits({"id": "A"}), rule.fits({"id": 1})) == (True, False)
    assert not [one for one in first.warnings if "schema" in one.file]
    (tmp_path / "order.schema.json").write_text(FILE.replace("string", "integer"))
    assert load_policy(tmp_path).policy.version != first.policy.version


MISTAKES = {
    "no such file": ("{schema: ordre.schema.json}", "tools.yaml", "did you mean order.schema.json"),
    "not in the folder": ("{schema: /etc/x.json}", "tools.yaml", "there is no file"),
    "a number": ("{schema: 5}", "tools.yaml", "a mapping or a file's name"),
    "not a schema": ("{schema: {type: objekt}}", "tools.yaml", "not a valid schema"),
    "points nowhere": ("{schema: {$ref: '#/$defs/x'}}", "tools.yaml", "points nowhere"),
    "remote": ("{schema: {$ref: 'https://example.com/x'}}", "tools.yaml", "nothing is fetched"),
    "without end": ("{schema: {$ref: '#'}}", "tools.yaml", "refers to itself"),
    "another unit": ("{units: {amount: 5}}", "tools.yaml", "a text is needed"),
    "unit of nothing": ("{schema: order.schema.json, units: {amount: CNY}}", "tools.yaml", "has no field amount"),
    "unit of what is not kept": ("{keep: [id], units: {amount: CNY}}", "tools.yaml", "amount is not kept"),
    "unit of many words": ("{units: {amount: " + "x" * 41 + "}}", "tools.yaml", "not the name of a unit"),
    "no tokens": ("{max_tokens: 0}", "tools.yaml", "withholds every result"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_at_load(tmp_path: Path, name: str) -> None:
    """Each with its file, line and cure."""
    rule, file, said = MISTAKES[name]
    closed = FILE.replace('"$defs"', '"additionalProperties": false, "$defs"')
    (tmp_path / "order.schema.json").write_text(closed)
    with pytest.raises(PolicyError) as caught:
        load_policy(folder(tmp_path, entry(GOOD + f"    result: {rule}")))
    problem = next(one for one in caught.value.problems if said in f"{one.message} {one.cure}")
    assert (problem.file, bool(problem.line)) == (file, True)


def test_a_file_with_a_mistake_is_named_with_its_line(tmp_path: Path) -> None:
    """The place is in the file that holds the mistake; a file that no tool names is a warning."""
    (tmp_path / "order.schema.json").write_text(FILE.replace('"string"', '"strnig"'))
    (tmp_path / "lost.schema.json").write_text("{}")
    with pytest.raises(PolicyError) as caught:
        load_policy(folder(tmp_path, entry(GOOD + "    result: {schema: order.schema.json}")))
    assert [(one.file, one.line) for one in caught.value.problems] == [("order.schema.json", 4)]
    assert [one.file for one in caught.value.warnings if "no tool names this file" in one.message] == ["lost.schema.json"]


def test_a_ground_on_a_field_that_the_schema_lacks(tmp_path: Path) -> None:
    """It could never be met: a warning names it, with a cure."""
    text = entry(GOOD + "    ground: {amount: {returned_by: look.totel}}\n")
    shape = "{type: object, properties: {total: {}}, additionalProperties: false}"
    text = text.replace("look: {kind: read, allow: [staff]", f"look: {{kind: read, allow: [staff], result: {{schema: {shape}}}")
    loaded = load_policy(folder(tmp_path, text))
    assert [one.cure for one in loaded.warnings if "has no such field" in one.message] == [
        "correct the path, or result.schema of look"
    ]


@EVERY
def test_the_model_is_told_the_units(tmp_path: Path, wire: str) -> None:
    """In the tool's description, so that the result keeps its structure; the definition that approvals and pins know stays the same."""
    rule = "result: {units: {total: CNY, 'rows[*].weight': kg}}"
    desk = start(tmp_path, wire, f"tools: {{look: {{kind: read, allow: [staff], {rule}}}}}", {"look": lambda: {"total": 1}})
    assert "total in CNY, rows[*].weight in kg" in descriptions(desk.chat.tools)["look"]
    desk.propose(("c1", "look", {}))
    assert desk.result("c1") == '{"total":1}'
    (tmp_path / "bare").mkdir()
    bare = start(tmp_path / "bare", wire, "tools: {look: {kind: read, allow: [staff]}}", {"look": lambda: 1})
    assert bare.guard.policy.tools["look"].definition == desk.guard.policy.tools["look"].definition
