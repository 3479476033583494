"""Notice: what people are told of an approval: which one, a link that only opens its page, and a summary of what its record holds.

Built from the record alone: redacted copies and digests, nothing of what will run. Characters that cannot be seen are spelled out. Comes after entry
and signing; before notify and slack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from guard.core.unseen import one_line
from guard.core.values import Json, JsonObject, encode, is_number
from guard.sinks.entry import Entry
from guard.sinks.port import Bounds
from guard.sinks.signing import link_mark

KINDS = ("approval.requested", "approval.escalated")
"""What people are told of where nothing else is asked for."""
NOTICES = Bounds(kinds=KINDS, batch=20, newest=True)
"""The bounds of a sink that tells people: nobody is told of what happened before it was set up."""
_WORDS = {
    "approval.requested": "waits for a decision",
    "approval.escalated": "still waits for a decision",
    "approval.vote": "got a vote",
    "approval.resolved": "was decided",
    "approval.edited": "was edited and waits for a decision",
    "approval.expired": "was not decided in time",
    "approval.cancelled": "was cancelled",
    "approval.revoked": "was withdrawn",
    "approval.superseded": "was replaced",
}
_VALUE, _MOST = 200, 20  # characters of an argument, and how many of them
_LINE = 500  # characters of the operator's line
_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """How a link is made: `page` with `{approval}` in it, and where there is a key, a mark for an audience behind it."""

    page: str
    key: bytes | None = None
    audience: str = ""

    def to(self, one: Entry) -> str:
        """The link to a record's approval."""
        name = one.text("approval").encode("utf-8", "replace").decode()
        found = self.page.replace("{approval}", quote(name, safe=""))
        if self.key is None:
            return found
        revision = one.at("approval_state", "revision")
        mark = link_mark(self.key, name, revision if isinstance(revision, int) else 1, self.audience, _until(one))
        return f"{found}{'&' if '?' in found else '?'}view={mark}"


def _until(one: Entry) -> int:
    """Until when the link opens: until the decision is due, else a day from the record."""
    due = one.at("approval_state", "decide_by")
    if is_number(due):
        return int(due)
    try:
        return int(datetime.fromisoformat(one.text("ts")).timestamp()) + _DAY
    except ValueError:
        return 0


def notice(one: Entry, links: Links) -> JsonObject:
    """What is sent of a record. `digest` is the record's hash in the audit."""
    names = ("approval", "fingerprint", "tenant", "conversation")
    return {
        "v": 1,
        "id": one.id,
        "event": one.kind,
        "time": one.text("ts"),
        "digest": one.sealed.hash,
        **{name: seen(one.text(name)) for name in names},
        "link": links.to(one),
        "summary": {
            "tool": seen(one.text("tool", "name")),
            "requester": seen(one.text("principal")),
            "effect": effect(one),
            "arguments": arguments(one),
        },
        "text": "\n".join(lines(one)),
    }


def title(one: Entry) -> str:
    """One line: what is the matter."""
    said = _WORDS.get(one.kind, seen(one.kind))
    status = one.text("approval_state", "status")
    told = f" ({seen(status)})" if one.kind == "approval.resolved" and status else ""
    return f"{seen(one.text('tool', 'name')) or 'a call'} {said}{told}"


def lines(one: Entry) -> list[str]:
    """The whole summary as text."""
    who = f"asked for by {seen(one.text('principal'))}, tenant {seen(one.text('tenant'))}, conversation {seen(one.text('conversation'))}"
    found = arguments(one)
    shown = [f"{name}: {text}" for name, text in found.items()]
    return [title(one), *filter(None, [effect(one)]), who, *shown]


def effect(one: Entry) -> str:
    """The operator's one line about the call, in full up to a bound; empty where the policy has none."""
    return _cut(seen(one.text("approval_state", "effect")), _LINE)


def arguments(one: Entry) -> dict[str, str]:
    """The arguments as the record shows them, each as a text of bounded length; what is left out is counted.

    Names that look alike once they are spelled or cut are numbered, so that none stands in another's place.
    """
    given = one.at("args", "shown")
    pairs = list(given.items()) if isinstance(given, Mapping) else []
    found: dict[str, str] = {}
    for name, value in pairs[:_MOST]:
        found[_free(_cut(seen(str(name))), found)] = _cut(_text(value))
    if len(pairs) > _MOST:
        found[_free("…", found)] = f"{len(pairs) - _MOST} more, on the page"
    return found


def _free(name: str, taken: Mapping[str, str]) -> str:
    """The name, or else the first of `name (2)`, `name (3)` … that is not taken."""
    numbered = (f"{name} ({number})" for number in range(2, len(taken) + 3))
    return next(one for one in (name, *numbered) if one not in taken)


def _text(value: Json) -> str:
    return seen(value if isinstance(value, str) else encode(value))


def _cut(text: str, most: int = _VALUE) -> str:
    return text if len(text) <= most else f"{text[:most]} … ({len(text)} characters, on the page in full)"


def seen(text: str) -> str:
    """A text on one line, with what cannot be seen spelled out and long runs of blanks counted."""
    return one_line(text)
