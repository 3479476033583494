"""`guard diff`: each edit of a good policy has its direction, and what means the same is no difference."""

from __future__ import annotations

from pathlib import Path

import pytest
from review_kit import RULES, TOOLS, loaded

from guard.review.changes import Direction
from guard.review.differ import compare

W, N, C, M = "widens", "narrows", "changes", "may widen"
EDITS = {
    "another role may call": ("allow: [customer]\n", "allow: [customer, guest]\n", {W}),
    "a role may call no more": ("allow: [customer, support]", "allow: [customer]", {N}),
    "everybody may call": ("allow: [customer]\n", 'allow: ["*"]\n', {W, C}),
    "a role renamed": ("allow: [support]", "allow: [helpdesk]", {W, N}),
    "a higher approval threshold": ("{maximum: 50}", "{maximum: 100}", {W}),
    "a lower approval threshold": ("{maximum: 50}", "{maximum: 20}", {N}),
    "nobody asked for small ones": ("by: self, expires: 1h", "by: never", {W}),
    "another approver besides": ("by: [support], expires", "by: [support, boss], expires", {W}),
    "approver replaced": ("{by: [boss]}", "{by: [support]}", {W, N, M}),
    "longer approval": ("expires: 24h", "expires: 48h", {W}),
    "shorter approval": ("expires: 24h", "expires: 12h", {N}),
    "the approver is shown less": ("show: [order_id, amount]", "show: [order_id]", {W}),
    "the approver is shown more": ("show: [order_id, amount]", "show: [order_id, amount, note]", {N}),
    "a schema's bound raised": ("maximum: 500", "maximum: 900", {W}),
    "a schema's bound lowered": ("maximum: 500", "maximum: 300", {N}),
    "a longer text": ("maxLength: 10", "maxLength: 20", {W}),
    "an enum grows": ("enum: [short, long]", "enum: [short, long, all]", {W}),
    "an enum shrinks": ("enum: [short, long]", "enum: [short]", {N}),
    "an argument no longer required": ("required: [order_id, amount]", "required: [order_id]", {W}),
    "an argument required": ("required: [order_id, amount]", "required: [order_id, amount, note]", {N}),
    "an argument more": ("note: {type: string}", "note: {type: string}, tip: {type: number}", {W}),
    "a bind removed": ("    bind: {customer_id: session.principal}\n", "", {W}),
    "a bind from elsewhere": ("session.principal", "session.account", {M}),
    "a bind made strict": (
        "bind: {customer_id: session.principal}",
        "bind: {customer_id: {from: session.principal, strict: true}}",
        {N},
    ),
    "a field more kept": ("keep: [order_id, status, total]", "keep: [order_id, status, total, card]", {W}),
    "a field less kept": ("keep: [order_id, status, total]", "keep: [order_id, status]", {N}),
    "a longer time-out": ("timeout: 5s", "timeout: 9s", {W}),
    "no time-out": ("    timeout: 5s\n", "", {W}),
    "a ground removed": ("    ground: {amount: {at_most: order_status.total, same: [order_id]}}\n", "", {W}),
    "a ground only watched": ("{at_most: order_status.total, same", "{enforce: shadow, at_most: order_status.total, same", {W}),
    "a ground of any record": ("at_most: order_status.total, same: [order_id]", "at_most: order_status.total", {W}),
    "a ground of any age": (
        "order_status.total, same: [order_id]}}",
        "order_status.total, latest: false, same: [order_id]}}",
        {W},
    ),
    "a ground used once": ("order_status.total, same: [order_id]}}", "order_status.total, once: true, same: [order_id]}}", {N}),
    "a prerequisite wider": ("enum: [delivered, lost]", "enum: [delivered, lost, open]", {W}),
    "a prerequisite narrower": ("enum: [delivered, lost]", "enum: [lost]", {N}),
    "a requirement weaker": ("exclusiveMinimum: 0", "exclusiveMinimum: -5", {W}),
    "a requirement stronger": ("exclusiveMinimum: 0", "exclusiveMinimum: 1", {N}),
    "a refusal removed": ('    refuse: [{when: {note: {pattern: ".*urgent.*"}}, say: Leave it.}]\n', "", {W}),
    "a refusal only watched": ("say: Leave it.}", "say: Leave it., enforce: shadow}", {W}),
    "another pattern refused": (".*urgent.*", ".*quick.*", {W, N}),
    "a refusal in other words": ("say: Leave it.", "say: Leave that.", {C}),
    "more calls": ("calls: 3,", "calls: 5,", {W}),
    "fewer calls": ("calls: 3,", "calls: 1,", {N}),
    "a larger sum": ("at_most: 600", "at_most: 700", {W}),
    "a sum per call only": ("per: order_id, at_most", "per: [order_id, note], at_most", {W}),
    "an unknown call blocks others": ("effect: idempotent", "effect: idempotent\n    unknown: {target: order_id}", {N}),
    "an unknown call blocks only itself": ("effect: idempotent", "effect: idempotent\n    unknown: {blocks: call}", set()),
    "a lost call left to a person": ("effect: idempotent", "effect: once", {N}),
    "an equal call runs again": ("effect: idempotent", "effect: idempotent\n    repeat: allow", {W}),
    "more calls of a run": ("calls: 20", "calls: 30", {W}),
    "fewer calls of a conversation": ("calls: 200", "calls: 100", {N}),
    "no limit on steps": (", steps: 8", "", {W}),
    "a person more": ("people:\n", "people:\n  bob: {principal: E2, tenant: acme, roles: [boss]}\n", {W}),
    "a person is somebody else": ("principal: E1", "principal: E2", {W, N, M}),
    "an action becomes a look-up": ("  close_account:\n    kind: action", "  close_account:\n    kind: read", {W}),
    "text opened once more": ("    timeout: 5s\n", "    timeout: 5s\n    unwrap: true\n    coerce: lossless\n", {W}),
    "another description": ("    timeout: 5s\n", "    timeout: 5s\n    description: Look.\n", {C}),
    "the same in another spelling": (
        "{when: {amount: {maximum: 50}}, by: self,",
        "{by: [self], when: {amount: {maximum: 50.0}},",
        set(),
    ),
    "a window more": ("    timeout: 5s\n", "    timeout: 5s\n    limits: [{calls: 3, per: 24h}]\n", {N}),
    "a window that only watches": (
        "    timeout: 5s\n",
        "    timeout: 5s\n    limits: [{calls: 3, per: 24h, enforce: shadow}]\n",
        {C},
    ),
    "a window over all tools": ("limits:\n", "limits:\n  windows: [{calls: 9, per: 1h}]\n", {N}),
    "a limit of a run only watches": ("calls: 20", "calls: {at_most: 20, enforce: shadow}", {W, C}),
    "a lower ceiling": ("tools:\n", "ceilings: {open_approvals: 3}\ntools:\n", {N}),
    "a higher ceiling": ("tools:\n", "ceilings: {arguments_bytes: 1000000}\ntools:\n", {W}),
    "a lower ceiling of a tool": ("    timeout: 5s\n", "    timeout: 5s\n    ceilings: {arguments_bytes: 90}\n", {N}),
    "a remark": ("tools:\n", "# a remark\ntools:\n", set()),
}
RULE_EDITS = {
    "a denial removed": ("p, trainee, *, close_account, call, deny\n", "", {W}),
    "a denial more": ("g, E9", "p, user:E9, *, refund, call, deny\ng, E9", {N}),
    "a person allowed elsewhere too": ("user:E7, acme", "user:E7, *", {W, C}),
    "a role given everywhere": ("support, acme", "support, *", {W}),
    "a role taken": ("g, E9, support, acme\n", "", {N}),
    "a denial of approving": ("g, E9", "p, boss, acme, close_account, approve, deny\ng, E9", {N}),
    "another order": (
        "p, trainee, *, close_account, call, deny\np, user:E7, acme, close_account, call, allow\n",
        "p, user:E7, acme, close_account, call, allow\np, trainee, *, close_account, call, deny\n",
        set(),
    ),
}


def directions(tmp_path: Path, tools: str, rules: str) -> set[str]:
    found = compare(loaded(tmp_path / "old"), loaded(tmp_path / "new", tools, rules))
    return {str(one.direction) for one in found.changes}


@pytest.mark.parametrize(("old", "new", "expected"), EDITS.values(), ids=EDITS)
def test_an_edit_of_the_tools_has_its_direction(tmp_path: Path, old: str, new: str, expected: set[str]) -> None:
    """Each edit gives exactly the directions that it has."""
    assert TOOLS.count(old) >= 1
    assert directions(tmp_path, TOOLS.replace(old, new, 1), RULES) == expected


@pytest.mark.parametrize(("old", "new", "expected"), RULE_EDITS.values(), ids=RULE_EDITS)
def test_an_edit_of_the_rules_has_its_direction(tmp_path: Path, old: str, new: str, expected: set[str]) -> None:
    """The same for rule files; lifting a denial widens although nobody named is allowed by it alone."""
    assert RULES.count(old) == 1
    assert directions(tmp_path, TOOLS, RULES.replace(old, new)) == expected


def test_a_new_tool_widens_and_a_removed_one_narrows(tmp_path: Path) -> None:
    """Seen from both sides."""
    more = TOOLS.replace("limits:\n  run", "  peek: {kind: read, allow: [guest]}\nlimits:\n  run")
    old, new = loaded(tmp_path / "old"), loaded(tmp_path / "new", more)

    assert compare(old, new).widens
    assert {one.direction for one in compare(new, old).changes} == {Direction.NARROWS}


def test_a_policy_does_not_differ_from_itself(tmp_path: Path) -> None:
    """Two loads of one folder, and one folder under another path."""
    found = compare(loaded(tmp_path / "old"), loaded(tmp_path / "new"))

    assert found.changes == ()
    assert found.moved == ()


def test_a_role_and_a_person_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    """A rule for the person `support` says nothing about the role `support`."""
    found = compare(
        loaded(tmp_path / "old"), loaded(tmp_path / "new", TOOLS, RULES + "p, user:support, *, refund, call, allow\n")
    )

    assert {one.subject for one in found.moved} == {"user:support"}


def test_a_change_says_where_it_stands_and_for_which_call(tmp_path: Path) -> None:
    """The line of both files, and the first amount that is treated otherwise."""
    found = compare(loaded(tmp_path / "old"), loaded(tmp_path / "new", TOOLS.replace("{maximum: 50}", "{maximum: 100}")))
    [change] = found.changes

    assert change.old_place == change.new_place == f"tools.yaml:{TOOLS[: TOOLS.index('approve:')].count(chr(10)) + 1}"
    assert "amount = 50.01" in change.note or "amount = 75" in change.note


def test_too_many_combinations_may_widen(tmp_path: Path) -> None:
    """What cannot be compared in full is not called safe."""
    many = ", ".join(f"n{i}: {{pattern: 'a{i}.*'}}" for i in range(12))
    fields = ", ".join(f"n{i}: {{type: string}}" for i in range(12))
    base = TOOLS.replace("note: {type: string}", f"note: {{type: string}}, {fields}")
    old = base.replace('{note: {pattern: ".*urgent.*"}}', f"{{{many}}}")
    new = old.replace("'a3.*'", "'b3.*'")
    found = compare(loaded(tmp_path / "old", old), loaded(tmp_path / "new", new))

    assert {one.direction for one in found.changes} == {Direction.MAYBE}
