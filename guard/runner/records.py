"""Records: what a loader of the host gave, as a record that rules may read: an object with fields, or None where there is none.

Anything else is no answer: a text, a number, a list or something that would have to be awaited is never a record that was found. May not decide
what lacking it means. Used by both drivers, and where a loader is registered.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from guard.core.values import Json
from guard.tools import normalise


def record(value: object) -> Json:
    """The record as JSON. Raises TypeError for what is none."""
    if value is None:
        return None
    if inspect.isawaitable(value):
        close = getattr(value, "close", None)
        if callable(close):
            close()
        raise TypeError("a loader gave something to be awaited: use AsyncGuard, or a plain function")
    found = normalise(value).value
    if type(found) is not dict:
        raise TypeError(f"a loader gives a record with fields, or None; this one gave a {type(value).__name__}")
    return found


def awaits(loader: Callable[..., Any]) -> bool:
    """Whether a loader is an async function, or an object that is called like one."""
    return inspect.iscoroutinefunction(loader) or inspect.iscoroutinefunction(getattr(loader, "__call__", None))  # noqa: B004
