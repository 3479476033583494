"""Hiding: the walk that passes every text of a value through a detector. Used by redact for results and by audit for arguments; pure.

Works on decoded leaves at every depth, keys included, never on serialised text; returns the same object where nothing was hidden, and never
changes its input. All texts are first looked at together, and only those in which something may be found are passed to the detectors one by one.
"""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal

from guard.core.ports import Redactor
from guard.core.values import Json, JsonObject, encode

_MAX_LEAF = 250_000  # characters of one text inside a record; what is longer is cut before it is looked at
_MARGIN = 16_384  # characters beyond a cut that detectors still see: no secret is longer, so none is missed for being cut in two
_MOST = 32_000_000  # characters of all texts of one value: more is withheld
_SHORT = 1_000_000  # a number below it is no phone number, card or id, unless its key says so


def shown_text(value: Json, redactor: Redactor, kinds: set[str]) -> str:
    """JSON text of `value` with everything hidden that must be; `kinds` gains what was."""
    return encode(hide(value, redactor, kinds))


def hide(value: Json, redactor: Redactor, kinds: set[str], key: str | None = None) -> Json:
    """`value` with every string leaf and key passed through the detectors; the same object where nothing was hidden.

    Raises ValueError for more text than can be looked at: then nothing may be shown.
    """
    if type(value) is str:
        return _text(value, redactor, kinds, key)
    look = _Look(redactor)
    look.at(value, key, told=key is not None and redactor.tells(key))
    loud = look.loud()
    return _Walk(redactor, kinds, loud).hidden(value, key, told=look.told) if loud or look.told else value


class _Look:
    """The first look at a value: collects every text and long number of it; `told` is whether something under a telling key must be hidden."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self.texts: list[str] = []
        self.names: set[str] = set()
        self.telling: set[str] = set()
        self.told = False

    def at(self, value: Json, key: str | None, *, told: bool) -> None:
        """Collect what is in a value under this key."""
        kind = type(value)
        if kind is dict:
            self._object(value, key, told=told)
        elif kind is list:
            for item in value:
                self.at(item, key, told=told)
        elif kind is str:
            self.texts.append(value)
            if told:
                self._under(key, value)
        elif value is not None and kind is not bool:
            self._number(value, key, told=told)

    def _object(self, value: JsonObject, above: str | None, *, told: bool) -> None:
        if not self.names.issuperset(value):
            new = [name for name in value if name not in self.names]
            self.names.update(new)
            self.telling.update(filter(self.redactor.tells, new))
        if told or (self.telling and not self.telling.isdisjoint(value)):
            for name, item in value.items():
                self.at(item, _below(above, name), told=told or name in self.telling)
            return
        add = self.texts.append
        for name, item in value.items():
            kind = type(item)
            if kind is str:
                add(item)
            elif kind is dict:
                self._object(item, _below(above, name), told=False)
            elif kind is list:
                for one in item:
                    self.at(one, _below(above, name), told=False)
            elif item is not None and kind is not bool:
                self._number(item, _below(above, name), told=False)

    def _number(self, value: Json, key: str | None, *, told: bool) -> None:
        kind = type(value)
        if kind is not int and kind is not Decimal and kind is not float:
            raise TypeError(f"a result holds a {kind.__name__}, which is not JSON")
        if told or not -_SHORT < value < _SHORT:
            if told or kind is not int:
                self._under(key, str(value))
            else:
                self.texts.append(str(value))

    def _under(self, key: str | None, text: str) -> None:
        if not self.told and self.redactor.detect(key, text[:_MAX_LEAF])[1]:
            self.told = True

    def loud(self) -> Collection[str]:
        """The texts and names in which something may be found, and those that are longer than is shown."""
        self.texts += self.names
        size = sum(map(len, self.texts))
        if size > _MOST:
            raise ValueError(f"a result holds {size} characters of text, more than can be looked at")
        found = self.redactor.sift(self.texts) if self.texts else ()
        return {*found, *(text for text in self.texts if len(text) > _MAX_LEAF)} if size > _MAX_LEAF else found


def _below(above: str | None, name: str) -> str:
    return name if above is None else f"{above} {name}"


class _Walk:
    """One walk through one value: `loud` are the texts in which something may be found."""

    def __init__(self, redactor: Redactor, kinds: set[str], loud: Collection[str]) -> None:
        self.redactor, self.kinds, self.loud = redactor, kinds, loud

    def hidden(self, value: Json, key: str | None, *, told: bool) -> Json:
        """The value with what must be hidden; the same object where that is nothing."""
        kind = type(value)
        if kind is str:
            return _text(value, self.redactor, self.kinds, key) if told or value in self.loud or len(value) > _MAX_LEAF else value
        if kind is dict:
            return self._object(value, key, told=told)
        if kind is list:
            items = [self.hidden(item, key, told=told) for item in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        if kind is bool or value is None:
            return value
        text = str(value)
        if not told and kind is int and text not in self.loud:
            return value
        shown, found = self.redactor.detect(key, text)
        self.kinds.update(found)
        return shown if found else value

    def _object(self, value: JsonObject, above: str | None, *, told: bool) -> JsonObject:
        """`above` is the key that the object stands under: `{"password": {"value": …}}` is a password all the same."""
        changed = False
        out: JsonObject = {}
        for name, item in value.items():
            label = self._name(name) if name in self.loud else name
            new = self.hidden(item, _below(above, name), told=told or self.redactor.tells(name))
            if new is not item or label is not name:
                changed = True
            while label is not name and (label in out or label in value):
                label += "_"
            out[label] = new
        return out if changed else value

    def _name(self, name: str) -> str:
        label, found = self.redactor.detect(None, name)
        self.kinds.update(found)
        return label if found else name


def _text(value: str, redactor: Redactor, kinds: set[str], key: str | None) -> str:
    text, found = beginning(value, _MAX_LEAF, redactor, key)
    if found:
        kinds.update(found)
    return text if len(value) <= _MAX_LEAF else text + " [cut]"


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
