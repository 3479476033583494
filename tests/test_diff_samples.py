"""`guard diff` where rules read the call: widening and narrowing are told where values can show it, and `may widen` where they cannot."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import pytest
from cli_kit import Run, in_process

from guard.core.model import Session
from guard.policy import load_policy
from guard.review.differ import compare

MODEL = """[request_definition]
r = sub, dom, obj, act, ctx
[policy_definition]
p = sub, dom, obj, act, cond, eft
[role_definition]
g = _, _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.act == p.act && r.obj == p.obj && (p.dom == "*" || r.dom == p.dom) && (p.sub == "*" || g(r.sub, p.sub, r.dom)) && eval(p.cond)
"""
TOOLS = """tools:
  pay:
    kind: action
    schema: {type: object, properties: {amount: {type: KIND}, to: {type: string}}, required: [amount, to]}
    resource: {account: to}
    approve: never
limits: {run: {steps: 8, calls: 20}}
"""
W, N, C, M = "widens", "narrows", "changes", "may widen"
A = "r.ctx.arguments.amount"
R = "r.ctx.resource"
ALLOW = "p, role:clerk, *, pay, call, {}, allow\n"
DENY = "p, role:clerk, *, pay, call, {}, deny\n"
RULES: dict[str, tuple[str, str, str]] = {
    # name: (rules before, rules after, direction)
    "a bound raised": (ALLOW.format(f"{A} <= 100"), ALLOW.format(f"{A} <= 200"), W),
    "a bound lowered": (ALLOW.format(f"{A} <= 100"), ALLOW.format(f"{A} <= 99"), N),
    "a bound left out": (ALLOW.format(f"{A} <= 100"), ALLOW.format("True"), W),
    "a bound put in": (ALLOW.format("True"), ALLOW.format(f"{A} <= 100"), N),
    "a bound closed": (ALLOW.format(f"{A} < 100"), ALLOW.format(f"{A} <= 100"), W),
    "the same spelled otherwise": (ALLOW.format(f"{A} <= 100"), ALLOW.format(f"100 >= {A}"), C),
    "the same for whole numbers": (ALLOW.format(f"{A} < 100"), ALLOW.format(f"{A} <= 99"), C),
    "wider here and narrower there": (ALLOW.format(f"{A} <= 100"), ALLOW.format(f"{A} > 50"), W),
    "a text more": (ALLOW.format(f'{R}.kind == "a"'), ALLOW.format(f'{R}.kind == "a" || {R}.kind == "b"'), W),
    "a text less": (ALLOW.format(f'{R}.kind == "a" || {R}.kind == "b"'), ALLOW.format(f'{R}.kind == "b"'), N),
    "one's own region": (ALLOW.format("True"), ALLOW.format(f"{R}.region == r.ctx.session.region"), N),
    "no longer one's own region": (ALLOW.format(f"{R}.region == r.ctx.session.region"), ALLOW.format("True"), W),
    "another's region": (ALLOW.format(f"{R}.region == r.ctx.session.region"), ALLOW.format(f"{R}.region != r.ctx.session.region"), W),
    "one's own record": (ALLOW.format("True"), ALLOW.format(f"{R}.owner == r.ctx.session.principal"), N),
    "a flag": (ALLOW.format(f"not {R}.locked"), ALLOW.format(f"not {R}.locked && {A} <= 5"), N),
    "a denial with a condition more": (ALLOW.format("True"), ALLOW.format("True") + DENY.format(f"{A} > 100"), N),
    "a denial with a condition less": (ALLOW.format("True") + DENY.format(f"{A} > 100"), ALLOW.format("True"), W),
    "a denial with a higher bound": (ALLOW.format("True") + DENY.format(f"{A} > 100"), ALLOW.format("True") + DENY.format(f"{A} > 101"), W),
    "a denial with a lower bound": (ALLOW.format("True") + DENY.format(f"{A} > 100"), ALLOW.format("True") + DENY.format(f"{A} > 99"), N),
    "arithmetic": (ALLOW.format(f"{A} * 2 <= 100"), ALLOW.format(f"{A} * 3 <= 100"), M),
    "arithmetic that is wider": (ALLOW.format(f"{A} * 3 <= 100"), ALLOW.format(f"{A} <= 100"), W),
    "one number against another": (ALLOW.format(f"{A} <= {R}.most"), ALLOW.format(f"{A} < {R}.most"), M),
}  # fmt: skip


def folder(path: Path, rules: str, kind: str = "integer", model: str = MODEL) -> Path:
    path.mkdir(parents=True)
    for name, text in (("tools.yaml", TOOLS.replace("KIND", kind)), ("rules.csv", rules), ("model.conf", model)):
        (path / name).write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(("old", "new", "direction"), RULES.values(), ids=RULES)
def test_the_direction_of_a_condition(tmp_path: Path, old: str, new: str, direction: str) -> None:
    """With an example where a call shows it."""
    changes = compare(load_policy(folder(tmp_path / "a", old)), load_policy(folder(tmp_path / "b", new))).changes

    assert {str(one.direction) for one in changes} == {direction}
    assert all(("for example" in one.note) == (direction in {W, N}) for one in changes)


def test_whether_a_bound_moved_depends_on_what_the_argument_may_be(tmp_path: Path) -> None:
    """Below 100 and up to 99 are the same for whole numbers only."""
    sides = [load_policy(folder(tmp_path / end, ALLOW.format(f"{A} {end}"), "number")) for end in ("< 100", "<= 99")]
    assert [str(one.direction) for one in compare(*sides).changes] == [N]


def test_a_matcher_that_reads_the_call_is_tried_as_well(tmp_path: Path) -> None:
    """The change of the text itself then changes nothing more."""
    models = [MODEL.replace("eval(p.cond)", f"eval(p.cond) && {A} <= {most}") for most in (100, 200)]
    sides = [
        load_policy(folder(tmp_path / name, ALLOW.format("True"), model=model)) for name, model in zip("ab", models, strict=True)
    ]

    assert {(str(one.direction), one.subject) for one in compare(*sides, models=(models[0], models[1])).changes} == {
        (W, "tool pay"),
        (C, "model.conf"),
    }
    assert {str(one.direction) for one in compare(*reversed(sides), models=(models[1], models[0])).changes} == {N, C}


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return in_process(tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize(
    ("name", "code"), [("a bound raised", 1), ("arithmetic", 1), ("a bound lowered", 0), ("the same spelled otherwise", 0)]
)
def test_the_exit_code_follows(guard: Run, tmp_path: Path, name: str, code: int) -> None:
    """1 where something widens, or may."""
    old, new, _ = RULES[name]
    folder(tmp_path / "a", old)
    folder(tmp_path / "b", new)
    assert guard("diff", "a", "b").code == code


def condition(chance: random.Random, depth: int = 2) -> str:
    if depth and chance.random() < 0.5:
        left, right = condition(chance, depth - 1), condition(chance, depth - 1)
        return f"({left} {chance.choice(['&&', '||'])} {right})"
    plain = f"{A} {chance.choice(['<', '<=', '>', '>=', '==', '!='])} {chance.choice([0, 1, 2, 5, 5.5])}"
    return f"not ({plain})" if chance.random() < 0.2 else plain


@pytest.mark.parametrize("seed", range(25))
def test_what_is_said_is_what_every_amount_shows(tmp_path: Path, seed: int) -> None:
    """Random conditions, allows and denials, against a fine grid of amounts: never called narrower or the same where some amount is allowed anew."""
    chance = random.Random(seed)
    rules = [
        ALLOW.format(condition(chance)) + (DENY.format(condition(chance)) if chance.random() < 0.5 else "") for _ in range(2)
    ]
    sides = [load_policy(folder(tmp_path / name, text, "number")) for name, text in zip("ab", rules, strict=True)]
    clerk = Session(principal="x", roles=("clerk",), tenant="t")

    def allowed(amount: Decimal) -> list[bool]:
        scope = {"arguments": {"amount": amount}, "session": clerk.facts(), "resource": {}, "resolved": {}}
        return [side.policy.authorizer.decide(clerk, "pay", "call", scope).allowed for side in sides]

    shown = [allowed(Decimal(step) / 8) for step in range(-20, 80)]
    found = {str(one.direction) for one in compare(*sides).changes}
    if [False, True] in shown:
        assert found == {W}
    elif [True, False] in shown:
        assert found == {N}
    else:
        assert found <= {C}
