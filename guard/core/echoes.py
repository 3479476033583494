"""Echoes: what a call was given and nobody is shown, where its tool sends it back: in a result, an error, a log.

Looked for is the exact text, also as JSON, URLs, tracebacks, base64 and hexadecimal write it; a short one only where it stands alone, so that other words
stay. A number that comes back as a number is left as it is. Comes after pointers and hiding, before sealing; pure.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import quote, quote_plus

from guard.core.pointers import at, spots
from guard.core.ports import Redactor
from guard.core.redaction import MASKS
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject

_SHORT = 6  # characters: a shorter value is looked for as a whole word
_LEAST = 4  # characters of a secret that is looked for at all
_CODED = 9  # bytes of a value whose base64 tells it from other texts


def forms(text: str) -> set[str]:
    """A value as it stands in a text, in JSON, in a traceback, in a URL, in base64 at each offset and in hexadecimal."""
    escaped = (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])
    urls = (quote(text, safe="", errors="replace"), quote_plus(text, errors="replace"), quote(text, errors="replace"))
    return {text, *escaped, *urls, *_coded(text.encode("utf-8", "replace"))}


def _coded(raw: bytes) -> Iterable[str]:
    if len(raw) < _CODED:
        return ()
    inner = [_inner(raw, shift) for shift in range(3)]
    return (raw.hex(), *inner, *(one.translate(_SAFE) for one in inner))


def _inner(raw: bytes, shift: int) -> str:
    """What of the base64 of a value is the same whatever stands around it, `shift` bytes behind the last group."""
    made = base64.b64encode(b"\0" * shift + raw)
    return made[4 if shift else 0 : len(made) if (shift + len(raw)) % 3 == 0 else -4].decode("ascii")


_SAFE = str.maketrans("+/", "-_")


def sought(text: str) -> str:
    """The pattern of one value: a short one stands alone, so that other words that hold it stay."""
    if len(text) >= _SHORT or not text.isascii():
        return re.escape(text)
    return rf"(?<![0-9A-Za-z]){re.escape(text)}(?![0-9A-Za-z])" if len(text) > 1 else r"(?!)"


def secrets(tool: Tool, arguments: JsonObject) -> frozenset[str]:
    """The texts and numbers of a call that its tool's policy shows to nobody."""
    places = dict.fromkeys(place for rule in tool.approval if rule.secret for place in spots(rule.secret, arguments))
    found = {text for place in places for text in _texts(at(arguments, place)[1])}
    return frozenset(text for text in found if len(text) >= _LEAST)


def _texts(value: Json) -> list[str]:
    if isinstance(value, dict | list):
        return [text for item in (value.values() if isinstance(value, dict) else value) for text in _texts(item)]
    return [] if value is None or isinstance(value, bool) else [value if isinstance(value, str) else str(value)]


def echoless(redactor: Redactor, texts: Iterable[str]) -> Redactor:
    """The redactor for whatever comes of a call that was given these texts: a mask stands in the place of each."""
    named = {form for text in texts for form in forms(text)}
    if not named:
        return redactor
    pattern = re.compile("|".join(map(sought, sorted(named, key=len, reverse=True))))

    def detect(key: str | None, text: str) -> tuple[str, tuple[str, ...]]:
        new, count = pattern.subn(lambda _: MASKS["secret"], text)
        shown, kinds = redactor.detect(key, new)
        return (shown, tuple(dict.fromkeys((*kinds, "secret")))) if count else (shown, kinds)

    return replace(redactor, detect=detect, quiet=lambda _: False, sift=frozenset, tells=bool)
