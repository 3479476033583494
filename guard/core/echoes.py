"""Echoes: what a call was given and nobody is shown, where its tool sends it back: in a result, an error, a log, the model's own words.

Says which texts these are; how they are found, in which spellings, is `spellings`. A number that comes back as a number is left as it is. Comes after
pointers, hiding and spellings, before sealing; pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from guard.core.pointers import at, spots
from guard.core.ports import Redactor
from guard.core.redaction import MASKS
from guard.core.replacing import replace
from guard.core.rules import Tool
from guard.core.spellings import finder
from guard.core.values import Json, JsonObject

_LEAST = 4  # characters of a secret that is looked for at all


def secrets(tool: Tool, arguments: JsonObject) -> frozenset[str]:
    """The texts, numbers and names of fields of a call that its tool's policy shows to nobody."""
    places = dict.fromkeys(place for rule in tool.approval if rule.secret for place in spots(rule.secret, arguments))
    found = {text for place in places for text in texts_of(at(arguments, place)[1])}
    return frozenset(text for text in found if len(text) >= _LEAST)


def texts_of(value: Json) -> list[str]:
    """Every text, number and name of a field in a value."""
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in texts_of(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts_of(item)]
    return [] if value is None or isinstance(value, bool) else [value if isinstance(value, str) else str(value)]


def echoless(redactor: Redactor, texts: Iterable[str]) -> Redactor:
    """The redactor for whatever comes of a call that was given these texts: a mask stands in the place of each."""
    return veiling(redactor, dict.fromkeys(texts, MASKS["secret"]), "secret")


def veiling(redactor: Redactor, shown: dict[str, str], kind: str) -> Redactor:
    """A redactor that also puts in the place of each of these texts what is shown of it, and calls that `kind`."""
    find = finder(shown)
    if find is None:
        return redactor

    def detect(key: str | None, text: str) -> tuple[str, tuple[str, ...]]:
        new, count = find(text)
        told, kinds = redactor.detect(key, new)
        return (told, tuple(dict.fromkeys((*kinds, kind)))) if count else (told, kinds)

    return replace(redactor, detect=detect, quiet=lambda _: False, sift=frozenset, tells=bool)
