"""Beside: names that stand beside their values instead of above them: `{"name": "DB_PASSWORD", "value": …}`, rows under columns, pairs, flags.

Says for the parts of an object or list which further name each stands under; what such a name makes of a value is judged where keys are. Works on
values and on what was read from a JSON text alike. Pure. Comes after redaction; the walk through values (`hiding`) and that through texts of
JSON (`guard.redactors.nested`) use it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from guard.core.redaction import BELOW, CELL, LABEL
from guard.core.values import Json

NAMING, VALUE, COLUMNS, OTHER = "naming", "value", "columns", ""
_ROLES: Final = {
    NAMING: "name key header field variable var parameter param attribute attr property prop setting option label column env type kind system k",
    VALUE: "value values val v data default current new old",
    COLUMNS: "columns cols headers header fields keys names",
}
NAMING_WORDS, VALUE_WORDS, COLUMN_WORDS = (tuple(words.split()) for words in _ROLES.values())
"""How a key ends, in any case, whose value may name what stands beside it, that holds what is named so, or that holds names of columns."""
_VAGUE = frozenset({"type", "kind", "system"})  # these say of a mere `value` what it is, and of nothing else
_PLAINLY = frozenset({"value", "values", "val", "v"})
_LAST = re.compile(r"([A-Z]+|[A-Z]?[a-z]+)\Z")
_LONGEST = 100  # characters of a name
_NO_NAME = re.compile(r"[\n\r\t\"'=,;<>?!|\x00\x1c-\x1f]")


class Pairs(tuple[tuple[str, Json], ...]):
    """An object of a JSON text, with every name in order, however often it is given."""

    __slots__ = ()


class Frame(NamedTuple):
    """A table that a list belongs to: its columns, and whether the list is one row of it or all of them."""

    columns: Sequence[str]
    row: bool


class Note(NamedTuple):
    """What is known of one part besides its key: the name that stands beside it, with its sign, and the table that it is."""

    name: str | None = None
    frame: Frame | None = None


Tells: TypeAlias = Callable[[str], bool]
_NONE = Note()


class _Roles(dict[str, str]):
    """What a key may be for the others beside it; remembers the last few thousand."""

    def __missing__(self, key: str) -> str:
        found = role(key)
        if len(key) <= _LONGEST:
            if len(self) >= 4096:
                self.clear()
            self[key] = found
        return found


def role(key: str) -> str:
    """What a key may be for the others beside it, by its last word."""
    last = _word(key)
    return next((name for name in (NAMING, VALUE, COLUMNS) if last in _SETS[name]), OTHER)


def _word(key: str) -> str:
    match = _LAST.search(key[-_LONGEST:])
    word = match[1].lower() if match is not None else ""
    return word if len(word) > 1 or len(key) == 1 else ""  # one letter is no word in a longer key


_SETS = {name: frozenset(words.split()) for name, words in _ROLES.items()}
ROLES: Final = _Roles()


def below(above: str | None, name: str) -> str:
    """The key of what stands under a name; `above` is that of the object or list around it."""
    return name if above is None else f"{above}{BELOW}{name}"


Part: TypeAlias = tuple[str | None, Json, str | None, Note]
"""One part: its own name (None in a list), what it is, the key that it stands under, and what stands beside it."""


def parts(value: Json, above: str | None, frame: Frame | None, tells: Tells) -> list[Part]:
    """Every part of an object or list, in order."""
    if isinstance(value, list):
        notes = items(value, frame, tells)
        if notes is None:
            return [(None, item, above, _NONE) for item in value]
        keys = [above if note.name is None else below(above, note.name) for note in notes]
        return [(None, item, key, note) for item, key, note in zip(value, keys, notes, strict=True)]
    pairs = value if type(value) is Pairs else tuple(value.items())
    notes = fields(pairs, tells)
    if notes is None:
        return [(name, item, below(above, name), _NONE) for name, item in pairs]
    around = [above if note.name is None else below(above, note.name) for note in notes]
    return [(name, item, below(key, name), note) for (name, item), key, note in zip(pairs, around, notes, strict=True)]


def fields(pairs: Iterable[tuple[str, Json]], tells: Tells) -> list[Note] | None:
    """For each field of an object what stands beside it; None where nothing does."""
    known = list(pairs)
    roles = [ROLES[name] for name, _ in known]
    if VALUE in roles and NAMING in roles:
        found = _valued(known, roles, tells)
        if found is not None:
            return found
    columns = _columns(known, tells)
    if columns is None:
        return None
    size = len(columns)
    notes = [Note(frame=_table(item, columns, size, roles[at])) for at, (_, item) in enumerate(known)]
    return notes if any(note.frame is not None for note in notes) else None


def _valued(known: list[tuple[str, Json]], roles: list[str], tells: Tells) -> list[Note] | None:
    """The notes of the values in an object, where another field of it names them: one that tells, else one of a single word."""
    named = [
        (name, item)
        for (name, item), part in zip(known, roles, strict=True)
        if part == NAMING and type(item) is str and names(item)
    ]
    told = [(name, item) for name, item in named if tells(item)] or [one for one in named if " " not in one[1]]
    if not told:
        return None
    clear = [item for name, item in told if _word(name) not in _VAGUE]
    said = LABEL + (clear[0] if clear else told[0][1])
    return [
        Note(name=said) if part == VALUE and (clear or _word(name) in _PLAINLY) else _NONE
        for (name, _), part in zip(known, roles, strict=True)
    ]


def _columns(known: list[tuple[str, Json]], tells: Tells) -> list[str] | None:
    """The names of columns that a field of the object gives, where one of them tells."""
    for name, item in known:
        if type(item) is not list or not item or _word(name) not in _SETS[COLUMNS]:
            continue
        found = [one if type(one) is str else _called(one) for one in item]
        texts = [one for one in found if one is not None]
        if len(texts) == len(found) and any(names(one) and tells(one) for one in texts):
            return texts
    return None


def _called(column: Json) -> str | None:
    """The name of a column that is described by an object."""
    given = column.items() if type(column) is dict else column if type(column) is Pairs else ()
    return next((item for name, item in given if type(item) is str and _word(name) in {"name", "key", "field"}), None)


def _table(item: Json, columns: list[str], size: int, part: str) -> Frame | None:
    """Whether a field is a list of rows of these columns, or one row beside them."""
    if type(item) is not list or not item:
        return None
    if all(type(row) is list and len(row) == size for row in item):
        return Frame(columns, row=False)
    return Frame(columns, row=True) if part == VALUE and len(item) == size else None


def items(value: Sequence[Json], frame: Frame | None, tells: Tells) -> list[Note] | None:
    """For each item of a list what stands beside it; None where nothing does. `frame` is the table that the list belongs to."""
    if frame is not None and frame.row and len(frame.columns) == len(value):
        return [Note(name=one if one[:1] == CELL else LABEL + one) if names(one) else _NONE for one in frame.columns]
    if frame is not None and not frame.row:
        return [Note(frame=Frame(frame.columns, row=True))] * len(value)
    if any(type(item) is list for item in value):
        return _rows(value, tells)
    return _flags(value, tells)


def _rows(value: Sequence[Json], tells: Tells) -> list[Note] | None:
    """Pairs of a name and a value, or rows of which the first names the columns."""
    size = len(value[0]) if type(value[0]) is list else 0
    if size < 2 or not all(type(row) is list and len(row) == size for row in value):
        return None
    first = value[0]
    notes = [_NONE] * len(value)
    if len(value) > 1 and all(type(one) is str for one in first) and any(names(one) and tells(one) for one in first):
        frame = Frame([CELL + one for one in first], row=True)
        notes = [_NONE, *[Note(frame=frame)] * (len(value) - 1)]
    if size == 2:
        for at, (name, _) in enumerate(value):
            if type(name) is str and names(name) and tells(name):
                notes[at] = Note(frame=Frame(["", CELL + name], row=True))
    return None if all(note is _NONE for note in notes) else notes


def _flags(value: Sequence[Json], tells: Tells) -> list[Note] | None:
    """Words of a command: what follows `--db-password` is one."""
    found = None
    for at, item in enumerate(value[:-1]):
        if type(item) is str and item[:1] == "-" and names(item) and tells(item):
            found = found or [_NONE] * len(value)
            found[at + 1] = Note(name=CELL + item)
    return found


def names(text: str) -> bool:
    """Whether a text has the form of a name: short, one line, no sentence and no assignment."""
    return 0 < len(text) <= _LONGEST and text.count(" ") <= 4 and _NO_NAME.search(text.lstrip(CELL)) is None
