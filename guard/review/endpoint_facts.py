"""Endpoint facts: what differs between two `http:` blocks, each with its direction. Comes after changes; used by tool changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from guard.core.endpoints import Endpoint, Slot, Template
from guard.core.rules import Tool
from guard.review.changes import Direction, Fact, fact, most, permits, words

_ELSEWHERE = "another request is sent"


def endpoint_facts(old: Tool, new: Tool) -> Iterator[Fact]:
    """What is sent, to where, and how far a redirect may lead."""
    one, other = old.endpoint, new.endpoint
    if one is None or other is None:
        if one is not other:
            yield Fact(Direction.MAYBE, "http", _line(one), _line(other), "what stands behind the tool is another thing")
        return
    if _line(one) != _line(other):
        yield Fact(Direction.MAYBE, "http.url", _line(one), _line(other), _ELSEWHERE)
    for name in ("query", "headers", "body", "rest"):
        before, after = getattr(one, name), getattr(other, name)
        if before != after:
            yield Fact(Direction.MAYBE, f"http.{name}", _names(before), _names(after), _ELSEWHERE)
    yield from fact(most(one.redirects, other.redirects), "http.redirects", one.redirects, other.redirects)
    yield from fact(
        permits(sorted(one.hosts), sorted(other.hosts)), "http.hosts", words(sorted(one.hosts)), words(sorted(other.hosts))
    )
    yield from fact(
        permits([*one.networks], [*other.networks]), "http.networks", words([*one.networks]), words([*other.networks])
    )
    yield from fact(most(one.max_bytes, other.max_bytes), "http.max_bytes", one.max_bytes, other.max_bytes)


def _line(point: Endpoint | None) -> str:
    return "a function" if point is None else f"{point.method} {point.scheme}://{point.host}:{point.port}{_spelled(point.path)}"


def _spelled(template: Template) -> str:
    return "".join(f"{'$' if piece.secret else ''}{{{piece.name}}}" if isinstance(piece, Slot) else piece for piece in template)


def _names(part: object) -> str:
    """The names in a part, never its constants: one of them may be a key that should not stand there."""
    if isinstance(part, tuple):
        return words([str(pair[0]) for pair in part if isinstance(pair, tuple)])
    return words(sorted(part)) if isinstance(part, dict) else str(part or "none")
