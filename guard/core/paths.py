"""Paths: the one path dialect of the policy language: dotted names, `[*]` for any item of a list.

`order.items[*].price`, `[*].id`. A compiled `Path` finds values and names where they stand; a missing step finds nothing.
Comes before every room. Pure; parsing errors are ValueErrors whose text the policy loader gives a file and line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from guard.core.values import Json

ANY = "[*]"
_STEP = re.compile(r"\[\*\]|[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Path:
    """A compiled path. `root` says what it starts from: arguments, session, resource or result."""

    root: str
    steps: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(step if step == ANY else f".{step}" for step in self.steps).lstrip(".")

    def find(self, value: Json) -> list[Json]:
        """Every value at this path inside `value`, in order; nothing where a step is missing."""
        return [found for found, _ in self.spots(value)]

    def spots(self, value: Json) -> list[tuple[Json, tuple[str | int, ...]]]:
        """Every value at this path with the keys and indexes that lead to it."""
        return self.reach(value).spots

    def reach(self, value: Json) -> Reach:
        """The values at this path, and whether some branch ended before it: a missing key, or a value of another kind."""
        reach = Reach()
        _walk(value, self.steps, (), reach)
        return reach


@dataclass(slots=True)
class Reach:
    """What a path found. `missing`: some branch lacks a key (or holds null there); `blocked`: some branch is of another kind."""

    spots: list[tuple[Json, tuple[str | int, ...]]] = field(default_factory=list)
    missing: bool = False
    blocked: bool = False


def _walk(value: Json, steps: tuple[str, ...], at: tuple[str | int, ...], reach: Reach) -> None:
    for index, step in enumerate(steps):
        if step == ANY:
            if isinstance(value, list | tuple):
                for number, item in enumerate(value):
                    _walk(item, steps[index + 1 :], (*at, number), reach)
            else:
                _ended(value, reach)
            return
        if not isinstance(value, Mapping) or step not in value:
            _ended(value, reach)
            return
        value = value[step]
        at = (*at, step)
    reach.spots.append((value, at))


def _ended(value: Json, reach: Reach) -> None:
    if value is None or isinstance(value, Mapping):
        reach.missing = True
    else:
        reach.blocked = True


def parse_path(text: str, root: str) -> Path:
    """Compile `text`. Raises ValueError when it is not in the dialect."""
    steps: list[str] = []
    position = 0
    while position < len(text):
        if text[position] == "." and steps and position + 1 < len(text) and text[position + 1] not in ".[":
            position += 1
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError(f"{text!r} is not a path; write dotted names and [*] for any item")
        steps.append(match.group())
        position = match.end()
    if not steps:
        raise ValueError("an empty path; write dotted names and [*] for any item")
    return Path(root, tuple(steps))
