"""Progress: how far a long comparison is, on standard error, once a second after the first two. Used by the commands."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import Self

_SILENT, _EVERY = 2.0, 1.0  # seconds


class Progress:
    """`told` is called as often as one likes; it prints rarely."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next: float | None = None

    def told(self, done: int, whole: int) -> None:
        """`done` of `whole`."""
        if self._next is None:  # what is loaded before the first one is no part of how far it is
            self._next = monotonic() + _SILENT
        if monotonic() >= self._next and done < whole:
            self._next = monotonic() + _EVERY
            print(f"{done} of {whole} {self._what}", file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing to close."""
