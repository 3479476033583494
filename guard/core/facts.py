"""Facts: what an approver is told about one approval, in words and pieces, the same on a page, at a terminal and in a message.

Built only from the stored approval, that is from what will run; never from what the model says about it. Shortens and hides nothing but what the
policy marks secret, of which length and digest are told. Each output writes the pieces by its own rules of escaping. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from guard.core import legible
from guard.core.legible import Piece, counted, line
from guard.core.pointers import pointer, steps, within
from guard.core.replacing import replace
from guard.core.values import Json, JsonObject, encode

ORIGINS = {
    "model": "written by the model",
    "session": "from the session",
    "default": "the schema's default",
    "result": "from an earlier result",
    "bounded": "written by the model, within what an earlier result says",
    "handle": "put back in the place of a handle",
    "user": "from the user's words",
    "edit": "changed by a person",
}
_LITERAL = re.compile(r"[-+]?[\d.,]+|true|false|null|\[.*\]|\{.*\}", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"[\w.,-]")
LONG = 1200
"""Characters of one value from which a page lets it scroll; none is ever cut."""
Part = tuple[bool, tuple[Piece, ...]]
"""A stretch of a text: whether it differs from the last revision, and its pieces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One value inside an argument: where it stands, what kind it is, and the value in full. `was` is what the last revision had there."""

    pointer: str
    path: tuple[Piece, ...]
    kind: str
    parts: tuple[Part, ...]
    note: str = ""
    state: Literal["same", "changed", "added", "removed"] = "same"
    was: tuple[Part, ...] | None = None
    was_kind: str = ""
    long: bool = False
    backwards: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument: its name, where its value came from in words, and every value in it."""

    key: str
    name: tuple[Piece, ...]
    origin: str
    origin_code: str
    leaves: tuple[Leaf, ...]
    changed: bool = False
    first: bool = False


Ways = dict[tuple[str | int, ...], Json]
"""Single values by the keys and indexes that lead to them."""


def arguments(document: Mapping[str, Json]) -> tuple[Argument, ...]:
    """Every argument of what is presented, and those besides that only the last revision had."""
    changes = [_change(entry) for entry in _objects(document["difference"])]
    secret = tuple(str(place) for place in _list(document["secret"]))
    found = [_given(entry, changes, secret) for entry in _objects(document["arguments"])]
    names = {one.key for one in found}
    gone = [_gone(way, old) for way, old, _ in changes if len(way) == 1 and way[0] not in names]
    return (*found, *gone)


_Change = tuple[tuple[str, ...], Ways, bool]
"""The place of a difference, the single values that stood there, and whether any did."""


def _change(entry: Mapping[str, Json]) -> _Change:
    way = steps(str(entry["path"]))
    return way, flat(entry["before"], way) if "before" in entry else {}, "before" in entry


def _given(entry: Mapping[str, Json], changes: list[_Change], secret: tuple[str, ...]) -> Argument:
    name, origin = str(entry["name"]), str(entry["origin"])
    new = flat(entry["value"], (name,))
    mine = [change for change in changes if change[0][0] == name]
    old: Ways = {_text(way): value for _, ways, _ in mine for way, value in ways.items()}
    touched = [change[0] for change in mine]
    leaves = [_leaf(way, value, old, touched, secret) for way, value in new.items()]
    there = {_text(way) for way in new}
    leaves += [_removed(_text(way), value) for way, value in old.items() if way not in there]
    return Argument(
        key=name,
        name=legible.pieces(name),
        origin=ORIGINS.get(origin, "of unknown origin"),
        origin_code=origin,
        leaves=tuple(leaves),
        changed=any(leaf.state != "same" for leaf in leaves),
        first=entry["first"] is True,
    )


def plain(given: JsonObject) -> tuple[Argument, ...]:
    """Arguments of which nothing is known but their values."""
    entries = [{"name": name, "value": value, "origin": "", "first": False} for name, value in given.items()]
    return tuple(replace(_given(entry, [], ()), origin="") for entry in entries)


def _gone(way: tuple[str, ...], old: Ways) -> Argument:
    leaves = tuple(_removed(_text(at), value) for at, value in old.items())
    return Argument(
        key=way[0], name=legible.pieces(way[0]), origin="no longer given", origin_code="", leaves=leaves, changed=True
    )


def flat(value: Json, way: tuple[str | int, ...] = ()) -> Ways:
    """Every value inside a value; an empty list or object is a value of its own."""
    inner: list[tuple[str | int, Json]]
    if isinstance(value, Mapping) and value:
        inner = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple) and value:
        inner = [*enumerate(value)]
    else:
        return {way: value}
    return {where: leaf for step, item in inner for where, leaf in flat(item, (*way, step)).items()}


def _text(way: Iterable[str | int]) -> tuple[str, ...]:
    return tuple(map(str, way))


def place(way: Sequence[str | int]) -> str:
    """Where a value stands inside its argument: `items[0].price`, without the argument's own name."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in way[1:]).removeprefix(".")


def _leaf(way: tuple[str | int, ...], value: Json, old: Ways, touched: list[tuple[str, ...]], secret: tuple[str, ...]) -> Leaf:
    text, at = written(value), _text(way)
    under = any(at[: len(spot)] == spot for spot in touched)
    known = under and at in old
    same = not under or (known and (kind(old[at]), written(old[at])) == (kind(value), text))
    now: tuple[Part, ...] = ((False, legible.pieces(text)),)
    before: tuple[Part, ...] | None = None
    if known and not same:
        now, before = compared(written(old[at]), text)
    return Leaf(
        pointer=pointer(way),
        path=legible.pieces(place(way)),
        kind="secret" if within(pointer(way), secret) else kind(value),
        parts=now,
        note=_note(value),
        state="same" if same else "changed" if known else "added",
        was=before,
        was_kind=kind(old[at]) if known and not same else "",
        long=len(text) > LONG or text.count("\n") > 24,
        backwards=legible.backwards(text),
    )


def _removed(way: tuple[str, ...], value: Json) -> Leaf:
    """What the last revision had at a place where nothing stands now."""
    text = written(value)
    return Leaf(
        pointer=pointer(way),
        path=legible.pieces(place(way)),
        kind=kind(value),
        parts=(),
        state="removed",
        was=((True, legible.pieces(text)),),
        long=len(text) > LONG,
    )


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _objects(value: Json) -> list[JsonObject]:
    return [item for item in _list(value) if isinstance(item, dict)]


def written(value: Json) -> str:
    """A single value as text: a text as it is, everything else as JSON, with exactly its digits."""
    return value if isinstance(value, str) else encode(value)


def kind(value: Json) -> str:
    """What a single value is, in words; tells `5` from a text with a five in it."""
    if isinstance(value, str):
        return "empty text" if not value else "text that looks like a value" if _LITERAL.fullmatch(value) else "text"
    if isinstance(value, bool):
        return "yes or no"
    if value is None:
        return "no value"
    if isinstance(value, Mapping):
        return "no fields"
    return "empty list" if isinstance(value, list | tuple) else "number"


def _note(value: Json) -> str:
    """How long a text is where that is worth saying, or a large number with its thousands apart."""
    if isinstance(value, str):
        lines = value.count("\n") + 1
        told = counted(len(value), "character")
        return f"{told}, {counted(lines, 'line')}" if lines > 1 else told if len(value) >= 40 else ""
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 4 < len(text := encode(value)) < 40:
        return ""
    digits, _, rest = text.partition(".")
    return f"{int(digits):,}{'.' + rest if rest else ''}" if digits.lstrip("-").isdigit() and abs(int(digits)) > 9_999 else ""


def compared(before: str, after: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Two texts with the middle marked in which they differ, whole words and numbers of it: the new one first."""
    most = min(len(before), len(after))
    head = next((at for at in range(most) if before[at] != after[at]), most)
    while head and _WORD.match(before[head - 1]):
        head -= 1
    tail = next((at for at in range(most - head) if before[-1 - at] != after[-1 - at]), most - head)
    while tail and _WORD.match(before[-tail]):
        tail -= 1
    return _parts(after, head, tail), _parts(before, head, tail)


def _parts(text: str, head: int, tail: int) -> tuple[Part, ...]:
    end = len(text) - tail
    stretches = ((False, text[:head]), (True, text[head:end]), (False, text[end:]))
    return tuple((marked, legible.pieces(stretch, whole=False)) for marked, stretch in stretches if stretch)


def text(parts: Iterable[Part] | None) -> str:
    """What stands in these parts."""
    return "".join(piece.text for _, pieces in parts or () for piece in pieces)


def warnings(texts: Iterable[str], repeats: str = "") -> tuple[str, ...]:
    """What an approver should know before reading: hidden characters, words that look like others, letters that run backwards.

    `repeats` is a line made of the texts and of words of its own: hidden characters that it has from them are counted once.
    """
    signs = "".join(map(legible.hidden, texts := [*texts]))
    hidden = len(signs) + (Counter(legible.hidden(repeats)) - Counter(signs)).total()
    known = [repeats, *texts]
    odd = dict(found for text in known for found in legible.disguised(text))
    be = "is" if hidden == 1 else "are"
    told = [f"{counted(hidden, 'character')} that could not be seen otherwise {be} spelled out below"] if hidden else []
    told += [f"{line(word)} {what}" for word, what in odd.items()]
    if any(map(legible.backwards, known)):
        told.append("letters that are written from right to left stand in the order in which they are stored")
    return tuple(told)


def shown(document: Mapping[str, Json]) -> tuple[str, ...]:
    """Every text that stands in the arguments of a document, and in what the last revision had in their place."""
    now = [[entry["name"], entry["value"]] for entry in _objects(document["arguments"])]
    before = [entry.get("before") for entry in _objects(document["difference"])]
    return texts([*now, *before])


def texts(value: Json) -> tuple[str, ...]:
    """Every text inside a value, names included."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return tuple(text for key, item in value.items() for text in (str(key), *texts(item)))
    if isinstance(value, list | tuple):
        return tuple(text for item in value for text in texts(item))
    return ()


def span(seconds: float) -> str:
    """A stretch of time in words: `3 h 20 min`, `15 min`, `2 days 4 h`."""
    whole = max(0, int(seconds))
    days, hours, minutes = whole // 86400, whole % 86400 // 3600, whole % 3600 // 60
    if days:
        return counted(days, "day") + (f" {hours} h" if hours else "")
    if hours:
        return f"{hours} h" + (f" {minutes} min" if minutes else "")
    return f"{minutes} min" if minutes else f"{whole} s"
