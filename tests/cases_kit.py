"""What the tests of cases share: a policy that uses every narrowing key, and ways to play a text of cases against it."""

from __future__ import annotations

from pathlib import Path

from guard.errors import Problem
from guard.policy import Loaded, load_policy
from guard.policy.problems import Problems
from guard.review.cases import Case
from guard.review.reading import read_cases
from guard.review.suite import Result, judge_all

POLICY = """
tools:
  find: {kind: read, allow: [clerk], result: {keep: [id, amount, mail], empty: no such thing}}
  send:
    kind: action
    allow: [clerk]
    schema: {type: object, properties: {to: {type: string}, n: {type: number}, by: {type: string}, id: {type: string}}, required: [to]}
    bind: {by: {from: session.principal, strict: true}}
    checks: [hours]
    require: {n: {maximum: 100}}
    refuse: [{when: {to: {pattern: ".*@evil"}}, say: Not there.}]
    approve: [{when: {n: {maximum: 5}}, by: never}, {by: [boss], expires: 1h, show: [to]}]
  open:
    kind: action
    allow: [clerk]
    resource: {door: id, owner: owner}
    limits: {calls: 2}
    approve: never
    repeat: allow
  lose: {kind: action, allow: [clerk], approve: never, effect: {compensate: regain}}
  regain: {kind: action, allow: [clerk], schema: {type: object, properties: {id: {type: string}}}, approve: {by: [boss]}}
  pay:
    kind: action
    allow: [clerk]
    ground: {n: {any_of: [{returned_by: find.amount}, {held_by: session.sums}, {written_by: user}]}, id: {returned_by: find.id, enforce: shadow}}
    limits: {sum: n, per: id, at_most: 200}
    approve: {by: self}
limits: {turn: {calls: 3}, run: {steps: 9, calls: 50, seconds: 60, tokens: 1000, cost: 1}}
prices: {m: {in: 1000, out: 1000}}
people: {boss: {principal: B1, roles: [boss]}}
"""
RULES = "p, role:trainee, *, send, call, deny\np, user:B2, *, send, approve, deny\n"
SESSIONS = """
sessions:
  ann: {principal: E1, roles: [clerk], attributes: {sums: [7]}}
  trainee: {principal: E2, roles: [clerk, trainee]}
  stranger: {principal: E3}
  barred: {principal: B2, roles: [boss]}
facts: {door: {D1: {owner: E1}, D2: {owner: E2}}}
checks: {hours: pass}
"""


def folder(path: Path, cases: str, policy: str = POLICY, rules: str = RULES) -> Path:
    path.mkdir(exist_ok=True)
    (path / "tools.yaml").write_text(policy, "utf-8")
    if rules:
        (path / "rules.csv").write_text(rules, "utf-8")
    (path / "cases.yaml").write_text(cases, "utf-8")
    return path


def read(path: Path) -> tuple[Loaded, list[Case], list[Problem]]:
    loaded, problems = load_policy(path), Problems()
    return loaded, read_cases(path, loaded, problems), problems.errors


def played(path: Path, cases: str) -> list[Result]:
    loaded, found, errors = read(folder(path, SESSIONS + "cases:\n" + cases))
    assert errors == []
    return judge_all(loaded, found)


def failures(path: Path, cases: str) -> list[str]:
    return [one.text for result in played(path, cases) for one in result.differences]
