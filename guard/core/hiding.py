"""Hiding: the walk that passes every text of a value through a detector. Used by redact for results and by audit for arguments; pure.

Works on decoded leaves at every depth, keys included; returns the same object where nothing was hidden, and never changes its input. The
serialised text is only looked at to learn that there is surely nothing to hide.
"""

from __future__ import annotations

from decimal import Decimal

from guard.core.ports import Redactor
from guard.core.values import Json, JsonObject, encode

_LONG = 10**6  # an integer from here on may be a phone or card number
_MAX_LEAF = 250_000  # characters of one text inside a record; what is longer is cut before it is looked at


def shown_text(value: Json, redactor: Redactor, kinds: set[str]) -> str:
    """JSON text of `value` with everything hidden that must be; `kinds` gains what was."""
    text = encode(value)
    if redactor.quiet(text):
        return text
    hidden = hide(value, redactor, kinds)
    return text if hidden is value else encode(hidden)


def hide(value: Json, redactor: Redactor, kinds: set[str], key: str | None = None) -> Json:
    """`value` with every string leaf and key passed through the detectors; the same object where nothing was hidden."""
    kind = type(value)
    if kind is str:
        text, found = redactor.detect(key, value if len(value) <= _MAX_LEAF else value[:_MAX_LEAF] + " [cut]")
        if found:
            kinds.update(found)
        return text
    if kind is dict:
        return _hide_object(value, redactor, kinds)
    if kind is list:
        items = [hide(item, redactor, kinds, key) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if kind is int and abs(value) >= _LONG:
        text, found = redactor.detect(key, str(value))
        kinds.update(found)
        return text if found else value
    if kind is Decimal or kind is float or kind is int or kind is bool or value is None:
        return value
    raise TypeError(f"a result holds a {kind.__name__}, which is not JSON")


def _hide_object(value: JsonObject, redactor: Redactor, kinds: set[str]) -> JsonObject:
    changed = False
    out: JsonObject = {}
    for name, item in value.items():
        label = name if name.isidentifier() else redactor.detect(None, name)[0]
        new = hide(item, redactor, kinds, name)
        if new is not item or label is not name:
            changed = True
        while label in out and label != name:
            label += "_"
        out[label] = new
    return out if changed else value
