"""Places: the stores that the crash tests run on, by name. A new one is one line here."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from postgres_kit import database

_open = ExitStack()
atexit.register(_open.close)

URLS: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: f"sqlite:///{folder / 'guard.db'}",
    "postgresql": lambda _: _open.enter_context(database(safe=True)),
}
"""Name → a function from a new folder to the URL of a new, empty store that several processes can open."""
NAMES = tuple(URLS)


def url_of(name: str, folder: Path) -> str:
    """A new store of this kind."""
    return URLS[name](folder)
