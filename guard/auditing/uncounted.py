"""Uncounted: votes that did not count, by what was wrong with each: not a matter of this person, one's own, of something else, too late, a second one. Pure.

The record says what was wanted and why it did not count; one that does not say why is of somebody who may not decide. Comes after `entry`, before `steps` and `questions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from guard.auditing.entry import Entry

_SORTS: Final[Mapping[str, str]] = {
    "not_found": "not_entitled",
    "not_entitled": "not_entitled",
    "own": "own",
    "stale": "stale",
    "already_decided": "too_late",
    "expired": "too_late",
    "voted": "voted",
}
TOLD: Final[Mapping[str, str]] = {
    "not_entitled": "the person may not decide this",
    "own": "it is the person's own call",
    "stale": "it was about another revision, other content or another view than what stood",
    "too_late": "it came too late",
    "voted": "the person had voted already",
    "edit_refused": "the policy refused the edited call",
    "other": "it did not count",
}
"""What was wrong, by sort."""


def sort(one: Entry) -> str:
    """What was wrong with a vote that did not count: a key of `TOLD`."""
    if one.text("approval_state", "wanted") == "edited":
        return "edit_refused"
    why = one.text("approval_state", "why")
    if not why:
        return "own" if one.text("actor", "ref") == one.text("principal") else "not_entitled"
    return _SORTS.get(why, "other")


def verb(wanted: str) -> str:
    """What somebody wanted to do."""
    return {"approved": "approve", "rejected": "reject", "edited": "edit"}.get(wanted, wanted or "decide")
