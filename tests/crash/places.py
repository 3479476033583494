"""Places: the stores that the crash tests run on, by name. A new one is one line here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

URLS: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: f"sqlite:///{folder / 'guard.db'}",
}
"""Name → a function from a new folder to the URL of a new, empty store that several processes can open."""
NAMES = tuple(URLS)


def url_of(name: str, folder: Path) -> str:
    """A new store of this kind."""
    return URLS[name](folder)
