"""Found: one tool as its source describes it, before anything is guessed. Comes before every other file of this package."""

from __future__ import annotations

from dataclasses import dataclass, field

from guard.core.values import JsonObject
from guard.errors import GuardError


class SourceError(GuardError):
    """What was given holds no tools that can be read; the text says why, and what would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A tool. `schema` is the JSON Schema of its arguments, None where the source says nothing about them.

    `method` is the HTTP method behind it. `claims` are a server's own hints about itself (MCP annotations). `written` is false for what has
    its description and schema elsewhere (a Python function). `foreign` says that the words come from somebody else's server.
    """

    name: str
    description: str = ""
    schema: JsonObject | None = None
    method: str = ""
    claims: JsonObject = field(default_factory=dict)
    written: bool = True
    foreign: bool = False
    keyed: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A tool that gets no entry, so that it stays unknown to the policy and every call of it is refused."""

    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What one source holds: its tools in order, what had to be left out, and what kind of source it is."""

    what: str
    tools: tuple[Found, ...]
    left_out: tuple[LeftOut, ...] = ()
