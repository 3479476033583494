"""Walk: any Python object, turned into a JSON value step by step.

Goes only where it knows the type; never calls `repr`, and `str` only on types of the standard library whose text is their value. Used by
`results` for whatever is not plain JSON already.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import itertools
import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from numbers import Integral
from typing import Any

from guard.core.blocks import honest
from guard.core.model import Image
from guard.core.values import Json, canonical, encode, whole
from guard.tools.blocks import data_uri, media_of

DEPTH = 100
"""How deep a value may be nested; what lies deeper is left out. Precedent: the parse room's ceiling is of the same size."""
NODES = 1_000_000
"""How many values a result may hold in all."""
ITEMS = 10_000
"""How many items are taken from an iterator, which may have no end."""
_DIGITS = 4_000  # Python refuses to write integers longer than 4,300 digits
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_TEXTUAL = frozenset({"uuid", "ipaddress", "fractions", "pydantic.networks"})


def marker(value: object, why: str | None = None) -> Json:
    """What stands for a value that cannot be told: the name of its type, never its text."""
    return {"unserialisable": why or str(type.__getattribute__(type(value), "__name__"))[:80]}


def truncated(why: str) -> Json:
    """What stands for the part of a value that was left out."""
    return {"truncated": why}


def dumped(value: object) -> object:
    """A pydantic model as a dict of Python values; everything else as it is."""
    dump = getattr(type(value), "model_dump", None)
    if not callable(dump):
        return value
    try:
        return dump(value, mode="python", warnings=False)
    except TypeError:
        return dump(value)


class Walk:
    """One walk over one value: how much was seen, which containers are open, which pictures were lifted out."""

    def __init__(self, depth: int = DEPTH, items: int = NODES) -> None:
        self.images: list[Image] = []
        self.failed = False
        self._depth, self._items, self._left = depth, items, items
        self._open: set[int] = set()

    def json(self, value: Any, depth: int) -> Json:
        """The JSON of `value`. Never raises for what the value does."""
        self._left -= 1
        if self._left < 0:
            return truncated(f"more than {self._items} values")
        try:
            return self._atom(value, depth)
        except (Exception, SystemExit):  # noqa: BLE001 - a hostile object costs its own place, never its siblings'
            return marker(value)

    def _atom(self, value: Any, depth: int) -> Json:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return self.text(value)
        for types, tell in _ATOMS:
            if isinstance(value, types):
                return tell(self, value)
        if inspect.iscoroutine(value):
            return self._coroutine(value)
        if kind.__module__ in _TEXTUAL:
            return self.text(str(value))
        return self._nested(value, depth)

    def text(self, text: str) -> str:
        """A text without lone surrogates; a data URI leaves its short text behind."""
        exact = whole(str.__str__(text))
        lifted = data_uri(exact) if exact[:40].lstrip()[:5].lower() == "data:" else None
        return exact if lifted is None else lifted if isinstance(lifted, str) else self.image(lifted)

    def image(self, image: Image) -> str:
        """Lift a picture out and leave its short text; what is none stays in its place, as what it says."""
        found = honest(image)
        if isinstance(found, str):
            return found
        self.images.append(found)
        return media_of(found)

    def _coroutine(self, value: Any) -> Json:
        """A coroutine that nobody awaited: the tool did not run."""
        value.close()
        self.failed = True
        return marker(value)

    def _nested(self, value: Any, depth: int) -> Json:
        if depth >= self._depth:
            return marker(value, "nested too deeply")
        if id(value) in self._open:
            return marker(value, "a cycle")
        self._open.add(id(value))
        try:
            return self._container(value, depth + 1)
        finally:
            self._open.discard(id(value))

    def _container(self, value: Any, depth: int) -> Json:
        pairs = _pairs(value)
        if pairs is not None:
            return self._object(pairs, depth)
        inner = _inner(value)
        if inner is not value:
            return self.json(inner, depth)
        if isinstance(value, AbstractSet):
            return sorted((self.json(item, depth) for item in value), key=canonical)
        if isinstance(value, list | tuple):
            return self._list(value, depth)
        if isinstance(value, Iterable):
            return self._drawn(iter(value), depth)
        return marker(value)

    def _list(self, items: Iterable[Any], depth: int) -> Json:
        found: list[Json] = []
        for item in items:
            found.append(self.json(item, depth))
            if self._left < 0:
                break
        return found

    def _drawn(self, items: Iterator[Any], depth: int) -> Json:
        """Items of an iterator, within bounds. One that breaks on the way has failed, whatever it gave before."""
        found: list[Json] = []
        try:
            found.extend(self.json(item, depth) for item in itertools.islice(items, ITEMS))
            if len(found) == ITEMS and next(items, items) is not items:
                found.append(truncated(f"more than {ITEMS} items"))
        except (Exception, SystemExit):  # noqa: BLE001 - the tool's own code runs in here
            self.failed = True
            found.append(marker(items))
        return found

    def _object(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> Json:
        found: dict[str, Json] = {}
        counts: dict[str, int] = {}
        for key, item in pairs:
            name = base = _key(key)
            while name in found:
                counts[base] = counts.get(base, 1) + 1
                name = f"{base} ({counts[base]})"
            found[name] = self.json(item, depth)
            if self._left < 0:
                break
        return found


_LONG_KEY = 10_000  # characters of the names of one field


def _key(key: Any) -> str:
    if type(key) is str and key.isascii():
        return key
    if type(key) is tuple and all(type(one) in {str, int} for one in key):
        return ", ".join(map(str, key))[:_LONG_KEY]  # several names are one; what they say of the value counts
    told = Walk().json(key, DEPTH)
    if isinstance(told, dict):
        return f"<{type.__getattribute__(type(key), '__name__')[:80]}>"
    return told if isinstance(told, str) else encode(told)


def _pairs(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """Keys and values of whatever has named parts; None when it has none."""
    kind = type(value)
    if isinstance(value, Mapping):
        return value.items()
    if dataclasses.is_dataclass(kind):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(kind)]
    if isinstance(value, tuple) and isinstance(getattr(kind, "_fields", None), tuple):
        return zip(kind._fields, value, strict=False)
    if hasattr(kind, "__attrs_attrs__"):
        return [(field.name, getattr(value, field.name)) for field in kind.__attrs_attrs__]
    if callable(getattr(kind, "keys", None)) and hasattr(kind, "__getitem__"):
        return [(key, value[key]) for key in value.keys()]  # noqa: SIM118 - rows of a database have keys but iterate over values
    return None


def _inner(value: Any) -> Any:
    """What a wrapper holds: a model's fields, an array's items; the value itself when it is no wrapper."""
    kind = type(value)
    if callable(getattr(kind, "model_dump", None)):
        return dumped(value)
    if hasattr(kind, "dtype") and callable(getattr(kind, "tolist", None)):
        return value.tolist()
    return value


def _whole(_walk: Walk, value: Any) -> Json:
    number = operator.index(value)
    exact = int.__add__(number, 0)
    return exact if exact.bit_length() < _DIGITS * 3 else marker(value)


def _real(_walk: Walk, value: float) -> Json:
    return float.__float__(value) if math.isfinite(value) else None


def _decimal(_walk: Walk, value: Decimal) -> Json:
    return Decimal(value) if value.is_finite() else None


def _bytes(walk: Walk, value: bytes | bytearray | memoryview) -> Json:
    data = bytes(value)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if _CONTROL.search(text) is None:
        return walk.text(text)
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _duration(_walk: Walk, value: timedelta) -> Json:
    """ISO 8601, in days and seconds; days and seconds of a timedelta are exact."""
    micro = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
    days, rest = divmod(abs(micro), 86_400_000_000)
    seconds = f"{rest // 1_000_000}.{rest % 1_000_000:06}".rstrip("0").rstrip(".")
    return f"{'-' if micro < 0 else ''}P{f'{days}D' if days else ''}{f'T{seconds}S' if rest or not days else ''}"


_ATOMS: tuple[tuple[Any, Callable[[Walk, Any], Json]], ...] = (
    (Enum, lambda walk, value: walk.json(value.value, DEPTH - 1)),
    (str, lambda walk, value: walk.text(value)),
    (Integral, _whole),
    (float, _real),
    (Decimal, _decimal),
    ((datetime, date, time), lambda walk, value: walk.text(value.isoformat())),
    (timedelta, _duration),
    ((bytes, bytearray, memoryview), _bytes),
    (os.PathLike, lambda walk, value: walk.json(os.fspath(value), DEPTH)),
    (Image, lambda walk, value: walk.image(value)),
)
"""Types whose values have one JSON form, in the order in which they are tried: an enum may also be a text or a number."""
