"""E-mail addresses: found from the at-sign outwards, within a bounded window on both sides, so that hostile texts cost linear time.

A detector of the table in `guard.redactors`; pure. A domain needs a dot and a last label that is no number. `=`, `/`, `?` and `&` are legal
in a local part, yet far more often end what stands before an address (`to=a@example.com`), so they do.
"""

from __future__ import annotations

import re

_AT = re.compile(r"@|%40")
_LOCAL = re.compile(r"[A-Za-z0-9.!#$%'*+^_`{|}~-]{1,64}")  # read backwards, on the reversed window
_WORDS = re.compile(r"[\w.+-]{1,64}")
_QUOTED = re.compile(r'"[^"\n]{1,62}"')
_DOMAIN = re.compile(
    r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.){1,10}(?:xn--[A-Za-z0-9-]{2,59}|[A-Za-z]{2,63})\b",
    re.ASCII,
)
_ANY_DOMAIN = re.compile(r"(?:[\w-]{1,63}\.){1,10}[^\W\d_]{2,63}")
_ADDRESS = re.compile(r"\[(?:IPv6:)?[0-9A-Fa-f:.]{3,45}\]")
_PICTURE = re.compile(r"[1-9](?:\.[0-9])?x\.(?i:png|jpe?g|gif|webp|svg|avif|heic|ico)\b", re.ASCII)
"""Behind the at-sign of a picture's name for screens with more points: `logo@2x.png`."""
_LEAD = "!#$%'*+^`{|}~.-"
"""Signs that may stand in a local part, yet at its start are far more often the text around it."""


def email_gate(text: str) -> bool:
    """Whether there is an at-sign, plain or percent-encoded."""
    return "@" in text or "%40" in text


def email_spans(_key: str | None, text: str) -> list[tuple[int, int]]:
    """The spans of all addresses."""
    found: list[tuple[int, int]] = []
    for match in _AT.finditer(text):
        end = _domain_end(text, match.end())
        start = _local_start(text, match.start()) if end else None
        if end and start is not None:
            found.append((start, end))
    return found


def _domain_end(text: str, start: int) -> int | None:
    """Where the domain that starts here ends; None when there is none."""
    window = text[start : start + 260]
    if _PICTURE.match(window) is not None:
        return None
    match = _DOMAIN.match(window) or _ANY_DOMAIN.match(window) or _ADDRESS.match(window)
    return None if match is None else start + match.end()


def _local_start(text: str, at: int) -> int | None:
    """Where the local part that ends before `at` begins; None when there is none."""
    back = text[max(0, at - 64) : at][::-1]
    match = _QUOTED.match(back) or _LOCAL.match(back) or _WORDS.match(back)
    if match is None:
        return None
    start = at - match.end()
    while start < at - 1 and text[start] in _LEAD:
        start += 1
    return _spelled(text, start, at - 64)


def _spelled(text: str, start: int, least: int) -> int:
    """Where a local part begins that is written in letters with marks or of another alphabet: scripts without capitals need no blank before it."""
    at = start
    while at > max(0, least) and (text[at - 1].lower() != text[at - 1].upper() or text[at - 1] in "0123456789_.+-"):
        at -= 1
    while at < start and text[at] in _LEAD:
        at += 1
    return at
