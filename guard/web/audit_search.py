"""Audit search: which records a query of the console or of its API means, within the tenant of whoever asks. Only reads.

A place in a list (`behind`) is the time of a record in microseconds, its chain and its number. Comes after site; before `audit_pages` and `audit_api`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from guard.auditing import left, moments, persons
from guard.auditing.entry import Entry, entry
from guard.auditing.log import place
from guard.auditing.words import unknown
from guard.core.log import Segment
from guard.core.ports import Store
from guard.core.searching import Sought
from guard.core.unseen import one_line
from guard.policy.problems import meant

FIELDS: Final = (
    ("person", "Person or personal value"), ("tool", "Tool"), ("reason", "Reason"), ("approved_by", "Approved by"), ("conversation", "Conversation"),
    ("kind", "Kind"), ("since", "Since (7d, 2026-11-30)"), ("until", "Until"),
)  # fmt: skip
MARKS: Final = (("refused", "refused"), ("held", "held"), ("spoof", "spoof attempts"), ("shadow", "shadow rules"))
LONGEST: Final = 300
"""Characters of a field."""


def found(query: Mapping[str, str], tenant: str, store: Store, limit: int) -> list[Entry]:
    """The records that a query means, newest first. Raises ValueError with what is wrong with it, in the words of the page."""
    wanted = sought(query, tenant, store, limit)
    none = unknown(store, reason=query.get("reason"), kind=query.get("kind"), tenant=tenant)
    if none is not None:
        cure = meant(none.word.removesuffix("*"), none.known)
        raise ValueError(f"{dict(FIELDS)[none.field]} {one_line(none.word)}: {none.what}{f' ({cure})' if cure else ''}")
    return [entry(each) for each in store.search(wanted)]


def gone(query: Mapping[str, str], tenant: str, store: Store) -> tuple[Segment, ...]:
    """Which of the months that were asked for are not in the store any more."""
    wanted = sought(query, tenant, store, 0)
    return left.left(store, wanted.since, wanted.until)


def sought(query: Mapping[str, str], tenant: str, store: Store, limit: int) -> Sought:
    """The search that a query means. Raises ValueError with what is wrong with it."""

    def text(name: str) -> str | None:
        return query.get(name) or None

    times = {
        name: read(query[name], store.now())
        for name, read in (("since", moments.since), ("until", moments.until))
        if query.get(name)
    }
    who, kind = text("approved_by"), text("kind")
    return Sought(
        tenant=tenant,
        tool=text("tool"),
        reason=text("reason"),
        conversation=persons.conversation(store, text("conversation")),
        actor=persons.names(store, who, tenant, "actor"),
        state="approved" if who else None,
        kinds=(kind,) if kind else ("approval.vote", "approval.resolved") if who else (),
        verdict="refuse" if query.get("refused") else "hold" if query.get("held") else None,
        spoof=bool(query.get("spoof")),
        shadow=bool(query.get("shadow")),
        person=persons.names(store, text("person"), tenant),
        tags=persons.tags(query["person"], store.secret, (tenant,)) if text("person") else (),
        behind=behind(query.get("behind", "")),
        limit=limit,
        since=times.get("since"),
        until=times.get("until"),
    )


def behind(text: str) -> tuple[int, int, int] | None:
    """The place that a text names; None where it names none."""
    parts = text.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdecimal() and len(part) < 18 for part in parts):
        return None
    at, chain, seq = map(int, parts)
    return at, chain, seq


def onward(last: Entry) -> str:
    """The text that names the place of the last record of a page."""
    return ".".join(map(str, place(last.sealed)))
