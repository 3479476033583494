"""Placed: a tool with the endpoint that stands behind it, and what its arguments must be so that they can stand where they are named.

That is judged with the schema, before anybody decides. Comes after the compiled endpoint; before tools. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from guard.core.endpoints import Endpoint, Slot, slots_of, value_text
from guard.core.rules import Issue, Tool
from guard.core.values import Json, JsonObject, canonical, digest
from guard.policy.endpoints import TIMEOUT, Around, endpoint
from guard.policy.problems import Problems
from guard.policy.source import Item


def behind(tool: Tool, fields: Mapping[str, Item], problems: Problems) -> Tool:
    """The tool with its `http:` block, which is a part of its definition: an approval is for one endpoint too."""
    item = fields.get("http")
    if item is None:
        return tool
    if "schema" not in fields:
        problems.error(item, f"http: nothing is known about the arguments of {tool.name}", f"write schema: below {tool.name}")
    found = endpoint(item, Around(name=tool.name, kind=tool.kind, schema=tool.schema, problems=problems))
    if found is None:
        return tool
    fits, judge = tool.validate, placed(found)
    return replace(
        tool,
        endpoint=found,
        timeout=tool.timeout or TIMEOUT,
        definition=digest(tool.definition, canonical(item.value)),
        validate=lambda arguments: fits(arguments) or judge(arguments),
    )


def placed(found: Endpoint) -> Callable[[JsonObject], tuple[Issue, ...]]:
    """What an argument must be so that it can stand where it is named."""
    steps = {slot.name for slot in slots_of(found.path) if not slot.secret}
    heads = {slot.name for _, pieces in found.headers for slot in slots_of(pieces) if not slot.secret}
    alone = {pieces[0].name for _, pieces in found.query if len(pieces) == 1 and isinstance(pieces[0], Slot)}
    words = found.texts - steps - heads

    def judge(arguments: JsonObject) -> tuple[Issue, ...]:
        issues = [_step(name, arguments.get(name)) for name in sorted(steps)]
        issues += [_head(name, arguments.get(name)) for name in sorted(heads - steps)]
        issues += [_word(name, arguments[name], alone) for name in sorted(words) if name in arguments]
        return tuple(issue for issue in issues if issue is not None)

    return judge


def _step(name: str, value: Json) -> Issue | None:
    """A step of a path is one: it can neither be empty nor lead elsewhere."""
    text = value_text(value)
    if not text or text in (".", "..") or any(char in "/\\" or not char.isprintable() for char in text):
        return Issue(path=name, rule="path_step", message="must be a text or number that is one step of a path, without slashes")
    return None


def _head(name: str, value: Json) -> Issue | None:
    text = value_text(value)
    if text is None or any(not " " <= char <= "~" for char in text) or text != text.strip():
        return Issue(path=name, rule="header_value", message="must be a text of visible ASCII, without line breaks")
    return None


def _word(name: str, value: Json, alone: set[str]) -> Issue | None:
    items = value if isinstance(value, list) and name in alone else [value]
    if any(value_text(item) is None for item in items if item is not None):
        return Issue(path=name, rule="query_value", message="must be a text, a number, true or false")
    return None
