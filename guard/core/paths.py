"""Paths: the one path dialect of the policy language: dotted names, `[*]` for any item of a list.

`order.items[*].price`, `[*].id`. A compiled `Path` finds values and names where they stand; a missing step finds nothing.
Rules about a result's fields know three steps more: `[0]`, `['a.b']` and one `..name` at any depth; `fields` walks those. Comes before every room. Pure; parsing errors are ValueErrors whose text the policy loader gives a file and line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from guard.core.values import Json

ANY = "[*]"
DEEP = ".."
"""How a step begins that stands for a name at any depth."""
_STEP = re.compile(r"\[\*\]|[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Path:
    """A compiled path. `root` says what it starts from: arguments, session, resource or result."""

    root: str
    steps: tuple[str, ...]

    def __str__(self) -> str:
        text = "".join(map(_spelled, self.steps))
        return text if text.startswith(DEEP) else text.lstrip(".")

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


def _spelled(step: str) -> str:
    if step == ANY or step.startswith(DEEP) or _INDEX.fullmatch(step):
        return step
    return f"['{step}']" if "." in step else f".{step}"


# -- rules about fields of a result ------------------------------------------------------------------------------------------

_INDEX = re.compile(r"\[(0|[1-9][0-9]{0,6})\]")
_FIELD = re.compile(
    r"(?P<any>\[\*\])|(?P<index>\[(?:0|[1-9][0-9]{0,6})\])|\[(?P<q>['\"])(?P<quoted>[^'\"\[\]]+)(?P=q)\]|(?P<name>[^.\[\]]+)"
)
_NOT_HERE = (
    (re.compile(r"^\$"), "a path starts at the result itself: leave out the $"),
    (re.compile(r"\[\?|@\."), "there are no filters: name the field, and decide by its value inside the tool"),
    (re.compile(r"\[[^\]'\"]*:"), "there are no slices: write [*] for every item, or [0] for one"),
    (re.compile(r"\[-"), "items are counted from the front: [0], [1], ..."),
    (re.compile(r"\[[^\]'\"]*,"), "one path names one field: write a second path"),
    (re.compile(r"(^|\.)\*"), "a * stands for the items of a list: write [*]; for a field at any depth write ..name"),
    (re.compile(r"\.\..*\.\."), "one ..name is enough: it finds the name at any depth"),
    (re.compile(r"\.\.($|\[)"), "behind .. stands the name of a field"),
)


def parse_field(text: str) -> Path:
    """Compile the path of a rule about a result's fields. Raises ValueError, whose text says what to write instead."""
    for wrong, cure in _NOT_HERE:
        if wrong.search(text):
            raise ValueError(f"{text!r} is not a path of a field; {cure}")
    steps: list[str] = []
    position = 0
    while position < len(text):
        lead = DEEP if text.startswith(DEEP, position) else "." if text[position] == "." else ""
        found = _FIELD.match(text, position + len(lead))
        named = found is not None and found["name"] is not None
        if found is None or (lead and not named) or (lead == "." and not steps) or (not lead and named and steps):
            raise ValueError(f"{text!r} is not a path of a field; write dotted names, [*], [0], ['a.b'] or one ..name")
        steps.append((lead if lead == DEEP else "") + (found["quoted"] or found[0]))
        position = found.end()
    if not steps:
        raise ValueError("an empty path; write dotted names, [*], [0], ['a.b'] or one ..name")
    return Path("result", tuple(steps))
