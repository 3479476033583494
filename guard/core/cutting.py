"""Cutting: a result that is too large becomes a smaller one of the same structure: whole items go first, then texts and fields.

JSON stays JSON, numbers keep their digits, and where something is left out stands how much: `{"[cut]": "12 of 340 shown"}` behind the items
of a list or beside the fields of an object, `[cut: 500 of 9000 characters shown]` behind a text. Cutting twice tells the first count. Works on
what is redacted already. Pure; used by redact, budget and trim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guard.core.clipping import MOST_PARSED, clipped, counted, parsed, shown_of, tailed
from guard.core.redaction import CUT
from guard.core.values import Json, JsonObject, encode, quote

_NUMBERED = 32  # bytes that a note with its two numbers takes besides its key
_FLOOR = len(encode({CUT: ""})) + _NUMBERED
_TEXT_FLOOR = 52  # bytes of a text of which nothing is shown
_FLAT = frozenset({str, int, float, bool, type(None)})


def shortened(text: str, most: int) -> str:
    """`text` in at most `most` bytes of UTF-8, cut by its structure where it is JSON. Below a few dozen bytes only a note is left."""
    if size(text) <= most:
        return text
    value = parsed(text)
    return begun(text, len(text), most) if value is None else encode(cut(value, most))


def begun(beginning: str, there: int, most: int) -> str:
    """A text of which `beginning` is known, and that had `there` characters, in at most `most` bytes, with a note where some are left out."""
    if len(beginning) >= there and size(beginning) <= most:
        return beginning
    if there > MOST_PARSED and beginning.lstrip()[:1] in ("{", "["):
        return tailed("", there)  # it may be JSON, which is never shown in half
    return clipped(beginning, most, size, cut, there)


def cut(value: Json, most: int) -> Json:
    """`value` with an encoding of at most `most` bytes; where that is impossible, the smallest that there is. Never changes its input."""
    return _shrunk(value, most, _Sizes())


def size(text: str) -> int:
    """Bytes of a text as UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def level(sizes: Sequence[int], total: int) -> int | None:
    """The height to which the largest are lowered so that all fit into `total`; None where nothing has to be."""
    if sum(sizes) <= total:
        return None
    left = max(0, total)
    ordered = sorted(sizes)
    for index, one in enumerate(ordered):
        share = left // (len(ordered) - index)
        if one > share:
            return share
        left -= one
    return None


# -- how large what is ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Size:
    """Bytes of an encoding: as it is, with every list emptied, and with nothing but notes."""

    full: int
    listless: int
    least: int


class _Sizes:
    """The sizes of the containers of one value, each looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, _Size] = {}

    def of(self, value: Json) -> _Size:
        """The sizes of one value."""
        if isinstance(value, str):
            full = size(quote(value))
            return _Size(full, full, min(full, _TEXT_FLOOR))
        if not isinstance(value, dict | list):
            full = len(encode(value))
            return _Size(full, full, full)
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = self._object(value) if isinstance(value, dict) else self._list(value)
        return known

    def _list(self, items: list[Json]) -> _Size:
        flat = _FLAT.issuperset(map(type, items))  # written at once
        full = size(encode(items)) if flat else sum(self.of(item).full for item in items) + max(0, len(items) - 1) + 2
        least = min(full, _FLOOR + 2)
        return _Size(full, least, least)

    def _object(self, value: JsonObject) -> _Size:
        if _FLAT.issuperset(map(type, value.values())):
            full = size(encode(value))
            return _Size(full, full, min(full, _FLOOR))
        frame = max(0, len(value) - 1) + 2 + sum(size(quote(name)) + 1 for name in value)
        sizes = [self.of(item) for item in value.values()]
        full = frame + sum(one.full for one in sizes)
        return _Size(full, frame + sum(one.listless for one in sizes), min(full, _FLOOR))


# -- making it smaller -----------------------------------------------------------------------------------------------------


def _shrunk(value: Json, most: int, sizes: _Sizes) -> Json:
    if sizes.of(value).full <= most:
        return value
    if isinstance(value, str):
        return _inner(value, most)
    if not isinstance(value, dict | list):
        return value
    short = _items(value, most, sizes) if isinstance(value, list) else _fields(value, most, sizes)
    small = sizes.of(value).full <= _FLOOR + 2  # a note may be larger than what it stands for
    return value if small and size(encode(short)) >= sizes.of(value).full else short


def _inner(text: str, most: int) -> str:
    """A text inside JSON. One that holds JSON itself is cut by its structure."""
    value = parsed(text)
    if value is None:
        return clipped(text, most - 2, _quoted, cut)
    room = most
    for _ in range(4):  # its own quotes are escaped once more
        found = encode(cut(value, room))
        if (over := _quoted(found) + 2 - most) <= 0 or room < _FLOOR:
            return found
        room -= over
    return found


def _quoted(text: str) -> int:
    return size(quote(text)) - 2


def _items(items: list[Json], most: int, sizes: _Sizes) -> list[Json]:
    """The first whole items that fit; where not even one does, as much of the first as fits."""
    own, there = _without_note(items)
    left = most - 2 - _FLOOR
    shown: list[Json] = []
    for item in own:
        left -= sizes.of(item).full + 1
        if left < 0:
            break
        shown.append(item)
    if not shown and own:
        room = most - 3 - _FLOOR
        first = _shrunk(own[0], room, sizes) if room >= sizes.of(own[0]).least else None
        shown = [first] if first is not None else []
    return shown if len(shown) == there else [*shown, {CUT: shown_of(len(shown), there)}]


def _fields(value: JsonObject, most: int, sizes: _Sizes) -> JsonObject:
    """Lists give way first, then texts and objects, the largest first; fields go, from the end, where that is not enough."""
    own = {name: item for name, item in value.items() if name != CUT}
    there = counted(value.get(CUT), len(own))
    frames = {name: size(quote(name)) + 2 for name in own}
    note = _FLOOR if there > len(own) else 0
    listless = sum(frames[name] + sizes.of(item).listless for name, item in own.items())
    gentle = note + 2 + listless <= most
    floors = {name: sizes.of(item).listless if gentle else sizes.of(item).least for name, item in own.items()}
    names = list(own)
    if not gentle:
        names = _first(names, frames, floors, most - 2, note)
    shown = _allotted(
        {name: own[name] for name in names}, frames, floors, most - 2 - (note if len(names) == len(own) else _FLOOR), sizes
    )
    return shown if len(names) == there else {**shown, CUT: shown_of(len(names), there)}


def _first(names: list[str], frames: dict[str, int], floors: dict[str, int], room: int, note: int) -> list[str]:
    """The fields, from the first on, of which at least a note fits; all of them where that is possible."""
    if sum(frames[name] + floors[name] for name in names) + note <= room:
        return names
    left, kept = room - _FLOOR, []
    for name in names:
        if frames[name] + floors[name] <= left:
            left -= frames[name] + floors[name]
            kept.append(name)
    return kept


def _allotted(own: JsonObject, frames: dict[str, int], floors: dict[str, int], room: int, sizes: _Sizes) -> JsonObject:
    """Each field within its share: what is small stays whole, what is large shares what is left."""
    spare = room - sum(frames[name] + floors[name] for name in own)
    wanted = {name: sizes.of(item).full - floors[name] for name, item in own.items()}
    height = level(list(wanted.values()), spare)
    if height is None:
        return own
    return {name: _shrunk(item, floors[name] + min(wanted[name], height), sizes) for name, item in own.items()}


# -- notes -----------------------------------------------------------------------------------------------------------------


def _without_note(items: list[Json]) -> tuple[list[Json], int]:
    """The items, and how many there were before an earlier cut."""
    last = items[-1] if items else None
    if isinstance(last, dict) and last.keys() == {CUT}:
        return items[:-1], counted(last[CUT], len(items) - 1)
    return items, len(items)
