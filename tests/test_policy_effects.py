"""`effect:` and `lease:` of a policy: every form, every mistake with line and cure, and an editor's schema that says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cli_kit import in_process
from policy_load_kit import GOOD, LOOK, PAY, SIGNATURE, entry, folder, problems

from guard import Guard, PolicyError
from guard.core.rules import Tool
from guard.core.taking import lease_of
from guard.policy import Declared, load_policy

ROOT = Path(__file__).parent.parent
KEYED = Declared(name="pay", schema=SIGNATURE, parameters=frozenset({"order_id", "amount", "note"}), keyed=True)
REFUND = Declared(name="refund", schema={"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
                  parameters=frozenset({"order_id"}))  # fmt: skip
PROGRAM = (KEYED, LOOK, REFUND)
HELD = "\n  refund: {kind: action, allow: [staff], approve: {by: [boss]}}"


def loaded(tmp_path: Path, lines: str, declared: Any = PROGRAM, probes: Any = ("pay",)) -> Tool:
    return load_policy(folder(tmp_path, entry(GOOD + lines) + HELD), declared, probes=probes).policy.tools["pay"]


FORMS = {
    # written: (class, whether the target dedupes, the compensation)
    "": ("once", False, ""),
    "    effect: once": ("once", False, ""),
    "    effect: idempotent": ("idempotent", False, ""),
    "    effect: probe": ("probe", False, ""),
    "    effect: {probe: {dedupes: true}}": ("probe", True, ""),
    "    effect: {probe: {dedupes: false}}": ("probe", False, ""),
    "    effect: {compensate: refund}": ("compensate", False, "refund"),
}


@pytest.mark.parametrize("lines", FORMS)
@pytest.mark.parametrize("program", [True, False], ids=["program", "no program"])
def test_every_form_of_effect(tmp_path: Path, lines: str, program: bool) -> None:
    """Each class can be written; an action without one has the strictest; a look-up has its own."""
    tool = loaded(tmp_path, lines, PROGRAM if program else None)
    assert (tool.effect, tool.dedupes, tool.compensation) == FORMS[lines]
    assert load_policy(tmp_path, PROGRAM, probes=("pay",)).policy.tools["look"].effect == "read"


LEASES = {
    "": (None, 30.0),
    "    lease: 2m": (120.0, 120.0),
    "    lease: 90": (90.0, 90.0),
    "    lease: 500ms": (0.5, 0.5),
    "    timeout: 10s": (None, 15.0),
    "    timeout: 10m": (None, 660.0),
    "    timeout: 5s\n    lease: 6s": (6.0, 6.0),
}


@pytest.mark.parametrize("lines", LEASES)
def test_a_lease_is_never_shorter_than_the_timeout(tmp_path: Path, lines: str) -> None:
    """Without one that is written it is the time-out and a margin, or half a minute."""
    tool = loaded(tmp_path, lines)
    assert (tool.lease, lease_of(tool)) == LEASES[lines]
    assert tool.timeout is None or lease_of(tool) > tool.timeout


MISTAKES = {
    # name: (lines below `pay:`, line, message, cure)
    "unknown class": ("    effect: twice", 7, "effect: no such class", "{compensate: other_tool}"),
    "misspelt class": ("    effect: idempotant", 7, "effect: no such class", "did you mean idempotent?"),
    "a number": ("    effect: 3", 7, "effect: no such class", "write once, idempotent"),
    "a list": ("    effect: [once]", 7, "effect: no such class", "write once, idempotent"),
    "nothing": ("    effect:", 7, "effect: no such class", "write once, idempotent"),
    "an empty mapping": ("    effect: {}", 7, "effect settings: empty", "leave the key out"),
    "unknown key": ("    effect: {prob: {dedupes: true}}", 7, "unknown key prob", "did you mean probe?"),
    "two classes": ("    effect: {probe: {dedupes: true}, compensate: refund}", 7, "effect: one class is needed", "{compensate: other_tool}"),
    "probe of nothing": ("    effect: {probe: {}}", 7, "probe settings: empty", "leave the key out"),
    "probe as a flag": ("    effect: {probe: true}", 7, "effect: probe stands alone", "write effect: probe"),
    "misspelt dedupes": ("    effect: {probe: {dedupe: true}}", 7, "unknown key dedupe", "did you mean dedupes?"),
    "dedupes as a text": ("    effect: {probe: {dedupes: yes}}", 7, "dedupes: true or false is needed", "true and false"),
    "compensated by nothing": ("    effect: {compensate: ''}", 7, "compensate: a text is needed", ""),
    "compensated by nobody": ("    effect: {compensate: refnd}", 7, "there is no other tool refnd", "did you mean refund?"),
    "compensated by itself": ("    effect: {compensate: pay}", 7, "pay cannot take itself back", "name another tool"),
    "compensated by a look-up": ("    effect: {compensate: look}", 7, "look is not an action", "name the action"),
    "lease of nothing": ("    lease: 0s", 7, "lease: not a duration above 0", "90s"),
    "lease of parsecs": ("    lease: 3 parsecs", 7, "lease: not a duration above 0", "90s"),
    "lease as a flag": ("    lease: true", 7, "lease: not a duration above 0", "90s"),
    "lease as the timeout": ("    timeout: 5s\n    lease: 5s", 8, "lease: not longer than the timeout", "leave it out"),
    "lease below the timeout": ("    lease: 500ms\n    timeout: 5s", 7, "lease: not longer than the timeout", "make it longer"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "line", "message", "cure"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.parametrize("program", [True, False], ids=["program", "no program"])
def test_each_mistake_is_named_with_its_line_and_cure(
    tmp_path: Path, lines: str, line: int, message: str, cure: str, program: bool
) -> None:
    """One problem at its own line, with and without the program's functions."""
    found = problems(tmp_path, entry(GOOD + lines) + HELD, PROGRAM if program else None, probes=("pay",))
    assert [(problem.file, problem.line) for problem in found] == [("tools.yaml", line)], found
    assert message in found[0].message
    assert cure in found[0].cure


COMPENSATIONS = {
    "may run unasked": ("approve: never", "refund may run without a person's approval"),
    "may run unasked at times": (
        "approve: [{when: {order_id: a}, by: never}, {by: [boss]}]",
        "refund may run without a person's approval",
    ),
    "needs more": (
        "approve: {by: [boss]}, schema: {type: object, properties: {order_id: {}, why: {}}, required: [order_id, why]}",
        "refund needs why, which pay does not have",
    ),
}


@pytest.mark.parametrize(("entry_", "message"), COMPENSATIONS.values(), ids=COMPENSATIONS)
def test_a_compensation_must_be_asked_about_and_complete(tmp_path: Path, entry_: str, message: str) -> None:
    """What would run unasked, or lacks an argument, cannot be offered: told where the class is written."""
    text = entry(GOOD + "    effect: {compensate: refund}") + f"\n  refund: {{kind: action, allow: [staff], {entry_}}}"
    free = Declared(name="refund", schema=None, parameters=None)
    found = problems(tmp_path, text, (KEYED, LOOK, free if "why" in entry_ else REFUND))
    assert [(problem.line, problem.cure != "") for problem in found] == [(7, True)], found
    assert message in found[0].message


def test_a_bound_argument_of_a_compensation_needs_no_twin(tmp_path: Path) -> None:
    """The session fills it in."""
    text = entry(GOOD + "    effect: {compensate: refund}") + (
        "\n  refund: {kind: action, allow: [staff], approve: {by: [boss]}, bind: {by: session.principal}}"
    )
    schema = {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "by": {"type": "string"}},
        "required": ["order_id", "by"],
    }
    bound = Declared(name="refund", schema=schema, parameters=frozenset({"order_id", "by"}))
    assert load_policy(folder(tmp_path, text), (KEYED, LOOK, bound)).policy.tools["pay"].compensation == "refund"


@pytest.mark.parametrize("written", ["effect: once", "effect: idempotent", "lease: 30s"])
@pytest.mark.parametrize("kind", ["read", "compute"])
def test_a_look_up_has_neither(tmp_path: Path, kind: str, written: str) -> None:
    """It may always run again, so a class or a lease would have no effect."""
    found = problems(tmp_path, f"tools:\n  look: {{kind: {kind}, allow: [staff],\n    {written}}}\n", (LOOK,))
    assert [(one.line, one.cure) for one in found] == [(3, "leave it out")]
    assert f"only an action has one; look is a {kind}" in found[0].message


@pytest.mark.parametrize("effect", ["idempotent", "{probe: {dedupes: true}}"])
def test_a_key_that_does_not_reach_the_target_is_a_mistake(tmp_path: Path, effect: str) -> None:
    """A function without idempotency_key cannot keep what the class promises; without a program nobody can tell."""
    found = problems(tmp_path, entry(GOOD + f"    effect: {effect}") + HELD, (PAY, LOOK, REFUND), probes=("pay",))
    assert [(one.line, one.message) for one in found] == [(7, "pay takes no idempotency_key")]
    assert "parameter idempotency_key" in found[0].cure


@pytest.mark.parametrize(
    ("probes", "cure"), [((), "pass probes={'pay': function}"), (("payy",), "did you mean payy?")], ids=["none", "misspelt"]
)
def test_a_probe_must_be_registered(tmp_path: Path, probes: tuple[str, ...], cure: str) -> None:
    """The class without its function could never be told from `once`."""
    found = problems(tmp_path, entry(GOOD + "    effect: probe") + HELD, PROGRAM, probes=probes)
    assert [(one.line, one.message) for one in found] == [(7, "no probe is registered for pay")]
    assert cure in found[0].cure


def test_the_program_brings_its_probes_and_keys(tmp_path: Path) -> None:
    """`Guard.load` knows whether the function takes the key, and the probes by the policy's names; an async one needs an asyncio program."""

    def pay(order_id: str, idempotency_key: str) -> str:
        return order_id

    async def later(key: str) -> None:
        return None

    folder(
        tmp_path,
        "tools:\n  pay: {kind: action, allow: [staff], approve: never, effect: {probe: {dedupes: true}}}\nlimits: {run: {calls: 9}}\n",
    )
    with Guard.load(tmp_path, tools=[pay], probes={"pay": lambda key: None}, store="memory://") as made:
        assert made.policy.tools["pay"].dedupes
    with pytest.raises(PolicyError, match="no probe is registered for pay"):
        Guard.load(tmp_path, tools=[pay], store="memory://")
    with pytest.raises(Exception, match="pay: async probes need AsyncGuard"):
        Guard.load(tmp_path, tools=[pay], probes={"pay": later}, store="memory://")


JUDGE = jsonschema.Draft202012Validator(json.loads((ROOT / "guard" / "policy" / "tools.schema.json").read_text()))
BEYOND = {
    "compensated by nobody",
    "compensated by itself",
    "compensated by a look-up",
    "lease as the timeout",
    "lease below the timeout",
}
"""Mistakes about other entries or two values at once: an editor's schema cannot see these."""


@pytest.mark.parametrize("lines", [*FORMS, *LEASES])
def test_an_editor_takes_what_the_reader_takes(lines: str) -> None:
    """No form of the language is marked in an editor."""
    assert [error.message for error in JUDGE.iter_errors(_read(entry(GOOD + lines) + HELD))] == []


@pytest.mark.parametrize("name", [name for name in MISTAKES if name not in BEYOND])
def test_an_editor_marks_what_the_reader_refuses(name: str) -> None:
    """Every mistake of form is one in the editor too."""
    assert list(JUDGE.iter_errors(_read(entry(GOOD + MISTAKES[name][0]) + HELD))) != []


def _read(text: str) -> Any:
    from guard.policy.keywords import float_copy
    from guard.policy.problems import Problems
    from guard.policy.source import File, read_yaml

    return float_copy(read_yaml(File("tools.yaml", text.encode()), Problems()).value)


def test_check_reads_it_without_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`guard check` knows no functions: keys and probes are not missed, mistakes of the folder are told with their line."""
    (tmp_path / "policies").mkdir()
    folder(tmp_path / "policies", entry(GOOD + "    effect: {probe: {dedupes: true}}\n    lease: 2m") + HELD)
    run = in_process(tmp_path, monkeypatch, capfd)
    assert run("check").code == 0
    folder(tmp_path / "policies", entry(GOOD + "    effect: {compensate: refnd}") + HELD)
    ran = run("check")
    assert ran.code == 1
    assert "tools.yaml:7: compensate: there is no other tool refnd (did you mean refund?)" in ran.err
