"""Granting: `--grant` of `guard approvals approve`: a standing permission given together with a yes.

What it would allow is said in words before anybody is asked. Whether it may be given is judged by `guard.runner.Grants`. Used by `approvals`.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, time
from typing import Any

from guard.cli.desk import Desk
from guard.cli.places import UsageError
from guard.cli.show import spell
from guard.core.grant_words import words
from guard.core.grants import Grant, shown
from guard.core.model import Approval
from guard.core.offers import SCOPES, Offer
from guard.core.presented import mask
from guard.core.values import JsonObject
from guard.errors import ApprovalError
from guard.policy import language
from guard.policy.problems import Problems
from guard.policy.source import Item
from guard.review.grant_changes import spelled

BOUNDS = ("uses", "until", "at_most", "sum")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a grant."""
    own = parser.add_argument_group(
        "a standing grant", "further calls that then run without a question, within what the policy offers"
    )
    own.add_argument("--grant", choices=SCOPES, metavar="SCOPE", help=f"{', '.join(SCOPES)}: what else the yes permits")
    own.add_argument("--uses", type=int, metavar="N", help="how many calls at most")
    own.add_argument("--until", metavar="TIME", help="for example 3d, 2h or 2026-12-04 (to the end of that day, UTC)")
    own.add_argument("--at-most", metavar="AMOUNT", help="the most of one call")
    own.add_argument("--sum", metavar="AMOUNT", help="the most of all calls together")


def drafted(here: Desk, arguments: argparse.Namespace, approval: Approval) -> Grant | None:
    """The grant that was asked for, to be read first; None where none was. Raises UsageError and ApprovalError."""
    bounds = {name: getattr(arguments, name) for name in BOUNDS}
    if arguments.grant is None:
        stray = next((name for name, value in bounds.items() if value is not None), None)
        if stray is not None:
            raise UsageError(f"--{stray.replace('_', '-')} bounds a grant: name one with --grant")
        return None
    return here.grants.draft(approval, by=here.me, scope=arguments.grant, assurance="os-user", **_bounds(here, bounds))


def given(here: Desk, arguments: argparse.Namespace, approval: Approval, read: Grant) -> Grant:
    """Give what was read, after the yes. Raises ApprovalError that says that the yes stands."""
    try:
        return here.grants.give_read(approval, read, by=here.me, reason=arguments.reason, assurance="os-user")
    except ApprovalError as error:
        raise ApprovalError(error.code, f"the call is {approval.status}, but no grant was given: {error}") from error


def lines(here: Desk, approval: Approval, grant: Grant | None) -> list[str]:
    """What is said below an approval: what may be given with a yes, or the words of what was asked for."""
    return offered(here, approval) if grant is None else ["", *words(grant)]


def offered(here: Desk, approval: Approval) -> list[str]:
    """What this person could give together with a yes; nothing where the policy offers none."""
    try:
        offers = here.grants.offers(approval, by=here.me)
    except ApprovalError:
        return []
    return [f"may be given with a yes: --grant {_spelled(offer)}" for offer in offers]


def _spelled(offer: Offer) -> str:
    return spell(spelled(offer))


def outcome(grant: Grant) -> str:
    """One line about what was given."""
    if len(grant.givers) < grant.need:
        return f"grant {grant.id} is proposed: {len(grant.givers)} of {grant.need} people gave it; the next one says --grant {grant.scope}"
    return f"grant {grant.id} is given; take it back with: guard grants revoke {grant.id}"


def _bounds(here: Desk, given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "until": None if given["until"] is None else _until(given["until"], here.now())}


def _until(text: str, now: float) -> float:
    """A moment: a duration from now, a day (to its end, UTC) or a time with its zone. Raises UsageError."""
    seconds = language.duration(Item("", None, text), Problems(), "until")
    if seconds is not None:
        return now + seconds
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--until {spell(text)}: write for example 3d, 2026-12-04 or 2026-12-04T12:00+01:00") from None
    if len(text) == len("2026-12-04"):
        return datetime.combine(found.date(), time.max, UTC).timestamp()
    if found.tzinfo is None:
        raise UsageError(f"--until {spell(text)}: a time needs its zone, for example {spell(text)}Z")
    return found.timestamp()


def grant_json(here: Desk, grant: Grant) -> JsonObject:
    """One grant for a program."""
    found: JsonObject = {name: getattr(grant, name) for name in _PLAIN}
    left = None if grant.uses is None else grant.uses - grant.used
    found |= {"givers": [{"by": giver.by, "roles": list(giver.roles), "at": giver.at} for giver in grant.givers]}
    found |= {"left": left, "sum": grant.sum, "sum_left": None if grant.sum is None else grant.sum - grant.summed}
    found["constraint"] = shown(grant, mask)
    return {**found, "status": here.standing(grant), "words": list(here.grants.words(grant))}


_PLAIN = (
    "id", "tenant", "principal", "conversation", "branch", "tool", "definition", "scope", "constraint", "uses", "until", "policy",
    "approval", "need", "by", "at", "reason", "used", "summed", "revoked_by", "revoked_at", "revoked_why",
)  # fmt: skip
