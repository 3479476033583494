"""Cookies: those of a session in headers that send or set them: whoever has one is logged in, whatever its name says.

Pure; part of `secret`.
"""

from __future__ import annotations

import re

from guard.redactors.given import looks

_HEADER = re.compile(r"(?i:cookie):[ \t]{0,8}(?P<rest>[^\r\n]+)")
_COOKIE = re.compile(r"(?P<name>[A-Za-z0-9_.-]{1,60})=(?P<value>[^;, \t\r\n\"']{8,1000})")
_SESSION = re.compile("(?i:sess|sid|auth|jwt|remember|login|csrf|xsrf)")


def cookie_spans(text: str) -> list[tuple[int, int]]:
    """The spans of the values of cookies that stand for a session."""
    return [
        cookie.span("value")
        for header in _HEADER.finditer(text)
        for cookie in _COOKIE.finditer(text, *header.span("rest"))
        if _SESSION.search(cookie["name"]) is not None and looks(cookie["value"], least=8)
    ]
