"""Counting: what a host gives to count tokens with, made a function: its own, or an encoding of tiktoken by name.

The package is an extra and imported here alone; its table of an encoding is fetched by itself on first use, unless it lies in its cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from guard.core.budget import approximate
from guard.errors import GuardError
from guard.extras import install


def counting(given: Callable[[str], int] | str | None) -> Callable[[str], int]:
    """The function; the estimate where nothing is given. Raises GuardError where nothing can be counted with it."""
    if given is None:
        return approximate
    if isinstance(given, str):
        return _encoding(given)
    if not callable(given):
        raise GuardError("count_tokens= takes a function of a text that gives a whole number, or the name of an encoding")
    try:
        found: Any = given("a")
    except Exception as error:
        raise GuardError(f"count_tokens= cannot count the tokens of a text: {type(error).__name__}") from error
    if type(found) is not int or found < 0:
        raise GuardError(f"count_tokens= gives {type(found).__name__}, not a whole number from 0 up")
    return given


def _encoding(name: str) -> Callable[[str], int]:
    try:
        import tiktoken  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an extra
    except ImportError:
        raise GuardError(f"counting by an encoding needs tiktoken: {install('tokens')}") from None
    try:
        encoding: Any = tiktoken.get_encoding(name)
    except Exception as error:
        raise GuardError(f"the encoding {name!r} cannot be loaded: {type(error).__name__}") from error
    return lambda text: len(encoding.encode_ordinary(text))
