"""Persons: the keyed hashes by which the records of a person are found, although no record holds the value that names the person. Pure."""

from __future__ import annotations

from guard.core.values import keyed


def tags(value: str, secret: bytes) -> tuple[str, ...]:
    """The hashes under which a value such as an e-mail address may stand: as it was written, and as it is usually written."""
    forms = dict.fromkeys((value, value.strip(), value.strip().lower()))
    return tuple(dict.fromkeys(keyed(secret, form) for form in forms))
