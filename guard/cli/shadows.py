"""Shadows: which rules of a policy only record what they would refuse. Used by `check`; pure."""

from __future__ import annotations

from guard.core.ports import Policy
from guard.policy.layers.authorizer import judges_of


def shadowed(policy: Policy) -> list[str]:
    """Every rule that only records what it would refuse, so that nobody forgets it."""
    found = [f"limit {name}" for name in sorted(policy.limits.shadow)]
    found += [one.text for one in policy.limits.windows if one.shadow]
    for tool in policy.tools.values():
        limits = tool.limits
        found += [f"{tool.name}: check {one.name}" for one in tool.checks if one.shadow]
        found += [f"{tool.name}: ground {one.argument}" for one in tool.grounds if one.shadow]
        found += [f"{tool.name}: after {one.tool}" for one in tool.after if one.shadow]
        found += [one.id for one in tool.rules if one.shadow]
        found += [f"limit {tool.name}.sum {one.argument}" for one in limits.sums if one.shadow]
        found += [one.text for one in limits.windows if one.shadow]
        counts = {"calls": limits.shadow_calls, "equal": limits.shadow_equal}
        found += [f"limit {tool.name}.{name}" for name, most in counts.items() if most is not None]
    tried = [judge.trial for judge in judges_of(policy.authorizer) if judge.trial is not None]
    return [*found, *(text for one in tried for text in one.texts)]
