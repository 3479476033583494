"""Voting: what people send about approvals, read strictly: a vote, several at once, an edit, the end of a question. Pure.

Who somebody is never stands in a body. Comes after bodies; before the API of approvals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guard.core.approval import Seen
from guard.core.values import Json, JsonObject
from guard.runner.giving import Read
from guard.web import bodies, giving
from guard.web.bodies import RequestError

DECISIONS = ("approved", "rejected")
SEEN = ("revision", "fingerprint", "presented")
MOST_VOTES = 100
"""Votes of one request."""
MOST_TEXT = 4_000
"""Characters of a reason or a note."""
MOST_REVISION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """One vote as it was sent."""

    seen: Seen
    decision: str
    reason: str | None
    note: str | None
    grant: Read | None = None


def vote(body: JsonObject, what: str = "", also: tuple[str, ...] = (), more: tuple[str, ...] = ("grant",)) -> Cast:
    """A vote. A rejection says why: the model reads the reason and never the note. A yes may carry a grant that was read."""
    bodies.fields(body, (*SEEN, "decision", *also), ("reason", "note", *more), what)
    decision = body["decision"]
    if decision not in DECISIONS:
        raise RequestError(f"{what}decision must be {' or '.join(DECISIONS)}")
    reason, note = _words(body, "reason", what), _words(body, "note", what)
    if decision == "rejected" and reason is None:
        raise RequestError(f"{what}reason is missing: the model reads why it was rejected")
    if decision == "approved" and note is not None:
        raise RequestError(f"{what}note goes with a rejection")
    grant = giving.read_in(body.get("grant"))
    if grant is not None and decision != "approved":
        raise RequestError(f"{what}grant goes with an approval")
    return Cast(seen=seen(body, what), decision=str(decision), reason=reason, note=note, grant=grant)


def votes(body: JsonObject) -> list[tuple[str, Cast]]:
    """Several votes, each about another approval."""
    bodies.fields(body, ("votes",))
    given = body["votes"]
    if not isinstance(given, list) or not 0 < len(given) <= MOST_VOTES:
        raise RequestError(f"votes must be a list of 1 to {MOST_VOTES}")
    found = []
    for number, one in enumerate(given):
        if not isinstance(one, Mapping):
            raise RequestError(f"votes[{number}] must be an object")
        cast = vote(dict(one), f"votes[{number}].", ("approval",), ())
        found.append((bodies.text(one["approval"], f"votes[{number}].approval"), cast))
    if len({name for name, _ in found}) < len(found):
        raise RequestError("votes names an approval twice")
    return found


def edit(body: JsonObject) -> tuple[Seen, Mapping[str, Json], str]:
    """What was seen, what to change (JSON pointer → value), and why."""
    bodies.fields(body, (*SEEN, "changes", "reason"))
    changes = body["changes"]
    if not isinstance(changes, Mapping) or not changes:
        raise RequestError("changes must be an object: JSON pointer → value")
    return seen(body), {bodies.text(place, "changes"): value for place, value in changes.items()}, why(body)


def why(body: JsonObject) -> str:
    """The reason that an act needs."""
    found = _words(body, "reason", "")
    if found is None:
        raise RequestError("reason must be a text that is not empty")
    return found


def seen(body: JsonObject, what: str = "") -> Seen:
    """What the page showed that the request came from."""
    revision = body["revision"]
    if isinstance(revision, bool) or not isinstance(revision, int) or not 0 < revision <= MOST_REVISION:
        raise RequestError(f"{what}revision must be a whole number from 1")
    texts = {name: bodies.text(body[name], f"{what}{name}") for name in ("fingerprint", "presented")}
    return Seen(revision=revision, **texts)


def _words(body: Mapping[str, Json], name: str, what: str) -> str | None:
    given = body.get(name)
    if given is None:
        return None
    found = bodies.text(given, f"{what}{name}", empty=True)
    if len(found) > MOST_TEXT:
        raise RequestError(f"{what}{name} is longer than {MOST_TEXT} characters")
    return found if found.strip() else None
