"""Every way to loosen in a narrower folder what a wider one says is a mistake that names both places."""

from __future__ import annotations

from pathlib import Path

import pytest
from layers_kit import LINES, Files, folders, line, loaded, look, org, pay

from guard.errors import PolicyError, Problem
from guard.policy.language import KEYS
from guard.policy.layers.asking import COMPARED
from guard.policy.layers.hides import HIDES
from guard.policy.layers.keys import RULES
from guard.policy.layers.merge import MERGED

# a name for the row → what the narrower folder writes, and what stands in the wider folder's line that the problem names
LOOSENED: dict[str, tuple[Files, str]] = {
    "kind: an action made a read": (pay("kind: read"), "kind: action"),
    "kind: a read made an action": (look("kind: action"), "kind: read"),
    "description: other words": (pay("description: Free money."), "description:"),
    "schema: everything accepted": (pay("schema: true"), "    schema:"),
    "schema: one more field": (
        look("schema: {type: object, properties: {order_id: {type: string}, all: {}}}"),
        "order_id: {type: s",
    ),
    "bind: another source": (pay("bind: {by: {from: session.name, strict: true}}"), "by: {from"),
    "bind: no longer strict": (pay("bind: {by: session.principal}"), "by: {from"),
    "bind: strict said to be false": (pay("bind: {by: {from: session.principal, strict: false}}"), "by: {from"),
    "checks: only watched": (pay("checks: {name: office_hours, enforce: shadow}"), "checks:"),
    "coerce": (pay("coerce: lossless"), "  pay:"),
    "unwrap": (pay("unwrap: true"), "  pay:"),
    "repeat": (pay("repeat: allow"), "  pay:"),
    "repeat: taken back": (pay("repeat: null"), "  pay:"),
    "timeout: longer": (pay("timeout: 30s"), "timeout: 20s"),
    "timeout: longer in another unit": (look("timeout: 1m"), "timeout: 10s"),
    "effect: asked instead": (pay("effect: probe"), "effect:"),
    "effect: taken back": (pay("effect: {compensate: ping}"), "effect:"),
    "unknown: one argument more": (pay("unknown: {target: [order_id, amount, note]}"), "unknown:"),
    "unknown: another argument": (pay("unknown: {target: note}"), "unknown:"),
    "unknown: only the same call": (pay("unknown: {blocks: call}"), "unknown:"),
    "lease: shorter": (pay("lease: 30s"), "lease: 1m"),
    "ground: one more source": (
        pay("ground: {order_id: {any_of: [{returned_by: look.order_id}, {written_by: user}]}}"),
        "order_id: {returned_by",
    ),
    "ground: only watched": (pay("ground: {order_id: {returned_by: look.order_id, enforce: shadow}}"), "order_id: {returned_by"),
    "after: only watched": (pay("after: {tool: look, same: [order_id], enforce: shadow}"), "after:"),
    "resource: without the owner": (pay("resource: {order: order_id}"), "resource:"),
    "resource: another owner": (pay("resource: {order: order_id, owner: clerk_id}"), "resource:"),
    "resource: another record": (pay("resource: {invoice: order_id}"), "resource:"),
    "resource: a second record": (pay("resource: [{order: order_id, owner: customer_id}, {desk: desk}]"), "resource:"),
    "require: only watched": (pay("require: {when: {amount: {maximum: 100}}, enforce: shadow}"), "require:"),
    "refuse: only watched": (pay('refuse: [{when: {note: {pattern: ".*urgent.*"}}, enforce: shadow}]'), "- when: {note"),
    "limits: more calls": (pay("limits: {calls: 6}"), "{calls: 5"),
    "limits: more equal calls": (pay("limits: [{equal: 3}]"), "equal: 2"),
    "limits: a higher sum": (pay("limits: {sum: amount, per: [order_id], at_most: 201}"), "at_most: 200"),
    "limits: more calls in a window": (pay("limits: {calls: 11, per: 24h}"), "per: 24h"),
    "limits: the same window in days": (pay("limits: {calls: 11, per: 1d, of: principal}"), "per: 24h"),
    "ceilings of the tool": (pay("ceilings: {arguments_bytes: 4001}"), "arguments_bytes"),
    "ceilings of the tool: the usual one": (pay("ceilings: {arguments_depth: 65}"), "arguments_bytes"),
    "approve: never": (pay("approve: never"), "approve:"),
    "approve: taken back": (pay("approve: null"), "approve:"),
    "approve: another role": (pay("approve: {by: [friend]}"), "approve:"),
    "approve: one more role": (pay("approve: {by: [lead, boss, friend]}"), "approve:"),
    "approve: the requester": (pay("approve: {by: self}"), "approve:"),
    "approve: the requester too": (pay("approve: {by: [lead, self]}"), "approve:"),
    "approve: a role called self": (pay("approve: {by: ['role:self']}"), "approve:"),
    "approve: small sums by nobody": (pay("approve: [{when: {amount: {maximum: 5}}, by: never}, {by: [lead]}]"), "approve:"),
    "approve: small sums by never": (pay("approve: [{when: {amount: {maximum: 5}}, by: self}, {by: [lead]}]"), "approve:"),
    "approve: more time": (pay("approve: {by: [lead], expires: 3h}"), "approve:"),
    "approve: less shown": (pay("approve: {by: [lead], show: [order_id]}"), "approve:"),
    "result: one more field": (look("result: {keep: [order_id, secret]}"), "result:"),
    "result: a whole where a part was kept": (look("result: {keep: [lines]}"), "result:"),
    "result: a field at any depth": (look("result: {keep: [..secret]}"), "result:"),
    "result: for a role": (look("result: {roles: {lead: {keep: [order_id]}}}"), "result:"),
    "handles are put back": (look("handles: {order_id: email}"), "  look:"),
    "masks are let through": (look("masks: {order_id: allow}"), "  look:"),
    "result: all items' fields": (look('result: {keep: ["lines[*]"]}'), "result:"),
    "result: a whole beside its part": (look('result: {keep: ["lines", "lines[*].price"]}'), "result:"),
    "result: more bytes": (look("result: {max_bytes: 6000}"), "result:"),
    "result: other words for nothing": (look("result: {empty: all is well}"), "result:"),
    "result: more bytes than the whole permits": (pay("result: {max_bytes: 9000}"), "  pay:"),
    "a new tool above the ceilings": (
        "tools:\n  extra: {kind: read, allow: [staff], result: {max_bytes: 9000}}\n",
        "result_bytes",
    ),
    "a tool in another spelling": ("tools:\n  Pay: {kind: read, allow: [staff]}\n", "  pay:"),
    "limits.run: more steps": ("limits: {run: {steps: 9}}\n", "run: {steps"),
    "limits.run: taken back": ("limits: {run: null}\n", "run: {steps"),
    "limits.run: only watched": ("limits: {run: {calls: {at_most: 20, enforce: shadow}}}\n", "run: {steps"),
    "limits.conversation": ("limits: {conversation: {calls: 101}}\n", "conversation:"),
    "limits.turn: more calls": ("limits: {turn: {calls: 5}}\n", "turn:"),
    "limits.turn: cut instead of refused": ("limits: {turn: {whole: false}}\n", "turn:"),
    "limits.windows": ("limits: {windows: [{calls: 501, per: 60m}]}\n", "windows:"),
    "ceilings": ("ceilings: {result_bytes: 8001}\n", "result_bytes"),
    "ceilings: more time for questions": ("ceilings: {approval_expires: 1d}\n", "approval_expires"),
    "prices: cheaper": ("prices: {small: {in: 0.1, out: 0.2}}\n", "small:"),
    "prices: a new one, where cost is limited": ("prices: {large: {in: 1, out: 2}}\n", "run: {steps"),
    "people: other roles": ("people: {root: {principal: E1, roles: [lead, boss]}}\n", "root:"),
}


def _problems(tmp_path: Path, *layers: Files) -> tuple[Problem, ...]:
    with pytest.raises(PolicyError) as caught:
        loaded(folders(tmp_path, *layers))
    return caught.value.problems


@pytest.mark.parametrize("row", LOOSENED)
def test_a_loosening_names_both_places(tmp_path: Path, row: str) -> None:
    """The problem stands in the narrower folder, names the line of the wider one, and says what to do."""
    files, marker = LOOSENED[row]
    found = [one for one in _problems(tmp_path, org(), files) if one.code == "layer-loosens"]

    assert [one.file for one in found] == ["team/tools.yaml"]
    assert f"org/tools.yaml:{line(marker)}" in found[0].message
    assert found[0].line is not None
    assert found[0].cure


@pytest.mark.parametrize("row", LOOSENED)
def test_a_layer_between_changes_nothing(tmp_path: Path, row: str) -> None:
    """What the narrowest of three folders loosens is found also when the one between says nothing about it."""
    files, marker = LOOSENED[row]
    found = _problems(tmp_path, org(), "limits: {run: {seconds: 60}}\n", files)
    told = [one for one in found if one.file == "app/tools.yaml" and one.code == "layer-loosens"]

    assert len(told) == 1
    assert f"org/tools.yaml:{line(marker)}" in told[0].message


ROLES = {
    "a role that a wider rule rewards": ("g, E8, staff, default\n", f"org/tools.yaml:{line('allow: [staff]')}"),
    "a role that approves": ("g, E8, boss, *\n", f"org/tools.yaml:{line('approve:')}"),
    "a role that leads to one": ("g, E8, senior, default\n", "org/rules.csv:3"),
    "the same person elsewhere": ("g, E7, lead, *\n", f"org/tools.yaml:{line('approve:')}"),
    "a person by its mark": ("g, user:E8, role:lead, default\n", f"org/tools.yaml:{line('approve:')}"),
    "a role that is denied": ("g, E8, trainee, default\n", "org/rules.csv:1"),
}


@pytest.mark.parametrize("row", ROLES)
def test_a_role_of_a_wider_layer_is_granted_there_only(tmp_path: Path, row: str) -> None:
    """A `g` line for a role that a wider layer speaks about is a mistake."""
    text, wide = ROLES[row]
    found = _problems(tmp_path, org(), {"rules.csv": text})

    assert [(one.file, one.line) for one in found] == [("team/rules.csv", 1)]
    assert wide in found[0].message


def test_a_person_is_named_in_the_widest_folder_only(tmp_path: Path) -> None:
    """An operating-system user of a narrower folder could approve in the name of anybody."""
    found = _problems(tmp_path, org(), "people: {mallory: {principal: E1, roles: [lead]}}\n")

    assert [(one.file, one.line) for one in found] == [("team/tools.yaml", 1)]
    assert "mallory" in found[0].message


def test_a_closed_list_takes_no_further_tool(tmp_path: Path) -> None:
    """`layers: {closed: true}` in a wider folder keeps narrower ones from naming tools of their own."""
    closed = {**org(), "layers.yaml": "layers: {closed: true}\n"}
    found = _problems(tmp_path, closed, "tools:\n  extra: {kind: read, allow: [staff]}\n")

    assert [(one.file, one.line) for one in found] == [("team/tools.yaml", 2)]
    assert "closed at org/layers.yaml:1" in found[0].message


MODEL = """[request_definition]
r = sub, dom, obj, act, ctx
[policy_definition]
p = sub, dom, obj, act, eft
[role_definition]
g = _, _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.act == p.act && keyMatch(r.obj, p.obj) && (p.dom == "*" || r.dom == p.dom) && g(r.sub, p.sub, r.dom) && r.ctx.resource.state == 'open'
"""


def test_a_wider_matcher_may_not_read_what_a_narrower_folder_makes_known(tmp_path: Path) -> None:
    """A record that a narrower folder names would make true what a wider matcher found missing."""
    text = "tools:\n  ping: {kind: compute, allow: [staff]}\n"
    found = _problems(tmp_path, {"tools.yaml": text, "model.conf": MODEL}, "limits: {run: {calls: 3}}\n")

    assert [one.file for one in found] == ["org/model.conf"]
    assert "reads resource" in found[0].message


def test_all_problems_of_all_layers_are_told_at_once(tmp_path: Path) -> None:
    """Mistakes in each folder, and between them, come in one error, each with its folder."""
    broken = {"tools.yaml": ORG_BROKEN, "rules.csv": LINES}
    found = _problems(tmp_path, broken, pay("timeout: 30s"), pay("kind: reed"))

    assert {one.file for one in found} >= {"org/tools.yaml", "team/tools.yaml", "app/tools.yaml"}


ORG_BROKEN = org()["tools.yaml"].replace("allow: [staff]", "alow: [staff]", 1)


def test_the_same_folder_twice_is_a_mistake(tmp_path: Path) -> None:
    """Naming a folder twice would look like a layer that tightens."""
    place = folders(tmp_path, org())[0]

    with pytest.raises(PolicyError, match="named twice"):
        loaded([place, tmp_path / "." / "org"])


def test_every_key_of_the_language_was_thought_of() -> None:
    """A key that is new here must be the same in all layers, or stand in the widest only, until somebody writes how it tightens."""
    assert set(RULES) == set(KEYS["tool"])
    assert set(MERGED) == set(KEYS["file"]) - {"redact"}  # the widest layer's alone
    assert set(COMPARED) == set(KEYS["approval"]) - {"assurance", "secret", "effect", "escalate"}  # the same everywhere
    assert set(KEYS["result"]) == {"keep", "empty", "max_bytes", "max_tokens", "schema", "units", "roles", *HIDES}
    assert set(KEYS["binding"]) == {"from", "strict"}
    assert set(KEYS["limits"]) == {"turn", "run", "conversation", "windows"}


def test_a_request_behind_a_tool_is_said_in_one_folder(tmp_path: Path) -> None:
    """A narrower folder can neither send a wider one's tool elsewhere nor put a request in the place of its function."""
    sent = "tools:\n  extra: {kind: read, allow: [staff], schema: {type: object, properties: {}}, http: {url: 'https://a.example/x'}}\n"
    other = "tools:\n  extra: {http: {url: 'https://b.example/x'}}\n"
    found = _problems(tmp_path / "a", sent, other)

    assert any("extra.http: it is not what stands at org/tools.yaml:2" in one.message for one in found)
    assert any("look.http" in one.message for one in _problems(tmp_path / "b", org(), look("http: {url: 'https://b.example/x'}")))
    assert loaded(folders(tmp_path / "c", sent, "limits: {run: {calls: 1}}\n"), ()).policy.tools["extra"].endpoint is not None


def test_a_role_called_self_is_not_the_requester(tmp_path: Path) -> None:
    """Where a wider folder asks the requester, no role of that name decides."""
    wide = org()["tools.yaml"].replace("approve: {by: [lead, boss]", "approve: {by: [self]")
    found = _problems(tmp_path, {"tools.yaml": wide}, pay("approve: {by: ['role:self']}"))

    assert any("role:self decides where self does" in one.message for one in found)
