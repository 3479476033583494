"""Same lint: an amount that is bounded by a record which may be about something else, because nothing says what must agree.

`at_most: balance.amount` takes the balance of any account that was looked at, where both calls name an `account` and `same: [account]` is missing.
Only arguments that both tools have by name are told of. Stands in the table of `lints`.
"""

from __future__ import annotations

from collections.abc import Iterator

from guard.core.rules import Ground, Source, Tool
from guard.errors import Problem
from guard.policy.source import Item
from guard.review.view import View, finding


def same_missing(view: View) -> Iterator[Problem]:
    """Bounds by a tool's result without `same`, where both tools have an argument of one name."""
    for name, tool in view.tools.items():
        for rule in tool.grounds:
            for source in rule.sources:
                other = view.tools.get(source.tool)
                shared = _shared(tool, other, rule) if other is not None and _loose(source) else []
                if shared:
                    words = " and ".join(shared)
                    message = (
                        f"{name}: {rule.argument} is bounded by {source.tool}.{source.path} of any {words}, not of this call's"
                    )
                    yield finding(_spot(view.entries[name], rule), "ground-same", message, f"add same: [{', '.join(shared)}]")


def _loose(source: Source) -> bool:
    return source.origin == "tool" and source.relation != "equals" and not source.same


def _shared(tool: Tool, other: Tool, rule: Ground) -> list[str]:
    """Arguments of both tools that a model writes in the earlier call."""
    bound = {binding.field for binding in other.bindings}
    theirs = other.schema.get("properties", {}).keys() - bound
    return [one for one in tool.schema.get("properties", {}) if one in theirs and one != rule.argument.steps[0]]


def _spot(entry: Item, rule: Ground) -> Item:
    below = entry.fields["ground"]
    return below.fields.get(str(rule.argument), below)
