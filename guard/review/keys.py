"""Keys: which keys may stand where in a file of cases, and readers for values that only cases have.

The table is the language of cases, as `guard.policy.language` is that of policies; the editor's schema is tested against it. Readers report what
is wrong and give back something harmless. Comes before `reading`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from guard.policy import language
from guard.policy.problems import Problems
from guard.policy.source import Item

EXPECTATIONS = (
    "expect",
    "reason",
    "rules",
    "arguments",
    "origins",
    "spoofed",
    "result",
    "says",
    "approvers",
    "expires",
    "show",
    "shadow",
    "offers",
)
"""What may be said about the outcome of a call. `judging` has a row for each."""

_CALL = ("call", "returns", "raises", "approve", "reject", *EXPECTATIONS)
KEYS: Mapping[str, tuple[str, ...]] = {
    "cases_file": ("sessions", "at", "checks", "facts", "cases"),
    "session": ("principal", "tenant", "roles", "attributes"),
    "case": ("name", "session", "conversation", "at", "checks", "facts", "user", "history", "usage", "calls", *_CALL),
    "step": ("session", "conversation", "wait", "facts", "user", "usage", "times", "calls", *_CALL),
    "call": ("times", *_CALL),
    "usage": ("model", "in", "out", "cost"),
    "vote": ("by", "wait"),
}
"""Every mapping with fixed keys. `sessions`, `checks`, `facts`, `origins` and what stands behind `call` have free keys."""

DECISIONS = ("allow", "hold", "refuse", "replay")
ORIGINS = ("model", "session", "default", "result", "user")
MOST_TIMES = 1_000
MOST_CALLS = 10_000  # in one case
_LONGEST = 400 * 86_400.0  # seconds


def fields(item: Item, table: str, problems: Problems) -> dict[str, Item]:
    """The known fields of a mapping; each unknown key is a mistake."""
    return language.mapping(item, table, problems, keys=KEYS)


def names(item: Item, problems: Problems, what: str) -> tuple[str, ...]:
    """A list of texts, or one text. An empty list says that there are none."""
    return () if item.value == [] else language.texts(item, problems, what)


def seconds(item: Item | None, problems: Problems, what: str) -> float:
    """A duration that a case lets go by; nothing by default."""
    found = language.duration(item, problems, what) or 0.0
    if item is not None and found > _LONGEST:
        problems.error(item, f"{what}: more than 400 days", "let less time go by")
        return 0.0
    return found


def times(item: Item | None, problems: Problems) -> int:
    """How often something happens: once by default."""
    found = language.whole(item, problems, "times")
    if item is None or found is None:
        return 1
    if not 1 <= found <= MOST_TIMES:
        problems.error(item, f"times: {found} is not from 1 to {MOST_TIMES}", "write a smaller number, and set the limit lower")
        return 1
    return found


def moment(item: Item, problems: Problems) -> float | None:
    """A date and time with its zone, as seconds since the epoch."""
    try:
        found = datetime.fromisoformat(item.value) if isinstance(item.value, str) else None
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        problems.error(item, "at: a date and a time with its zone is needed", "write for example 2026-01-15T09:00:00Z")
        return None
    return found.timestamp()
