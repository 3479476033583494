"""Collecting: the search for circles of dead objects, less often while a command runs: a policy of thousands of tools is many objects that all live.

Puts back what it found. Used by main.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 100_000
"""New objects between two looks at the newest."""


@contextmanager
def seldom() -> Iterator[None]:
    """For the time of one command."""
    before = gc.get_threshold()
    gc.set_threshold(max(SELDOM, before[0]) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
