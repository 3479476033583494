"""Stores: where the ledger, approvals, budgets and the audit live, opened by URL.

    memory://                 in this process, gone with it
    sqlite:///guard.db        a file, relative to the working directory
    sqlite:////var/guard.db   a file, absolute
    postgresql://user@host/db a database, shared by the processes of a fleet; needs the extra `postgres`, and `guard serve migrate` first

One row of `SCHEMES` each. Comes after the ports; the policy, the rooms and the wires know nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

from guard.core.ports import Store
from guard.errors import StoreError
from guard.extras import install
from guard.stores.payload_keys import Keyring

if TYPE_CHECKING:
    from guard.stores.ledger import LedgerStore

Clock = Callable[[], float]


def _memory(rest: str, clock: Clock | None, keys: Keyring | None) -> LedgerStore:  # noqa: ARG001 - nothing of it leaves the process
    from guard.stores.memory import memory_store  # noqa: PLC0415 - a store is imported when it is opened

    if rest:
        raise StoreError("memory:// takes nothing behind it")
    return memory_store(clock=clock or time.time)


def _sqlite(rest: str, clock: Clock | None, keys: Keyring | None) -> LedgerStore:
    from guard.stores.sqlite import sqlite_store  # noqa: PLC0415 - a store is imported when it is opened

    path = rest.removeprefix("/")
    if path == rest or not path or path.endswith("/") or any(mark in path for mark in "?#\0") or path.startswith(":"):
        raise StoreError(
            "write sqlite:///relative.db or sqlite:////absolute.db, without options; memory:// keeps nothing on disk"
        )
    return sqlite_store(path, clock=clock or time.time, keys=keys)


def needs_postgres() -> ModuleType:
    """The module of the PostgreSQL store. Raises StoreError, with what to install, where psycopg is missing."""
    try:
        from guard.stores import postgres  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"psycopg", "psycopg_binary", ""}:
            raise
        raise StoreError(f"postgresql:// needs one more package: {install('postgres')}") from error
    return postgres


def _postgres(scheme: str, rest: str, clock: Clock | None, keys: Keyring | None) -> LedgerStore:
    store: LedgerStore = needs_postgres().postgres_store(f"{scheme}://{rest}", clock=clock, keys=keys)
    return store


SCHEMES: dict[str, Callable[[str, Clock | None, Keyring | None], LedgerStore]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "postgresql": partial(_postgres, "postgresql"),
    "postgres": partial(_postgres, "postgres"),
}


def _known() -> str:
    return ", ".join(f"{name}://" for name in SCHEMES if name != "postgres")


def open_store(
    url: str, *, clock: Clock | None = None, keys: Keyring | None = None, locked: bool = False, batch: float | None = None
) -> Store:
    """Open the store that `url` names. Raises StoreError when that cannot be done.

    `clock` gives seconds since the epoch; without one, time is this machine's, or the server's where the store has one.
    `keys` encrypt the payloads; see `payload_keys`. Without them a store whose payloads are encrypted is not opened, unless it may stay `locked`: then
    only its other tables can be read. `batch`: seconds that records of allowed look-ups may wait; see `batching`.
    """
    scheme, mark, rest = url.partition("://")
    opener = SCHEMES.get(scheme) if mark else None
    if opener is None:
        cure = "" if mark else "; write sqlite:///guard.db"
        raise StoreError(f"there is no store of this kind; known: {_known()}{cure}")
    store = opener(rest, clock, keys)
    try:
        if not locked:
            store.check_key()
        if batch:
            store.batch(batch)
    except StoreError:
        store.close()
        raise
    return store
