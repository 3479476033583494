"""Audit of what decisions rest on: which policy is in force in which process, and what another one changes about roles and settings.

A record names what was added, taken out or changed, never a value: lines of rules and names of tools and settings, hidden where they must be. Used by
the runner when a policy is loaded; pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guard.core.ports import Event, Redactor
from guard.core.values import digest

Parts = Mapping[str, Mapping[str, str]]
"""What a policy consists of: section → name of a part → digest of what it says."""

WHO = ("people", "roles", "rules")
"""Sections that say who somebody is and what they may do; the others are settings."""

_MOST, _LONGEST = 50, 200  # names that a record holds, and characters of each


def loaded(version: str, parts: Parts, writer: Mapping[str, Any], how: str, before: str | None = None) -> Event:
    """A policy is in force in a process from here on. `how`: `start`, `reload` or `roll_back`; `before` is the version that it replaces."""
    told: dict[str, Any] = {
        "version": version,
        "how": how,
        "parts": {name: digest_of(part) for name, part in sorted(parts.items())},
    }
    if before is not None:
        told["before"] = before
    return {"kind": "policy.loaded", "actor": {"type": "service"}, "policy": told, "writer": dict(writer)}


def changed(version: str, before: Parts, after: Parts, redactor: Redactor) -> tuple[Event, ...]:
    """What one policy says otherwise than the one before: at most one record about people, roles and rules, and one about settings."""
    found = {name: _difference(before.get(name, {}), after.get(name, {}), redactor) for name in sorted({*before, *after})}
    who = {name: one for name, one in found.items() if one and name in WHO}
    settings = {name: one for name, one in found.items() if one and name not in WHO}
    kinds = (("role.changed", who), ("config.changed", settings))
    return tuple(
        {"kind": kind, "actor": {"type": "service"}, "policy": {"version": version}, "changed": told}
        for kind, told in kinds
        if told
    )


def digest_of(part: Mapping[str, str]) -> str:
    """One digest of a section, whatever the order of its parts."""
    return digest("guard-policy-part-v1", *(text for name in sorted(part) for text in (name, part[name])))


def _difference(before: Mapping[str, str], after: Mapping[str, str], redactor: Redactor) -> dict[str, Any]:
    """Added, removed and changed names of a section, and how many there are of each; empty where nothing is."""
    found = {
        "added": [name for name in after if name not in before],
        "removed": [name for name in before if name not in after],
        "changed": [name for name in after if name in before and after[name] != before[name]],
    }
    told: dict[str, Any] = {}
    for what, names in found.items():
        if names:
            told[what] = [redactor.detect(None, name[:_LONGEST])[0] for name in sorted(names)[:_MOST]]
            told[f"{what}_count"] = len(names)
    return told
