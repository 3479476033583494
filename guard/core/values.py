"""Values: JSON as the guard sees it, written exactly, compared by number and hashed by meaning.

Numbers are `int` or `Decimal` (a tool's own result may hold a finite `float`); no function here rounds or makes a float. Comes
before every room. May not read clocks, files or settings; knows nothing of calls or policies.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""None, bool, int, Decimal, float, str, list of Json, or dict from str to Json. `Any`, since mypy cannot narrow recursive unions."""
JsonObject: TypeAlias = dict[str, Any]

quote = json.encoder.encode_basestring
"""JSON text of a string."""
_PLAIN = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_TEXTUAL = frozenset({str, bool, type(None)})
_sha256 = hashlib.sha256
_BLOCK = 64  # bytes that SHA-256 takes at a time
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
_NUMBERS = (int, Decimal, float)  # made once: a union that is written where it is asked for is made each time


def read_json(text: str) -> Json:
    """What JSON text says, with exact numbers. Raises ValueError for what readers may read differently (a repeated key, NaN), or not at all."""
    try:
        return _read(text)
    except (RecursionError, ArithmeticError):
        raise ValueError("nested too deeply, or a number that cannot be exact") from None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _once(pairs: list[tuple[str, Json]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given more than once")
    return found


_read = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_number, object_pairs_hook=_once).decode
"""Made once: `json.loads` would make one for each text."""


def _foreign(value: object) -> Any:
    raise TypeError(type(value).__name__)


def _encoder(*, sort: bool) -> Callable[[Json], str]:
    """An encoder that is made once instead of for each value, where Python has the fast one."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=sort).encode
    chunks = make(None, _foreign, quote, None, ":", ",", sort, False, False)
    return lambda value: "".join(chunks(value, 0))


_FAST, _SORTED = _encoder(sort=False), _encoder(sort=True)


class _Digits(str):
    """The text of a number, on its way through an encoder that knows no such number."""

    __slots__ = ()


def _exact_encoder() -> Callable[[Json], str] | None:
    """The same with Decimals, each with exactly its digits: the encoder takes what stands for one for a text, and is given it without quotes."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return None

    def digits(value: object) -> _Digits:
        return _Digits(decimal_text(value)) if isinstance(value, Decimal) else _foreign(value)

    def text(value: str) -> str:
        return value if type(value) is _Digits else quote(value)

    chunks = make(None, digits, text, None, ":", ",", False, False, False)
    return lambda value: "".join(chunks(value, 0))


_EXACT = _exact_encoder()


def encode(value: Json) -> str:
    """JSON text of `value`, keys in their own order, each Decimal with exactly its digits. Raises ValueError on NaN."""
    try:
        return _FAST(value)
    except TypeError:
        pass
    try:
        return "".join(_write(value, [])) if _EXACT is None else _EXACT(value)
    except TypeError:
        return "".join(_write(value, []))


def whole(text: str) -> str:
    """The text with U+FFFD for each half of a character: no message, record or store can hold one."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _write(value: Json, out: list[str]) -> list[str]:
    if isinstance(value, Decimal):
        out.append(decimal_text(value))
    elif isinstance(value, Mapping):
        out.append("{")
        for index, (key, item) in enumerate(value.items()):
            out.append(f"{',' if index else ''}{quote(key)}:")
            _write(item, out)
        out.append("}")
    elif isinstance(value, list | tuple):
        out.append("[")
        for index, item in enumerate(value):
            if index:
                out.append(",")
            _write(item, out)
        out.append("]")
    else:
        out.append(_PLAIN(value))
    return out


def decimal_text(value: Decimal) -> str:
    """The digits of a finite Decimal as JSON number text: `3860.00` stays `3860.00`. Raises ValueError on NaN or Infinity."""
    if not value.is_finite():
        raise ValueError("a number in JSON must be finite")
    return str(value)


def number_text(value: int | Decimal | float) -> str:
    """One text for each number, however it was spelled: 60, 60.0 and 6e1 all give `6e1`. For hashing, not for showing."""
    if type(value) is int:
        text = str(value)
        stripped = text.rstrip("0")
        return f"{stripped}e{len(text) - len(stripped)}" if stripped else "0"
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    sign, digits, exponent = exact.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("a number in JSON must be finite")
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    if not stripped:
        return "0"
    return f"{'-' if sign else ''}{stripped}e{exponent + len(text) - len(stripped)}"


def canonical(value: Json) -> str:
    """One text for each meaning: keys sorted by code point, numbers by `number_text`, strings as they are."""
    if type(value) is dict and _TEXTUAL.issuperset(map(type, value.values())):
        return _SORTED(value)
    if type(value) is list and _TEXTUAL.issuperset(map(type, value)):
        return _FAST(value)
    out: list[str] = []
    _canonical(value, out)
    return "".join(out)


def _canonical(value: Json, out: list[str]) -> None:
    kind = type(value)
    if kind is str or isinstance(value, str):
        out.append(quote(value))
    elif value is None or kind is bool:
        out.append("null" if value is None else "true" if value else "false")
    elif isinstance(value, _NUMBERS):
        out.append(number_text(value))
    elif kind is dict or isinstance(value, Mapping):
        out.append("{")
        for index, key in enumerate(sorted(value)):
            out.append(f"{',' if index else ''}{quote(key)}:")
            _canonical(value[key], out)
        out.append("}")
    else:
        out.append("[")
        for index, item in enumerate(value):
            if index:
                out.append(",")
            _canonical(item, out)
        out.append("]")


def digest(*parts: str) -> str:
    """SHA-256 over an injective encoding of the parts (the lengths first), as lower-case hexadecimal."""
    return sha(",".join([str(len(part)) for part in parts]) + ":" + "".join(parts))


def sha(text: str) -> str:
    """SHA-256 of the text's UTF-8, as lower-case hexadecimal."""
    return _sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def keyed(secret: bytes, text: str) -> str:
    """HMAC-SHA-256 of the text's UTF-8 under a secret, as lower-case hexadecimal.

    Written out as RFC 2104 says: two hashes cost less than what `hmac.digest` does before it begins to hash, and every record holds such digests.
    """
    outer, inner = _pads(secret)
    return _sha256(outer + _sha256(inner + text.encode("utf-8", "surrogatepass")).digest()).hexdigest()


def keyer(secret: bytes) -> Callable[[str], str]:
    """`keyed` under one secret, for whoever makes many digests under it beside others under other ones."""
    outer, inner = _padded_with(secret)
    return lambda text: _sha256(outer + _sha256(inner + text.encode("utf-8", "surrogatepass")).digest()).hexdigest()


def keyed_each(secret: bytes, beginning: str, rests: Iterable[str]) -> list[str]:
    """`keyed` of each text that begins so: what they have in common is hashed once."""
    outer, inner = map(_sha256, _pads(secret))
    inner.update(beginning.encode("utf-8", "surrogatepass"))
    found: list[str] = []
    for rest in rests:
        within, around = inner.copy(), outer.copy()
        within.update(rest.encode("utf-8", "surrogatepass"))
        around.update(within.digest())
        found.append(around.hexdigest())
    return found


def _pads(secret: bytes) -> tuple[bytes, bytes]:
    known, outer, inner = _padded[0]
    if known != secret:
        outer, inner = _padded_with(secret)
        _padded[0] = secret, outer, inner
    return outer, inner


def _padded_with(secret: bytes) -> tuple[bytes, bytes]:
    key = (_sha256(secret).digest() if len(secret) > _BLOCK else secret).ljust(_BLOCK, b"\0")
    return key.translate(_OUTER), key.translate(_INNER)


_padded: list[tuple[bytes | None, bytes, bytes]] = [(None, b"", b"")]
"""The newest secret as the two hashes begin with it: the records of one call are made under one salt."""


def is_number(value: Json) -> bool:
    """Whether `value` is a JSON number; a bool is not."""
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


_COUNTED = 90


def summable(value: Decimal) -> bool:
    """Whether a store can add it to other such numbers exactly: a finite number with at most 90 digits on either side of the point."""
    _, digits, exponent = value.as_tuple()
    return isinstance(exponent, int) and exponent >= -_COUNTED and len(digits) + exponent <= _COUNTED


def equal(left: Json, right: Json) -> bool:
    """JSON equality: numbers by value (60 == 60.00), never a bool with a number, lists in order, objects by key."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if is_number(left) and is_number(right):
        return number_text(left) == number_text(right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    return type(left) is type(right) and bool(left == right)


def copy(value: Json) -> Json:
    """A deep copy of a JSON value; leaves are immutable and shared."""
    if type(value) is dict:
        for item in value.values():
            if type(item) is dict or type(item) is list:
                return {key: copy(inner) for key, inner in value.items()}
        return value.copy()
    if type(value) is list:
        return [copy(item) for item in value]
    return value


class Embedded(str):
    """A text that a tool's result brought as an embedded resource, or as a link to one."""

    __slots__ = ()


def inside(value: Json, path: Sequence[str]) -> Json:
    """What stands where these keys lead to, one inside the other; None where one of them leads nowhere."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value
