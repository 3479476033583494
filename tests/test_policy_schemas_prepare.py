"""Preparing arguments: the two changes that are ever made to them, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from policy_schemas_kit import D, fields, schema

from guard.policy.prepare import preparer

NULLS = {
    "dropped": (fields(a={"type": "string"}), {"a": None}, {}, ()),
    "filled": (fields(a={"type": "boolean", "default": False}), {"a": None}, {"a": False}, ("a",)),
    "kept where null is a value": (fields(a={"anyOf": [{"type": "string"}, {"type": "null"}]}), {"a": None}, {"a": None}, ()),
    "kept where anything goes": (fields(a={}), {"a": None}, {"a": None}, ()),
    "kept where required": (fields(a={"type": "string"}) | {"required": ["a"]}, {"a": None}, {"a": None}, ()),
    "absent stays absent": (fields(a={"type": "boolean", "default": False}), {}, {}, ()),
    "below": (fields(o=fields(a={"type": "string", "default": "x"})), {"o": {"a": None, "b": 1}}, {"o": {"b": 1}}, ()),
    "in items": (
        fields(o={"type": "array", "items": fields(a={"type": "string"})}),
        {"o": [{"a": None}, {"a": "x"}]},
        {"o": [{}, {"a": "x"}]},
        (),
    ),
    "an item itself stays": (fields(o={"items": {"type": "string"}}), {"o": [None]}, {"o": [None]}, ()),
    "through a reference": (
        {**fields(o={"$ref": "#/$defs/O"}), "$defs": {"O": fields(a={"type": "string"}, o={"$ref": "#/$defs/O"})}},
        {"o": {"o": {"a": None}}},
        {"o": {"o": {}}},
        (),
    ),
    "in an optional object": (
        fields(o={"anyOf": [fields(a={"type": "string"}), {"type": "null"}]}),
        {"o": {"a": None}},
        {"o": {}},
        (),
    ),
}


@pytest.mark.parametrize(("source", "before", "after", "defaulted"), NULLS.values(), ids=NULLS.keys())
def test_null_on_an_optional_field_counts_as_absent(
    source: dict[str, Any], before: dict[str, Any], after: dict[str, Any], defaulted: tuple[str, ...]
) -> None:
    """Only where null could not be meant; a default of the schema fills a field at the top level, and is recorded."""
    original = json.loads(json.dumps(before))
    prepared = preparer(schema(source), lossless=False)(before)

    assert (prepared.arguments, prepared.defaulted, prepared.converted) == (after, defaulted, ())
    assert before == original
    assert (prepared.arguments is before) == (before == after)


COERCIONS = {
    "text to a whole number": ({"type": "integer"}, "2662", 2662),
    "text to a decimal": ({"type": "number"}, "3860.00", D("3860.00")),
    "true": ({"type": "boolean"}, "true", True),
    "false": ({"type": "boolean"}, "false", False),
    "a whole number to text": ({"type": "string"}, 2662, "2662"),
    "what fits is never touched": ({"type": ["integer", "string"]}, "00123", "00123"),
    "leading zeros": ({"type": "integer"}, "00123", "00123"),
    "a decimal to text": ({"type": "string"}, D("2662.0"), D("2662.0")),
    "a bool to text": ({"type": "string"}, True, True),
    "True": ({"type": "boolean"}, "True", "True"),
    "one to a bool": ({"type": "boolean"}, 1, 1),
    "separators": ({"type": "number"}, "1,200", "1,200"),
    "a currency": ({"type": "number"}, "$5", "$5"),
    "a space": ({"type": "integer"}, " 5", " 5"),
    "other digits": ({"type": "integer"}, "\u0665", "\u0665"),
    "an exponent": ({"type": "number"}, "1e3", "1e3"),
    "minus zero": ({"type": "integer"}, "-0", "-0"),
    "a line break": ({"type": "integer"}, "5\n", "5\n"),
    "a value that would not fit either": ({"type": "integer", "maximum": 3}, "5", "5"),
    "no number for a text with a pattern": ({"type": "string", "pattern": "^a"}, 5, 5),
}


@pytest.mark.parametrize(("source", "before", "after"), COERCIONS.values(), ids=COERCIONS.keys())
def test_a_lossless_conversion_is_the_only_one(source: dict[str, Any], before: Any, after: Any) -> None:
    """With `coerce: lossless` a value becomes what it spells, exactly and only when it does not fit; without, never."""
    compiled = schema(fields(a=source, l={"type": "array", "items": source}))
    prepared = preparer(compiled, lossless=True)({"a": before, "l": [before]})
    changed = repr(after) != repr(before)

    assert repr(prepared.arguments) == repr({"a": after, "l": [after]})
    assert prepared.converted == (("a", "l[0]") if changed else ())
    assert preparer(compiled, lossless=False)({"a": before}).arguments == {"a": before}
