"""Hiding: the walk that passes every text of a value through a detector. Used by redact for results and by audit for arguments; pure.

Works on decoded leaves at every depth, keys included; returns the same object where nothing was hidden, and never changes its input. The serialised
text is only looked at to learn that there is surely nothing to hide; else all texts are looked at together, and only those in which something may be
found are passed to the detectors one by one. What a policy's own rule put in a value's place stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from guard.core.beside import Frame, below, parts
from guard.core.clipping import tailed
from guard.core.handles import Token
from guard.core.ports import Redactor
from guard.core.redaction import MASKS
from guard.core.replacing import replace
from guard.core.roles import COLUMNS, NAMING, ROLES, VALUE
from guard.core.spellings import finder
from guard.core.values import Json, JsonObject, encode

_MAX_LEAF = 250_000  # characters of one text inside a record; what is longer is cut before it is looked at
_MARGIN = 16_384  # characters beyond a cut that detectors still see: no secret is longer, so none is missed for being cut in two
MOST = 32_000_000
"""Characters of all texts of one value, where something may have to be hidden: more is withheld."""
_LEAST = 6  # characters of a secret that is looked for in the answer to the call that held it
_DIGITS = frozenset({"card", "iban", "ssn", "id", "ip", "mac", "phone"})
_ROUNDS = 3  # looks at a value because names in it were hidden
_PAIRS = 32  # values in which something was hidden that are remembered
_SHORT = 1_000_000  # a number below it is no phone number, card or id, unless its key says so


class Kinds(set[str]):
    """The kinds that were hidden, and in which values: each with what is shown of it."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[Json, Json]] = []

    def note(self, value: Json, shown: Json) -> None:
        """Remember where something was hidden."""
        if shown is not value and len(self.pairs) < _PAIRS:
            self.pairs.append((value, shown))


def shown_text(value: Json, redactor: Redactor, kinds: set[str]) -> str:
    """JSON text of `value` with everything hidden that must be; `kinds` gains what was."""
    return shown_value(value, redactor, kinds)[0]


def shown_value(value: Json, redactor: Redactor, kinds: set[str], most: int = MOST) -> tuple[str, Json]:
    """JSON text of `value` with everything hidden that must be, and what it says. Raises ValueError for more than `most` characters to look at."""
    text = encode(value)
    if redactor.quiet(text):
        return text, value
    hidden = _hide(value, redactor, kinds, None, most)
    return text if hidden is value else encode(hidden), hidden


def hide(value: Json, redactor: Redactor, kinds: set[str], key: str | None = None) -> Json:
    """`value` with every string leaf and key passed through the detectors; the same object where nothing was hidden.

    Raises ValueError for more text than can be looked at: then nothing may be shown.
    """
    if type(value) is Token:
        return value
    if type(value) is str:
        return _text(value, redactor, kinds, key)
    if key is None and redactor.quiet(encode(value)):
        return value
    return _hide(value, redactor, kinds, key)


def _hide(value: Json, redactor: Redactor, kinds: set[str], key: str | None, most: int = MOST, rounds: int = _ROUNDS) -> Json:
    """The same where a look at the whole JSON text does not tell."""
    if type(value) is str:
        return _text(value, redactor, kinds, key)
    telling = key is not None and redactor.tells(key)
    texts, closer, beside = _texts(value, redactor)
    size = sum(map(len, texts))
    if size > most:
        raise ValueError(f"a result holds {size} characters of text, more than can be looked at")
    loud = redactor.sift(texts) if texts else ()
    if size > _MAX_LEAF:
        loud = {*loud, *(text for text in texts if len(text) > _MAX_LEAF)}
    if not loud and not ((telling or closer or beside) and _told(value, key, redactor, told=telling, beside=beside)):
        return value
    walk = _Walk(redactor, kinds, loud, beside=beside)
    hidden = walk.hidden(value, key, told=telling)
    # a name of which something was hidden tells something else than it did: who looks again sees only that
    return _hide(hidden, redactor, kinds, key, most, rounds - 1) if walk.renamed and rounds else hidden


def _texts(value: Json, redactor: Redactor) -> tuple[list[str], bool, bool]:
    """Every text, name and long number of a value, whether something has to be looked at under its own key as well, and whether names may stand beside values."""
    texts: list[str] = []
    names: set[str] = set()
    closer = rows = False
    todo: list[Any] = [[value]]
    add = texts.append
    while todo:
        part = todo.pop()
        if type(part) is dict:
            if not names.issuperset(part):
                new = [name for name in part if name not in names]
                names.update(new)
                closer = any(map(redactor.tells, new)) or closer
            part = part.values()
        for item in part:
            kind = type(item)
            if kind is str:
                add(item)
            elif kind is dict or kind is list:
                todo.append(item)
                rows = rows or type(part) is list
            elif item is not None and kind is not bool and kind is not Token and _long(item):
                add(str(item))
                closer = closer or kind is not int
    roles = {ROLES[name] for name in names}
    beside = rows or COLUMNS in roles or (NAMING in roles and VALUE in roles) or any(text[:1] == "-" for text in texts)
    return texts + list(names), closer, beside


def _long(value: Json) -> bool:
    """Whether a number has seven digits or more. Raises TypeError for what is not JSON."""
    if type(value) is not int and type(value) is not Decimal and type(value) is not float:
        raise TypeError(f"a result holds a {type(value).__name__}, which is not JSON")
    return not -_SHORT < value < _SHORT


def _told(value: Json, key: str | None, redactor: Redactor, *, told: bool, beside: bool, frame: Frame | None = None) -> bool:
    """Whether something is hidden because of the key that it stands under, or is a fraction that has to be looked at."""
    kind, tells = type(value), redactor.tells
    if beside and (kind is dict or kind is list):
        for name, item, under, note in parts(value, key, frame, tells):
            known = told or (name is not None and tells(name)) or (note.name is not None and tells(note.name))
            if _told(item, under, redactor, told=known, beside=True, frame=note.frame):
                return True
        return False
    if kind is dict:
        return any(
            _told(item, below(key, name), redactor, told=told or tells(name), beside=False) for name, item in value.items()
        )
    if kind is list:
        return any(_told(item, key, redactor, told=told, beside=False) for item in value)
    if value is None or kind is bool or kind is Token or not (told or (kind in {Decimal, float} and _long(value))):
        return False
    return bool(redactor.detect(key, (value if kind is str else str(value))[:_MAX_LEAF])[1])


class _Walk:
    """One walk through one value: `loud` are the texts in which something may be found; `beside`: whether names may stand beside their values."""

    def __init__(self, redactor: Redactor, kinds: set[str], loud: Collection[str], *, beside: bool) -> None:
        self.redactor, self.kinds, self.loud, self.beside = redactor, kinds, loud, beside
        self.renamed = False  # whether something was hidden in a name, or in a text that may name what stands beside it

    def hidden(self, value: Json, key: str | None, *, told: bool, frame: Frame | None = None) -> Json:
        """The value with what must be hidden; the same object where that is nothing."""
        kind = type(value)
        if kind is str:
            return _text(value, self.redactor, self.kinds, key) if told or value in self.loud or len(value) > _MAX_LEAF else value
        if kind is dict:
            return self._object(value, key, told=told, frame=frame)
        if kind is list:
            return self._list(value, key, told=told, frame=frame)
        if kind is bool or kind is Token or value is None:
            return value
        text = str(value)
        if not told and kind is int and text not in self.loud:
            return value
        shown, found = self.redactor.detect(key, text)
        self.kinds.update(found)
        return shown if found else value

    def _list(self, value: list[Json], key: str | None, *, told: bool, frame: Frame | None) -> Json:
        if self.beside:
            tells = self.redactor.tells
            items = [
                self.hidden(item, under, told=told or (note.name is not None and tells(note.name)), frame=note.frame)
                for _, item, under, note in parts(value, key, frame, tells)
            ]
        else:
            items = [self.hidden(item, key, told=told) for item in value]
        changed = [old for new, old in zip(items, value, strict=True) if new is not old]
        self.renamed = self.renamed or (self.beside and any(type(old) is str for old in changed))
        return items if changed else value

    def _object(self, value: JsonObject, above: str | None, *, told: bool, frame: Frame | None) -> JsonObject:
        """`above` is the key that the object stands under: `{"password": {"value": …}}` is a password all the same."""
        changed = False
        out: JsonObject = {}
        times = dict[str, int]()
        for name, item, new in self._fields(value, above, told=told, frame=frame):
            label = self._name(name) if name in self.loud else name
            if new is not item or label is not name:
                changed = True
            out[label if label is name else _free(label, out, value, times)] = new
        return out if changed else value

    def _fields(self, value: JsonObject, above: str | None, *, told: bool, frame: Frame | None) -> list[tuple[str, Json, Json]]:
        """Each field with its name, as it is and as it is shown."""
        hidden, tells = self.hidden, self.redactor.tells
        if not self.beside:
            return [(name, item, hidden(item, below(above, name), told=told or tells(name))) for name, item in value.items()]
        found = []
        for name, item, key, note in parts(value, above, frame, tells):
            known = told or tells(str(name)) or (note.name is not None and tells(note.name))
            new = hidden(item, key, told=known, frame=note.frame)
            self.renamed = self.renamed or (new is not item and ROLES[str(name)] == NAMING)
            found.append((str(name), item, new))
        return found

    def _name(self, name: str) -> str:
        label, found = self.redactor.detect(None, name)
        self.kinds.update(found)
        self.renamed = self.renamed or bool(found)
        return label if found else name


def _free(label: str, out: JsonObject, value: JsonObject, times: dict[str, int]) -> str:
    """A name like this one that no other field has: with a line behind it, and a number from the third on. `times`: how often each was asked for."""
    free = label
    while free in out or free in value:
        times[label] = times.get(label, 0) + 1
        free = f"{label}_{times[label] if times[label] > 1 else ''}"
    return free


def _text(value: str, redactor: Redactor, kinds: set[str], key: str | None) -> str:
    text, found = beginning(value, _MAX_LEAF, redactor, key)
    if found:
        kinds.update(found)
    return text if len(value) <= _MAX_LEAF else tailed(text, len(value))


def together(texts: list[str], redactor: Redactor, kinds: set[str]) -> list[str]:
    """Pieces of one text in which everything was hidden already, and what is cut over several of them as well.

    Where that is found the pieces are put together in the first. Digits are not: numbers beside each other are not one number.
    """
    if sum(map(bool, texts)) < 2:
        return texts
    joined, found = redactor.detect(None, "".join(texts)[: _MAX_LEAF + _MARGIN])
    if not set(found) - _DIGITS:
        return texts
    kinds.update(found)
    return [joined[:_MAX_LEAF], *[""] * (len(texts) - 1)]


def echoing(redactor: Redactor, arguments: JsonObject) -> Redactor:
    """A redactor for the answer to one call: a secret that its arguments held is one wherever it stands, whoever sends it back."""
    find = finder(dict.fromkeys(_secrets(arguments, None, redactor), MASKS["secret"]))
    if find is None:
        return redactor

    def detect(key: str | None, text: str) -> tuple[str, tuple[str, ...]]:
        clear, count = find(text)
        shown, found = redactor.detect(key, clear)
        return (shown, (*dict.fromkeys(("secret", *found)),)) if count else (shown, found) if found else (text, ())

    return replace(redactor, detect=detect, quiet=_loud, sift=frozenset)


def _loud(_text: str) -> bool:
    return False


def _secrets(value: Json, key: str | None, redactor: Redactor, frame: Frame | None = None) -> set[str]:
    """The texts of a value that are hidden whole because of their keys, or of the names beside them."""
    if isinstance(value, dict | list):
        found = parts(value, key, frame, redactor.tells)
        return {text for _, item, under, note in found for text in _secrets(item, under, redactor, note.frame)}
    if isinstance(value, str) and len(value) >= _LEAST and key is not None and redactor.detect(key, value)[0] == MASKS["secret"]:
        return {value}
    return set()


def _clean(text: str, redactor: Redactor, key: str | None) -> bool:
    """Whether a text looks like JSON and there is surely nothing to hide in it: then it need not be taken apart."""
    return text[:1] in {"{", "["} and (key is None or not redactor.tells(key)) and redactor.quiet(text)


def beginning(text: str, most: int, redactor: Redactor, key: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The first `most` characters of a text with everything hidden, and the kinds hidden; a huge text costs no more than its share.

    What the detectors saw last may be part of something longer: that end is never shown, even where hiding made the text shorter.
    """
    if len(text) <= most:
        return (text, ()) if _clean(text, redactor, key) else redactor.detect(key, text)
    seen = text[: most + _MARGIN]
    shown, found = redactor.detect(key, seen)
    if len(seen) < len(text):
        same = 0
        while same < min(_MARGIN, len(shown)) and shown[-1 - same] == seen[-1 - same]:
            same += 1
        shown = shown[: len(shown) - same]
    return shown[:most], found
