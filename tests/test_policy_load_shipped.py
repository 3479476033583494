"""The shipped policies: both load, hold what their scenarios need, and are in the language that editors know."""

from __future__ import annotations

import json
from pathlib import Path

from guard.policy import load_policy
from guard.policy.judges import KEYWORDS
from guard.policy.language import KEYS
from guard.policy.matchers import MATCHERS

ROOT = Path(__file__).resolve().parent.parent
TRAVEL = ROOT / "policies"
SHOP = ROOT / "examples" / "shop" / "policies"


def test_the_shipped_travel_policy_loads() -> None:
    """The travel-expense assistant's policy holds what its scenario needs, and its people exist."""
    loaded = load_policy(TRAVEL)
    create = loaded.policy.tools["createExpenseSupplement"]

    assert set(loaded.policy.tools) == {"queryExpense", "queryTravelPolicy", "calcAmountOver", "createExpenseSupplement"}
    assert (create.approval[0].by, create.approval[0].expires, create.after[0].tool) == (
        ("supervisor",),
        86400.0,
        "calcAmountOver",
    )
    assert set(loaded.policy.people) == {"supervisor"}  # no account that a machine has by itself may approve
    assert loaded.policy.authorizer.roles(loaded.policy.people["supervisor"]) == {"supervisor"}
    assert loaded.warnings == ()


def test_the_shop_policy_loads() -> None:
    """The shop's policy says whose orders, what must have happened, and who approves how much."""
    refund = load_policy(SHOP).policy.tools["refund"]

    assert [(rule.self_, rule.by) for rule in refund.approval] == [(True, ()), (False, ("support",))]
    assert (refund.resources[0].name, str(refund.resources[0].owner)) == ("order", "customer_id")
    assert refund.limits.sums[0].at_most.tool == "order_status"


def test_the_editors_schema_knows_exactly_the_keys_of_the_reader() -> None:
    """What an editor completes and what the reader accepts are the same language, and both shipped policies are in it."""
    import jsonschema

    from guard.policy.keywords import float_copy
    from guard.policy.problems import Problems
    from guard.policy.source import File, read_yaml

    schema = json.loads((ROOT / "guard" / "policy" / "tools.schema.json").read_text())
    defs = schema["$defs"]
    written = {name: tuple(body["properties"]) for name, body in defs.items() if name in KEYS}
    judge = jsonschema.Draft202012Validator(schema)

    assert {name: tuple(keys) for name, keys in KEYS.items()} == written
    assert set(KEYWORDS) | {"allOf", "anyOf", "not"} == set(defs["fragment"]["properties"])
    assert {next(iter(option["properties"])) for option in defs["test"]["oneOf"] if "properties" in option} == {
        *MATCHERS,
        "equals",
    }
    for file in [*TRAVEL.glob("[!c]*.yaml"), *SHOP.glob("[!c]*.yaml")]:  # cases.yaml is a language of its own
        value = read_yaml(File(file.name, file.read_bytes()), Problems()).value
        assert [error.message for error in judge.iter_errors(float_copy(value))] == [], file
