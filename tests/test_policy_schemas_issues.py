"""Issues of schemas: what is said about arguments that do not fit, and what is never repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from policy_schemas_kit import D, fields, schema, tool

from guard.core.rules import Issue

ISSUES = {
    "type": (fields(n={"type": "number"}), {"n": "$1,200.00"}, "n", "type", "must be a number, not a text; write a plain number"),
    "required": (fields(a={}) | {"required": ["a"]}, {}, "a", "required", "is required"),
    "enum": (fields(a={"enum": ["x", "y"]}), {"a": "secret"}, "a", "enum", "allowed values"),
    "minimum": (fields(a={"minimum": 10}), {"a": 3}, "a", "minimum", "must be at least 10"),
    "maximum": (fields(a={"maximum": D("10.50")}), {"a": 30}, "a", "maximum", "must be at most 10.50"),
    "length": (fields(a={"maxLength": 3}), {"a": "secret"}, "a", "maxLength", "at most 3 characters"),
    "pattern": (fields(a={"pattern": "^R$"}), {"a": "secret"}, "a", "pattern", "must match the pattern ^R$"),
    "format": (fields(a={"format": "date"}), {"a": "secret"}, "a", "format", "must be in the format date"),
    "place": (
        fields(items={"type": "array", "items": fields(price={"type": "number"})}),
        {"items": [{}, {}, {"price": "secret"}]},
        "items[2].price",
        "type",
        "must be a number",
    ),
    "nullable": (
        fields(a={"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        {"a": "secret"},
        "a",
        "type",
        "must be a whole number or null, not a text",
    ),
    "the alternative that was meant": (
        fields(a={"anyOf": [{"type": "integer", "maximum": 5}, {"type": "null"}]}),
        {"a": 9},
        "a",
        "maximum",
        "at most 5",
    ),
    "false": (fields(a=False), {"a": "secret"}, "a", "false", "no value is permitted here"),
    "not": (fields(a={"not": {"type": "string"}}), {"a": "secret"}, "a", "not", "not permitted"),
}


@pytest.mark.parametrize(("source", "arguments", "path", "rule", "message"), ISSUES.values(), ids=ISSUES.keys())
def test_an_issue_names_path_rule_and_what_would_fit(
    source: dict[str, Any], arguments: dict[str, Any], path: str, rule: str, message: str
) -> None:
    """A refusal teaches, and never repeats the value that was sent."""
    (issue,) = schema(source).validate(arguments)

    assert (issue.path, issue.rule) == (path, rule)
    assert message in issue.message
    assert "secret" not in issue.message


def test_the_nearest_field_is_named() -> None:
    """An unknown field names the known one that was meant, and a missing one the unknown one that was sent for it."""
    found = schema(fields(topic={"type": "string"}, path={}) | {"required": ["topic"]}).validate({"topik": "x"})

    assert {(issue.path, issue.rule, issue.nearest) for issue in found} == {
        ("topik", "additionalProperties", "topic"),
        ("topic", "required", "topik"),
    }


def test_known_fields_are_listed_without_those_of_the_session(tmp_path: Path) -> None:
    """Where no name is near, the few that exist are named; a field that the session owns is never suggested."""
    compiled = tool(tmp_path, "bind: {user_id: session.principal}", schema=fields(topic={}, user_id={}))

    assert compiled.validate({"path": 1, "user_id": "E1"})[0].message == "is not a known field; known: topic"
    assert compiled.validate({"userid": 1, "user_id": "E1"})[0].nearest is None


def test_allowed_values_are_listed() -> None:
    """Enum and const say what fits."""
    assert schema(fields(a={"enum": ["x", 2]})).validate({"a": 3})[0].allowed == ("x", 2)
    assert schema(fields(a={"const": "x"})).validate({"a": 3})[0].allowed == ("x",)


def test_issues_are_capped_and_names_are_cut() -> None:
    """A flood of unknown fields gives twenty issues, and no name that the model made up is repeated in full."""
    found = schema(fields()).validate({f"{number}{'x' * 500}\n": 1 for number in range(500)})

    assert len(found) == 20
    assert all(len(issue.path) < 80 and "\n" not in issue.path for issue in found)


def test_what_the_validator_raises_is_not_swallowed() -> None:
    """A value nested deeper than anybody can follow raises; the core makes a refusal of it."""
    tree = schema({"type": "object", "properties": {"a": {"$ref": "#"}}}, closed=False)
    value: dict[str, Any] = {}
    for _ in range(50_000):
        value = {"a": value}

    with pytest.raises(RecursionError):
        tree.validate(value)


def test_the_signature_has_a_say_after_the_schema(tmp_path: Path) -> None:
    """What pydantic knows beyond JSON Schema is asked once the schema is met, and only then."""
    asked: list[object] = []

    def accepts(arguments: dict[str, Any]) -> tuple[Issue, ...]:
        asked.append(arguments)
        return (Issue(path="a", rule="own", message="no"),)

    compiled = tool(tmp_path, "description: x", schema=fields(a={"type": "string"}), accepts=accepts)

    assert [issue.rule for issue in compiled.validate({"a": 1})] == ["type"]
    assert asked == []
    assert [issue.rule for issue in compiled.validate({"a": "x"})] == ["own"]
