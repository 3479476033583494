"""Engine: google-re2 where the extra `fast` is installed, or the standard library.

May not decide what is hidden: with and without it the findings are the same. Imported on first use, so that importing guard stays cheap.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def re2() -> Any:
    """The package, or None where it is not installed."""
    try:
        return importlib.import_module("re2")
    except ImportError:
        return None


def finder(pattern: str) -> Callable[[str], list[tuple[int, int]]]:
    """A function that finds the spans of a pattern: by RE2, or where that is missing by the standard library."""
    engine = re2()
    if engine is None:
        plain = re.compile(pattern, re.ASCII)
        return lambda text: [match.span() for match in plain.finditer(text) if match.group()]
    options = engine.Options()
    options.log_errors = False
    compiled = engine.compile(pattern, options)
    return lambda text: [match.span() for match in compiled.finditer(_sound(text)) if match.group()]


def _sound(text: str) -> str:
    """The text with a question mark for each half of a pair, which has no bytes."""
    return (
        text
        if text.isascii()
        else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\ufffd", "?")
    )
