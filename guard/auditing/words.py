"""Words: whether a reason or a kind that somebody looks for is one that records have. Who asks for a misspelt one is told, and gets no empty list.

A store may hold codes and kinds of another version, so it is asked before a word is refused. Comes after log and kinds.
"""

from __future__ import annotations

from dataclasses import dataclass

from guard.auditing import kinds
from guard.auditing.log import Log, found
from guard.core.reasons import Reason
from guard.core.searching import Sought


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A word that nothing has: of which field (`reason` or `kind`), what is said of it, and the words that are known."""

    field: str
    word: str
    what: str
    known: tuple[str, ...]


def unknown(log: Log, *, reason: str | None, kind: str | None, tenant: str | None = None) -> Unknown | None:
    """The first of the words that is neither known nor in the records (of one tenant, where one is named)."""
    if reason and reason not in frozenset(Reason) and not _there(log, Sought(reason=reason, tenant=tenant, limit=1)):
        return Unknown(field="reason", word=reason, what="there is no such code", known=tuple(map(str, Reason)))
    if kind and not kinds.known(kind) and not _there(log, Sought(kinds=(kind,), tenant=tenant, limit=1)):
        return Unknown(field="kind", word=kind, what="there is no such kind of record", known=kinds.KINDS)
    return None


def _there(log: Log, asked: Sought) -> bool:
    return next(iter(found(log, asked)), None) is not None
