"""Persons: the tags and names by which the records of a person, or of a conversation, are found although no record holds what names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from guard.auditing.log import Log, tenants
from guard.core.names import is_reference
from guard.core.persons import kept_as, reference
from guard.core.searching import Sought
from guard.core.tags import spelled, tag, tenant_key


def tags(value: str, secret: bytes, tenants: Iterable[str]) -> tuple[str, ...]:
    """The tags under which a value such as an e-mail address stands in the records of these tenants."""
    return tuple(tag(tenant_key(secret, tenant), value) for tenant in tenants)


def names(log: Log, who: str | None, tenant: str | None, field: str = "principal") -> str | tuple[str, ...] | None:
    """Everything that somebody stands as in the records, in this field of a search: their name, and references to it.

    A text like a reference is the name of whoever is called so; where no record knows anybody of that name, it is the reference that it looks like.
    """
    if not who:
        return None
    where, written = (tenant,) if tenant else tenants(log), dict.fromkeys((who, spelled(who)))
    references = tuple(reference(tenant_key(log.secret, one), text) for one in where for text in written)
    if is_reference(who):
        return _there(log, field, references, who)
    return _there(log, field, (who, *references))


def conversation(log: Log, name: str | None) -> str | tuple[str, ...] | None:
    """Everything that a conversation stands as in the records."""
    return _there(log, "conversation", (name, kept_as(log.secret, "conversation", name))) if name else None


def _there(log: Log, field: str, spellings: Sequence[str], otherwise: str | None = None) -> str | tuple[str, ...]:
    """Those that some record holds: of most people there is one. Where there is none, `otherwise` or the first one."""
    found = tuple(one for one in spellings if log.search(Sought(**{field: one}, limit=1)))  # type: ignore[arg-type]
    return found if len(found) > 1 else found[0] if found else otherwise or spellings[0]
