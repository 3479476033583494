"""Needed: what a program must have in its environment before the policy loads there: a line for `guard check`, never a problem. Pure.

A folder is checked where its secrets are not, so whether they are set is not asked.
"""

from __future__ import annotations

from collections.abc import Iterable

from guard.core.rules import Tool

_MOST = 5  # variables that are named


def needed_variables(tools: Iterable[Tool]) -> tuple[str, ...]:
    """One line about all variables that tools with `http:` name, each with the first of these tools; none where none does."""
    found: dict[str, str] = {}
    for tool in tools:
        for name in tool.endpoint.secrets if tool.endpoint is not None else ():
            found.setdefault(name, tool.name)
    named = [f"{name} ({tool})" for name, tool in [*found.items()][:_MOST]]
    more = [f"{len(found) - _MOST} more"] if len(found) > _MOST else []
    return (f"must be in the environment of the program that loads this: {', '.join([*named, *more])}",) if found else ()
