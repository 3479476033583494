"""Cookies: those of a session in headers that send or set them: whoever has one is logged in, whatever its name says.

Pure; part of `secret`.
"""

from __future__ import annotations

import re

from guard.redactors.given import looks

_HEADER = re.compile(r"(?i:cookie):[ \t]{0,8}(?P<rest>[^\r\n]+)")
_COOKIE = re.compile(r"(?P<name>[A-Za-z0-9_.-]{1,60})=(?P<value>[^;, \t\r\n\"']{8,1000})")
_SESSION = re.compile("(?i:sess(?:ion)?(?:[_-]?id)?|sid|auth|jwt|remember|login|csrf|xsrf|token)[^a-z]")
_COUNTS = re.compile("(?i:time|times|count|expires|expiry|until|at|age)[^a-z]")


def cookie_spans(text: str) -> list[tuple[int, int]]:
    """The spans of the values of cookies that stand for a session."""
    return [
        cookie.span("value")
        for header in _HEADER.finditer(text)
        for cookie in _COOKIE.finditer(text, *header.span("rest"))
        if _names(cookie["name"]) and looks(cookie["value"], least=8)
    ]


def _names(name: str) -> bool:
    """Whether a cookie's name says that it stands for a session, and not for a time or number of them."""
    whole = f"{name}_"  # each word ends before something
    session = list(_SESSION.finditer(whole))
    return bool(session) and _COUNTS.search(whole, session[-1].end() - 1) is None
