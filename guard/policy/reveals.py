"""Reveals: `handles:` and `masks:` of a tool's entry: in which arguments a handle becomes the value behind it, and in which a mask may stand.

And what all entries together leave without effect: types of handles that nothing takes, and types that nothing gives out. Comes after
results and grounds, before tools and load.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from guard.core.handles import HASH
from guard.core.paths import Path
from guard.core.rules import Tool
from guard.core.views import Reveal
from guard.policy import language
from guard.policy.grounds import Context
from guard.policy.problems import Problems, nearest
from guard.policy.results import type_name
from guard.policy.source import Item


def reveals(item: Item | None, context: Context) -> tuple[Reveal, ...]:
    """Where handles of which types are put back: `{to: email, cc[*]: [email, name]}`."""
    found: list[Reveal] = []
    for spelled, below in ({} if item is None else language.entries(item, "handles", context.problems)).items():
        argument = context.argument(spelled, below)
        spots = language.sequence(below, context.problems, f"handles.{spelled}")
        types = frozenset(name for spot in spots if (name := type_name(spot, f"handles.{spelled}", context.problems)))
        if argument is not None and types:
            found.append(Reveal(argument=argument, types=types))
    return tuple(found)


def mask_places(item: Item | None, context: Context) -> tuple[Path, ...]:
    """Where a mask may stand: `{body: allow}`."""
    found: list[Path] = []
    for spelled, below in ({} if item is None else language.entries(item, "masks", context.problems)).items():
        argument = context.argument(spelled, below)
        allowed = language.choice(below, context.problems, f"masks.{spelled}", ("allow",))
        found += [argument] if argument is not None and allowed else []
    return tuple(found)


def types_of(tools: Mapping[str, Tool]) -> frozenset[str]:
    """Every type of handle that some tool gives out or takes; with hashes where some tool makes them."""
    return frozenset(_given(tools)) | _taken(tools)


def _given(tools: Mapping[str, Tool]) -> dict[str, str]:
    """Types that are given out, each with a tool that does."""
    found: dict[str, str] = {}
    for tool in tools.values():
        for rules in (tool.result.rules, *tool.result.roles.values()):
            for rule in rules.hide:
                if rule.does in ("hash", "handle"):
                    found.setdefault(HASH if rule.does == "hash" else rule.kind, tool.name)
    return found


def _taken(tools: Mapping[str, Tool]) -> frozenset[str]:
    return frozenset(name for tool in tools.values() for reveal in tool.reveals for name in reveal.types)


def warn_handles(entries: Mapping[str, Item], tools: Mapping[str, Tool], problems: Problems) -> None:
    """Warn about types that only one side knows, and about roles that are misspelt."""
    given, taken = _given(tools), _taken(tools)
    for name, tool in given.items():
        if name != HASH and name not in taken:
            near = nearest(name, taken)
            cure = (
                f"did you mean {near}?"
                if near
                else f"write handles: {{ARGUMENT: {name}}} below the tool that is to get the value"
            )
            spot = entries[tool].at(["result", "handle"])
            problems.warn(spot, f"{tool}: no tool takes a handle of the type {name}", cure, code="handle-unused")
    for tool_name, one in tools.items():
        for name in sorted({name for reveal in one.reveals for name in reveal.types} - given.keys()):
            near = nearest(name, given)
            cure = f"did you mean {near}?" if near else f"write result: {{handle: {{FIELD: {name}}}}} where the value comes from"
            spot = entries[tool_name].at(["handles"])
            problems.warn(spot, f"{tool_name}: no tool gives out handles of the type {name}", cure, code="handle-never-given")


def warn_result_roles(entries: Mapping[str, Item], tools: Mapping[str, Tool], known: Collection[str], problems: Problems) -> None:
    """Warn about each role under `result.roles` that nothing else names and that is almost called like one that is."""
    for name, tool in tools.items():
        for role in tool.result.roles.keys() - set(known):
            near = nearest(role, known)
            if near:
                spot = entries[name].at(["result", "roles", role])
                told = f"{name}: no rule or grant names the role {role}"
                problems.warn(spot, told, f"did you mean {near}?", code="result-role")
