"""Parse: the first room. `ToolCall` → `ParsedCall`: one strict JSON object for a tool that the policy knows and this chat offers.

Decoded once; everybody after uses this value. Cut, glued, double-encoded or ambiguous text is refused, never repaired. Comes before
bind; may not look at the session's values.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from guard.core.ceilings import Ceilings
from guard.core.model import ParsedCall, Refusal, ToolCall
from guard.core.reasons import Reason
from guard.core.rules import Tool
from guard.core.values import Json, JsonObject

MAX_EXPONENT = 4_000  # a number with a longer exponent cannot be compared without building it
_PLAIN = frozenset({str, int, bool, type(None), Decimal})


class _UnfitError(ValueError):
    """Text that is JSON to some readers but not to all of them."""


class _TooLargeError(ValueError):
    """More bytes, levels or items than a call may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Which tool names mean something here: `offered` may be proposed, `visible` may be told, `unlisted` have no policy entry."""

    offered: frozenset[str]
    visible: frozenset[str]
    unlisted: frozenset[str] = frozenset()


def parse(call: ToolCall, tools: Mapping[str, Tool], names: Names) -> ParsedCall | Refusal:
    """Decode the arguments of `call`, if its tool is known here."""
    tool = tools.get(call.tool)
    if tool is None or call.tool not in names.offered:
        return _unknown(call.tool, names, known=tool is not None)
    try:
        arguments = _decode(call.arguments, tool)
    except json.JSONDecodeError as error:
        return _malformed(call, f"Not valid JSON at character {error.pos}: {error.msg}.")
    except _UnfitError as error:
        return _malformed(call, str(error))
    except (_TooLargeError, RecursionError) as error:
        text = str(error) if isinstance(error, _TooLargeError) else f"Nested deeper than {tool.ceilings.arguments_depth} levels."
        return Refusal(reason=Reason.ARGUMENTS_TOO_LARGE, detail=text)
    return ParsedCall(call=call, tool=tool, arguments=arguments)


def _unknown(name: str, names: Names, *, known: bool) -> Refusal:
    if name in names.unlisted:
        return Refusal(reason=Reason.NO_POLICY)
    extra: JsonObject = {"known_tools": sorted(names.visible)}
    if known:
        return Refusal(reason=Reason.NOT_OFFERED, extra=extra)
    near = difflib.get_close_matches(name, extra["known_tools"], 1)
    if near:
        extra["nearest"] = near[0]
    return Refusal(reason=Reason.UNKNOWN_TOOL, extra=extra)


def _malformed(call: ToolCall, text: str) -> Refusal:
    return Refusal(reason=Reason.MALFORMED_ARGUMENTS, detail=f"{call.tool}: {text}")


def _decode(raw: str | Mapping[str, Json] | None, tool: Tool) -> JsonObject:
    if raw is None:
        return {}
    most = tool.ceilings
    if not isinstance(raw, str):
        return _object(_exact(raw, 0, _Left(most)))
    _Left(most).read(raw)
    if not raw.strip():
        return {}  # a tool with required fields refuses this in validate, naming them
    value = _text(raw, most)
    if isinstance(value, str):
        if not tool.unwrap:
            raise _UnfitError("The arguments are text that holds JSON. Send the object itself, encoded once.")
        value = _text(value, most)
    return _object(value)


def _object(value: Json) -> JsonObject:
    if type(value) is not dict:
        raise _UnfitError("The top level must be an object.")
    return value


def _text(raw: str, most: Ceilings) -> Json:
    value = _STRICT(raw)
    if type(value) is dict and len(value) <= most.arguments_items and _PLAIN.issuperset(map(type, value.values())):
        nested = False
    else:
        nested = True
        _bounds(value, 0, _Left(most))
    if "\\u" in raw or not raw.isascii():
        _whole_characters(value, nested=nested)
    return value


def _pairs(pairs: list[tuple[str, Json]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _UnfitError(f"The key {key!r} is given more than once.")
            seen.add(key)
    return found


def _constant(name: str) -> Any:
    raise _UnfitError(f"{name} is not JSON.")


def _fraction(text: str) -> Decimal:
    return _bounded(Decimal(text))


def _bounded(value: Decimal) -> Decimal:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > MAX_EXPONENT or abs(value.adjusted()) > MAX_EXPONENT:
        raise _UnfitError("A number is too large or too small to be exact.")
    return value


def _whole(text: str) -> int:
    if len(text) > MAX_EXPONENT:
        raise _UnfitError("A number is too large or too small to be exact.")
    return int(text)


_STRICT = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_fraction, parse_int=_whole).decode


class _Left:
    """What a recursion may still use, shared by all its branches: levels, items and, of a decoded value, bytes."""

    __slots__ = ("bytes", "items", "most")

    def __init__(self, most: Ceilings) -> None:
        self.most, self.items, self.bytes = most, most.arguments_items, most.arguments_bytes

    def level(self, depth: int) -> None:
        if depth > self.most.arguments_depth:
            raise _TooLargeError(f"Nested deeper than {self.most.arguments_depth} levels.")

    def take(self, items: int) -> None:
        self.items -= items
        if self.items < 0:
            raise _TooLargeError(f"More than {self.most.arguments_items} values.")

    def read(self, text: str) -> None:
        self.bytes -= len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if self.bytes < 0:
            raise _TooLargeError(f"The arguments are longer than {self.most.arguments_bytes} bytes.")


def _bounds(value: Json, depth: int, left: _Left) -> None:
    """Count levels and items."""
    left.level(depth)
    items = value.values() if type(value) is dict else value if type(value) is list else ()
    left.take(len(items))
    for item in items:
        if type(item) is dict or type(item) is list:
            _bounds(item, depth + 1, left)


def _whole_characters(value: Json, *, nested: bool) -> None:
    """Refuse half a surrogate pair: it cannot be written as UTF-8, so a log or store would fail on it."""
    if type(value) is str:
        if not value.isascii():
            _encodable(value)
    elif type(value) is dict:
        for key, item in value.items():
            _encodable(key)
            if nested or type(item) is str:
                _whole_characters(item, nested=nested)
    elif type(value) is list:
        for item in value:
            _whole_characters(item, nested=nested)


def _encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _UnfitError("Half a character: an escaped surrogate without its other half.") from None


def _exact(value: Json, depth: int, left: _Left) -> Json:
    """A copy of an already decoded value with exact numbers; refuses what JSON cannot say."""
    left.level(depth)
    kind = type(value)
    if kind is str:
        _encodable(value)
        left.read(value)
        return value
    if value is None or kind is bool:
        return value
    if kind is int:
        return _whole(str(value)) if abs(value) >= 1 << 512 else value
    if isinstance(value, Mapping):
        left.take(len(value))
        return {_key(key, left): _exact(item, depth + 1, left) for key, item in value.items()}
    if isinstance(value, list | tuple):
        left.take(len(value))
        return [_exact(item, depth + 1, left) for item in value]
    return _number(value)


def _key(key: object, left: _Left) -> str:
    if type(key) is not str:
        raise _UnfitError("Every key must be text.")
    _encodable(key)
    left.read(key)
    return key


def _number(value: object) -> Decimal:
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    if not isinstance(exact, Decimal):
        raise _UnfitError(f"A value of type {type(value).__name__} is not JSON.")
    if not exact.is_finite():
        raise _UnfitError("NaN and Infinity are not JSON.")
    return _bounded(exact)
