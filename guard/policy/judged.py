"""Judged: which arguments of a tool somebody judges, and which a call surely has.

Reads compiled tools and schemas; may not change or report anything. Comes after fields and before filled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from guard.core.conditions import Condition
from guard.core.paths import ANY, Path
from guard.core.rules import Source, Tool
from guard.core.values import Json, JsonObject
from guard.policy.fields import local


def judged(tool: Tool, optional: frozenset[str]) -> frozenset[str]:
    """The top-level arguments that the policy looks at; all of them where a person or a check sees the whole call. Bound ones are not.

    `optional` are the arguments that the function does not need: an open schema lets them through without naming them.
    """
    names = {path.steps[0] for path in _paths(tool) if path.root == "arguments"}
    if seen_whole(tool):
        names |= tool.schema.get("properties", {}).keys() | (frozenset() if _closed(tool.schema) else optional)
    return frozenset(names) - owned(tool)


def _closed(schema: Mapping[str, Json]) -> bool:
    return schema.get("additionalProperties") is False or schema.get("unevaluatedProperties") is False


def seen_whole(tool: Tool) -> bool:
    """Whether somebody looks at all arguments of a call: a person who decides, or a check."""
    return bool(tool.checks) or any(rule.strictness for rule in tool.approval)


def owned(tool: Tool) -> frozenset[str]:
    """The arguments that are the session's."""
    return frozenset(binding.field for binding in tool.bindings)


def _paths(tool: Tool) -> Iterator[Path]:
    for ground in tool.grounds:
        yield ground.argument
        for source in ground.sources:
            yield from source.same
    for after in tool.after:
        yield from (*after.same, *_asked(after.where))
    for limit in tool.limits.sums:
        yield from (limit.argument, *limit.per, *(limit.at_most.same if isinstance(limit.at_most, Source) else ()))
    for resource in tool.resources:
        yield resource.argument
    for rule in tool.rules:
        yield from _asked(rule.when)
    for approval in tool.approval:
        yield from (*approval.show, *_asked(approval.when))
        yield from (path for offer in approval.grants for path in (offer.field, *offer.same) if path)


def _asked(when: Condition | None) -> Iterator[Path]:
    for test in when.tests if when else ():
        yield test.path
        if test.equals is not None:
            yield test.equals


def always(schema: JsonObject, steps: tuple[str, ...]) -> bool:
    """Whether arguments that fit the schema surely hold a value at this path; of a list, in each of its items."""
    return _always(schema, schema, steps, frozenset(), is_object=True)


def _always(root: JsonObject, schema: Json, steps: tuple[str, ...], seen: frozenset[int], *, is_object: bool = False) -> bool:
    if not steps:
        return True
    if not isinstance(schema, Mapping) or id(schema) in seen:
        return False
    sure = is_object or schema.get("type") == "object"
    seen |= {id(schema)}

    def holds(part: Json) -> bool:
        return _always(root, part, steps, seen, is_object=sure)

    parts = [local(root, schema.get("$ref")), *schema.get("allOf", ())]
    groups = [schema[key] for key in ("anyOf", "oneOf") if schema.get(key)]
    return any(map(holds, parts)) or any(all(map(holds, group)) for group in groups) or _here(root, schema, steps, sure=sure)


def _here(root: JsonObject, schema: Mapping[str, Json], steps: tuple[str, ...], *, sure: bool) -> bool:
    """The same, by what this schema itself says."""
    step, rest = steps[0], steps[1:]
    if step == ANY:
        inside = schema.get("items")
        return schema.get("type") == "array" and (not rest or _always(root, inside, rest, frozenset()))
    inside = schema.get("properties", {}).get(step)
    return sure and step in schema.get("required", ()) and (not rest or _always(root, inside, rest, frozenset()))
