"""Endpoints: an HTTP request that a policy describes as a tool: where it goes, and which argument stands where. Data only.

`guard.policy` builds an Endpoint at load, and `guard.tools` sends it. Comes before rules; may not open connections or know of calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from guard.core.values import encode, is_number

Method: TypeAlias = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
METHODS: tuple[Method, ...] = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
Rest: TypeAlias = Literal["json", "form", "query", "none"]
"""Where the arguments go that no template names."""

RESPONSE_BYTES = 1_000_000
"""How much of an answer is read, where `max_bytes` says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The place of an argument (`{name}`), or of a secret from the environment (`${NAME}`)."""

    name: str
    secret: bool = False


Template: TypeAlias = tuple[str | Slot, ...]
"""Constant pieces and slots, in order. In a body, one slot and nothing else keeps the type of its argument."""

Shape: TypeAlias = Any
"""A body as it is written: JSON with a Template in the place of each text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One endpoint. Scheme, host and port are constants; arguments fill places in path, query, headers and body.

    `hosts` are further hosts that a redirect may lead to, `networks` the networks that an address may be in although they are not public.
    """

    method: Method
    scheme: Literal["http", "https"]
    host: str
    port: int
    path: Template
    query: tuple[tuple[str, Template], ...] = ()
    headers: tuple[tuple[str, Template], ...] = ()
    body: Shape = None
    rest: Rest = "none"
    redirects: int = 0
    hosts: frozenset[str] = frozenset()
    networks: tuple[str, ...] = ()
    max_bytes: int = RESPONSE_BYTES

    @property
    def named(self) -> frozenset[str]:
        """The arguments that a template names."""
        return frozenset(slot.name for slot in self.slots() if not slot.secret)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The environment variables that are needed, each once."""
        return tuple(dict.fromkeys(slot.name for slot in self.slots() if slot.secret))

    @property
    def texts(self) -> frozenset[str]:
        """The arguments that stand in a path, a query or a header: they are written as text there."""
        return frozenset(slot.name for slot in self._heads() if not slot.secret)

    def slots(self) -> list[Slot]:
        """Every slot, in order."""
        return [*self._heads(), *slots_of(self.body)]

    def _heads(self) -> list[Slot]:
        templates = (self.path, *(one for _, one in self.query), *(one for _, one in self.headers))
        return [slot for template in templates for slot in slots_of(template)]


def slots_of(shape: Shape) -> list[Slot]:
    """The slots of a template or of a whole body."""
    if isinstance(shape, Slot):
        return [shape]
    below = shape.values() if isinstance(shape, dict) else shape if isinstance(shape, list | tuple) else ()
    return [slot for one in below for slot in slots_of(one)]


def value_text(value: Any) -> str | None:
    """An argument as it stands in a text: numbers with their digits. None for what has no such form."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return encode(value) if is_number(value) else None
