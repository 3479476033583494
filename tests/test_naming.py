"""Summaries and warnings name the tools that a rule is about, however the folder's own model compares its object: as the authorizer decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import Run, in_process

from guard.core.model import Session
from guard.policy import load_policy

HEAD = """[request_definition]
r = sub, dom, obj, act
[policy_definition]
p = sub, dom, obj, act, eft
[role_definition]
g = _, _, _
{more}[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = {tool} && r.act == p.act && (p.dom == "*" || r.dom == p.dom) && g(r.sub, p.sub, r.dom)
"""
NAMES = ("order_read", "order_list", "refund", "other")
RULE = "p, clerk, *, {}, call, allow\n"
MODELS: dict[str, tuple[str, str, str]] = {
    # name: (how tools are compared, more role definitions, rules)
    "keyMatch2": ("keyMatch2(r.obj, p.obj)", "", RULE.format("order_:any") + RULE.format("refund")),
    "globMatch": ("globMatch(r.obj, p.obj)", "", RULE.format("order_*")),
    "regexMatch": ("regexMatch(r.obj, p.obj)", "", RULE.format("^(order_.*|refund)$")),
    "groups of tools": (
        "g2(r.obj, p.obj)",
        "g2 = _, _\n",
        RULE.format("orders") + "g2, order_read, orders\ng2, order_list, orders\n",
    ),
    "equal or any": ('(p.obj == "*" || r.obj == p.obj)', "", "p, boss, *, *, call, allow\n" + RULE.format("refund")),
    "equal or a pattern": ("(r.obj == p.obj || keyMatch2(r.obj, p.obj))", "", RULE.format("refund") + RULE.format("order_:any")),
    "a denial by a pattern": (
        "keyMatch2(r.obj, p.obj)",
        "",
        RULE.format("*") + "p, clerk, *, order_:any, call, deny\n",
    ),
}


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return in_process(tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize(("tool", "more", "rules"), MODELS.values(), ids=MODELS)
def test_the_summary_says_what_is_decided(guard: Run, tmp_path: Path, tool: str, more: str, rules: str) -> None:
    """For every tool and role: allowed in the summary exactly where a call is, and nobody is said to have what somebody has."""
    here = tmp_path / "policies"
    here.mkdir()
    entries = "".join(f"  {name}: {{kind: read, description: 'About {name}, by itself'}}\n" for name in NAMES)
    (here / "tools.yaml").write_text(f"tools:\n{entries}limits: {{run: {{steps: 8, calls: 20}}}}\n", "utf-8")
    (here / "model.conf").write_text(HEAD.format(tool=tool, more=more), "utf-8")
    (here / "rules.csv").write_text(rules, "utf-8")
    judge = load_policy(here).policy.authorizer
    found = guard("check", "--json").json
    nobody = {one["message"].rpartition(" ")[2] for one in found["warnings"] if one["code"] == "tool-nobody"}

    for one in found["tools"]:
        for role in ("clerk", "boss"):
            may = judge.decide(Session(principal="x", roles=(role,)), one["name"], "call").allowed
            assert (role in one["allowed"] and f"not {role}" not in one["allowed"]) == may, (one, role)
        assert (one["name"] in nobody) == (not [who for who in one["allowed"] if not who.startswith("not ")])
