"""YAML text: JSON values as lines of YAML 1.2 that no reader takes for anything else. Pure; knows no key of the policy. Comes before text.

A text stands plain only where it is a few plain words; everything else is double-quoted, and what a reader could not see is escaped.
Whoever writes a file reads it back and compares (`guard init` does), so that a mistake here cannot become a policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

from guard.core.values import Json, decimal_text
from guard.policy.problems import is_invisible

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_.]*(?:[ /-][A-Za-z0-9_.]+)*")
_WORDS = frozenset(
    ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"]
)  # texts that some reader of YAML takes for something else
_SHORT = 100
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def scalar(value: Json) -> str:
    """A text, number, true, false or null on one line."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    return decimal_text(value) if isinstance(value, Decimal) else str(value)


def text(value: str) -> str:
    """A text, plain or in double quotes."""
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return f'"{"".join(map(_char, value))}"'


def _char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if not (is_invisible(char) or char < " " or char == "\x7f"):
        return char
    number = ord(char)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def flow(value: Json) -> str:
    """A whole value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{text(key)}: {flow(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def block(key: str, value: Json, indent: int) -> Iterator[str]:
    """`key: value`, on one line where that is short and flat, else line by line."""
    start = f"{' ' * indent}{text(key)}:"
    if not isinstance(value, Mapping | list | tuple) or not value or _is_short(value):
        yield f"{start} {flow(value)}"
    elif isinstance(value, Mapping):
        yield start
        for name, below in value.items():
            yield from block(name, below, indent + 2)
    else:
        yield start
        for below in value:
            yield f"{' ' * (indent + 2)}- {flow(below)}"


def _is_short(value: Json) -> bool:
    below = value.values() if isinstance(value, Mapping) else value
    flat = not any(isinstance(one, Mapping | list | tuple) and one for one in below)
    return flat and len(flow(value)) <= _SHORT
