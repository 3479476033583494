"""Beside: names that stand beside their values instead of above them: `{"name": "DB_PASSWORD", "value": …}`, rows under columns, pairs, flags.

Says for the parts of an object or list which further name each stands under; what such a name makes of a value is judged where keys are. Works on
values and on what was read from a JSON text alike. Pure. Comes after redaction; the walk through values (`hiding`) and that through texts of
JSON (`guard.redactors.nested`) use it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from guard.core.redaction import BELOW, CELL, LABEL, LONGEST, read, unmasked
from guard.core.roles import COLUMNS, FAINT, NAMING, PLAINLY, ROLES, SETS, VAGUE, VALUE, last_word
from guard.core.values import Json

_LONGEST = 100  # characters of a name
_SPACES = 4  # in a name: with more words it is a sentence or a title, which says of what stands beside it too much else
_NO_NAME = re.compile(r"[\n\r\t\"';<>?!|\x00\x1c-\x1f]")
_AROUND = " \t\r\n\u00a0\u3000\"'`<>()[]{}:;,.?!*|=\uff1a"  # stands around a name and is no part of it
_PAIRED = (2, 3)  # items of a list that begins with a name
_ASIDE = re.compile("[,=]")  # parts a name from another one, or from what it is given to


class Pairs(tuple[tuple[str, Json], ...]):
    """An object of a JSON text, with every name in order, however often it is given."""

    __slots__ = ()


class Frame(NamedTuple):
    """A table that a list belongs to: its columns, and whether the list is one row of it or all of them.

    `turned`: the lists in it may as well be the columns.
    """

    columns: Sequence[str]
    row: bool
    turned: bool = False


class Note(NamedTuple):
    """What is known of one part besides its key: the name that stands beside it, with its sign, and the table that it is."""

    name: str | None = None
    frame: Frame | None = None


Tells: TypeAlias = Callable[[str], bool]
_NONE = Note()
KEY: Final = f"{LABEL}private_key"
"""Under which the lines of a private key stand."""


def below(above: str | None, name: str) -> str:
    """The key of what stands under a name, as far as it is read; `above` is that of the object or list around it."""
    key = name if above is None else f"{above}{BELOW}{name}"
    return key if len(key) <= LONGEST else read(key)


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
    notes = fields(pairs, tells, frame)
    if notes is None:
        return [(name, item, below(above, name), _NONE) for name, item in pairs]
    around = [above if note.name is None else below(above, note.name) for note in notes]
    return [(name, item, below(key, name), note) for (name, item), key, note in zip(pairs, around, notes, strict=True)]


def fields(pairs: Iterable[tuple[str, Json]], tells: Tells, frame: Frame | None = None) -> list[Note] | None:
    """For each field of an object what stands beside it; None where nothing does. `frame` is the table of which the object is a row."""
    known = list(pairs)
    found = _beside(known, tells)
    if frame is None or not frame.row:
        return found
    notes = [_NONE] * len(known) if found is None else found
    return [
        note._replace(frame=frame) if type(item) is list and note.frame is None else note
        for note, (_, item) in zip(notes, known, strict=True)
    ]


def _beside(known: list[tuple[str, Json]], tells: Tells) -> list[Note] | None:
    """What the other fields of an object say of each."""
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
    texts = [(last_word(name), _text(item)) for (name, item), part in zip(known, roles, strict=True) if part == NAMING]
    named = [(word, item) for word, item in texts if item is not None and names(item)]
    told = [(word, item) for word, item in named if tells(item)] or [
        (word, item) for word, item in named if " " not in item and word not in FAINT
    ]
    if not told:
        return None
    clear = next(((word, item) for word, item in told if word not in VAGUE), None)
    word, item = clear or told[0]
    said = signed(item, tells, CELL if word in FAINT else LABEL)
    faint = said if said[:1] == CELL else CELL + said[1:]
    notes = []
    for (name, _), part in zip(known, roles, strict=True):
        holds = part == VALUE and (clear is not None or last_word(name) in PLAINLY)
        weak = last_word(name) in FAINT and "value" not in name.lower()
        notes.append(Note(name=faint if weak else said) if holds else _NONE)
    return notes


def _text(item: Json) -> str | None:
    """What a field says, also where it is wrapped in an object that holds nothing else."""
    if type(item) is dict and len(item) == 1:
        item = next(iter(item.values()))
    elif type(item) is Pairs and len(item) == 1:
        item = item[0][1]
    return item if type(item) is str else None


def _columns(known: list[tuple[str, Json]], tells: Tells) -> list[str] | None:
    """The names of columns that a field of the object gives, where one of them tells; of what has none, nothing."""
    for name, item in known:
        if type(item) is not list or not item or last_word(name) not in SETS[COLUMNS]:
            continue
        found = [one if type(one) is str else _called(one, tells) for one in item]
        if any(tells(one) and names(one) for one in found):
            return found
    return None


def _called(column: Json, tells: Tells) -> str:
    """The name of a column that is described by an object."""
    given = column.items() if type(column) is dict else column if type(column) is Pairs else ()
    found = [item for name, item in given if type(item) is str and ROLES[name] == NAMING and last_word(name) not in VAGUE]
    return next((one for one in found if tells(one) and names(one)), found[0] if found else "")


def _table(item: Json, columns: list[str], size: int, part: str) -> Frame | None:
    """Whether a field is a list of rows of these columns, or one row beside them."""
    if type(item) is not list or not item:
        return None
    rows = [row for row in item if type(row) is list or _held(row)]
    if rows:
        turned = len(item) == size and any(type(row) is list and len(row) != size for row in rows)
        return Frame(columns, row=False, turned=turned)
    return Frame(columns, row=True) if part == VALUE and abs(len(item) - size) <= 1 else None


def _held(row: Json) -> bool:
    """Whether a row is an object that holds its cells in a list."""
    given = row.values() if type(row) is dict else [one for _, one in row] if type(row) is Pairs else ()
    return any(type(one) is list for one in given)


def items(value: Sequence[Json], frame: Frame | None, tells: Tells) -> list[Note] | None:
    """For each item of a list what stands beside it; None where nothing does. `frame` is the table that the list belongs to."""
    found, lines = _items(value, frame, tells), key_lines(value)
    if not lines:
        return found
    return [Note(name=KEY) if at in lines else note for at, note in enumerate(found or [_NONE] * len(value))]


def key_lines(value: Sequence[Json]) -> set[int]:
    """Which items of a list are lines of a private key that begins in one before them."""
    found: set[int] = set()
    within = False
    for at, item in enumerate(value):
        if type(item) is not str:
            continue
        begins = item.rfind("-----BEGIN ") if "PRIVATE KEY" in item else -1
        if begins >= 0:
            within = "-----END " not in item[begins:]
        elif within:
            found.add(at)
            within = "-----END " not in item
    return found


def _items(value: Sequence[Json], frame: Frame | None, tells: Tells) -> list[Note] | None:
    if frame is not None and frame.row:
        return _cells(len(value), frame.columns, tells)
    if frame is not None:
        row = Note(frame=Frame(frame.columns, row=True))
        turned = [one if names(one) and tells(one) else None for one in frame.columns[: len(value)]] if frame.turned else []
        turned += [None] * (len(value) - len(turned))
        return [row if one is None else Note(name=signed(one, tells, LABEL)) for one in turned]
    rows = _rows(value, tells) if any(type(item) is list for item in value) else None
    return _flags(value, tells) if rows is None else rows


def _cells(size: int, columns: Sequence[str], tells: Tells) -> list[Note]:
    """The notes of the cells of a row.

    Where it is longer or shorter than the columns are, a name may belong to the cell that it stands over or to the one as far from there as the
    difference is.
    """
    shift = size - len(columns)
    notes = []
    for at in range(size):
        near = [columns[one] for one in dict.fromkeys((at, at - shift)) if 0 <= one < len(columns) and names(columns[one])]
        name = next((one for one in near if tells(one)), near[0] if near else None)
        notes.append(_NONE if name is None else Note(name=signed(name, tells, LABEL)))
    return notes


def _rows(value: Sequence[Json], tells: Tells) -> list[Note] | None:
    """Pairs of a name and a value, perhaps with something behind it, or rows of which the first names the columns."""
    start = next((at for at, row in enumerate(value) if type(row) is list and row), len(value))
    columns = _first(value[start], tells) if start < len(value) - 1 else None
    notes = [
        _NONE if columns is None or at <= start or type(row) is not list else Note(frame=columns) for at, row in enumerate(value)
    ]
    for at, row in enumerate(value):
        if type(row) is not list or len(row) not in _PAIRED or type(row[0]) is not str or (columns is not None and len(row) > 2):
            continue
        if tells(row[0]) and names(row[0]):
            notes[at] = Note(frame=Frame(["", signed(row[0], tells, CELL), *[""] * (len(row) - 2)], row=True))
    return None if all(note is _NONE for note in notes) else notes


def _first(row: list[Json], tells: Tells) -> Frame | None:
    """The columns that a first row names, where one of them tells."""
    if len(row) < 2 or any(type(one) in {bool, list, dict, Pairs} for one in row):
        return None
    found = [one if type(one) is str else "" for one in row]
    if not any(tells(one) and names(one) for one in found):
        return None
    return Frame([signed(one, tells, CELL) if names(one) else "" for one in found], row=True)


def _flags(value: Sequence[Json], tells: Tells) -> list[Note] | None:
    """Words of a command: what follows `--db-password` is one."""
    found = None
    for at, item in enumerate(value[:-1]):
        if type(item) is str and item[:1] == "-" and names(item) and tells(item):
            found = found or [_NONE] * len(value)
            found[at + 1] = Note(name=signed(item, tells, CELL))
    return found


def names(text: str) -> bool:
    """Whether a text has the form of a name: short, one line, no sentence."""
    if not 0 < len(text) <= _LONGEST or (text[:1] == CELL and len(text) == 1):
        return False
    bare = unmasked(text.lstrip(CELL)).strip(_AROUND)
    return bool(bare) and bare.count(" ") <= _SPACES and _NO_NAME.search(bare) is None


def signed(text: str, tells: Tells, sign: str) -> str:
    """The name in a text that has the form of one, with its sign: without what stands around it, and the part that tells where it has several.

    What is asked, or is one of several, is a title as well as a name: it says no more than a name in a row does.
    """
    if text[:1] == CELL:
        return text
    bare = unmasked(text).strip(_AROUND)
    bare = text if tells(bare) and not tells(text) else bare  # a mask without its brackets would tell
    several = _ASIDE.split(bare)
    asked = len(several) > 1 or text.rstrip()[-1:] in {"?", "!"}
    name = next((one.strip(_AROUND) for one in reversed(several) if tells(one)), bare)
    return (CELL if asked else sign) + name
