"""Persons: the keyed hashes by which the records of a person are found, although no record holds the value that names the person. Pure.

The recipe is that of whoever writes them: a key of the tenant, made of the store's, over one spelling of the value.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from guard.core.values import keyed

SIZE: Final = 32
"""Hexadecimal digits of a keyed hash."""
_SIGNS = re.compile(r"[\s().\-/+:]")
_FEWEST: Final = 5  # digits of what may be spelled with and without signs between them


def tags(value: str, secret: bytes, tenants: Iterable[str]) -> tuple[str, ...]:
    """The hashes under which a value such as an e-mail address stands in the records of these tenants."""
    return tuple(tag(bytes.fromhex(keyed(secret, f"guard-tags-v1\0{tenant}")), value) for tenant in tenants)


def tag(key: bytes, value: str) -> str:
    """The hash of a value, however it is spelled."""
    return keyed(key, _spelled(value))[:SIZE]


def _spelled(value: str) -> str:
    text = unicodedata.normalize("NFKC", value).strip().casefold()
    if "@" in text:
        return text
    bare = _SIGNS.sub("", text)
    if bare.isalnum() and sum(map(str.isdigit, bare)) >= _FEWEST:
        return bare[2:] if text.startswith("00") else bare
    return " ".join(text.split())
