"""Checks: `checks:` of one tool: names of functions that the host registers, each in force or a shadow. Comes before tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from guard.core.rules import Check
from guard.core.values import JsonObject
from guard.policy import language
from guard.policy.problems import Problems, meant
from guard.policy.source import Item

CheckFunction = Callable[[JsonObject], str | None]


def checks(item: Item | None, known: Mapping[str, CheckFunction] | None, problems: Problems) -> tuple[Check, ...]:
    """Every check that is named; one that no program at hand has refuses."""
    found: dict[str, Check] = {}
    for one in [] if item is None else language.sequence(item, problems, "checks"):
        fields = language.mapping(one, "check", problems) if isinstance(one.value, dict) else {"name": one}
        name = language.text(fields.get("name"), problems, "checks")
        if fields and "name" not in fields:
            problems.error(one, "checks: name is missing", "write {name: office_hours, enforce: shadow}")
        if name and known is not None and name not in known:
            problems.error(one, f"the check {name} is not registered", meant(name, known) or "register it")
        if name in found:
            problems.error(one, f"the check {name} is named twice", "keep one")
        elif name:
            found[name] = Check(name=name, run=(known or {}).get(name, _absent), shadow=language.shadow(fields, problems))
    return tuple(found.values())


def _absent(_arguments: JsonObject) -> Literal["This check is not available here."]:
    return "This check is not available here."
