"""What PostgreSQL's error codes (SQLSTATE) mean to a caller: a StoreError with a code and a text that holds no data.

Never repeats a message of the server or of libpq: those quote values, and a URL's password. Comes before every other `postgres` module.
"""

from __future__ import annotations

from typing import Final

from guard.errors import StoreError

RETRIED: Final = frozenset({"40P01", "40001", "23505"})
"""Deadlock, serialization failure, and a key that somebody else was faster to insert: the same work may be tried again."""

_EXACT: Final = {
    "40P01": ("deadlock", "several writers blocked each other, time and again"),
    "40001": ("deadlock", "several writers were in each other's way, time and again"),
    "23505": ("unavailable", "there is a row with this key already"),
    "23502": ("damaged", "a chain of the audit has no head: it is damaged"),
    "23514": ("payload_key", "its payloads are encrypted, and this program has no key"),
    "57014": ("timeout", "a statement took too long"),
    "55P03": ("timeout", "a lock was not free in time"),
    "25P03": ("timeout", "the transaction took too long"),
    "25P04": ("timeout", "the transaction took too long"),
    "53100": ("disk_full", "the disk is full"),
    "53300": ("unavailable", "it takes no more connections"),
    "25006": ("read_only", "it is read-only"),
    "58030": ("io_error", "the disk reports an error"),
    "XX001": ("damaged", "it is damaged"),
    "XX002": ("damaged", "it is damaged"),
    "57P01": ("connection_lost", "the connection was ended"),
    "57P02": ("connection_lost", "the server crashed"),
    "57P03": ("connection_lost", "the server is not ready"),
    "3D000": ("unavailable", "there is no such database; make it with createdb"),
    "28P01": ("unavailable", "it refused user or password; see ~/.pgpass and PGPASSWORD"),
    "28000": ("unavailable", "it refused user or password; see ~/.pgpass and PGPASSWORD"),
    "42501": ("unavailable", "the user lacks a right; to migrate it must be allowed to create tables in the schema"),
}


_TOLD: Final = (
    (("database", "does not exist"), "3D000"),
    (("password",), "28P01"),
    (("role", "does not exist"), "28000"),
    (("no pg_hba.conf entry",), "28000"),
)
"""What a server says when it does not let somebody in; the state does not come with it."""


def told_state(text: str) -> str:
    """The state that belongs to such a text; empty for any other."""
    return next((state for words, state in _TOLD if all(word in text for word in words)), "")


class FailedError(Exception):
    """A statement failed with this SQLSTATE, or the connection was lost (none). Never leaves the stores."""

    def __init__(self, state: str = "") -> None:
        self.state = state
        super().__init__(state)

    @property
    def lost(self) -> bool:
        """Whether the connection is gone with it."""
        return not self.state or self.state[:2] == "08" or self.state[:4] == "57P0"


def store_error(failed: FailedError) -> StoreError:
    """What the caller is told."""
    if not failed.state or failed.state[:2] == "08":
        return StoreError("the database failed: the connection was lost", code="connection_lost")
    code, text = _EXACT.get(failed.state, ("unavailable", f"it answered {failed.state}"))
    return StoreError(f"the database failed: {text}", code=code)
