"""Acts: what the forms of the pages are sent to: a vote, an edit, the end of a question, the withdrawal of an approval. POST only.

    POST /approvals/{id}/vote      decision, reason, note, grant
    POST /approvals/{id}/edit      value:{pointer} for each place, reason
    POST /approvals/{id}/cancel    reason
    POST /approvals/{id}/revoke    reason

Each carries the revision, the fingerprint and the digest of the page that it was on; whether it counts is judged by `guard.approvals`. One that does
not is answered by the page as it stands now, with what happened meanwhile. Comes after pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from guard.core.approval import Approval, Seen
from guard.core.briefing import utc
from guard.core.names import real
from guard.core.values import Json
from guard.errors import ApprovalError
from guard.runner.giving import Read
from guard.web import edits, frame, giving, guarding
from guard.web.asking import STATUS
from guard.web.bodies import RequestError
from guard.web.frame import Problem, field, words
from guard.web.pages import Typed, shown
from guard.web.people import Person
from guard.web.site import site

_TITLES = {
    "already_decided": "It was decided before you",
    "expired": "It expired before you decided",
    "stale": "It changed while you were reading",
    "voted": "You have voted already",
    "own": "Another person must decide",
    "refused": "The policy refuses this change",
    "not_editable": "This may not be changed",
    "not_given": "Your yes counts, and nothing else was given",
}
Fields = dict[str, list[str]]


def routes() -> list[BaseRoute]:
    """See the module."""
    acts = {"vote": vote, "edit": edit, "cancel": cancel, "revoke": revoke}
    return [Route(f"/approvals/{{id}}/{name}", frame.changing(act), methods=["POST"]) for name, act in acts.items()]


async def vote(request: Request, person: Person) -> Response:
    """Approve or reject."""
    form = await guarding.form(request)
    typed = Typed(reason=words(form, "reason") or "", note=words(form, "note") or "")
    yes, read = decided(form), giving.read_of(field(form, "grant"))
    lacking = lacks(yes, typed, read)
    if lacking is not None:
        return await shown(request, person, request.path_params["id"], 422, lacking, typed)
    seen = seen_in(form)
    if read is not None:
        return await _done(request, person, lambda name: _with_grant(request, person, name, read, typed, seen), typed)
    return await _done(request, person, lambda name: cast(request, person, name, yes=yes, typed=typed, seen=seen), typed)


async def _with_grant(request: Request, person: Person, name: str, read: Read, typed: Typed, seen: Seen) -> Approval:
    given: dict[str, Any] = {"reason": typed.reason or None, "seen": seen, **by(person)}
    return (await asyncio.to_thread(giving.approve, request, person, name, read, given))[0]


def lacks(yes: bool, typed: Typed, read: Read | None = None) -> Problem | None:  # noqa: FBT001 - the decision
    """What a vote lacks, or has too much."""
    if not yes and read is not None:
        return Problem(
            title="Nothing was decided", text="Further calls are permitted with an approval only. Choose none, then reject."
        )
    if not yes and not typed.reason:
        return Problem(title="Say why", text="A rejection needs a reason: the model reads it and can do better.")
    if yes and typed.note:
        return Problem(title="Nothing was decided", text="A private note goes with a rejection. Clear it, then approve.")
    return None


def decided(form: Fields) -> bool:
    """Whether the form says yes. Raises RequestError where it says neither yes nor no."""
    found = field(form, "decision")
    if found not in ("approved", "rejected"):
        raise RequestError("the form says neither yes nor no")
    return found == "approved"


async def cast(request: Request, person: Person, name: str, *, yes: bool, typed: Typed, seen: Seen) -> Approval:
    """Cast a vote. Raises ApprovalError where it does not count."""
    given: dict[str, Any] = {"approver": person.session, "reason": typed.reason or None, "seen": seen, **by(person)}
    if yes:
        return await site(request).guard.approvals.approve(name, **given)
    return await site(request).guard.approvals.reject(name, **given, note=typed.note or None)


def by(person: Person) -> dict[str, Any]:
    """By which way, and on whose word, this person acts."""
    return {"via": person.via, "assurance": person.assurance}


def seen_in(form: Fields) -> Seen:
    """What the page showed. Raises RequestError for a form that does not say."""
    return seen_of([field(form, name) for name in ("revision", "fingerprint", "presented")])


def seen_of(parts: list[str]) -> Seen:
    """Revision, fingerprint and digest of a page. Raises RequestError where one is missing or none."""
    if len(parts) != 3 or not all(parts) or not (parts[0].isascii() and parts[0].isdigit() and len(parts[0]) < 10):
        raise RequestError("the form does not say what was shown: load the page again")
    return Seen(revision=int(parts[0]), fingerprint=parts[1], presented=parts[2])


async def edit(request: Request, person: Person) -> Response:
    """Make a new revision and show it."""
    form = await guarding.form(request)
    name, reason = request.path_params["id"], words(form, "reason") or ""
    typed = Typed(reason=reason, edit=True)
    now = (await site(request).guard.approvals.view(name, person.session)).approval
    try:
        changed = edits.changes(now, form)
    except RequestError as error:
        return await shown(request, person, name, error.status, Problem(title="It cannot be read", text=str(error)), typed)
    if not changed or not reason:
        text = "Say why you change it." if changed else "Nothing differs from what stands there."
        return await shown(request, person, name, 422, Problem(title="Nothing was changed", text=text), typed)
    return await _done(request, person, lambda _: _edited(request, person, now, changed, typed, seen_in(form)), typed)


async def _edited(
    request: Request, person: Person, now: Approval, changed: Mapping[str, Json], typed: Typed, seen: Seen
) -> Approval:
    given: dict[str, Any] = {"changes": changed, "reason": typed.reason, "seen": seen, **by(person)}
    return await site(request).guard.approvals.edit(now.id, editor=person.session, **given)


async def cancel(request: Request, person: Person) -> Response:
    """End a question that nobody has decided."""
    return await _end(request, person, site(request).guard.approvals.cancel)


async def revoke(request: Request, person: Person) -> Response:
    """Withdraw an approval that was not used."""
    return await _end(request, person, site(request).guard.approvals.revoke)


async def _end(request: Request, person: Person, end: Callable[..., Awaitable[Approval]]) -> Response:
    given = {"reason": words(await guarding.form(request), "reason") or "", **by(person)}
    return await _done(request, person, lambda name: end(name, by=person.session, **given))


async def _done(
    request: Request, person: Person, act: Callable[[str], Awaitable[Approval]], typed: Typed | None = None
) -> Response:
    """Act, and lead to the page as it stands then; or show it with what stood in the way."""
    name = request.path_params["id"]
    try:
        found = await act(name)
    except ApprovalError as error:
        return await _instead(request, person, error, typed)
    return RedirectResponse(f"/approvals/{found.id}", 303)


async def _instead(request: Request, person: Person, error: ApprovalError, typed: Typed | None) -> Response:
    """The newest revision, with why the act did not count."""
    newest = await asyncio.to_thread(_newest, request, request.path_params["id"])
    return await shown(request, person, newest.id, STATUS.get(error.code, 409), told(error, newest, person), typed)


def _newest(request: Request, name: str) -> Approval:
    """The last revision of an approval. Raises ApprovalError (`not_found`)."""
    found = site(request).approvals.show(name)
    known = {found.id}
    while found.superseded_by and found.superseded_by not in known:
        found = site(request).approvals.show(found.superseded_by)
        known.add(found.id)
    return found


def told(error: ApprovalError, now: Approval, person: Person) -> Problem:
    """Why an act did not count, with who decided and when."""
    title = _TITLES.get(error.code, "It does not count")
    if error.code == "stale":
        text = f"Nothing was decided. This is revision {now.revision}: read it again, and what a yes may permit, then decide."
        return Problem(title=title, text=text)
    if error.code == "already_decided" and now.decided_by and now.decided_at is not None:
        who = "you" if person.session.means(now.decided_by) else real(now.decided_by)
        title = "You had decided already" if who == "you" else title
        return Problem(title=title, text=f"{now.status} by {who}, {utc(now.decided_at)}. Your click changed nothing.")
    if error.code == "not_given":
        return Problem(title=title, text=f"{error}.")
    return Problem(title=title, text=f"{error}. Nothing was changed.")
