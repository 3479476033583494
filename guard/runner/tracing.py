"""Tracing: in which trace of the program a call came: for the audit alone, so that a record and the program's own spans find each other.

A server says it for each of its requests (`within`: the `traceparent` of W3C Trace Context, as it came); elsewhere the active span of OpenTelemetry says it,
where the program has loaded that. Nothing is imported for it, and nothing is decided by it. Comes before chat.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FORM = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_came: ContextVar[str] = ContextVar("guard_trace", default="")


def sound(given: object) -> str:
    """The text, where it is a `traceparent` as W3C gives it; else nothing."""
    return given if isinstance(given, str) and _FORM.fullmatch(given) else ""


@contextmanager
def within(given: object) -> Iterator[None]:
    """What is done in here was asked for in this trace. What is no `traceparent` says nothing."""
    token = _came.set(sound(given))
    try:
        yield
    finally:
        _came.reset(token)


def current() -> str:
    """The `traceparent` of the caller; empty where there is none."""
    return _came.get() or (_active() if "opentelemetry.trace" in sys.modules else "")


def _active() -> str:
    """The active span of OpenTelemetry. Whatever that library does: it is not worth a call."""
    try:
        span = sys.modules["opentelemetry.trace"].get_current_span().get_span_context()
        made = f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags) & 1:02x}" if span.is_valid else ""
    except Exception:  # noqa: BLE001 - foreign code
        return ""
    return sound(made)
