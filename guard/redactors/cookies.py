"""Cookies: those of a session in headers that send or set them, and under keys that name cookies: whoever has one is logged in, whatever its name says.

Pure; part of `secret`.
"""

from __future__ import annotations

import re

from guard.core.redaction import CELL, LABEL
from guard.redactors.given import looks
from guard.redactors.keys import names_of, word_list

_HEADER = re.compile(r"(?i:cookie):[ \t]{0,8}(?P<rest>[^\r\n]+)")
_COOKIE = re.compile(r"(?P<name>[A-Za-z0-9_.-]{1,60})=(?P<value>[^;, \t\r\n\"']{8,1000})")
_SESSION = re.compile("(?i:sess(?:ion)?(?:[_-]?id)?|sid|auth|jwt|remember|login|csrf|xsrf|token)[^a-z]")
_COUNTS = re.compile("(?i:time|times|count|expires|expiry|until|at|age)[^a-z]")


_WORDS = frozenset({"cookie", "cookies"})
_HOLDS, _IS = 1, 2
"""What a key says of its value: a header with cookies, or a cookie of a session."""


class _Keys(dict[str, int]):
    """What keys say of cookies; remembers the last few thousand keys."""

    def __missing__(self, key: str) -> int:
        if len(self) >= 4096:
            self.clear()
        names = names_of(key) if "cookie" in key.lower() else []
        own = names.pop(-2 if names[-2:-1] and names[-2][:1] in (LABEL, CELL) else -1).lstrip(LABEL + CELL) if names else ""
        tells = not _WORDS.isdisjoint(word_list(own))
        within = tells or any(not _WORDS.isdisjoint(word_list(name)) for name in names)
        found = _IS if within and _names(own) else _HOLDS if tells else 0
        self[key] = found
        return found


_KEYS = _Keys()


def cookies_under(key: str, text: str) -> list[tuple[int, int]]:
    """The spans of such values in a text under a key that names cookies: `Set-Cookie`, or `sessionid` below `cookies`."""
    said = _KEYS[key]
    if said == _IS and "=" not in text.rstrip("="):
        return [(0, len(text))] if looks(text, least=8) else []
    return _spans(text, 0, len(text)) if said else []


def cookie_spans(text: str) -> list[tuple[int, int]]:
    """The spans of the values of cookies that stand for a session."""
    return [span for header in _HEADER.finditer(text) for span in _spans(text, *header.span("rest"))]


def _spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    found = _COOKIE.finditer(text, start, end)
    return [cookie.span("value") for cookie in found if _names(cookie["name"]) and looks(cookie["value"], least=8)]


def _names(name: str) -> bool:
    """Whether a cookie's name says that it stands for a session, and not for a time or number of them."""
    whole = f"{name}_"  # each word ends before something
    session = list(_SESSION.finditer(whole))
    return bool(session) and _COUNTS.search(whole, session[-1].end() - 1) is None
