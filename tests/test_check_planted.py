"""Planted mistakes: each small edit of a good policy folder is found with file, line and cure, and nothing else is said."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from review_check_kit import Edit, edited, found, is_told

from guard.compose import declared
from guard.policy import survey_policy
from guard.review.lints import lint
from guard.tools import registry

ROOT = Path(__file__).parent.parent
T, M, R, P = "tools.yaml", "money.yaml", "rules.csv", "people.yaml"


def more(name: str, rest: str, description: str) -> Edit:
    """One more tool at the end of tools.yaml."""
    return (T, "", f"  {name}: {{kind: read, allow: [clerk], description: {description}{rest}}}\n")


PLANTED: dict[str, tuple[Edit, str, int | None, str, str]] = {
    # name: (edit, file, line, code or "" for none, a part of the message)
    "unknown key": ((T, "    allow: [clerk]", "    alow: [clerk]\n    allow: [clerk]"), T, 5, "", "unknown key alow"),
    "unknown kind": ((T, "kind: read", "kind: raed"), T, 3, "", "kind: must be"),
    "unknown tool in ground": ((T, "returned_by: find_order.", "returned_by: fnd_order."), T, 31, "", "fnd_order is not a tool"),
    "unknown tool in after": ((T, "{tool: find_order", "{tool: find_ordr"), T, 32, "", "find_ordr is not a tool"),
    "unknown tool in a rule": ((R, "trainee, *, refund", "trainee, *, refnd"), R, 3, "", "no tool of this policy"),
    "unknown argument": ((M, "sum: amount", "sum: amont"), M, 19, "", "no argument amont"),
    "unknown argument in a condition": ((M, "{when: {channel", "{when: {chanel"), M, 18, "", "no argument chanel"),
    "misspelt basic fact": ((T, "session.region", "session.tenent"), T, 22, "", "did you mean session.tenant?"),
    "misspelt own fact": ((M, "session.region", "session.regoin"), M, 2, "fact-alike", "session.regoin"),
    "misspelt role": ((R, "role:auditor, acme", "role:auditer, acme"), R, 2, "role-alike", "auditer"),
    "misspelt approver": ((M, "by: [manager]", "by: [manger]"), M, 20, "role-alike", "manger"),
    "role in other case": ((R, "role:auditor, acme", "role:Auditor, acme"), R, 2, "", "only in case"),
    "unknown effect": ((R, "refund, call, deny", "refund, call, Deny"), R, 3, "", "unknown effect"),
    "unknown act": ((R, "refund, call, deny", "refund, cal, deny"), R, 3, "", "unknown act"),
    "missing column": ((R, "*, refund, call", "refund, call"), R, 3, "", "5 columns"),
    "duplicate rule": ((R, "", "p, role:auditor, *, find_order, call, allow\n"), R, 7, "", "written twice"),
    "rule written in both forms": ((R, "", "p, clerk, *, refund, call, allow\n"), R, 7, "rule-twice", "written twice"),
    "shadowed by every tenant": ((R, "", "p, clerk, acme, refund, call, allow\n"), R, 7, "rule-shadowed", "no effect"),
    "shadowed by a role": ((R, "", "p, manager, *, refund, call, allow\n"), R, 7, "rule-shadowed", "clerk, *, refund"),
    "shadowed deny": ((R, "", "p, role:trainee, acme, refund, call, deny\n"), R, 7, "rule-shadowed", "trainee, *, refund"),
    "shadowed by a prefix": ((R, "", "p, role:trainee, *, ref*, call, deny\n"), R, 3, "rule-shadowed", "ref*"),
    "allow covered by a deny": ((R, "", "p, role:auditor, *, find*, call, deny\n"), R, 1, "allow-denied", "always denied"),
    "allow covered by everybody's deny": (
        (R, "", "p, *, *, list_orders, call, deny\n"),
        R,
        2,
        "allow-denied",
        "*, *, list_orders",
    ),
    "deny for another tenant": (
        (R, "auditor, acme, list_orders, call, allow", "auditor, acme, list_orders, approve, deny"),
        R,
        2,
        "rule-dead",
        "nobody may do",
    ),
    "role of each other": ((R, "", "g, clerk, manager, acme\n"), R, 5, "", "roles of each other"),
    "grant of a silent role": ((R, "E9, role:manager", "E9, role:nightshift"), R, 6, "role-silent", "nightshift"),
    "grant twice over": ((R, "", "g, role:manager, role:clerk, acme\n"), R, 7, "grant-shadowed", "every tenant"),
    "minimum above maximum": ((M, "minimum: 1, maximum: 1000", "minimum: 1001, maximum: 1000"), M, 10, "range-empty", "1001"),
    "minLength above maxLength": ((T, "minLength: 3", "minLength: 30"), T, 9, "range-empty", "minLength 30"),
    "pattern longer than maxLength": ((T, "[A-Z][0-9]+", "[A-Z][0-9]{20}"), T, 9, "range-empty", "at least 21"),
    "no whole number between": (
        (T, "minimum: 1, maximum: 50, default: 10", "exclusiveMinimum: 1, exclusiveMaximum: 2"),
        T,
        21,
        "range-empty",
        "no multiple of 1",
    ),
    "list of another type": (
        (T, "type: string, enum: [short, full]", "type: integer, enum: [short, full]"),
        T,
        10,
        "range-empty",
        "no value of type",
    ),
    "default outside of its list": ((T, "default: short", "default: brief"), T, 10, "", "default"),
    "required and closed": (
        (M, "required: [order_id, amount]", "required: [order_id, amount, iban]"),
        M,
        14,
        "range-empty",
        "iban is required",
    ),
    "requirement against the schema": (
        (M, "require: {amount: {maximum: 500}}", "require: {amount: {minimum: 2000}}"),
        M,
        17,
        "range-empty",
        "no such value",
    ),
    "requirement that always holds": (
        (M, "require: {amount: {maximum: 500}}", "require: {amount: {maximum: 5000}}"),
        M,
        17,
        "range-always",
        "always holds",
    ),
    "condition on a value that is not listed": ((M, "{channel: bank}", "{channel: cash}"), M, 18, "range-empty", "no such value"),
    "contradiction in a condition": (
        (M, "require: {amount: {maximum: 500}}", "require: {amount: {exclusiveMinimum: 5, maximum: 5}}"),
        M,
        17,
        "range-empty",
        "never hold",
    ),
    "alternative never reached": (
        (M, "{amount: {maximum: 100}}", "{amount: {maximum: 10}}"),
        M,
        22,
        "approve-unreached",
        "never reached",
    ),
    "alternative without end": ((M, "{maximum: 20}", "{minimum: 1}"), M, 21, "range-always", "always holds"),
    "limit of nothing": ((M, "limits: {calls: 3", "limits: {calls: 0"), M, 19, "limit-zero", "every call is refused"),
    "run of nothing": ((M, "steps: 8", "steps: 0"), M, 25, "limit-zero", "limits.run.steps"),
    "sum below one call": ((M, "at_most: 900", "at_most: 0.5"), M, 19, "limit-zero", "below the least"),
    "limit above the run's": ((M, "limits: {calls: 3", "limits: {calls: 30"), M, 19, "limit-unreached", "never reached"),
    "run above the conversation": (
        (M, "conversation: {calls: 100}", "conversation: {calls: 10}"),
        M,
        25,
        "limit-unreached",
        "never reached",
    ),
    "source out of reach": (
        (R, "", "p, role:temp, *, cancel_order, call, allow\n"),
        T,
        31,
        "ground-unreachable",
        "temp may not call",
    ),
    "circle of one": (
        (T, "{tool: find_order, same: [order_id], where: {status: {enum: [placed, packed]}}}", "{tool: cancel_order}"),
        T,
        32,
        "ground-circle",
        "can never run",
    ),
    "identity of the model's choice": (
        (T, "reason: {type: string", "customer_email: {type: string"),
        T,
        23,
        "identity-unbound",
        "customer_email",
    ),
    "identity in Chinese": ((T, "reason: {type: string", "用户ID: {type: string"), T, 23, "identity-unbound", "用户ID"),
    "identity inside": (
        (T, "reason: {type: string, maxLength: 200}", "who: {type: object, properties: {user_id: {type: string}}}"),
        T,
        23,
        "identity-unbound",
        "who.user_id",
    ),
    "plain identity": ((T, "reason: {type: string", "user_id: {type: string"), T, 23, "", "user_id"),
    "nobody may call": (
        (T, "", "  archive: {kind: read, description: Read what is old}\n"),
        T,
        34,
        "tool-nobody",
        "nobody may call",
    ),
    "everybody may call": ((T, "allow: [clerk]", "allow: ['*']"), T, 2, "tool-everybody", "everybody"),
    "empty description": ((T, "Look one order up by its number.", "'…'"), T, 2, "description-empty", "no description"),
    "description of another": (
        (T, "Stop an order that was not sent yet.", "Look up one order by the number."),
        T,
        23,
        "description-alike",
        "described nearly",
    ),
    "name in another spelling": (more("findOrder", "", "Search the archive of last year"), T, 34, "name-alike", "find_order"),
    "name with a strange letter": (more("find_\u043erder", "", "Search the archive of last year"), T, 34, "name-", "find_"),
    "idle person": ((P, "roles: [clerk]", "roles: [janitor]"), P, 3, "person-idle", "bob"),
    "no limit of a run": ((M, "  run: {steps: 8, calls: 20}\n", ""), M, None, "", "no limits.run"),
    "pins that are no JSON": (("pins.json", "", "{"), "pins.json", 1, "pins-broken", "not JSON"),
}
ECHOES = {
    "rule-shadowed": ("rule-shadowed",),
    "tool-everybody": ("rule-shadowed", "tools-many"),
    "name-": ("name-alike", "name-mixed"),
}
"""What an edit says besides, since it makes more than one mistake."""


def test_nothing_is_said_of_the_good_folder(tmp_path: Path) -> None:
    """The folder that all mistakes are planted in has none, and no more is passed over in silence."""
    survey = survey_policy(edited(tmp_path))

    assert found(tmp_path) == []
    assert lint(survey) == ((), ())


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str, tmp_path: Path) -> None:
    """With its file, its line, its words and a cure; and nothing else is wrong."""
    edit, file, line, code, words = PLANTED[name]
    is_told(found(edited(tmp_path, edit)), (file, line), code, words, ECHOES.get(code, ()))


@pytest.mark.parametrize("folder", ["policies", "examples/shop/policies", "examples/sidecar/policies"])
def test_nothing_is_said_of_what_ships(folder: str) -> None:
    """The shipped policies are good."""
    assert found(ROOT / folder) == []


def test_nothing_is_said_of_the_shop_with_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the functions of the program known, the shop's policy is good too."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "shop"))
    made = importlib.import_module("shop").Shop()
    sys.modules.pop("shop")  # other tests have programs of that name
    tools = declared(registry([made.order_status, made.cancel_order, made.refund]))
    assert found(ROOT / "examples/shop/policies", tools) == []
