"""Read: the text of a tool list or an OpenAPI document as one JSON value, numbers with their digits.

JSON by its first character, YAML 1.2 otherwise. A repeated key, a cut text and a value that is no JSON are mistakes here, since they would
mean one thing to this reader and another to the next. Comes after found.
"""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from typing import Any, NoReturn

from guard.core.values import Json, JsonObject
from guard.policy.problems import Problems
from guard.policy.source import File, read_yaml
from guard.review.init.found import SourceError

MAX_BYTES = 20_000_000
"""Bytes of one source."""

MAX_NODES = 1_000_000
"""Values in one YAML source, aliases counted each time they are used."""


def read_text(data: bytes, name: str) -> Json:
    """The value in `data`; `name` stands in messages. Raises SourceError."""
    if len(data) > MAX_BYTES:
        raise SourceError(f"{name}: larger than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SourceError(f"{name}:{line}: not UTF-8") from error
    if not text.strip():
        raise SourceError(f"{name}: empty (a tool list or an OpenAPI document is needed)")
    if text.lstrip()[0] == "<":
        raise SourceError(
            f"{name}: this is a web page, not a tool list or an OpenAPI document (many programs serve /openapi.json)"
        )
    try:
        return _json(text, name) if text.lstrip()[0] in "[{" and not name.endswith((".yaml", ".yml")) else _yaml(data, name)
    except RecursionError:
        raise SourceError(f"{name}: nested too deeply") from None


def _json(text: str, name: str) -> Json:
    try:
        return json.loads(text, parse_float=_decimal, parse_constant=_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            cure = " (JSON Lines? give one line alone: head -n 1 FILE | guard init -)"
            raise SourceError(f"{name}:{error.lineno}: more text behind the first JSON value{cure}") from None
        raise SourceError(f"{name}:{error.lineno}: not JSON: {error.msg}") from None
    except ValueError as error:  # a repeated key, NaN, a number without end
        raise SourceError(f"{name}: {error}") from None


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    if abs(number.adjusted()) > 400:
        raise ValueError(f"the number {text[:40]} is out of every range")
    return number


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice[:80]!a} is written twice in one object; keep one")
    return found


def _yaml(data: bytes, name: str) -> Json:
    problems = Problems()
    item = read_yaml(File(name, data), problems, most=MAX_NODES, any_key=True)
    if problems.errors:
        raise SourceError(str(problems.errors[0]))
    return None if item is None else item.value
