"""Grounded: on what a value that a ground asks for relies, in words for a person. Comes before explain; pure."""

from __future__ import annotations

from collections.abc import Mapping

from guard.core.facts import ORIGINS
from guard.core.rules import Ground, Source

_RELATIONS = {"equals": "from", "at_most": "at most", "at_least": "at least"}


def grounded(rule: Ground, origins: Mapping[str, str]) -> str:
    """What the argument of a ground was found to rely on: `amount at most order_status.total`. `origins` are those of the grounded call."""
    origin = origins.get(rule.argument.steps[0])
    if origin is None:
        return f"{rule.argument} was left out"
    told = dict.fromkeys(_told(source) for source in rule.sources if _fits(source, origin))
    return f"{rule.argument} {' or '.join(told) or ORIGINS.get(origin, 'of unknown origin')}"


def _fits(source: Source, origin: str) -> bool:
    """Whether a value of this origin may rely on this source."""
    if source.origin != "tool":
        return source.origin == origin
    return origin == ("result" if source.relation == "equals" else "bounded")


def _told(source: Source) -> str:
    if source.origin == "user":
        return ORIGINS["user"]
    where = f"session.{source.path}" if source.origin == "session" else f"{source.tool}.{source.path}"
    return f"{_RELATIONS[source.relation]} {where}"
