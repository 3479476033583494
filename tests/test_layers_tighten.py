"""What a narrower folder may add is accepted, and has the effect that it says."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from layers_kit import Files, folders, loaded, look, org, pay

from guard import PolicyError
from guard.core.model import Session
from guard.core.ports import Policy
from guard.policy import Loaded

STAFF = Session(principal="E9", roles=("staff",))
LEAD = Session(principal="E5", roles=("lead",))


def _may(found: Loaded, session: Session, tool: str = "pay", act: str = "call") -> bool:
    return found.policy.authorizer.decide(session, tool, act).allowed


def _pay(found: Loaded) -> object:
    return found.policy.tools["pay"]


def _blocks(found: Loaded) -> list[str] | None:
    target = found.policy.tools["pay"].target
    return None if target is None else [str(path) for path in target.arguments]


def _keep(policy: Policy) -> list[str]:
    return [str(path) for path in policy.tools["look"].result.keep or ()]


TIGHTENED: dict[str, tuple[Files, Callable[[Loaded], object], object]] = {
    "allow: another role is needed besides": (
        pay("allow: [cashier]"),
        lambda f: (_may(f, STAFF), _may(f, Session(principal="E9", roles=("staff", "cashier")))),
        (False, True),
    ),
    "allow: everybody, which changes nothing": (pay('allow: ["*"]'), lambda f: _may(f, STAFF), True),
    "a deny in a rule file": (
        {"rules.csv": "p, role:intern, *, pa*, call, deny\n"},
        lambda f: (_may(f, STAFF), _may(f, Session(principal="E9", roles=("staff", "intern")))),
        (True, False),
    ),
    "a role of its own": (
        {"tools.yaml": pay("allow: [cashier]"), "rules.csv": "g, role:staff, cashier, *\n"},
        lambda f: (_may(f, STAFF), _may(f, Session(principal="E9", roles=("cashier",)))),
        (True, False),
    ),
    "bind: one more field": (
        pay("bind: {desk: session.desk}"),
        lambda f: [(b.field, b.strict, b.vouches) for b in f.policy.tools["pay"].bindings],
        [("by", True, True), ("desk", False, False)],
    ),
    "bind: strict": (
        {"tools.yaml": "tools:\n  pay:\n    bind: {by: {from: session.principal, strict: true}}\n"},
        lambda f: [(b.field, b.strict) for b in f.policy.tools["pay"].bindings],
        [("by", True)],
    ),
    "checks: one more": (
        pay("checks: [fraud]"),
        lambda f: [(c.name, c.shadow) for c in f.policy.tools["pay"].checks],
        [("office_hours", False), ("fraud", False)],
    ),
    "timeout": (pay("timeout: 1500ms"), lambda f: f.policy.tools["pay"].timeout, 1.5),
    "unknown: fewer arguments": (pay("unknown: {target: order_id}"), _blocks, ["order_id"]),
    "unknown: every call": (pay("unknown: {blocks: tool}"), _blocks, []),
    "unknown: the same": (pay("unknown: {target: [amount, arguments.order_id]}"), _blocks, ["amount", "order_id"]),
    "effect: once": (pay("effect: once"), lambda f: f.policy.tools["pay"].effect, "once"),
    "ground: one more argument": (
        pay("ground: {note: {written_by: user}}"),
        lambda f: [(str(g.argument), g.vouches) for g in f.policy.tools["pay"].grounds],
        [("order_id", True), ("note", False)],
    ),
    "ground: one more demand": (
        pay("ground: {order_id: {written_by: user}}"),
        lambda f: [(str(g.argument), g.sources[0].origin) for g in f.policy.tools["pay"].grounds],
        [("order_id", "tool"), ("order_id", "user")],
    ),
    "after: one more": (pay("after: {tool: ping}"), lambda f: [a.tool for a in f.policy.tools["pay"].after], ["look", "ping"]),
    "require and refuse": (
        pay("require: {amount: {maximum: 50}}\n    refuse: {when: {desk: x}}"),
        lambda f: [(r.effect, r.when.text) for r in f.policy.tools["pay"].rules],
        [
            ("require", 'amount: {"maximum":100}'),
            ("require", 'amount: {"maximum":50}'),
            ("refuse", 'note: {"pattern":".*urgent.*"}'),
            ("refuse", 'desk: "x"'),
        ],
    ),
    "limits": (
        pay("limits: [{calls: 3}, {sum: amount, per: order_id, at_most: 90}, {calls: 4, per: 24h}, {calls: 2, per: 1h}]"),
        lambda f: (
            f.policy.tools["pay"].limits.calls,
            f.policy.tools["pay"].limits.equal,
            [s.at_most for s in f.policy.tools["pay"].limits.sums],
            [(w.seconds, w.at_most) for w in f.policy.tools["pay"].limits.windows],
        ),
        (3, 2, [Decimal(90)], [(86400.0, 4), (3600.0, 2)]),
    ),
    "ceilings of the tool": (
        pay("ceilings: {arguments_bytes: 900, arguments_depth: 5}"),
        lambda f: (f.policy.tools["pay"].ceilings.arguments_bytes, f.policy.tools["pay"].ceilings.arguments_depth),
        (900, 5),
    ),
    "ceilings of all tools, over what a wider tool has": (
        "ceilings: {arguments_bytes: 800, result_bytes: 700, approval_expires: 1h}\n",
        lambda f: (
            f.policy.tools["pay"].ceilings.arguments_bytes,
            f.policy.tools["look"].result.max_bytes,
            f.policy.tools["pay"].approval[0].expires,
        ),
        (800, 700, 3600.0),
    ),
    "approve: fewer people": (
        pay("approve: {by: boss}"),
        lambda f: (f.policy.tools["pay"].approval[0].by, f.policy.tools["pay"].approval[0].expires, _may(f, LEAD, act="approve")),
        (("boss",), 7200.0, False),
    ),
    "approve: what is shown stays": (
        pay("approve: {by: boss}"),
        lambda f: [str(path) for path in f.policy.tools["pay"].approval[0].show],
        ["order_id", "amount"],
    ),
    "approve: less time, more shown": (
        pay("approve: {by: [lead, boss], expires: 90m, show: [order_id, amount, note]}"),
        lambda f: (f.policy.tools["pay"].approval[0].expires, len(f.policy.tools["pay"].approval[0].show)),
        (5400.0, 3),
    ),
    "approve: fewer people for large sums": (
        pay("approve: [{when: {amount: {minimum: 50}}, by: boss}, {by: [boss, lead], expires: 1h}]"),
        lambda f: [(r.by, r.expires) for r in f.policy.tools["pay"].approval],
        [(("boss",), 7200.0), (("boss", "lead"), 3600.0)],
    ),
    "approve: somebody where nobody was asked": (
        look("approve: {by: self}"),
        lambda f: f.policy.tools["look"].approval[0].self_,
        True,
    ),
    "result: a field less": (
        look("result: {drop: [order_id]}"),
        lambda f: [str(one) for one in f.policy.tools["look"].result.rules.hide],
        ["drop order_id"],
    ),
    "result: fewer fields": (look('result: {keep: [customer.name, "lines[*].price"]}'), lambda f: _keep(f.policy), None),
    "result: fewer bytes": (look("result: {max_bytes: 100}"), lambda f: f.policy.tools["look"].result.max_bytes, 100),
    "a tool of its own": (
        "tools:\n  extra: {kind: read, allow: [staff]}\n",
        lambda f: (_may(f, STAFF, "extra"), _may(f, LEAD, "extra")),
        (True, False),
    ),
    "limits of the whole": (
        "limits: {turn: {calls: 1}, run: {steps: 2, equal: 1}, conversation: {calls: 5}, windows: [{calls: 9, per: 1h}]}\n",
        lambda f: (
            f.policy.limits.turn_calls,
            f.policy.limits.whole_turn,
            {key: int(value) for key, value in f.policy.limits.run.items()},
            [int(one.at_most) for one in f.policy.limits.windows],
        ),
        (1, True, {"steps": 2, "calls": 20, "cost": 2, "equal": 1}, [500, 9]),
    ),
    "the same people and prices again": (
        "people: {root: {principal: E1, roles: [lead]}}\nprices: {small: {in: 1, out: 2}}\n",
        lambda f: (f.policy.people["root"].roles, f.policy.limits.prices["small"]),
        (("lead",), (Decimal(1), Decimal(2))),
    ),
}
TIGHTENED["result: fewer fields"] = (*TIGHTENED["result: fewer fields"][:2], ["customer.name", "lines[*].price"])


@pytest.mark.parametrize("row", TIGHTENED)
def test_a_tightening_has_its_effect(tmp_path: Path, row: str) -> None:
    """The folders load, and what the narrower one says counts."""
    files, effect, wanted = TIGHTENED[row]

    assert effect(loaded(folders(tmp_path, org(), files))) == wanted


@pytest.mark.parametrize("row", TIGHTENED)
def test_a_tightening_by_the_second_of_three_stays(tmp_path: Path, row: str) -> None:
    """A third folder that says something else leaves it as it is."""
    files, effect, wanted = TIGHTENED[row]

    assert effect(loaded(folders(tmp_path, org(), files, "limits: {conversation: {tokens: 60}}\n"))) == wanted


def test_the_folders_alone_mean_what_they_mean_together_with_an_empty_one(tmp_path: Path) -> None:
    """A folder that adds nothing changes no tool."""
    alone = loaded([folders(tmp_path, org())[0]])
    both = loaded(folders(tmp_path, org(), "tools: {look: {allow: ['*']}}\n"))

    assert alone.policy.limits == both.policy.limits
    assert {name: tool.definition for name, tool in alone.policy.tools.items()} == {
        name: tool.definition for name, tool in both.policy.tools.items()
    }


def test_one_folder_in_a_list_is_that_folder(tmp_path: Path) -> None:
    """Its version, and the names of its files, are those of the folder by itself."""
    place = folders(tmp_path, org())[0]

    assert loaded([place]).policy.version == loaded(place).policy.version  # type: ignore[arg-type]
    assert loaded([place]).entries["pay"].file == "tools.yaml"


def test_the_version_covers_every_layer_and_their_order(tmp_path: Path) -> None:
    """Another text in any folder, or another order, is another version; other names of the folders are not."""
    texts = ("limits: {run: {steps: 9}}\n", "limits: {run: {steps: 8}}\n", "limits: {run: {steps: 7}}\n")
    places = folders(tmp_path / "a", *texts)
    found = {loaded(places).policy.version}
    for index in range(3):
        changed = [text.replace("}}", ", calls: 9}}") if index == at else text for at, text in enumerate(texts)]
        found.add(loaded(folders(tmp_path / f"b{index}", *changed)).policy.version)
    same = folders(tmp_path / "c", *texts)
    moved = [place.rename(place.with_name(f"x{place.name}")) for place in same]

    assert len(found) == 4
    assert loaded(moved).policy.version == loaded(places).policy.version


def test_a_wider_folder_may_know_tools_that_the_program_does_not_have(tmp_path: Path) -> None:
    """An organisation's folder is for many programs: a tool of it that is not registered is left out, one of the narrowest is a mistake."""
    text = org()["tools.yaml"].replace("  ping:", "  other: {kind: read, allow: [staff]}\n  ping:")

    assert "other" not in loaded(folders(tmp_path, {**org(), "tools.yaml": text}, look("timeout: 1s"))).policy.tools


def test_a_wider_folder_may_only_bound_what_a_narrower_one_defines(tmp_path: Path) -> None:
    """An entry without a kind says nothing about who may call: whoever says the kind does."""
    bound = "tools:\n  extra: {limits: {calls: 2}, result: {max_bytes: 100}}\n"
    mine = "tools:\n  extra: {kind: read, allow: [staff], limits: {calls: 1}}\n"
    found = loaded(folders(tmp_path, bound, mine))

    assert (found.policy.tools["extra"].limits.calls, found.policy.tools["extra"].result.max_bytes) == (1, 100)
    assert _may(found, STAFF, "extra")


def test_what_a_wider_layer_lets_nobody_call_nobody_may_call(tmp_path: Path) -> None:
    """A full entry without `allow` refuses everybody, whatever narrower folders allow, and the warning says which folder it is."""
    found = loaded(folders(tmp_path, "tools:\n  extra: {kind: read}\n", "tools:\n  extra: {allow: ['*']}\n"))

    assert not _may(found, STAFF, "extra")
    assert any(one.code == "tool-nobody" and "org names it" in one.message for one in found.warnings)


def test_alternatives_under_the_same_conditions_face_their_own(tmp_path: Path) -> None:
    """Small sums stay with the requester, and large ones get fewer people: nobody new decides in any case."""
    wide = org()["tools.yaml"].replace(
        "approve: {by: [lead, boss], expires: 2h, show: [order_id, amount]}",
        "approve: [{when: {amount: {maximum: 9}}, by: self}, {by: [lead, boss], expires: 3h}]",
    )
    text = pay("approve: [{when: {amount: {maximum: 9}}, by: self, expires: 1h}, {by: boss}]")
    found = loaded(folders(tmp_path, {**org(), "tools.yaml": wide}, text)).policy.tools["pay"].approval

    assert [(one.by, one.self_, one.expires) for one in found] == [((), True, 3600.0), (("boss",), False, 10800.0)]


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("[{when: W, by: never}, {by: self}]", "[{when: W, by: friend}, {by: self}]"),
        ("[{when: W, by: [lead, self]}, {by: boss}]", "[{when: W, by: self}, {by: boss}]"),
    ],
)
def test_somebody_new_in_an_uncertain_case_is_a_mistake(tmp_path: Path, wide: str, narrow: str) -> None:
    """Where it is uncertain whether the first condition holds, the strictest alternative counts, and that may be another one now."""
    when = "{amount: {maximum: 9}}"
    text = (
        "tools:\n  pay: {kind: action, allow: [staff], schema: {properties: {amount: {type: number}}}, approve: " + wide + "}\n"
    )
    places = folders(tmp_path, text.replace("W", when), pay(f"approve: {narrow}".replace("W", when)))

    with pytest.raises(PolicyError, match="decides where"):
        loaded(places)


def test_a_compensation_of_a_wider_folder_must_be_registered(tmp_path: Path) -> None:
    """A tool that only wider folders name may be missing, unless another one needs it."""
    wide = "tools:\n  extra: {kind: action, allow: [staff], approve: never, effect: {compensate: undo}}\n"
    wide += "  undo: {kind: action, allow: [staff], approve: {by: [lead]}}\n"

    with pytest.raises(PolicyError, match="no registered tool is called undo"):
        loaded(folders(tmp_path, wide, "limits: {run: {calls: 1}}\n"))


def test_a_rule_about_a_role_of_a_wider_folder_is_no_surprise(tmp_path: Path) -> None:
    """No warning says that nothing else names the role."""
    found = loaded(folders(tmp_path, org(), {"rules.csv": "p, staff, *, ping, call, deny\n"}))

    assert [one.message for one in found.warnings if one.file == "team/rules.csv"] == []
