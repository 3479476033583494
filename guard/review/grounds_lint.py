"""Grounds lint: calls that a role is allowed and can never make, since what they need first is out of its reach.

A role is looked at alone, with what it inherits: whoever holds several roles should say so in a `g` line. Knows the matcher that ships.
"""

from __future__ import annotations

from collections.abc import Iterator

from guard.core.rules import Tool
from guard.errors import Problem
from guard.policy.source import Item
from guard.review.view import View, finding


def unreachable(view: View) -> Iterator[Problem]:
    """Prerequisites in a circle, and those that nobody who needs them may call."""
    circular = frozenset(view.tools) - _startable(view)
    for name in sorted(circular):
        if any(need in circular for need, _, _ in _needs(view.tools[name], view.entries[name])):
            message = f"{name} can never run: what it needs first needs {name} first"
            yield finding(_spot(view.entries[name]), "ground-circle", message, "let one of them start without the other")
    for name, tool in view.tools.items():
        if name not in circular and (tool.after or tool.grounds or tool.limits.sums):
            yield from _out_of_reach(name, tool, view)


def _spot(entry: Item) -> Item:
    return entry.fields.get("after") or entry.fields.get("ground") or entry


def _out_of_reach(name: str, tool: Tool, view: View) -> Iterator[Problem]:
    for _, options, spot in _needs(tool, view.entries[name]):
        lacking = dict.fromkeys(role for role, dom in view.holders.get(name, ()) if not view.may(role, dom) & options)
        if lacking:
            roles, wanted = ", ".join("everybody" if role == "*" else role for role in lacking), " or ".join(sorted(options))
            message = f"{name} needs {wanted} first, which {roles} may not call"
            yield finding(spot, "ground-unreachable", message, f"allow {roles} to call {wanted}, or do not allow {name}")


def _needs(tool: Tool, entry: Item) -> Iterator[tuple[str, frozenset[str], Item]]:
    """What must have run before: one of the tools, and all of them named by the first; with the place."""
    required = set(tool.schema.get("required", ()))
    after = entry.fields.get("after", entry)
    for number, one in enumerate(tool.after):
        spot = after.items[number] if number < len(after.items) else after
        if not one.shadow:
            yield one.tool, frozenset({one.tool}), spot.fields.get("tool", spot)
    bound = {binding.field for binding in tool.bindings}
    for ground in tool.grounds:
        field = ground.argument.steps[0]
        options = frozenset(source.tool for source in ground.sources if source.origin == "tool")
        free = any(source.origin != "tool" for source in ground.sources) or ground.shadow
        if options and not free and field not in bound and (field in required or not tool.schema.get("properties")):
            yield min(options), options, entry.fields["ground"].fields.get(str(ground.argument), entry.fields["ground"])


def _startable(view: View) -> frozenset[str]:
    """Tools that can run at some time, were everybody allowed everything."""
    waiting: dict[str, list[frozenset[str]]] = {}
    users: dict[str, set[str]] = {}
    for name, tool in view.tools.items():
        waiting[name] = [options for _, options, _ in _needs(tool, view.entries[name])]
        for options in waiting[name]:
            for source in options:
                users.setdefault(source, set()).add(name)
    found: set[str] = set()
    ready = [name for name, needs in waiting.items() if not needs]
    while ready:
        name = ready.pop()
        if name not in found:
            found.add(name)
            ready += [user for user in users.get(name, ()) if all(options & found for options in waiting[user])]
    return frozenset(found)
