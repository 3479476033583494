"""Stores: where the ledger, approvals, budgets and the audit live, opened by URL.

    memory://                 in this process, gone with it
    sqlite:///guard.db        a file, relative to the working directory
    sqlite:////var/guard.db   a file, absolute

One row of `SCHEMES` each. Comes after the ports; the policy, the rooms and the wires know nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from guard.core.ports import Store
from guard.errors import StoreError

Clock = Callable[[], float]


def _memory(rest: str, clock: Clock) -> Store:
    from guard.stores.memory import memory_store  # noqa: PLC0415 - a store is imported when it is opened

    if rest:
        raise StoreError("memory:// takes nothing behind it")
    return memory_store(clock=clock)


def _sqlite(rest: str, clock: Clock) -> Store:
    from guard.stores.sqlite import sqlite_store  # noqa: PLC0415 - a store is imported when it is opened

    path = rest.removeprefix("/")
    if path == rest or not path or path.endswith("/") or any(mark in path for mark in "?#\0") or path.startswith(":"):
        raise StoreError(
            "write sqlite:///relative.db or sqlite:////absolute.db, without options; memory:// keeps nothing on disk"
        )
    return sqlite_store(path, clock=clock)


def _later(_rest: str, _clock: Clock) -> Store:
    raise StoreError(f"postgresql:// is not available yet; known: {_known()}")


SCHEMES: dict[str, Callable[[str, Clock], Store]] = {"memory": _memory, "sqlite": _sqlite, "postgresql": _later}


def _known() -> str:
    return ", ".join(f"{name}://" for name, opener in SCHEMES.items() if opener is not _later)


def open_store(url: str, *, clock: Clock | None = None) -> Store:
    """Open the store that `url` names. `clock` gives seconds since the epoch. Raises StoreError when that cannot be done."""
    scheme, mark, rest = url.partition("://")
    opener = SCHEMES.get(scheme) if mark else None
    if opener is None:
        cure = "" if mark else "; write sqlite:///guard.db"
        raise StoreError(f"there is no store of this kind; known: {_known()}{cure}")
    return opener(rest, time.time if clock is None else clock)
