"""A shadow rule: it stands in every record that it would have refused, and changes nothing else."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reports import U1, Desk, codes, start, states

from guard import PolicyError
from guard.cli.main import main
from guard.policy import load_policy

HEAD = "tools:\n  look: {kind: read, allow: [staff]}\n  pay:\n    kind: action\n    allow: [staff]\n    approve: never\n"
SHADOW = "enforce: shadow"
RULES: dict[str, tuple[str, str, str, str]] = {
    "ground": ("    ground: {order: {returned_by: look.order%s}}", ", ", "ground order", "not_grounded"),
    "any of": ("    ground: {order: {any_of: [{written_by: user}, {returned_by: look.order}]%s}}", ", ", "ground order", "not_grounded"),
    "after": ("    after: {tool: look%s}", ", ", "after look", "prerequisite_missing"),
    "require": ("    require: [{when: {amount: {maximum: 1}}%s}]", ", ", "pay.require[0]", "rule_refused"),
    "refuse": ("    refuse: [{when: {amount: {minimum: 2}}%s}]", ", ", "pay.refuse[0]", "rule_refused"),
    "check": ("    checks: [{name: no%s}]", ", ", "check no", "check_refused"),
    "check that fails": ("    checks: [{name: broken%s}]", ", ", "check broken (error)", "check_failed"),
    "calls": ("    limits: {calls: 0%s}", ", ", "limit pay.calls", "limit_reached"),
    "equal": ("    limits: {equal: 0%s}", ", ", "limit pay.equal", "repeated_call"),
    "sum": ("    limits: {sum: amount, at_most: 1%s}", ", ", "limit pay.sum amount", "limit_reached"),
    "sum of nothing": ("    limits: {sum: extra, at_most: 1%s}", ", ", "limit pay.sum extra (unknown)", "limit_unknown"),
    "window": ("    limits: {calls: 0, per: 24h%s}", ", ", "limit pay.calls per 1d", "limit_reached"),
    "sum over a window": (
        "    limits: {sum: amount, at_most: 1, per: 1h, of: order%s}", ", ", "limit pay.sum amount per 1h of tenant, order", "limit_reached",
    ),
    "run": ("limits: {run: {calls: {at_most: 0%s}}}", ", ", "limit run.calls", "limit_reached"),
    "steps": ("limits: {run: {steps: {at_most: 0%s}}}", ", ", "limit run.steps", "limit_reached"),
    "conversation": ("limits: {conversation: {calls: {at_most: 0%s}}}", ", ", "limit conversation.calls", "limit_reached"),
    "turn": ("limits: {turn: {calls: {at_most: 0%s}}}", ", ", "limit turn.calls", "limit_reached"),
    "all tools": ("limits: {windows: [{calls: 0, per: 1h%s}]}", ", ", "limit windows.calls per 1h", "limit_reached"),
}  # fmt: skip
"""Every place where a rule may be a shadow: its line, the record's name for it, and what it refuses with when it is in force."""

EACH = pytest.mark.parametrize(("line", "join", "name", "code"), RULES.values(), ids=RULES)


def broken(_: Any) -> str | None:
    raise RuntimeError


def pay(amount: int, order: str = "o", extra: int | None = None) -> str:
    return "paid"


def desk_of(tmp_path: Path, *lines: str, **given_: Any) -> Desk:
    checks = {"no": lambda _: "No.", "broken": broken}
    tools = {"look": lambda: {"order": "z"}, "pay": pay}
    return start(tmp_path, "openai-chat", HEAD + "\n".join(lines) + "\n", tools, checks=checks, **given_)


def one(desk: Desk, amount: int = 2) -> tuple[list[str], list[str | None]]:
    turn = desk.propose(("c1", "pay", {"amount": amount, "order": "o-9"}))
    return states(turn), codes(turn)


@EACH
def test_a_rule_in_force_refuses(tmp_path: Path, line: str, join: str, name: str, code: str) -> None:
    """Without the word the very same rule refuses: what is a shadow below is a real rule."""
    assert one(desk_of(tmp_path, line % "")) == (["refused"], [code])


@EACH
def test_a_shadow_refuses_nothing_and_is_on_record(tmp_path: Path, line: str, join: str, name: str, code: str) -> None:
    """The call runs, and its decision names the rule that would have refused it, under one key for every kind."""
    desk = desk_of(tmp_path, line % (join + SHADOW))
    assert one(desk) == (["done"], [None])
    decision = desk.decision("c1")["decision"]
    assert (decision["verdict"], decision["shadow"]) == ("allow", [name])
    assert not any(name in rule for rule in decision["rules"])
    desk.closed()


@EACH
def test_a_shadow_is_on_record_beside_a_refusal(tmp_path: Path, line: str, join: str, name: str, code: str) -> None:
    """A call that is held all the same is held, with the shadow in its decision."""
    text = HEAD.replace("approve: never", "approve: {by: [boss]}") + line % (join + SHADOW) + "\n"
    desk = start(
        tmp_path,
        "openai-chat",
        text,
        {"look": lambda: {"order": "z"}, "pay": pay},
        checks={"no": lambda _: "No.", "broken": broken},
    )
    assert one(desk) == (["held"], ["held_for_approval"])
    assert desk.decision("c1")["decision"]["shadow"] == [name]
    desk.closed()


def test_shadows_met_before_a_refusal_stay_on_record(tmp_path: Path) -> None:
    """A rule in force refuses; what shadows had said by then is told beside it."""
    desk = desk_of(
        tmp_path,
        f"    checks: [{{name: no, {SHADOW}}}]",
        f"    ground: {{order: {{returned_by: look.order, {SHADOW}}}}}",
        "    limits: {calls: 0}",
    )
    assert one(desk) == (["refused"], ["limit_reached"])
    assert desk.decision("c1")["decision"]["shadow"] == ["check no", "ground order"]
    desk.closed()


def test_a_shadow_ground_vouches_for_nothing(tmp_path: Path) -> None:
    """A value that a shadow rule found is still the model's own: origin and everything after are as without the rule."""
    desk = desk_of(tmp_path, f"    ground: {{order: {{returned_by: look.order, {SHADOW}}}}}")
    desk.propose(("c0", "look", {}))
    assert states(desk.propose(("c1", "pay", {"amount": 1, "order": "z"}))) == ["done"]
    decided = desk.decision("c1")
    assert decided["args"]["labels"]["order"] == "model"
    assert "shadow" not in decided["decision"]
    desk.closed()


def test_a_shadow_that_is_used_once_is_named_the_second_time(tmp_path: Path) -> None:
    """`once` is tried out as well: the second call that relies on the same evidence would have been refused."""
    desk = desk_of(tmp_path, f"    after: {{tool: look, once: true, {SHADOW}}}")
    desk.propose(("c0", "look", {}))
    for name in ("c1", "c2"):
        assert states(desk.propose((name, "pay", {"amount": int(name[1])}))) == ["done"]
    assert [desk.decision(name)["decision"].get("shadow") for name in ("c1", "c2")] == [None, ["once"]]
    desk.closed()


def test_a_shadow_limit_and_one_in_force_count_apart(tmp_path: Path) -> None:
    """A tighter shadow beside a limit takes nothing from it."""
    desk = desk_of(tmp_path, f"    limits: [{{calls: 2, per: 1h}}, {{calls: 1, per: 1h, {SHADOW}}}]")
    found = [states(desk.propose((f"c{n}", "pay", {"amount": n}))) for n in (1, 2, 3)]
    assert found == [["done"], ["done"], ["refused"]]
    assert [desk.decision(f"c{n}")["decision"].get("shadow") for n in (1, 2)] == [None, ["limit pay.calls per 1h"]]
    desk.closed()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    shadows=st.lists(
        st.sampled_from(["after", "require", "refuse", "check", "check that fails", "window"]), unique=True, max_size=6
    ),
    forced=st.lists(st.sampled_from(["ground", "calls", "sum"]), unique=True, max_size=1),
    calls=st.lists(st.tuples(st.sampled_from(["look", "pay"]), st.integers(0, 3), st.sampled_from(["z", "y"])), max_size=5),
)
def test_the_decision_is_that_of_the_policy_without_it(
    tmp_path_factory: pytest.TempPathFactory, shadows: list[str], forced: list[str], calls: list[tuple[str, int, str]]
) -> None:
    """Whatever shadows are written beside whatever rules: statuses, codes and what goes back are those without the shadows.

    Only a default that a shadow looks at is written out where the function would have taken it by itself.
    """
    if "check" in shadows and "check that fails" in shadows:
        shadows.remove("check")
    told = []
    for chosen in (shadows, []):
        lines = [RULES[name][0] % (RULES[name][1] + SHADOW) for name in chosen] + [RULES[name][0] % "" for name in forced]
        lines = _merged(lines)
        desk = desk_of(tmp_path_factory.mktemp("policy"), *lines)
        for number, (tool, amount, order) in enumerate(calls):
            desk.propose((f"c{number}", tool, {"amount": amount, "order": order} if tool == "pay" else {}))
        decided = [event["decision"] for event in desk.audit("call.decided")]
        rules = [[one["verdict"], one.get("code"), one["rules"]] for one in decided]
        ran = [(name, {key: value for key, value in sent.items() if value is not None}) for name, sent in desk.ran]
        told.append(([[str(one.content), one.status, one.reason] for turn in desk.seen for one in turn.outcomes], rules, ran))
        desk.closed()
    assert told[0] == told[1]


def _merged(lines: list[str]) -> list[str]:
    """Limits in one list: a key stands once in a mapping."""
    limits = [line.partition("limits: ")[2] for line in lines if line.startswith("    limits: ")]
    rest = [line for line in lines if not line.startswith("    limits: ")]
    return [*rest, f"    limits: [{', '.join(limits)}]"] if limits else rest


@pytest.mark.parametrize("value", ["true", "never", "Shadow", "off"])
def test_only_one_word_makes_a_shadow(tmp_path: Path, value: str) -> None:
    """There is no other way to take a rule out of force."""
    (tmp_path / "tools.yaml").write_text(HEAD + f"    after: {{tool: look, enforce: {value}}}\n")
    with pytest.raises(PolicyError, match="must be shadow"):
        load_policy(tmp_path)


def test_the_key_of_before_is_named_with_its_cure(tmp_path: Path) -> None:
    """`shadow: true` is an error that says what to write."""
    (tmp_path / "tools.yaml").write_text(HEAD + "    after: {tool: look, shadow: true}\n")
    with pytest.raises(PolicyError) as caught:
        load_policy(tmp_path)
    assert [(found.line, found.message, found.cure) for found in caught.value.problems] == [
        (7, "unknown key shadow", "write enforce: shadow")
    ]


@pytest.mark.parametrize("line", ["    bind: {order: {from: session.principal, enforce: shadow}}", "    approve: {by: [a], enforce: shadow}",
                                  "    allow: {enforce: shadow}", "    ceilings: {arguments_bytes: 5, enforce: shadow}"])  # fmt: skip
def test_nothing_else_may_be_a_shadow(tmp_path: Path, line: str) -> None:
    """Bindings, permissions, approvals and ceilings are always in force."""
    key = line.strip().partition(":")[0]
    head = "\n".join(one for one in HEAD.splitlines()[2:] if one.strip().partition(":")[0] != key)
    (tmp_path / "tools.yaml").write_text("tools:\n" + head + "\n" + line + "\n")
    with pytest.raises(PolicyError):
        load_policy(tmp_path)


def test_check_and_audit_tell_of_shadows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`guard check` counts and names them in its last line, `guard audit --shadow` shows the decisions they would have refused."""
    monkeypatch.chdir(tmp_path)
    desk = desk_of(tmp_path, f"    refuse: [{{when: {{amount: {{minimum: 2}}}}, {SHADOW}}}]", store="sqlite")
    one(desk)
    desk.propose(("c2", "pay", {"amount": 1}))
    desk.closed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert main(["check", "policies"]) == 0
        assert capsys.readouterr().out.splitlines()[-1].endswith("1 shadow rule refusing nothing: pay.refuse[0]")
        assert main(["check", "policies", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["shadows"] == ["pay.refuse[0]"]
    assert main(["audit", "--shadow", "--json"]) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(record["call_id"], record["decision"]["shadow"]) for record in shown] == [("c1", ["pay.refuse[0]"])]
    assert main(["audit", "--shadow"]) == 0
    assert "shadow: pay.refuse[0]" in capsys.readouterr().out


def test_sessions_are_what_they_were(tmp_path: Path) -> None:
    """Default deny is not a rule that could be a shadow: a person without a permission is refused as ever."""
    desk = desk_of(tmp_path, f"    after: {{tool: look, {SHADOW}}}", session=type(U1)(principal="x", roles=("nobody",)))
    assert one(desk) == (["refused"], ["not_authorized"])
