"""Haste: a call of the store whose caller may not wait, since others wait for him: it begins within a stated moment, or nothing of it is done.

Only what waits for somebody else is cut short: another process that writes, this process's writer, records that are being written. The disk takes
what it takes. Belongs to the thread that makes the call. Comes before `batching`, `writer` and `sqlite`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from guard.errors import StoreError

T = TypeVar("T")


class LaterError(StoreError):
    """The call would have had to wait for somebody: nothing was done, and it may be made again as it is."""

    def __init__(self) -> None:
        super().__init__("the database is busy", code="locked")


class _Haste(threading.local):
    seconds: float | None = None


_HASTE = _Haste()


def hastily(call: Callable[[], T], within: float) -> tuple[T] | None:
    """What `call` gives; None where its first transaction that writes could not begin within so many seconds: then nothing was done."""
    _HASTE.seconds = within
    try:
        return (call(),)
    except LaterError:
        return None
    finally:
        _HASTE.seconds = None


def in_haste() -> float | None:
    """Seconds within which this thread's next transaction has to begin; None: it may wait."""
    return _HASTE.seconds


def begins() -> None:
    """The transaction has begun: from here on its call is made once, whatever comes."""
    _HASTE.seconds = None
