"""A folder's own model: other columns, attributes of the call, conditions; what it decides with and without a call, and what is refused."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from policy_casbin_kit import MODEL, loaded, who

from guard.core.model import Session
from guard.errors import PolicyError
from guard.policy import load_policy
from guard.policy.casbin_rules import CasbinAuthorizer

CTX = MODEL.replace("r = sub, dom, obj, act", "r = sub, dom, obj, act, ctx")
LIMITED = CTX.replace("r.act == p.act &&", 'r.act == p.act && (p.sub != "trainee" || r.ctx.arguments.amount <= 100) &&')
COND = CTX.replace("act, eft", "act, cond, eft").replace("m = ", "m = eval(p.cond) && ")
TRAINEE = "p, role:trainee, *, pay, call, {}allow\n"


def scope(**arguments: Any) -> dict[str, Any]:
    return {"arguments": arguments, "resource": {}, "resolved": {}}


def test_a_rule_may_read_the_call(tmp_path: Path) -> None:
    """Shown while nothing is known of the call, decided by its arguments, an argument of another type or none at all refused."""
    judge = loaded(tmp_path, TRAINEE.format(""), LIMITED)
    trainee = who("E1", "trainee")

    assert judge.scoped
    assert judge.decide(trainee, "pay", "call").allowed
    for amount, allowed in (
        (100, True),
        (101, False),
        ("5", False),
        (True, False),
        (float("nan"), False),
        (None, False),
        ([5], False),
        ({"a": 1}, False),
    ):
        assert judge.decide(trainee, "pay", "call", scope(amount=amount)).allowed is allowed, amount
    assert not judge.decide(trainee, "pay", "call", scope()).allowed


def test_a_condition_of_one_rule(tmp_path: Path) -> None:
    """`eval` of a rule's own column: an allow that may hold shows the tool, a deny that may hold does not hide it, an error refuses."""
    rules = (
        "p, trainee, *, pay, call, r.ctx.arguments.amount <= 100, allow\n"
        "p, trainee, *, pay, call, r.ctx.arguments.to == 'mallory', deny\n"
        "p, trainee, *, read_it, call, r.ctx.session.level > 2, allow\n"
    )
    judge = loaded(tmp_path, rules, COND)
    trainee = who("E1", "trainee")
    senior = Session(principal="E1", roles=("trainee",), tenant="acme", attributes={"level": 3})

    assert judge.decide(trainee, "pay", "call").allowed
    assert judge.decide(trainee, "pay", "call", scope(amount=5, to="kim")).allowed
    assert judge.decide(trainee, "pay", "call", scope(amount=5, to="mallory")).denied
    assert judge.decide(trainee, "pay", "call", scope(amount=5)).denied  # the deny cannot be evaluated
    assert not judge.decide(trainee, "pay", "call", scope(amount=500, to="kim")).allowed
    assert [judge.decide(one, "read_it", "call").allowed for one in (trainee, senior)] == [False, True]
    assert judge.decide(who("E1", "employee"), "pay", "call", scope(amount=500)).allowed  # what `allow:` says has no condition


@pytest.mark.parametrize(
    ("condition", "given", "allowed"),
    [
        ("r.ctx.arguments.n == 1", True, False),
        ("r.ctx.arguments.n == 1", 1, True),
        ("r.ctx.arguments.n != 1", True, True),
        ("r.ctx.arguments.n in (0; 1)", 1, None),
        ("0 <= r.ctx.arguments.n <= 5", 5, True),
        ("0 <= r.ctx.arguments.n <= 5", 6, False),
        ("0 <= r.ctx.arguments.n <= 5", True, False),
        ("r.ctx.arguments.n", True, True),
        ("r.ctx.arguments.n", 1, False),
        ("'a' in r.ctx.arguments.n", ["a", "b"], True),
        ("'a' in r.ctx.arguments.n", "cat", True),
        ("'a' not in r.ctx.arguments.n", ["b"], True),
        ("1 in r.ctx.arguments.n", [True], False),
        ("r.ctx.arguments.n == r.ctx.session.n", [1], False),
    ],
)
def test_a_condition_compares_as_json_does(tmp_path: Path, condition: str, given: object, allowed: bool | None) -> None:
    """True is not 1 and has no order, a number is no truth, and a list can be asked what it holds."""
    csv = f"p, trainee, *, pay, call, {condition}, allow\n"
    if allowed is None:
        with pytest.raises(PolicyError):
            loaded(tmp_path, csv, COND)
        return
    assert loaded(tmp_path, csv, COND).decide(who("E1", "trainee"), "pay", "call", scope(n=given)).allowed is allowed


@pytest.mark.parametrize(
    "condition", ["(" * 3000 + "True" + ")" * 3000, "!" * 4000 + "True", "True && (" * 90 + "True" + ")" * 90]
)
def test_a_condition_of_great_depth_is_a_mistake(tmp_path: Path, condition: str) -> None:
    """Told with its place; nothing overflows."""
    with pytest.raises(PolicyError, match=r"rules\.csv:1"):
        loaded(tmp_path, f"p, trainee, *, pay, call, {condition}, allow\n", COND)


def test_exact_numbers(tmp_path: Path) -> None:
    """A fraction in a condition is its digits."""
    from decimal import Decimal

    judge = loaded(tmp_path, "p, trainee, *, pay, call, r.ctx.arguments.amount <= 0.1, allow\n", COND)
    for text, allowed in (("0.1", True), ("0.10000000000000001", False), ("0.10", True)):
        assert judge.decide(who("E1", "trainee"), "pay", "call", scope(amount=Decimal(text))).allowed is allowed


@pytest.mark.parametrize("name", ["items", "get", "keys", "pop", "mro"])
def test_an_argument_called_like_a_method(tmp_path: Path, name: str) -> None:
    """It is the argument or nothing; a missing one is an error."""
    judge = loaded(tmp_path, f"p, trainee, *, pay, call, r.ctx.arguments.{name} == 'x', allow\n", COND)

    assert judge.decide(who("E1", "trainee"), "pay", "call", scope(**{name: "x"})).allowed
    assert not judge.decide(who("E1", "trainee"), "pay", "call", scope(**{name: "y"})).allowed
    assert not judge.decide(who("E1", "trainee"), "pay", "call", scope()).allowed


CONDITIONS = {
    "does not parse": ("r.ctx.arguments.amount <=", "does not parse"),
    "a method": ("r.ctx.arguments.items.pop('a')", "is a method"),
    "a hidden name": ("r.ctx.__class__ == 1", "begins with _"),
    "an import": ("__import__('os') == 1", "unknown function __import__"),
    "an unknown name": ("amount <= 100", "unknown name amount"),
    "a scope of another name": ("r.ctx.args.amount <= 100", "r.ctx has no args"),
    "a condition in a condition": ("eval(p.cond)", "cannot hold another"),
    "a literal that is code": ("r.sub == 'a!'", "Casbin reads it as code"),
    "a pattern without an anchor": ("regexMatch(r.sub; 'x')", "does not parse"),
    "a lambda": ("(lambda: 1)() == 1", "has no place"),
    "a power": ("9**9**9 == 1", "has no place"),
    "a shift": ("1 << 99999 == 1", "has no place"),
}


@pytest.mark.parametrize(("condition", "message"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_a_condition_that_cannot_be_judged_stops_the_load(tmp_path: Path, condition: str, message: str) -> None:
    """With file and line."""
    with pytest.raises(PolicyError) as caught:
        loaded(tmp_path, f"# rules\np, trainee, *, pay, call, {condition}, allow\n", COND)
    assert {(one.file, one.line) for one in caught.value.problems} == {("rules.csv", 2)}
    assert message in caught.value.problems[0].message


NO_TENANTS = """[request_definition]
r = sub, obj, act
[policy_definition]
p = act, obj, sub
[role_definition]
g = _, _
g2 = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.act == p.act && g2(r.obj, p.obj) && g(r.sub, p.sub)
"""


def test_columns_in_another_order_and_groups_of_tools(tmp_path: Path) -> None:
    """Rules follow the model's own columns, `g2` groups tools, and what YAML says fits in."""
    judge = loaded(tmp_path, "p, call, speech, speaker\ng2, mcp__tts__say, speech\ng, E7, speaker\n", NO_TENANTS)

    assert judge.decide(who("E7"), "mcp__tts__say", "call").allowed
    assert not judge.decide(who("E8"), "mcp__tts__say", "call").allowed
    assert not judge.decide(who("E7"), "mcp__tts_evil__say", "call").allowed
    assert judge.decide(who("E1", "employee", tenant="any"), "pay", "call").allowed
    assert judge.decide(who("E2", "supervisor"), "pay", "approve").allowed


FAULTS = {
    "a deny without effect": (MODEL.replace(" && !some(where (p.eft == deny))", ""), "p, a, *, pay, call, deny", "no effect"),
    "a star that == compares": (
        MODEL.replace("keyMatch(r.obj, p.obj)", "r.obj == p.obj"),
        "p, a, *, mcp__*, call, allow",
        "with ==",
    ),
    "an open pattern": (MODEL.replace("keyMatch", "regexMatch"), "p, a, *, pa, call, allow", "not anchored"),
    "a dot": (MODEL.replace("keyMatch", "keyMatch2"), "p, a, *, p.y, call, allow", "stands for any character"),
    "no act": (
        MODEL.replace("sub, dom, obj, act", "sub, dom, obj").replace("r.act == p.act && ", ""),
        "p, a, *, pay, deny",
        "whoever may call could approve",
    ),
    "a column that nothing fills": (
        MODEL.replace("act, eft", "act, level, eft").replace("m = ", "m = r.sub != p.level && "),
        "p, a, *, pay, call, 3, deny",
        "has the column level",
    ),
}


@pytest.mark.parametrize(("model", "csv", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_rules_that_their_model_cannot_mean(tmp_path: Path, model: str, csv: str, message: str) -> None:
    """Each is a mistake with its place and a cure."""
    with pytest.raises(PolicyError) as caught:
        loaded(tmp_path, csv + "\n", model)
    found = [one for one in caught.value.problems if message in one.message]
    assert found, caught.value.problems
    assert all(one.file and one.line and one.cure for one in found)


@pytest.mark.parametrize(
    ("matcher", "message"),
    [
        ("g(r.sub, p.sub, r.dom) && r.act == p.act && keyMatch(r.obj, p.obj)", "g comes first"),
        ("r.act == p.act && keyMatch(r.obj, p.obj) && r.sub == p.sub || r.sub == 'root' && r.obj == p.obj", "not indexable"),
    ],
)
def test_a_slow_matcher_is_warned_of(tmp_path: Path, matcher: str, message: str) -> None:
    """It works, and says what it costs."""
    (tmp_path / "tools.yaml").write_text("tools: {pay: {kind: read, allow: [a]}}")
    (tmp_path / "model.conf").write_text(MODEL[: MODEL.index("m = ")] + f"m = {matcher}\n")
    (tmp_path / "rules.csv").write_text("p, a, acme, pay, call, allow\n")
    assert any(message in one.message for one in load_policy(tmp_path).warnings)


def test_an_explanation_says_which_term_failed(tmp_path: Path) -> None:
    """Every rule about the tool and act, what it lacked, what only a call can tell, and the way to each role."""
    judge = loaded(tmp_path, TRAINEE.format("") + "p, boss, *, pay, call, allow\ng, E1, trainee, acme\n", LIMITED)
    assert isinstance(judge, CasbinAuthorizer)
    told = judge.explain(who("E1"), "pay", "call")
    by_rule = {one.rule: one for one in told.candidates}

    assert told.verdict == judge.decide(who("E1"), "pay", "call")
    assert "amount" in (by_rule["p, trainee, *, pay, call, allow"].open or "")
    assert "g(r.sub, p.sub, r.dom)" in (by_rule["p, boss, *, pay, call, allow"].failed or "")
    assert [path.names for path in told.paths] == [("user:E1", "trainee")]
    late = judge.explain(who("E1"), "pay", "call", scope(amount=500))
    assert "amount" in ({one.rule: one for one in late.candidates}["p, trainee, *, pay, call, allow"].failed or "")
    broken = {one.rule: one for one in judge.explain(who("E1"), "pay", "call", scope()).candidates}
    assert "AttributeError" in (broken["p, trainee, *, pay, call, allow"].error or "")


def test_threads_and_strangers_change_nothing(tmp_path: Path) -> None:
    """Many threads asking for thousands of names that nobody knows: the same answers, and nothing has grown."""
    judge = loaded(tmp_path, "g, E1, employee, acme\n", LIMITED)
    assert isinstance(judge, CasbinAuthorizer)
    wrong: list[object] = []

    def ask(thread: int) -> None:
        for number in range(300):
            stranger = who(f"s{thread}-{number}", f"r{number}", tenant=f"t{number}\n")
            if judge.decide(stranger, f"tool{number}*", "call", scope(amount=number)).allowed:
                wrong.append(stranger)
            if not judge.decide(who("E1"), "read_it", "call", scope()).allowed:
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert judge._memo == {}
    assert len(judge.engine.closures["g"]._known) <= 4
