"""`guard explain` of a rule that reads the record: candidates with the term that failed, ways to roles, origins, rooms, version and times, as text and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_kit import Run, in_process

MODEL = """[request_definition]
r = sub, dom, obj, act, ctx
[policy_definition]
p = sub, dom, obj, act, cond, eft
[role_definition]
g = _, _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.act == p.act && keyMatch(r.obj, p.obj) && (p.dom == "*" || r.dom == p.dom) && (p.sub == "*" || g(r.sub, p.sub, r.dom)) && eval(p.cond)
"""
RULES = """p, role:clerk, *, close, call, r.ctx.resource.region == r.ctx.session.region, allow
p, role:auditor, *, close, call, r.ctx.arguments.amount <= 10, allow
p, role:trainee, *, close, call, r.ctx.resource.locked, deny
p, role:clerk, *, other, call, r.ctx.arguments.amount <= 10, allow
g, role:manager, role:clerk, acme
g, E9, role:manager, acme
"""
TOOLS = """tools:
  close:
    kind: action
    schema:
      type: object
      properties: {account: {type: string}, amount: {type: integer, default: 5}, by: {type: string}}
      required: [account]
    bind: {by: session.principal}
    resource: {account: account}
    require: {amount: {minimum: 1}}
    approve: never
  other: {kind: read, schema: {type: object, properties: {amount: {type: integer}}}}
limits: {run: {steps: 8, calls: 20}}
"""
CALL = ("explain", "close", "--principal", "E9", "--tenant", "acme", "--attribute", "region=north", "--args", '{"account": "A1"}')
NORTH = '{"account": {"A1": {"region": "north", "locked": false}}}'
SOUTH = '{"account": {"A1": {"region": "south", "locked": false}}}'


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "policies").mkdir()
    for name, text in (("model.conf", MODEL), ("rules.csv", RULES), ("tools.yaml", TOOLS)):
        (tmp_path / "policies" / name).write_text(text, "utf-8")
    (tmp_path / "records.yaml").write_text("account: {A1: {region: north, locked: false}}\n", "utf-8")
    return in_process(tmp_path, monkeypatch, capfd)


def failed(found: dict) -> dict[str, str | None]:
    """The first term that failed, by the rule's subject."""
    return {one["rule"].split(", ")[1]: one["failed"] for one in found["candidates"]}


def test_a_record_decides_as_it_would_in_a_call(guard: Run) -> None:
    """The rule sees the record: it applies in one region and names its term in the other."""
    north = guard(*CALL, "--facts", NORTH, "--json").json
    south = guard(*CALL, "--facts", SOUTH, "--json").json

    assert (north["verdict"], failed(north)["clerk"]) == ("allow", None)
    assert (south["verdict"], south["reason"]) == ("refuse", "not_authorized")
    assert failed(south)["clerk"] == "eval(p.cond)"


def test_only_rules_about_the_tool_are_candidates_each_with_its_term(guard: Run) -> None:
    """The rule of another tool is none; that of a role which the person lacks fails at the role."""
    found = guard(*CALL, "--facts", NORTH, "--json").json

    assert set(failed(found)) == {"clerk", "auditor", "trainee"}
    assert "g(r.sub, p.sub, r.dom)" in str(failed(found)["auditor"])
    assert {one["place"] for one in found["candidates"]} == {"rules.csv:1", "rules.csv:2", "rules.csv:3"}


def test_the_way_from_the_person_to_the_role_is_told(guard: Run) -> None:
    """Step by step, with the lines that make it."""
    found = guard(*CALL, "--facts", NORTH, "--json").json
    way = next(one for one in found["paths"] if one["names"][-1] == "clerk")

    assert way["names"] == ["user:E9", "manager", "clerk"]
    assert len(way["grants"]) == 2
    assert "role path: user:E9 -> manager -> clerk" in guard(*CALL, "--facts", NORTH).out


def test_everything_that_is_asked_for_stands_in_the_text(guard: Run) -> None:
    """Verdict, rooms with times, rules with places, each argument with its origin, the policy's version."""
    told = guard(*CALL, "--facts", "records.yaml")
    lines = told.out.splitlines()

    assert told.code == 0
    assert lines[0].startswith("ALLOW: close by E9 (tenant acme")
    for room in ("parse", "bind", "validate", "ground", "authorize", "approve"):
        row = next(line.split() for line in lines if line.split()[:1] == [room])
        assert row[1] == "ok"
        assert row[2].isdigit()
    for name, origin in (("account", "the model"), ("amount", "default"), ("by", "the session")):
        assert any(line.split()[:1] == [name] and origin in line for line in lines)
    assert any("rules.csv:1" in line and "applies" in line for line in lines)
    assert any(line.startswith("policy ") and len(line.split()[1].rstrip(";")) == 64 for line in lines)


def test_a_record_that_nobody_gave_refuses_and_says_so(guard: Run) -> None:
    """As in a call whose loader finds nothing: the term raises, which allows nothing and hides no deny."""
    found = guard(*CALL, "--json").json
    errors = {one["rule"].split(", ")[1]: one["error"] for one in found["candidates"]}

    assert found["verdict"] == "refuse"
    assert errors["clerk"]


def test_records_of_a_scripted_case_are_seen(guard: Run, tmp_path: Path) -> None:
    """Those of the file, and those that a step brings."""
    case = {
        "name": "a close",
        "session": "kim",
        "call": {"close": {"account": "A1"}},
        "expect": "allow",
        "facts": json.loads(NORTH),
    }
    moved = {**case, "name": "moved", "history": [{"facts": json.loads(SOUTH)}], "expect": "refuse"}
    person = {"principal": "E9", "tenant": "acme", "attributes": {"region": "north"}}
    text = {"sessions": {"kim": person}, "cases": [case, moved]}
    (tmp_path / "policies" / "cases.yaml").write_text(json.dumps(text), "utf-8")

    assert failed(guard("explain", "--case", "a close", "--json").json)["clerk"] is None
    assert failed(guard("explain", "--case", "moved", "--json").json)["clerk"] == "eval(p.cond)"
    assert guard("test").code == 0


MISUSES = {
    "no such record": ('{"acount": {"A1": {}}}', "did you mean account?"),
    "not JSON": ('{"account": ', "--facts"),
    "no such file": ("none.yaml", "cannot be read"),
}


@pytest.mark.parametrize(("told", "words"), MISUSES.values(), ids=MISUSES)
def test_records_that_cannot_be_read_are_misuse(guard: Run, told: str, words: str) -> None:
    """Exit code 2, with what is wrong."""
    found = guard(*CALL, "--facts", told)
    assert found.code == 2
    assert words in found.err


@pytest.mark.parametrize(("role", "told"), {"clrek": "clerk", "visitor": "", "clerk": None, "manager": None}.items())
def test_a_role_that_the_policy_does_not_name_is_told(guard: Run, role: str, told: str | None) -> None:
    """With the name that was probably meant: a misspelt role is refused like somebody without rights, and whoever reads that looks at the rules."""
    asked = ("explain", "close", "--principal", "E7", "--tenant", "acme", "--role", role, "--args", '{"account": "A1"}')
    line = f"no rule and nobody in people names the role {role}" + (f" (did you mean {told}?)" if told else "")
    assert (line in guard(*asked).out.splitlines()) == (told is not None)
    assert guard(*asked, "--json").json["unknown_roles"] == ({} if told is None else {role: told})
