"""What comes out of a policy: every key arrives compiled, under a version and definitions that change with it."""

from __future__ import annotations

from pathlib import Path

from policy_load_kit import GOOD, LOOK, PAY, SIGNATURE, entry, folder

from guard.core.model import Session
from guard.policy import Declared, load_policy


def test_a_bound_field_does_not_make_unknown_arguments_known(tmp_path: Path) -> None:
    """Where nothing is known of a tool's arguments, a bound field is one of them, not the only one."""
    lines = GOOD + "    bind: {customer: session.principal}\n    ground: {amount: {returned_by: look.total}}"
    tool = load_policy(folder(tmp_path, entry(lines))).policy.tools["pay"]

    assert tool.validate({"customer": "E1", "amount": 5}) == ()
    assert tool.visible == {"type": "object", "properties": {}, "additionalProperties": True}


def test_everything_of_the_language_is_compiled(tmp_path: Path) -> None:
    """Each key arrives in the compiled tool as the words of the core."""
    text = entry("""    kind: action
    description: Pay an order.
    allow: [staff]
    bind: {note: {from: session.memo, strict: true}}
    coerce: lossless
    unwrap: true
    repeat: allow
    timeout: 500ms
    checks: [budget]
    ground:
      order_id: {any_of: [{returned_by: 'look.orders[*].id', once: true, verified: true}, {written_by: user}], enforce: shadow}
      amount: {at_most: look.total, same: [order_id]}
    after: [{tool: look, where: {ok: true}, latest: false, once: true, enforce: shadow}]
    resource: [{order: order_id, owner: owner.id}, {shop: note}]
    require: {amount: {minimum: 1}}
    refuse: [{when: {resource.order.state: closed}, say: The order is closed., enforce: shadow}]
    limits: [{calls: 3, equal: 1}, {sum: amount, per: order_id, at_most: 100.50}]
    approve: [{when: {amount: {maximum: 50}}, by: self}, {by: [role:boss, self], expires: 7d, show: [amount]}]
    result: {keep: [id], empty: nothing, max_bytes: 1000}
limits:
  turn: {calls: 4, whole: true}
  run: {steps: 8, cost: 1.25}
  conversation: {tokens: 1000}
prices: {m: {in: 2.50, out: 10}}
people: {ann: {principal: E1, tenant: acme, roles: [boss], attributes: {level: 3}}}
""")
    loaded = load_policy(folder(tmp_path, text), (PAY, LOOK), checks={"budget": lambda _: None})
    tool, limits = loaded.policy.tools["pay"], loaded.policy.limits
    order, amount = tool.grounds

    assert (tool.kind, tool.timeout, tool.repeat, tool.unwrap, tool.acts) == ("action", 0.5, True, True, True)
    assert [(b.field, str(b.source), b.strict) for b in tool.bindings] == [("note", "memo", True)]
    assert "note" in tool.schema["properties"]
    assert "note" not in tool.visible["properties"]
    assert (order.shadow, [source.origin for source in order.sources]) == (True, ["tool", "user"])
    assert (str(order.sources[0].path), order.sources[0].once, order.sources[0].verified) == ("orders[*].id", True, True)
    assert (amount.sources[0].relation, amount.sources[0].latest, str(amount.sources[0].same[0])) == ("at_most", True, "order_id")
    assert (tool.after[0].latest, tool.after[0].once, tool.after[0].shadow) == (False, True, True)
    assert [(rule.name, rule.owner and str(rule.owner)) for rule in tool.resources] == [("order", "owner.id"), ("shop", None)]
    assert [(rule.id, rule.effect, rule.shadow) for rule in tool.rules] == [
        ("pay.require[0]", "require", False),
        ("pay.refuse[0]", "refuse", True),
    ]
    assert (tool.limits.calls, tool.limits.equal, str(tool.limits.sums[0].at_most)) == (3, 1, "100.50")
    assert [(rule.by, rule.self_, rule.expires) for rule in tool.approval] == [((), True, 86400.0), (("boss",), True, 604800.0)]
    assert (tool.result.empty, tool.result.max_bytes) == ("nothing", 1000)
    assert (limits.turn_calls, limits.whole_turn, str(limits.run["cost"])) == (4, True, "1.25")
    assert [str(price) for price in limits.prices["m"]] == ["2.50", "10"]
    assert loaded.policy.people["ann"] == Session(principal="E1", tenant="acme", roles=("boss",), attributes={"level": 3})


def test_the_limit_of_one_record_is_what_was_said_about_this_record(tmp_path: Path) -> None:
    """`per` decides which earlier result a bound is read from, unless `same` is written."""
    text = entry(GOOD + "    limits: {sum: amount, per: order_id, at_most: look.total}")

    limit = load_policy(folder(tmp_path, text), (PAY, LOOK)).policy.tools["pay"].limits.sums[0].at_most

    assert [str(path) for path in limit.same] == ["order_id"]


def test_a_tool_name_with_dots_is_the_longest_that_fits(tmp_path: Path) -> None:
    """`api.orders.get.id` is field `id` of tool `api.orders.get`, even where a tool `api` exists."""
    text = entry(GOOD + "    ground: {order_id: {returned_by: api.orders.get.id}}")
    text += "  api: {kind: read, allow: [a]}\n  api.orders.get: {kind: read, allow: [a]}\n"

    source = load_policy(folder(tmp_path, text)).policy.tools["pay"].grounds[0].sources[0]

    assert (source.tool, str(source.path)) == ("api.orders.get", "id")


def test_the_version_changes_with_every_byte_and_every_definition(tmp_path: Path) -> None:
    """Two different policies never share a version; the same one always does."""
    first = load_policy(folder(tmp_path, entry(GOOD)), (PAY, LOOK)).policy.version
    again = load_policy(tmp_path, (PAY, LOOK)).policy.version
    other_tool = load_policy(tmp_path, (Declared(name="pay", schema={}), LOOK)).policy.version
    comment = load_policy(folder(tmp_path, entry(GOOD) + "# x\n"), (PAY, LOOK)).policy.version

    assert first == again
    assert len({first, other_tool, comment}) == 3


def test_a_definition_is_about_what_the_tool_is_not_where_it_lives(tmp_path: Path) -> None:
    """Moving a function leaves approvals valid; changing its schema or description does not."""
    where = folder(tmp_path, entry(GOOD))

    def definition(**changes: object) -> str:
        declared = Declared(**{"name": "pay", "schema": SIGNATURE, **changes})
        return load_policy(where, (declared, LOOK)).policy.tools["pay"].definition

    assert definition() == definition(origin="elsewhere.pay")
    assert len({definition(), definition(description="x"), definition(schema={})}) == 3


def test_an_alternative_may_say_that_nobody_is_asked(tmp_path: Path) -> None:
    """`by: never` with a condition lets exactly the calls through for which it surely holds; all others ask the next one."""
    text = """tools:
  bash:
    kind: action
    allow: [dev]
    schema: {type: object, properties: {cmd: {type: string}}, required: [cmd]}
    approve: [{when: {cmd: {command: {programs: [ls, cd]}}}, by: never}, {by: [operator]}]
limits: {run: {steps: 3}}
"""
    (tmp_path / "tools.yaml").write_text(text, "utf-8")

    tool = load_policy(tmp_path).policy.tools["bash"]

    free, asked = tool.approval
    assert (free.strictness, asked.strictness) == (0, 2)
    assert free.when is not None
    assert free.when.surely({"arguments": {"cmd": "cd /w && ls"}})
    assert not free.when.surely({"arguments": {"cmd": "cd /w && python3 x.py"}})
    assert free.when.maybe({"arguments": {"cmd": "cd $HOME"}})
