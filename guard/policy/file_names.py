"""File names: what a file of a policy folder is, by its name alone. Comes before source; reads nothing."""

from __future__ import annotations

import re

from guard.policy.problems import is_invisible

PINS = "pins.json"
"""The definitions of tools that a person has reviewed."""


def is_cases(name: str) -> bool:
    """Whether a file of this name holds the policy's own cases: `cases.yaml`, or `cases-refunds.yaml` and the like."""
    return re.fullmatch(r"cases([-_.].+)?\.ya?ml", name) is not None


def is_policy(name: str) -> bool:
    """Whether a file of this name is a part of the policy."""
    if name.startswith((".", "cases")):  # cases are read by the reviewer's desk, not here
        return False
    return name in {"model.conf", PINS} or is_yaml(name) or is_rules(name) or is_shape(name)


def looks_like_policy(name: str) -> bool:
    """Whether somebody may believe that a file of this name is part of the policy."""
    lower = name.lower()
    return lower == PINS or (not is_cases(name) and any(end in lower for end in (".csv", ".yaml", ".yml", ".conf")))


def shown(name: str) -> str:
    """A name with its invisible characters spelled out."""
    return "".join(f"[U+{ord(char):04X}]" if is_invisible(char) else char for char in name)


def is_yaml(name: str) -> bool:
    """Whether a file of this name is read as YAML, however its ending is written."""
    return name.lower().endswith((".yaml", ".yml"))


def is_shape(name: str) -> bool:
    """Whether a file of this name holds the JSON Schema of a tool's result."""
    return name.endswith(".schema.json")


def is_rules(name: str) -> bool:
    """Whether a file of this name is read as Casbin rules, however its ending is written."""
    return name.lower().endswith(".csv")


def is_trial(name: str) -> bool:
    """Whether a file of this name holds denials on trial: `shadow.csv`, or `shadow-refunds.csv` and the like."""
    return re.fullmatch(r"(.*/)?shadow(-.+)?\.csv", name) is not None
