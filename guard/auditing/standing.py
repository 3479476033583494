"""Standing: the calls of a month that ran under a standing grant, by grant, and what a record of a change says. Only reads.

Comes after `log`, before `month`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from guard.auditing.entry import Entry
from guard.auditing.log import Log, found
from guard.core.briefing import utc
from guard.core.kills import Stop, words
from guard.core.searching import Sought
from guard.core.values import JsonObject, is_number

KINDS: Final = ("grant.used",)
"""What is on record of each call that a grant answered."""
_SCOPE: Final = {"tool": ("tool", "name"), "conversation": ("conversation",), "tenant": ("tenant",)}
MOST: Final = 20_000
"""Uses that are read for the list of one month."""


def grants(log: Log, window: Sought, most: int) -> JsonObject:
    """Each grant that was used in the window (whose kinds are `KINDS`), the most used first: its scope, tool, person and approval, and how often."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    read = 0
    for one in found(log, window):
        read += 1
        row = rows.setdefault((one.text("tenant"), one.text("grant", "id")), {**_of(one), "uses": 0})
        row["uses"] += 1
        row |= {"last": one.text("ts"), "left": one.at("grant", "left")}
    ordered = sorted(rows.values(), key=lambda row: (-row["uses"], row["grant"]))
    return {"all": len(ordered), "rows": [*ordered[:most]], "cut": window.limit is not None and read >= window.limit}


def _of(one: Entry) -> JsonObject:
    return {
        "grant": one.text("grant", "id"),
        "scope": one.text("grant", "scope"),
        "tool": one.text("tool", "name"),
        "for": one.text("principal"),
        "tenant": one.text("tenant"),
        "approval": one.text("approval"),
        "first": one.text("ts"),
    }


def said(one: Entry) -> str:
    """What a record of a change or an event says, in one line."""
    kind = one.text("kind")
    told = _grant(one) if kind.startswith("grant.") else _kill(one) if kind.startswith("kill.") else _policy(one)
    counts = one.at("counts")
    if isinstance(counts, dict):
        told += [f"{name}: {number}" for name, number in counts.items()]
    return "; ".join(told)


def _kill(one: Entry) -> list[str]:
    """What a kill stops, or stopped until it was cleared, why, and how many questions and unused yeses it ended."""
    scope = {name: one.text(*path) or None for name, path in _SCOPE.items()}
    what = words(Stop(id=one.text("kill", "id"), **scope))
    done = "let go on" if one.text("kind") == "kill.cleared" else "stopped"
    ended = [
        f"{text} {number}"
        for name, text in (("cancelled", "questions cancelled:"), ("revoked", "unused yeses revoked:"))
        if (number := one.at("kill", name))
    ]
    return [f"{done}: {what}", *filter(None, (one.text("kill", "reason"),)), *ended]


def _grant(one: Entry) -> list[str]:
    """Which calls a grant is for and how far it reaches, or how often it had been used."""
    grant, known = one.text("grant", "id"), one.text("grant", "scope")
    what = f"{grant} {one.text('grant', 'status')}" + (f": scope {known}" if known else "")
    whose = f"{one.text('tool', 'name')} for {one.text('principal')}"
    bounds = [f"{name} {text}" for name in ("uses", "until", "at_most", "sum", "used") if (text := _bound(one, name))]
    return [f"{what}, {whose}", *bounds, *filter(None, (one.text("grant", "reason"),))]


def _bound(one: Entry, name: str) -> str:
    """One bound as a text; an end as its time."""
    at = one.at("grant", name)
    return utc(float(at)) if name == "until" and is_number(at) else one.text("grant", name)


def _policy(one: Entry) -> list[str]:
    version, how, before = (one.text("policy", name) for name in ("version", "how", "before"))
    told = [f"version {version}" + (f" ({how})" if how else "") + (f", before {before}" if before else "")] if version else []
    words = one.text("reason") or ("" if told else one.text("decision", "policy")) or one.text("why")
    return [*told, *_changed(one), *filter(None, (words,))]


def _changed(one: Entry) -> Iterator[str]:
    """The names that a policy has added, removed and changed, by section."""
    changed = one.at("changed")
    for section, parts in changed.items() if isinstance(changed, dict) else ():
        for what, names in parts.items() if isinstance(parts, dict) else ():
            if isinstance(names, list) and names:
                yield f"{section} {what}: {', '.join(map(str, names))}"
