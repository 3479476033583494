"""A denial of a rule file on trial: a line of shadow.csv refuses nothing, and stands in the record of every call that it would have refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_kit import Run, in_process
from reports import U1, U2, Desk, codes, start, states

from guard import PolicyError
from guard.policy import load_policy
from guard.policy.casbin_rules import CasbinAuthorizer
from guard.policy.file_names import is_trial

TOOLS = """tools:
  look: {kind: read, allow: [staff]}
  pay:
    kind: action
    allow: [staff]
    schema: {type: object, properties: {amount: {type: integer}}, required: [amount]}
    approve: never
limits: {run: {steps: 8, calls: 20}}
"""
DENY = "p, user:u1, *, pay, call, deny\n"
MODEL = """[request_definition]
r = sub, dom, obj, act, ctx
[policy_definition]
p = sub, dom, obj, act, cond, eft
[role_definition]
g = _, _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.obj == p.obj && r.act == p.act && (p.dom == "*" || r.dom == p.dom) && (p.sub == "*" || g(r.sub, p.sub, r.dom)) && eval(p.cond)
"""


def write(folder: Path, **files: str) -> Path:
    """A policy folder; `_` stands for the dot of a name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"tools_yaml": TOOLS, **files}.items():
        (folder / name.replace("_", ".")).write_text(text, "utf-8")
    return folder


def desk(tmp_path: Path, **files: str) -> Desk:
    tools = {"look": lambda: {"ok": True}, "pay": lambda amount: {"paid": amount}}
    named = {name.replace("_", "."): text for name, text in files.items()}
    return start(tmp_path, "openai-chat", TOOLS, tools, files=named)


def test_it_refuses_nothing_and_is_on_record(tmp_path: Path) -> None:
    """The call runs, and its decision names the denial."""
    tried = desk(tmp_path, shadow_csv=DENY)
    turn = tried.propose(("c1", "pay", {"amount": 2}))
    assert (states(turn), codes(turn)) == (["done"], [None])
    assert tried.decision("c1")["decision"]["shadow"] == [DENY.strip()]
    tried.closed()


def test_the_same_line_in_another_file_refuses(tmp_path: Path) -> None:
    """What is on trial above is a real denial."""
    forced = desk(tmp_path, rules_csv=DENY)
    assert codes(forced.propose(("c1", "pay", {"amount": 2}))) == ["not_authorized"]


def test_only_calls_that_it_would_have_refused_name_it(tmp_path: Path) -> None:
    """Another tool and a call that is refused anyhow say nothing of it."""
    tried = desk(tmp_path, shadow_csv=DENY, rules_csv="p, user:u1, *, look, call, deny\n")
    tried.propose(("c1", "look", {}))
    assert "shadow" not in tried.decision("c1")["decision"]
    tried.closed()


def test_somebody_else_is_not_concerned(tmp_path: Path) -> None:
    """Judged for exactly the person, role and tenant that it names; several are all named."""
    lines = DENY + "p, role:staff, *, pay, call, deny\np, role:staff, other, pay, call, deny\n"
    judge = load_policy(write(tmp_path, shadow_csv=lines)).policy.authorizer

    assert isinstance(judge, CasbinAuthorizer)
    assert judge.would_deny(U1, "pay") == ("p, staff, *, pay, call, deny", "p, user:u1, *, pay, call, deny")
    assert judge.would_deny(U2, "pay") == ("p, staff, *, pay, call, deny",)
    assert judge.would_deny(U1, "look") == ()
    assert judge.decide(U1, "pay", "call").allowed


def test_a_condition_reads_the_call_and_an_error_counts_as_a_match(tmp_path: Path) -> None:
    """As it would in force: what cannot be evaluated hides no denial."""
    rules = "p, role:staff, *, pay, call, True, allow\n"
    trial = "p, role:staff, *, pay, call, r.ctx.arguments.amount > 100, deny\np, user:u1, *, pay, call, r.ctx.session.none > 1, deny\n"
    folder = write(
        tmp_path,
        tools_yaml=TOOLS.replace("    allow: [staff]\n    schema", "    schema").replace(", allow: [staff]", ""),
        model_conf=MODEL,
    )
    (folder / "rules.csv").write_text(rules, "utf-8")
    (folder / "shadow.csv").write_text(trial, "utf-8")
    judge = load_policy(folder).policy.authorizer

    def would(amount: int) -> list[str]:
        scope = {"arguments": {"amount": amount}, "session": U1.facts(), "resource": {}, "resolved": {}}
        return [text.split(", ")[1] + text.rpartition("deny")[2] for text in judge.would_deny(U1, "pay", scope)]

    assert judge.scoped
    assert would(100) == ["user:u1 (error)"]
    assert would(101) == ["staff", "user:u1 (error)"]


MISTAKES = {
    "an allow": ("p, role:staff, *, pay, call, allow", "denials alone can be on trial"),
    "an approval": ("p, role:staff, *, pay, approve, deny", "who may approve cannot be on trial"),
    "a role": ("g, u1, staff", "columns"),
    "a whole role": ("g, u1, staff, default", "roles cannot be on trial"),
    "a misspelt effect": ("p, role:staff, *, pay, call, Deny", "unknown effect"),
    "an unknown tool": ("p, role:staff, *, pey, call, deny", "no tool of this policy"),
}


@pytest.mark.parametrize(("line", "words"), MISTAKES.values(), ids=MISTAKES)
def test_what_cannot_be_on_trial_stops_the_load(tmp_path: Path, line: str, words: str) -> None:
    """With file, line and cure."""
    with pytest.raises(PolicyError) as caught:
        load_policy(write(tmp_path, shadow_csv=f"# on trial\n{line}\n"))
    [problem] = [one for one in caught.value.problems if words in one.message]
    assert (problem.file, problem.line, bool(problem.cure)) == ("shadow.csv", 2, True)


def test_a_model_without_denials_has_nothing_on_trial(tmp_path: Path) -> None:
    """Under it a denial would say nothing."""
    model = MODEL.replace(" && !some(where (p.eft == deny))", "")
    with pytest.raises(PolicyError, match="knows no denials"):
        load_policy(write(tmp_path, model_conf=model, shadow_csv="p, role:staff, *, pay, call, True, deny\n"))


@pytest.mark.parametrize(
    "name", ["Shadow.csv", "shadow.CSV", "shadows.csv", "my-shadow.csv", "shadow_x.csv", "shadow.x.csv", "shadow.csv.csv2"]
)
def test_a_name_that_is_not_quite_it_is_in_force(name: str) -> None:
    """Nothing is let through by a misspelt name."""
    assert not is_trial(name)


@pytest.mark.parametrize("name", ["shadow.csv", "shadow-refunds.csv", "shadow-a.b.csv"])
def test_the_names_of_such_files(name: str) -> None:
    """One file, or several."""
    assert is_trial(name)


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return in_process(tmp_path, monkeypatch, capfd)


def test_the_desk_shows_it(guard: Run, tmp_path: Path) -> None:
    """`check` names it, a case can expect it, and `diff` calls it a widening when a denial is only tried from now on."""
    old = write(tmp_path / "old", rules_csv=DENY)
    new = write(tmp_path / "new", shadow_csv=DENY)
    case = {
        "name": "would be refused",
        "session": "u",
        "call": {"pay": {"amount": 1}},
        "expect": "allow",
        "shadow": [DENY.strip()],
    }
    text = {"sessions": {"u": {"principal": "u1", "roles": ["staff"]}}, "cases": [case]}
    (new / "cases.yaml").write_text(json.dumps(text), "utf-8")

    assert guard("check", "new", "--json").json["shadows"] == [DENY.strip()]
    assert "1 shadow rule refusing nothing: p, user:u1" in guard("check", "new").out
    assert guard("test", "--policy", "new").code == 0
    found = guard("diff", "old", "new", "--json")
    told = {(one["direction"], one["subject"]) for one in found.json["changes"]}
    assert (found.code, told) == (1, {("widens", "tool pay"), ("changes", "rules")})
    assert guard("diff", "new", "old").code == 0
    assert old.exists()


def test_names_in_it_are_looked_at(guard: Run, tmp_path: Path) -> None:
    """A role that nothing else names, and a denial of what nobody may do."""
    write(tmp_path / "p", shadow_csv="p, nightshift, *, pay, call, deny\n", rules_csv=DENY)
    assert any("nightshift" in one["message"] for one in guard("check", "p", "--json").json["warnings"])
    write(tmp_path / "p", shadow_csv=DENY)
    assert "trial-in-force" in {one["code"] for one in guard("check", "p", "--json").json["warnings"]}
