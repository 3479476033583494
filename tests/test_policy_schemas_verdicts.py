"""Verdicts of schemas: which arguments are accepted and which are not."""

from __future__ import annotations

from typing import Any

import pytest
from policy_schemas_kit import D, fields, schema

VERDICTS = {
    "a bool is no number": (fields(n={"type": "integer", "maximum": 3}), {"n": True}, False),
    "a whole decimal is an integer": (fields(n={"type": "integer"}), {"n": D("5.0")}, True),
    "a broken decimal is none": (fields(n={"type": "integer"}), {"n": D("5.5")}, False),
    "a whole float is an integer": (fields(n={"type": "integer"}), {"n": 5.0}, True),
    "NaN is no number": (fields(n={"type": "number"}), {"n": float("nan")}, False),
    "infinity is no number": (fields(n={"type": "number", "minimum": 0}), {"n": D("Infinity")}, False),
    "4.02 is a multiple of 0.01": (fields(n={"multipleOf": 0.01}), {"n": D("4.02")}, True),
    "4.025 is none": (fields(n={"multipleOf": 0.01}), {"n": D("4.025")}, False),
    "19.99 is a multiple of 0.01, as a float": (fields(n={"multipleOf": 0.01}), {"n": 19.99}, True),
    "a huge exponent": (fields(n={"multipleOf": 7}), {"n": D("1E+900000")}, False),
    "a tiny exponent": (fields(n={"multipleOf": 0.01}), {"n": D("1E-900000")}, False),
    "enum by value": (fields(n={"enum": [0.1, 60]}), {"n": D("60.00")}, True),
    "enum with a float": (fields(n={"enum": [0.1]}), {"n": D("0.1")}, True),
    "const tells one from true": (fields(n={"const": 1}), {"n": True}, False),
    "minimum of decimals": (fields(n={"minimum": 0.1}), {"n": D("0.1")}, True),
    "minimum of floats": (fields(n={"exclusiveMinimum": 0.1}), {"n": 0.1}, False),
    "unique by value": (fields(n={"uniqueItems": True}), {"n": [1, D("1.0")]}, False),
    "one and true are two": (fields(n={"uniqueItems": True}), {"n": [1, True, "1"]}, True),
    "a pattern ends truly": (fields(s={"pattern": "^R-[0-9]{4}$"}), {"s": "R-0001\n"}, False),
    "a pattern is ASCII": (fields(s={"pattern": r"^\d+$"}), {"s": "١٢"}, False),
    "a pattern is searched for": (fields(s={"pattern": "b"}), {"s": "abc"}, True),
    "a dollar in a class is a dollar": (fields(s={"pattern": "^[$]$"}), {"s": "$"}, True),
    "patternProperties end truly": (
        {"patternProperties": {"^a$": {}}, "additionalProperties": False},
        {"a\n": 1},
        False,
    ),
    "formats are asserted": (fields(s={"format": "date"}), {"s": "2026-02-30"}, False),
    "a format speaks about texts": (fields(s={"format": "date"}), {"s": 5}, True),
    "unknown fields are refused": (fields(a={}), {"b": 1}, False),
    "unless the schema speaks about them": ({**fields(a={}), "additionalProperties": True}, {"b": 1}, True),
    "or composes": ({**fields(a={}), "allOf": [{}]}, {"b": 1}, True),
    "an object without properties takes none": ({"type": "object"}, {"a": 1}, False),
    "a note constrains nothing": (fields(a={"description": "x"}), {"a": 1}, True),
    "nothing known takes anything": ({}, {"a": 1}, True),
    "draft 7": (
        {"$schema": "http://json-schema.org/draft-07/schema#", **fields(a={"items": [{"type": "string"}]})},
        {"a": [1]},
        False,
    ),
    "draft 4 bounds": (
        {"$schema": "http://json-schema.org/draft-04/schema#", **fields(n={"minimum": 1, "exclusiveMinimum": True})},
        {"n": D(1)},
        False,
    ),
    "a reference to the root stays in our dialect": (
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **fields(n={"type": "integer"}, sub={"$ref": "#"})},
        {"sub": {"n": D("2.0"), "sub": {"n": 3}}},
        True,
    ),
    "a reference is followed": (
        {**fields(f={"$ref": "#/$defs/F"}), "$defs": {"F": {"enum": ["fit", "raw"]}}},
        {"f": "other"},
        False,
    ),
    "a recursive type": (
        {
            **fields(f={"$ref": "#/$defs/N"}),
            "$defs": {"N": {**fields(k={"type": "array", "items": {"$ref": "#/$defs/N"}}), "additionalProperties": False}},
        },
        {"f": {"k": [{"k": [{}]}]}},
        True,
    ),
}


@pytest.mark.parametrize(("source", "arguments", "good"), VERDICTS.values(), ids=VERDICTS.keys())
def test_a_verdict(source: dict[str, Any], arguments: dict[str, Any], good: bool) -> None:
    """Numbers are exact, patterns and formats mean what they say, and what is not known is not let in."""
    assert (schema(source).validate(arguments) == ()) is good
