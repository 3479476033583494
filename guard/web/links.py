"""Links: what is said on an approval's page about the signed link that somebody followed to it.

A link only opens the page: it signs nobody in, entitles nobody and decides nothing, so a page that a person may read is shown with a bad link as with none. What
is wrong with the link is said plainly: a forged one, one whose time is over, one for another approval or for somebody else, one for a revision that is
no longer in force. Changes nothing. Comes after frame; before the pages.
"""

from __future__ import annotations

from starlette.requests import Request

from guard.core.approval import Approval
from guard.core.model import Session
from guard.errors import ApprovalError
from guard.sinks.signing import Link, link_said
from guard.web.frame import Problem
from guard.web.people import Person
from guard.web.site import Site, site

_MOST = 2_000  # characters of a mark
_STEPS = 100  # no call is edited that often
_ALL = "A link only opens a page: what you may do here rests on who you are signed in as."


def told(request: Request, person: Person, approval: Approval) -> Problem | None:
    """What to say about the link; None where there is none, or nothing is wrong with it. Asks the store: use it in a thread."""
    marks = request.query_params.getlist("view")
    if not marks:
        return None
    here = site(request)
    if not here.link_keys:
        return _problem("Its signature was not checked: this console has no key for links.")
    found = link_said(here.link_keys, marks[0]) if len(marks) == 1 and len(marks[0]) <= _MOST else None
    if found is None:
        return _problem(
            "It was not signed by a key of this console, or was changed on its way. Be careful where you follow it from."
        )
    wrong = _wrong(found, here, person, approval)
    newest = _newest(here, approval)
    if newest.id != approval.id or newest.revision != found.revision:
        older = f"It was for revision {found.revision}; revision {newest.revision} is in force."
        wrong, link = [*wrong, older], f"/approvals/{newest.id}" if newest.id != approval.id else ""
        return _problem(" ".join(wrong), link, f"Open revision {newest.revision}" if link else "")
    return _problem(" ".join(wrong)) if wrong else None


def _wrong(found: Link, here: Site, person: Person, approval: Approval) -> list[str]:
    wrong = []
    if found.approval != approval.id:
        wrong.append("It was made for another approval than this one.")
    if found.until < here.clock():
        wrong.append("Its time is over.")
    if not _meant(found.audience, here, person.session):
        wrong.append(f"It was made for {found.audience}, and you are signed in as somebody else.")
    return wrong


def _meant(audience: str, here: Site, session: Session) -> bool:
    """Whether a link is for this person: by name, by a role that they hold, or for whoever gets it."""
    if not audience or session.means(audience):
        return True
    try:
        roles = here.guard.policy.authorizer.roles(session)
    except Exception:  # noqa: BLE001 - what cannot be evaluated gives no role
        roles = frozenset(session.roles)
    return audience.removeprefix("role:") in roles


def _newest(here: Site, approval: Approval) -> Approval:
    """The revision that stands in the place of this one by now."""
    for _ in range(_STEPS):
        if approval.superseded_by is None:
            break
        try:
            approval = here.approvals.show(approval.superseded_by)
        except ApprovalError:
            break
    return approval


def _problem(text: str, link: str = "", link_text: str = "") -> Problem:
    return Problem(title="About the link that you followed", text=f"{text} {_ALL}", link=link, link_text=link_text)
