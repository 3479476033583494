"""Installed: warnings about what is installed beside the guard. Used by `check`; only reads metadata."""

from __future__ import annotations

import re
from importlib import metadata

from guard.errors import Problem

FIRST_SAFE_SIMPLEEVAL = (1, 0, 8)


def installation() -> tuple[Problem, ...]:
    """Warnings about what is installed beside the guard."""
    found = []
    if _installed("casbin") and _installed("pycasbin"):
        message = "casbin and pycasbin are both installed and write over each other's files"
        found.append(_warning(message, "pip uninstall casbin pycasbin, then pip install pycasbin"))
    evaluator = _installed("simpleeval")
    if evaluator is not None and _numbers(evaluator) < FIRST_SAFE_SIMPLEEVAL:
        message = f"simpleeval {evaluator} lets an expression in a matcher reach Python modules"
        found.append(_warning(message, "pip install 'simpleeval>=1.0.8'"))
    return tuple(found)


def _warning(message: str, cure: str) -> Problem:
    return Problem(file="installed packages", message=message, cure=cure, warning=True, code="installed")


def _installed(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
