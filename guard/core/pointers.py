"""Pointers: JSON Pointers (RFC 6901) into the arguments of one call: what an approver may edit, and what nobody is shown.

A policy names paths (`lines[*].price`); an approval names the places that they stand for in its own arguments (`/lines/0/price`). Never removes
anything. Comes before approve and presented; pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from guard.core.paths import ANY, Path
from guard.core.values import Json, JsonObject, copy


def pointer(steps: Iterable[str | int]) -> str:
    """The pointer to the place that these keys and indexes lead to."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def steps(text: str) -> tuple[str, ...]:
    """The keys and indexes of a pointer. Raises ValueError for what is none."""
    if not text.startswith("/"):
        raise ValueError(f"{text!r} is not a JSON Pointer; write /amount or /lines/0/price")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))


def spots(paths: Iterable[Path], value: Json) -> tuple[str, ...]:
    """The places in a value that paths stand for; one without `[*]` stands for its place even where nothing is there yet."""
    found: list[str] = []
    for path in paths:
        here = [pointer(at) for _, at in path.spots(value)]
        found += here or ([] if ANY in path.steps else [pointer(path.steps)])
    return tuple(dict.fromkeys(found))


def within(place: str, allowed: Iterable[str]) -> bool:
    """Whether a place is one of those that are allowed, or stands inside of one."""
    return any(place == one or place.startswith(one + "/") for one in allowed)


def put(value: JsonObject, place: str, new: Json) -> JsonObject:
    """A copy of an object with another value at a place. Raises ValueError where the place is not there: only its last key may be new."""
    changed = copy(value)
    _put(changed, steps(place), copy(new), place)
    return dict(changed)


def _put(inside: Json, way: Sequence[str], new: Json, place: str) -> None:
    first, rest = way[0], way[1:]
    if isinstance(inside, dict):
        if not rest:
            inside[first] = new
            return
        if first in inside:
            _put(inside[first], rest, new, place)
            return
    elif (
        isinstance(inside, list) and first.isascii() and first.isdigit() and str(int(first)) == first and int(first) < len(inside)
    ):
        if not rest:
            inside[int(first)] = new
        else:
            _put(inside[int(first)], rest, new, place)
        return
    raise ValueError(f"there is nothing at {place}")


def at(value: Json, place: str) -> tuple[bool, Json]:
    """Whether something stands at a place, and what."""
    for step in steps(place):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list | tuple) and step.isascii() and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return False, None
    return True, value
