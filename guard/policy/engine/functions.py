"""Functions: what a matcher can call, with Casbin's own answers and without its traps.

The patterns are Casbin's. Two answers differ on purpose: a value with a line break is an error, since `$` and `.` let it slip past a pattern
(an error in a deny counts as a match), and `*` of a glob may stand for nothing, as Casbin's examples say. Comes before syntax.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any

NAMES = (
    "keyMatch",
    "keyMatch2",
    "keyMatch3",
    "keyMatch4",
    "keyMatch5",
    "regexMatch",
    "globMatch",
    "ipMatch",
    "timeMatch",
)
PATTERNS = {"keyMatch2", "keyMatch3", "keyMatch4", "keyMatch5", "regexMatch", "globMatch"}
CLOCK = "timeMatch"
MAX_PATTERNS = 4096
"""Patterns that are kept prepared, for each policy."""


def table() -> Mapping[str, Callable[..., bool]]:
    """A fresh table: what its functions keep belongs to one policy."""
    from casbin.util import builtin_operators as own  # noqa: PLC0415 - loaded with the first policy

    return {
        "keyMatch": _texts(own.key_match_func),
        "keyMatch2": _prepared(key2),
        "keyMatch3": _prepared(key3),
        "keyMatch4": _one_line(own.key_match4_func),
        "keyMatch5": _prepared(key5, without_query=True),
        "regexMatch": _prepared(lambda pattern: pattern),
        "globMatch": _one_line(functools.partial(_glob, own.glob_match_func)),
        "ipMatch": _networks(),
        "timeMatch": own.time_match_func,
    }


def key2(pattern: str) -> str:
    """The regular expression that keyMatch2 makes of a pattern."""
    made = re.sub(r"(.*?):[^\/]+(.*?)", r"\g<1>[^\/]+\g<2>", pattern.replace("/*", "/.*"))
    return "^(.*)$" if made == "*" else f"^{made}$"


def key3(pattern: str) -> str:
    """The same for keyMatch3."""
    return "^" + re.sub(r"(.*?){[^\/]+?}(.*?)", r"\g<1>[^\/]+\g<2>", pattern.replace("/*", "/.*")) + "$"


def key5(pattern: str) -> str:
    """The same for keyMatch5."""
    return "^" + re.sub(r"{[^/]+}", r"[^/]+", pattern.replace("/*", "/.*")) + "$"


def _texts(function: Callable[..., Any]) -> Callable[..., bool]:
    def match(value: Any, pattern: Any) -> bool:
        if type(value) is not str or type(pattern) is not str:
            raise TypeError("a pattern compares texts")
        return bool(function(value, pattern))

    return match


def _one_line(function: Callable[..., Any]) -> Callable[..., bool]:
    inner = _texts(function)

    def match(value: Any, pattern: Any) -> bool:
        if type(value) is str and "\n" in value:
            raise ValueError("a line break in a value that a pattern judges")
        return inner(value, pattern)

    return match


def _prepared(make: Callable[[str], str], *, without_query: bool = False) -> Callable[..., bool]:
    """A pattern that becomes a regular expression once. Python's own memory of them overflows at a few hundred."""
    prepare = functools.lru_cache(MAX_PATTERNS)(lambda pattern: re.compile(make(pattern)).match)

    def match(value: str, pattern: str) -> bool:
        return prepare(pattern)(value.partition("?")[0] if without_query else value) is not None

    return _one_line(match)


def _glob(own: Callable[..., Any], value: str, pattern: str) -> bool:
    """Casbin's glob; besides, a part of the pattern that is only `*` may stand for nothing."""
    parts, wanted = value.split("/"), pattern.split("/")
    if len(parts) == len(wanted):
        pairs = zip(parts[1:], wanted[1:], strict=True)
        value = "/".join([parts[0], *("_" if not part and one == "*" else part for part, one in pairs)])
    return bool(own(value, pattern))


def _networks() -> Callable[..., bool]:
    @functools.lru_cache(MAX_PATTERNS)
    def network(text: str) -> Any:
        return ipaddress.ip_network(text, strict=False)

    def match(value: Any, pattern: Any) -> bool:
        return ipaddress.ip_address(value) in network(pattern)

    return _texts(match)
