"""Engine: google-re2 where the extra `fast` is installed, or nothing.

May not decide what is hidden: with and without it the findings are the same. Imported on first use, so that importing guard stays cheap.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any


@cache
def re2() -> Any:
    """The package, or None where it is not installed."""
    try:
        return importlib.import_module("re2")
    except ImportError:
        return None
