"""Signed links to an approval's page: what is wrong with one is said on the page, and no link gives or takes a right or changes anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from console_kit import Console, Page, console
from stores_kit import records

from guard import Session
from guard.sinks.signing import link_mark

KEY, OLD, FOREIGN = b"n" * 32, b"o" * 32, b"f" * 32
SAID = "About the link that you followed"
RIGHTS = "A link only opens a page"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with console(tmp_path_factory.mktemp("links"), link_keys=(KEY, OLD)) as made:
        yield made


def asked(here: Console) -> str:
    """A question about a payment, each for somebody else: nobody may have too many open."""
    who = Session(principal=f"c_{here.asked}", roles=("clerk",))
    return here.ask("pay", who, payee="bob", amount=40)


def follow(here: Console, name: str, mark: str, *, person: str = "s_9", roles: tuple[str, ...] = ("treasury",)) -> Page:
    return here.browser(person, *roles).open(f"/approvals/{name}?view={mark}")


def mark_of(here: Console, name: str, *, key: bytes = KEY, revision: int = 1, audience: str = "", left: int = 60) -> str:
    return link_mark(key, name, revision, audience, int(here.clock()) + left)


@pytest.mark.parametrize("audience", ["", "treasury", "role:treasury", "s_9"])
@pytest.mark.parametrize("key", [KEY, OLD], ids=["key", "the key before"])
def test_a_good_link_opens_the_page_and_nothing_is_said(here: Console, key: bytes, audience: str) -> None:
    """For whoever gets it, for a role, or for one person."""
    name = asked(here)
    page = follow(here, name, mark_of(here, name, key=key, audience=audience))
    assert (page.status, SAID in page.text, f"/approvals/{name}/vote" in page.read.forms) == (200, False, True)


def changed(mark: str) -> str:
    content, _, signature = mark.partition(".")
    return f"{content[:-1]}{'A' if content[-1] != 'A' else 'B'}.{signature}"


WRONG: dict[str, tuple[Callable[[Console, str], str], str]] = {
    "forged": (lambda here, name: mark_of(here, name, key=FOREIGN), "not signed by a key of this console"),
    "changed": (lambda here, name: changed(mark_of(here, name)), "not signed by a key of this console"),
    "no mark": (lambda here, name: "x", "not signed by a key of this console"),
    "empty": (lambda here, name: "", "not signed by a key of this console"),
    "two": (lambda here, name: f"{mark_of(here, name)}&view={mark_of(here, name)}", "not signed by a key of this console"),
    "too long": (lambda here, name: mark_of(here, name) + "." * 3_000, "not signed by a key of this console"),
    "over": (lambda here, name: mark_of(here, name, left=-1), "Its time is over"),
    "another approval's": (lambda here, name: mark_of(here, "ap_other"), "made for another approval"),
    "somebody else's": (
        lambda here, name: mark_of(here, name, audience="s_1"),
        "made for s_1, and you are signed in as somebody else",
    ),
    "another role's": (lambda here, name: mark_of(here, name, audience="boss"), "made for boss"),
    "another revision's": (lambda here, name: mark_of(here, name, revision=4), "was for revision 4; revision 1 is in force"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_link_is_said(here: Console, case: str) -> None:
    """The page is shown to whoever may read it, who may decide as without the link."""
    made, text = WRONG[case]
    name = asked(here)
    page = follow(here, name, made(here, name))
    assert (page.status, SAID in page.text, text in page.text, RIGHTS in page.text) == (200, True, True, True)
    assert f"/approvals/{name}/vote" in page.read.forms


def test_a_link_to_an_earlier_revision_leads_to_the_one_in_force(here: Console) -> None:
    """Which revision it was for, which one there is, and where."""
    name = asked(here)
    mark, treasury = mark_of(here, name), here.browser("s_9", "treasury")
    form = treasury.open(f"/approvals/{name}").form(f"/approvals/{name}/edit")
    treasury.send(f"/approvals/{name}/edit", {**form, "value:/amount": "30", "reason": "less"})
    newest = here.show(name).superseded_by
    assert newest
    page = treasury.open(f"/approvals/{name}?view={mark}")
    assert "It was for revision 1; revision 2 is in force." in page.text
    assert ("a", {"href": f"/approvals/{newest}"}) in page.read.tags


def test_a_link_signs_nobody_in_and_entitles_nobody(here: Console) -> None:
    """Without a login it leads to the sign-in page and back; who may not read the approval gets nothing."""
    name = asked(here)
    path = f"/approvals/{name}?view={mark_of(here, name, audience='s_9')}"
    page = here.browser().open(path)
    assert (page.status, page.answer.headers["location"]) == (303, f"/sign-in?next={quote(path, safe='')}")
    assert here.browser().follow(page).form("/sign-in")["next"] == path
    assert here.browser("x_1", "stranger").open(path).status == 404


def about(here: Console, name: str) -> list[str]:
    """What is on record of an approval."""
    bodies = [json.loads(record.body) for record in records(here.guard.store)]
    return [body["kind"] for body in bodies if body.get("approval") == name and body["kind"].startswith("approval.")]


def test_following_links_changes_nothing(here: Console) -> None:
    """Whoever follows whatever link: no vote, no change; that somebody who may decide saw it is on record as without a link."""
    name = asked(here)
    for made, _ in WRONG.values():
        follow(here, name, made(here, name), person=here.show(name).requester, roles=("clerk",))
    assert about(here, name) == ["approval.requested"]
    follow(here, name, mark_of(here, name))
    assert about(here, name) == ["approval.requested", "approval.viewed"]
    assert (here.show(name).status, here.show(name).votes) == ("pending", ())


def test_without_a_key_nothing_is_claimed(tmp_path: Path) -> None:
    """A console that cannot check a signature says so."""
    with console(tmp_path) as here:
        name = asked(here)
        assert "Its signature was not checked" in follow(here, name, mark_of(here, name)).text
