"""Persons: the tags by which the records of a person are found, although no record holds the value that names the person. Made as they are written."""

from __future__ import annotations

from collections.abc import Iterable

from guard.core.tags import tag, tenant_key


def tags(value: str, secret: bytes, tenants: Iterable[str]) -> tuple[str, ...]:
    """The tags under which a value such as an e-mail address stands in the records of these tenants."""
    return tuple(tag(tenant_key(secret, tenant), value) for tenant in tenants)
