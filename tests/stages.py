"""Tools that play a script, for the worlds of the property tests: what each call of a tool does is decided beforehand."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from guard.tools import RegisteredTool, registry


@dataclass(frozen=True)
class Give:
    """Return this value."""

    value: Any


@dataclass(frozen=True)
class Break:
    """Raise an exception of this class."""

    kind: type[BaseException]


@dataclass(frozen=True)
class Late:
    """Do not answer before the time-out (tools without one raise instead)."""


Behaviour = Give | Break | Late
SECRET_TEXT = "inner detail: mail jane.doe@corp.example, card 4111 1111 1111 1111"


class Stage:
    """What the tools do, one behaviour a call, and what they were given."""

    def __init__(self, script: Iterable[Behaviour], timed: frozenset[str]) -> None:
        self.script, self.timed = list(script), timed
        self.ran: list[tuple[str, dict[str, Any]]] = []

    def next(self, name: str, arguments: dict[str, Any]) -> Behaviour:
        self.ran.append((name, arguments))
        found: Behaviour = self.script.pop(0) if self.script else Give({"q": "a", "n": 1})
        return Break(TimeoutError) if isinstance(found, Late) and name not in self.timed else found


STAGES: list[Stage] = []
"""The stage of the world that is open now."""


def _end(found: Behaviour) -> Any:
    if isinstance(found, Break):
        raise found.kind(SECRET_TEXT)
    return found.value if isinstance(found, Give) else None


def _plain(name: str) -> Callable[..., Any]:
    def tool(user_id: str = "", q: str = "", n: int = 0) -> Any:
        """Do something."""
        found = STAGES[-1].next(name, {"user_id": user_id, "q": q, "n": n})
        if isinstance(found, Late):
            threading.Event().wait(0.2)
        return _end(found)

    return tool


def _awaited(name: str) -> Callable[..., Any]:
    async def tool(user_id: str = "", q: str = "", n: int = 0) -> Any:
        """Do something."""
        found = STAGES[-1].next(name, {"user_id": user_id, "q": q, "n": n})
        await asyncio.sleep(30 if isinstance(found, Late) else 0)
        return _end(found)

    return tool


NAMES = ("look", "sums", "act", "pay", "ghost")
ACTIONS = ("act", "pay")
TOOLS: dict[str, dict[str, RegisteredTool]] = {
    "sync": registry({name: _plain(name) for name in NAMES}),
    "async": registry({name: _awaited(name) if name in {"look", "act"} else _plain(name) for name in NAMES}),
}
