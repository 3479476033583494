"""Yes windows: how long a person's yes may be used where the policy does not say so itself: a line for `guard check`, never a warning. Pure.

No default is set: a conversation that goes on after an hour would find every yes lapsed. Without `use_within` a yes holds until its question expires.
"""

from __future__ import annotations

from collections.abc import Iterable

from guard.core.rules import Tool
from guard.policy.language import spelled

_MOST = 5  # tools that are named


def open_ended(tools: Iterable[Tool]) -> tuple[str, ...]:
    """One line about all tools with such a rule; none where every rule says how long."""
    longest = {
        tool.name: max(rule.expires for rule in tool.approval if rule.use_within is None and (rule.by or rule.self_))
        for tool in tools
        if any(rule.use_within is None and (rule.by or rule.self_) for rule in tool.approval)
    }
    named = [f"{name} (up to {spelled(seconds)})" for name, seconds in [*longest.items()][:_MOST]]
    more = [f"{len(longest) - _MOST} more"] if len(longest) > _MOST else []
    told = f"without use_within a person's yes may be used until its question expires: {', '.join([*named, *more])}"
    return (told,) if longest else ()
