"""Defaults: an argument that is left out is judged, shown and passed with the value that will run; where nobody can know it, at load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path

import pytest
from policy_load_kit import folder

from guard import Guard, Session, ToolCall
from guard.errors import PolicyError, Problem
from guard.policy import Declared, load_policy
from guard.tools import registry

SIGNATURE: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "order": {"type": "string"},
        "amount": {"type": "number", "default": 100},
        "note": {"type": "string", "default": ""},
        "part": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "free": {"type": "string"},
    },
    "required": ["order"],
}
NAMES = frozenset(SIGNATURE["properties"]) | {"id", "ids", "o", "x"}
ALL = {"amount": 100, "note": "", "part": None}


def tool(tmp_path: Path, keys: str, silent: frozenset[str] = frozenset(), schema: object = SIGNATURE) -> object:
    """The tool `pay` with these keys, and a tool to rely on."""
    text = f"tools:\n  look: {{kind: read, allow: [a]}}\n  pay:\n    kind: action\n    allow: [a]\n{keys}\n"
    declared = [Declared(name="pay", schema=schema, parameters=NAMES, silent=silent), Declared(name="look", schema={})]
    checks = {"budget": lambda _: None}
    return load_policy(folder(tmp_path, text), declared, checks=checks).policy.tools["pay"]


NEVER = "    approve: never\n"
FILLED = {
    "nobody looks": (NEVER, {}),
    "a person decides": ("    approve: {by: [boss]}", ALL),
    "the requester decides": ("    approve: {by: self}", ALL),
    "a person may decide": ("    approve: [{when: {order: x}, by: never}, {by: [boss]}]", ALL),
    "nobody ever decides": ("    approve: [{when: {amount: 5}, by: never}, never]", {"amount": 100}),
    "a check": (NEVER + "    checks: [budget]", ALL),
    "a ground": (NEVER + "    ground: {amount: {at_most: look.total}}", {"amount": 100}),
    "what must be the same": (NEVER + "    ground: {order: {returned_by: look.id, same: [note]}}", {"note": ""}),
    "what came before": (
        NEVER + "    after: {tool: look, where: {id: {equals: arguments.note}}, same: [part]}",
        {"note": "", "part": None},
    ),
    "a sum": (NEVER + "    limits: {sum: amount, per: [note], at_most: 5}", {"amount": 100, "note": ""}),
    "a sum's own record": (NEVER + "    limits: {sum: amount, at_most: look.total, same: [part]}", {"amount": 100, "part": None}),
    "require": (NEVER + "    require: {amount: {maximum: 5}}", {"amount": 100}),
    "refuse": (NEVER + "    refuse: [{when: {note: {equals: part}}}]", {"note": "", "part": None}),
    "bound": ("    approve: {by: [boss]}\n    bind: {note: session.principal}", {"amount": 100, "part": None}),
    "of a schema of the policy's": (
        "    approve: {by: [boss]}\n    schema: {type: object, properties: {order: {}, amount: {default: 7}, note: {}}}",
        {"amount": 7, "note": ""},
    ),
    "that needs the argument": (
        "    approve: {by: [boss]}\n    schema: {type: object, properties: {amount: {}}, required: [amount]}",
        {},
    ),
    "of an open schema": ("    approve: {by: [boss]}\n    schema: true", ALL),
}


@pytest.mark.parametrize(("keys", "filled"), FILLED.values(), ids=FILLED.keys())
def test_the_default_of_a_judged_argument_is_filled_in(tmp_path: Path, keys: str, filled: dict[str, object]) -> None:
    """What somebody looks at is there before they look, marked as a default; what nobody looks at stays the function's."""
    prepared = tool(tmp_path, keys).prepare({"order": "A"})

    assert prepared.arguments == {"order": "A", **filled}
    assert sorted(prepared.defaulted) == sorted(filled)


def test_what_the_model_gives_is_never_replaced(tmp_path: Path) -> None:
    """A default stands in for an absent argument only, and for null where null is no value."""
    made = tool(tmp_path, "    approve: {by: [boss]}")

    assert made.prepare({"order": "A", "amount": None, "note": "x", "part": None}).arguments == {
        "order": "A",
        "amount": 100,
        "note": "x",
        "part": None,
    }


def problems(tmp_path: Path, keys: str, silent: frozenset[str] = frozenset(), schema: object = SIGNATURE) -> tuple[Problem, ...]:
    """The mistakes of the tool `pay`."""
    with pytest.raises(PolicyError) as caught:
        tool(tmp_path, keys, silent, schema)
    return caught.value.problems


UNSAID = {
    "a person decides": "    approve: {by: [boss]}",
    "a check": NEVER + "    checks: [budget]",
    "a ground": NEVER + "    ground: {free: {written_by: user}}",
    "require": NEVER + "    require: {free: x}",
    "shown": "    approve: {by: self, show: [free]}",
    "an open schema": "    approve: {by: [boss]}\n    schema: true",
    "a schema of the policy's": "    approve: {by: [boss]}\n    schema: {type: object, properties: {free: {}}}",
}


@pytest.mark.parametrize("keys", UNSAID.values(), ids=UNSAID.keys())
def test_a_default_that_nobody_can_know_is_an_error_where_it_is_judged(tmp_path: Path, keys: str) -> None:
    """A person cannot approve, and no rule can judge, a value that only the function knows."""
    found = problems(tmp_path, keys, frozenset({"free"}))

    assert [(one.line, one.message, one.cure) for one in found] == [
        (
            3,
            "pay: free may be left out, and what then runs cannot be judged",
            "make it required or give it a default that JSON can say",
        )
    ]


SAID = {
    "nobody looks": NEVER,
    "at another argument": NEVER + "    require: {amount: {maximum: 500}}",
    "the session's": "    approve: {by: [boss]}\n    bind: {free: session.principal}",
    "required by the policy": "    approve: {by: [boss]}\n    schema: {type: object, properties: {free: {}}, required: [free]}",
    "given by the policy": "    approve: {by: [boss]}\n    schema: {type: object, properties: {free: {default: x}}}",
    "out of the model's reach": "    approve: {by: [boss]}\n    schema: {type: object, properties: {order: {}}}",
}


@pytest.mark.parametrize("keys", SAID.values(), ids=SAID.keys())
def test_a_default_that_nobody_judges_may_stay_unsaid(tmp_path: Path, keys: str) -> None:
    """The function's own business stays its own, and a policy can repair it."""
    assert tool(tmp_path, keys, frozenset({"free"})) is not None


@pytest.mark.parametrize(
    "default", ["{type: number, default: x}", "{type: number, maximum: 5}"], ids=["its own", "the function's"]
)
def test_a_judged_default_fits_the_schema(tmp_path: Path, default: str) -> None:
    """Otherwise every call without the argument would be refused, and nobody would know why."""
    found = problems(tmp_path, f"    approve: {{by: [boss]}}\n    schema: {{type: object, properties: {{amount: {default}}}}}")

    assert ["the default of amount does not fit" in one.message for one in found] == [True]


# -- the record that is touched --------------------------------------------------------------------------------------


def record(schema: str, path: str = "id") -> str:
    return NEVER + f"    schema: {schema}\n    resource: {{order: '{path}', owner: owner}}"


UNNAMED = {
    "optional": record("{type: object, properties: {id: {type: string}}}"),
    "null by default": record("{type: object, properties: {id: {default: null}}}"),
    "inside, optional": record("{type: object, properties: {o: {type: object, properties: {id: {}}}}, required: [o]}", "o.id"),
    "inside what may be null": record(
        "{type: object, properties: {o: {anyOf: [{type: object, properties: {id: {}}, required: [id]}, {type: 'null'}]}}, required: [o]}",
        "o.id",
    ),
    "of items, optional": record(
        "{type: object, properties: {o: {type: array, items: {type: object, properties: {id: {}}}}}, required: [o]}", "o[*].id"
    ),
    "of what need not be a list": record("{type: object, properties: {ids: {items: {}}}, required: [ids]}", "ids[*]"),
    "one way of two": record("{properties: {id: {}}, anyOf: [{required: [id]}, {required: [x]}]}"),
    "nothing known": record("true"),
}


@pytest.mark.parametrize("keys", UNNAMED.values(), ids=UNNAMED.keys())
def test_a_record_that_need_not_be_named_is_an_error(tmp_path: Path, keys: str) -> None:
    """Without an id no record is looked up and no owner asked for, so an id that can be left out checks nothing."""
    found = problems(tmp_path, keys)

    assert [(one.line, "the record must always be named" in one.message, one.cure) for one in found] == [
        (8, True, "make the argument required")
    ]


NAMED = {
    "required": record("{type: object, properties: {id: {type: string}}, required: [id]}"),
    "a default": record("{type: object, properties: {id: {default: main}}}"),
    "inside": record(
        "{type: object, properties: {o: {$ref: '#/$defs/O'}}, required: [o], "
        "$defs: {O: {type: object, properties: {id: {}}, required: [id]}}}",
        "o.id",
    ),
    "items": record("{type: object, properties: {ids: {type: array, items: {}}}, required: [ids]}", "ids[*]"),
    "both ways": record("{properties: {id: {}, x: {}}, anyOf: [{required: [id]}, {required: [id, x]}]}"),
    "all of": record("{properties: {id: {}}, allOf: [{required: [id]}]}"),
    "the session's": record("{type: object, properties: {id: {}}}") + "\n    bind: {id: session.principal}",
}


@pytest.mark.parametrize("keys", NAMED.values(), ids=NAMED.keys())
def test_a_record_that_is_always_named_is_none(tmp_path: Path, keys: str) -> None:
    """The neighbours of what is refused are loaded."""
    assert tool(tmp_path, keys, schema={}) is not None


def test_without_program_and_schema_nothing_is_known_of_a_record(tmp_path: Path) -> None:
    """`guard check` reads a folder alone: what only the function says is found when the program loads it."""
    text = "tools:\n  pay: {kind: read, allow: [a], resource: {order: id}}\n"

    assert load_policy(folder(tmp_path, text)).policy.tools["pay"].resources


# -- whole calls -----------------------------------------------------------------------------------------------------


def guarded(tmp_path: Path, text: str, *functions: Callable[..., object]) -> Guard:
    return Guard.load(folder(tmp_path, text + "limits: {run: {steps: 9}}\n"), tools=functions, store="memory://")


USER = Session(principal="u1", roles=("user",))


def test_a_default_above_a_rules_bound_does_not_run(tmp_path: Path) -> None:
    """Leaving an argument out is no way around the rule that bounds it."""
    ran: list[Decimal] = []

    def refund(order: str, amount: Decimal = Decimal(100)) -> str:
        ran.append(amount)
        return "ok"

    text = "tools:\n  refund: {kind: action, allow: [user], approve: never, refuse: [{when: {amount: {minimum: 50}}}]}\n"
    guard = guarded(tmp_path, text, refund)
    codes = [
        guard.call(ToolCall(f"c{number}", "refund", sent), USER, conversation="c").status
        for number, sent in enumerate(['{"order": "A"}', '{"order": "A", "amount": 5}'])
    ]

    assert (codes, ran) == (["refused", "done"], [Decimal(5)])


def test_an_approver_sees_the_default_that_will_run(tmp_path: Path) -> None:
    """The question holds every value, and says which of them nobody wrote."""

    def wire_out(order: str, amount: Decimal = Decimal(100)) -> str:
        return "ok"

    guard = guarded(tmp_path, "tools:\n  wire_out: {kind: action, allow: [user], approve: {by: [boss]}}\n", wire_out)
    held = guard.call(ToolCall("c1", "wire_out", '{"order": "A"}'), USER, conversation="c")

    question = guard.approvals.show(held.approval)

    assert question.arguments == {"order": "A", "amount": 100}
    assert question.origins == {"order": "model", "amount": "default"}


def test_a_function_whose_default_json_cannot_say_is_told_by_name(tmp_path: Path) -> None:
    """What the registry cannot say reaches the load."""

    def wire_out(order: str, amount: float = float("inf")) -> str:
        return "ok"

    assert registry([wire_out])["wire_out"].silent == {"amount"}
    with pytest.raises(PolicyError, match="amount may be left out"):
        guarded(tmp_path, "tools:\n  wire_out: {kind: action, allow: [user], approve: {by: [boss]}}\n", wire_out)
