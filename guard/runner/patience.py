"""Patience: the host's checks, each given up after so many seconds, and what they raise told to the host's log.

A check that raises or takes too long refuses: the room that asks it sees to that. Comes after threads and report; before compose.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from guard.core.ports import Redactor
from guard.core.values import JsonObject
from guard.errors import GuardError
from guard.runner.behind import without
from guard.runner.report import failure
from guard.runner.threads import within

Checks: TypeAlias = Mapping[str, Callable[[JsonObject], str | None]]


@dataclass(slots=True)
class Hides:
    """What hides in the host's log what a check raises. A policy names its checks before it is known what it hides, so this is set later."""

    redactor: Redactor


def patient(checks: Checks, patience: float | None, hides: Hides) -> Checks:
    """The checks, each given up after `patience` seconds; an async one is misuse, since a decision waits for nobody's loop."""
    waiting = sorted(name for name, check in checks.items() if inspect.iscoroutinefunction(check))
    if waiting:
        raise GuardError(f"checks are plain functions; async: {', '.join(waiting)}")
    return {name: partial(_watched, name, check, patience, hides) for name, check in checks.items()}


def _watched(
    name: str, check: Callable[[JsonObject], str | None], patience: float | None, hides: Hides, arguments: JsonObject
) -> Any:
    """Run one check; what it raises refuses, and is told to the host's log besides."""
    try:
        return within(partial(check, arguments), patience)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        failure(f"check {name}", error, without(hides.redactor, arguments))
        raise
