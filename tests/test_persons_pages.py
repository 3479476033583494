"""People whose names tell something, at the console and over HTTP: who decides sees who asked and who voted, whoever reads the audit sees references."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console_kit import Browser, Console, console
from stores_kit import records

from guard import Session
from guard.core.names import is_reference

KIM, LEE, MAX = (f"{name}@example.com" for name in ("kim", "lee", "max"))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path, store=f"sqlite:///{tmp_path}/guard.db") as found:
        yield found


def signed_in(running: Console, person: str, *roles: str, scope: str = "vote") -> Browser:
    """A browser of somebody whose token names them by an address."""
    made = running.browser()
    secret = running.tokens.add(f"{person[:3]}-{scope}", (scope,), person=person, roles=roles)
    assert made.send("/sign-in", {"token": secret, "next": "/approvals"}).status == 303
    running.client.cookies.clear()
    return made


def test_pages_say_who_asked_and_who_voted(running: Console) -> None:
    """In full to whoever may decide; one's own question and one's own vote are known as one's own."""
    asked = running.ask("wire", Session(principal=KIM, roles=("clerk",)), to="A", token="t-1")
    lee, max_ = signed_in(running, LEE, "treasury"), signed_in(running, MAX, "treasury")
    assert KIM in lee.open("/approvals").text
    assert KIM in lee.open(f"/approvals/{asked}").text
    assert lee.vote(asked, "approved").status == 303
    assert "You have voted" in lee.open(f"/approvals/{asked}").text
    assert LEE in max_.open(f"/approvals/{asked}").text
    assert lee.open(f"/approvals?person={KIM}").text.count("asked for") == max_.open("/approvals").text.count("asked for") == 1
    kim = signed_in(running, KIM, "treasury")
    assert "This was asked for you" in kim.open(f"/approvals/{asked}").text
    assert max_.vote(asked, "approved").status == 303
    assert running.show(asked).status == "approved"


def test_the_audit_pages_and_records_have_references(running: Console) -> None:
    """Found by what is typed; what is shown is the reference. A look is on record once."""
    asked = running.ask("draw", Session(principal=KIM, roles=("clerk",)), name="x")
    lee = signed_in(running, LEE, "boss")
    for _ in "12":
        lee.open(f"/approvals/{asked}")
    lee.vote(asked, "approved")
    bodies = [one.body for one in records(running.guard.store)]
    assert not any("@example" in body for body in bodies)
    assert sum('"approval.viewed"' in body for body in bodies) == 1
    admin = signed_in(running, "ida@example.com", scope="admin")
    assert admin.open("/audit/report/file").status == 200
    assert not any("@example" in one.body for one in records(running.guard.store))
    for query, count in ((f"person={KIM}", 5), (f"approved_by={LEE}", 1), (f"person={MAX}", 0)):
        page = admin.open(f"/audit?{query}")
        rows = page.source.count("<tr") - page.source.count("<thead")
        assert (rows > 0) == (count > 0), query
        assert "@example" not in page.source.replace("ida@example.com", "").replace(query.partition("=")[2], "")


def test_programs_are_given_references_and_the_document_says_who(running: Console) -> None:
    """The API filters by either; the name stands in the document that is presented, for whoever may see it."""
    asked = running.ask("draw", Session(principal=KIM, roles=("clerk",)), name="x")
    secret = running.tokens.add("lee", ("vote",), person=LEE, roles=("boss",))

    def get(path: str) -> Any:
        return running.client.get(path, headers={"Authorization": f"Bearer {secret}"}).json()

    [listed] = get(f"/api/v1/approvals?requester={KIM}")["approvals"]
    assert is_reference(listed["requester"])
    assert [one["id"] for one in get(f"/api/v1/approvals?requester={listed['requester']}")["approvals"]] == [asked]
    assert get(f"/api/v1/approvals/{asked}")["document"]["requester"]["name"] == KIM
