"""Hidden: values that a log does not hold, since they were hidden before it was written, and what is judged in their place.

A stand-in has the form of what it stands for, and is no value of anybody. What was decided with one is marked wherever it is told. Comes before
`logged` and `replay`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from guard.core.values import Json, JsonObject

_MASK = re.compile(r"\[[a-z]+(?: [a-z]+)*\]")
_STAND_INS: Final[Mapping[str, str]] = {
    "[email]": "somebody@hidden.invalid",
    "[ip address]": "192.0.2.1",
    "[phone]": "+15550100",
    "[card]": "0000000000000000",
}


def hidden_in(value: Json, path: str = "") -> Iterator[str]:
    """Where in a value something is hidden, as dotted paths."""
    if isinstance(value, str) and _MASK.search(value):
        yield path
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from hidden_in(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from hidden_in(inner, f"{path}[*]")


def stood_in(value: Json) -> Json:
    """The value with a stand-in for each mask in it."""
    if isinstance(value, str):
        return _MASK.sub(lambda mask: _STAND_INS.get(mask[0], mask[0][1:-1]), value)
    if isinstance(value, Mapping):
        return {name: stood_in(inner) for name, inner in value.items()}
    return [stood_in(inner) for inner in value] if isinstance(value, list) else value


def object_of(shown: Mapping[str, Json]) -> JsonObject:
    """Arguments as a record shows them, with stand-ins."""
    return {name: stood_in(inner) for name, inner in shown.items()}
