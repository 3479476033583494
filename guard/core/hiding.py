"""Hiding: the walk that passes every text of a value through a detector. Used by redact for results and by audit for arguments; pure.

Works on decoded leaves at every depth, keys included; returns the same object where nothing was hidden, and never changes its input. The
serialised text is only looked at to learn that there is surely nothing to hide. What a policy's own rule put in a value's place stays as it is.
"""

from __future__ import annotations

from decimal import Decimal

from guard.core.cutting import tailed
from guard.core.handles import Token
from guard.core.ports import Redactor
from guard.core.values import Json, JsonObject, encode

_MAX_LEAF = 250_000  # characters of one text inside a record; what is longer is cut before it is looked at
_MARGIN = 16_384  # characters beyond a cut that detectors still see: no secret is longer, so none is missed for being cut in two


def shown_text(value: Json, redactor: Redactor, kinds: set[str]) -> str:
    """JSON text of `value` with everything hidden that must be; `kinds` gains what was."""
    return shown_value(value, redactor, kinds)[0]


def shown_value(value: Json, redactor: Redactor, kinds: set[str]) -> tuple[str, Json]:
    """JSON text of `value` with everything hidden that must be, and what it says."""
    text = encode(value)
    if redactor.quiet(text):
        return text, value
    hidden = hide(value, redactor, kinds)
    return text if hidden is value else encode(hidden), hidden


def hide(value: Json, redactor: Redactor, kinds: set[str], key: str | None = None) -> Json:
    """`value` with every string leaf and key passed through the detectors; the same object where nothing was hidden."""
    kind = type(value)
    if kind is Token:
        return value
    if kind is str:
        text, found = beginning(value, _MAX_LEAF, redactor, key)
        if found:
            kinds.update(found)
        return text if len(value) <= _MAX_LEAF else tailed(text, len(value))
    if kind is dict:
        return _hide_object(value, redactor, kinds, key)
    if kind is list:
        items = [hide(item, redactor, kinds, key) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if kind is bool or value is None:
        return value
    if kind is int or kind is Decimal or kind is float:
        text, found = redactor.detect(key, str(value))
        kinds.update(found)
        return text if found else value
    raise TypeError(f"a result holds a {kind.__name__}, which is not JSON")


def beginning(text: str, most: int, redactor: Redactor, key: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The first `most` characters of a text with everything hidden, and the kinds hidden; a huge text costs no more than its share.

    What the detectors saw last may be part of something longer: that end is never shown, even where hiding made the text shorter.
    """
    if len(text) <= most:
        return redactor.detect(key, text)
    seen = text[: most + _MARGIN]
    shown, found = redactor.detect(key, seen)
    if len(seen) < len(text):
        same = 0
        while same < min(_MARGIN, len(shown)) and shown[-1 - same] == seen[-1 - same]:
            same += 1
        shown = shown[: len(shown) - same]
    return shown[:most], found


def _hide_object(value: JsonObject, redactor: Redactor, kinds: set[str], above: str | None) -> JsonObject:
    """`above` is the key that the object stands under: `{"password": {"value": …}}` is a password all the same."""
    changed = False
    out: JsonObject = {}
    for name, item in value.items():
        label, found = redactor.detect(None, name)
        kinds.update(found)
        new = hide(item, redactor, kinds, name if above is None else f"{above} {name}")
        if new is not item or label != name:
            changed = True
        while label in out and label != name:
            label += "_"
        out[label] = new
    return out if changed else value
